// The curriculum as a graph. It shows what the list beside it says, and is read from there, so that the two agree.
// Where there are too many concepts to be read at once, it shows one with what it needs and what it opens; "All" gives
// an overview, whose names appear as it is made larger.
"use strict";

(() => {
  const place = document.getElementById("graph");
  const about = document.getElementById("about");
  const tools = document.querySelector(".tools");
  const select = document.getElementById("concept");
  const nearButton = tools.querySelector("[data-zoom=near]");
  const colours = {
    mastered: { line: "#1a7f4e", fill: "#bfe6cf", back: "#f2fbf5" },
    ready: { line: "#1d5fbf", fill: "#bcd6fa", back: "#f3f8ff" },
    locked: { line: "#8a919c", fill: "#dfe2e7", back: "#f6f7f8" },
  };
  const percent = (value) => `${Math.round(100 * value)}\u00a0%`;
  // Of a mastery in doubt, the gate counts on less.
  const known = (one) => percent(one.mastery) === percent(one.trusted)
    ? percent(one.mastery) : `${percent(one.mastery)}, the gate counts on ${percent(one.trusted)}`;
  const LONGEST = 26;
  let concepts = new Map();
  let chosen = null;

  function read() {
    const standing = document.getElementById("standing");
    concepts = new Map();
    for (const item of standing.querySelectorAll("[data-concept]")) {
      concepts.set(item.dataset.concept, {
        item,
        mastery: Number(item.dataset.mastery),
        trusted: Number(item.dataset.trusted),
        status: item.dataset.status,
        prerequisites: JSON.parse(item.dataset.prerequisites),
        unmet: JSON.parse(item.dataset.unmet),
      });
    }
    return { theta: Number(standing.dataset.theta), now: standing.dataset.now, many: "many" in standing.dataset };
  }

  function look(name, one) {
    const colour = colours[one.status];
    const at = 100 * one.mastery;
    const short = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
    return {
      label: `${short}\n${percent(one.mastery)}`,
      width: Math.max(68, 9 * short.length + 18),
      line: colour.line,
      colours: `${colour.fill} ${colour.fill} ${colour.back} ${colour.back}`,
      stops: `0% ${at}% ${at}% 100%`,
    };
  }

  // Names of concepts go into the graph as data and onto a canvas; nothing of them is read as HTML.
  let told = read();
  const ids = new Map([...concepts.keys()].map((name, at) => [name, `n${at}`]));
  const elements = [];
  for (const [name, one] of concepts) {
    elements.push({ data: { id: ids.get(name), name, ...look(name, one) } });
    for (const before of one.prerequisites) elements.push({ data: { source: ids.get(before), target: ids.get(name) } });
  }

  const coarse = window.matchMedia("(pointer: coarse)").matches;
  const cy = cytoscape({
    container: place,
    elements,
    autoungrabify: true,
    boxSelectionEnabled: false,
    userZoomingEnabled: false, // the wheel and two fingers scroll the page
    userPanningEnabled: !coarse,
    style: [
      {
        selector: "node",
        style: {
          shape: "round-rectangle",
          width: "data(width)",
          height: 42,
          label: "data(label)",
          "text-valign": "center",
          "text-wrap": "wrap",
          "text-max-width": "data(width)",
          "line-height": 1.2,
          "font-size": 14,
          "min-zoomed-font-size": 9, // smaller than that it is no writing
          "font-family": "system-ui, sans-serif",
          color: "#14181f",
          "border-width": 2,
          "border-color": "data(line)",
          "background-fill": "linear-gradient",
          "background-gradient-direction": "to-right",
          "background-gradient-stop-colors": "data(colours)",
          "background-gradient-stop-positions": "data(stops)",
        },
      },
      { selector: "node.locked", style: { "border-style": "dashed", color: "#4b5260" } },
      { selector: "node.now", style: { "border-width": 5, "border-color": "#c2570c" } },
      {
        selector: "edge",
        style: {
          width: 2,
          "curve-style": "bezier",
          "line-color": "#c3c8d0",
          "target-arrow-color": "#c3c8d0",
          "target-arrow-shape": "triangle",
          "arrow-scale": 0.9,
        },
      },
      { selector: ".away", style: { visibility: "hidden", events: "no" } }, // it keeps its size, for the next layout
      { selector: ".faint", style: { opacity: 0.25 } },
      { selector: "edge.quiet", style: { visibility: "hidden" } },
      { selector: "edge.near", style: { visibility: "visible", width: 3, "line-color": "#3d4654", "target-arrow-color": "#3d4654" } },
      { selector: "node.chosen", style: { "overlay-color": "#1d5fbf", "overlay-opacity": 0.12, "overlay-padding": 5 } },
      { selector: "node:active", style: { "overlay-opacity": 0.12 } },
    ],
  });

  function paint() {
    cy.batch(() => {
      for (const [name, one] of concepts) {
        const node = cy.getElementById(ids.get(name));
        node.data(look(name, one));
        node.classes(one.status);
        node.toggleClass("now", name === told.now);
      }
    });
    if (select) {
      for (const option of select.options) {
        const one = concepts.get(option.value);
        if (!one) continue;
        option.disabled = one.status === "locked";
        option.hidden = option.disabled && told.many;
        option.textContent = `${option.value} (${one.status}, ${percent(one.mastery)})`;
      }
    }
  }

  function line(...parts) {
    const paragraph = document.createElement("p");
    paragraph.append(...parts);
    return paragraph;
  }

  function strong(text) {
    const element = document.createElement("strong");
    element.textContent = text;
    return element;
  }

  function explain(name) {
    const one = concepts.get(name);
    const after = [...concepts].filter(([, other]) => other.prerequisites.includes(name)).map(([other]) => other);
    const lines = [line(strong(name), `: ${one.status}, mastery ${known(one)}; mastered at ${percent(told.theta)}.`)];
    const unmet = one.unmet.map((other) => `${other} (${known(concepts.get(other))})`);
    if (unmet.length) lines.push(line(`Locked, since it waits for ${unmet.join(", ")}.`));
    lines.push(line(one.prerequisites.length ? `Needs ${one.prerequisites.join(", ")}. ` : "Needs nothing before it. ",
      after.length ? `Opens ${after.join(", ")}.` : "Opens nothing further."));
    if (select && one.status !== "locked") {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Choose it for the next activity";
      button.addEventListener("click", () => {
        select.value = name;
        document.getElementById("reason").focus();
      });
      lines.push(line(button));
    }
    about.replaceChildren(...lines);
  }

  function choose(name) {
    chosen = name;
    for (const [other, one] of concepts) {
      one.item.classList.toggle("chosen", other === name);
      one.item.querySelector(".pick").setAttribute("aria-pressed", String(other === name));
    }
    cy.elements().removeClass("faint near chosen");
    if (name === null) {
      about.replaceChildren(line("Choose a concept to see what it needs and what it opens."));
      about.firstChild.className = "hint";
      return;
    }
    const node = cy.getElementById(ids.get(name));
    const near = node.predecessors().union(node.outgoers()).union(node);
    cy.elements().not(near).addClass("faint");
    near.edges().addClass("near");
    node.addClass("chosen");
    concepts.get(name).item.closest("details")?.setAttribute("open", "");
    explain(name);
    if (focused) focus();
  }

  const arrange = (some) => some.layout({ name: "dagre", rankDir: "TB", nodeSep: 18, rankSep: 44, animate: false, fit: false }).run();

  // An overview of many: tiles, row after row by how much lies before them. Lines are drawn for the chosen one only.
  function tile() {
    const [wide, high] = [150, 54];
    const columns = Math.ceil(Math.sqrt((concepts.size * high * place.clientWidth) / (wide * place.clientHeight)));
    const depths = new Map();
    for (const [name, one] of concepts) depths.set(name, Math.max(0, ...one.prerequisites.map((before) => 1 + depths.get(before))));
    const rows = [...concepts.keys()].sort((one, other) => depths.get(one) - depths.get(other));
    rows.forEach((name, at) => {
      cy.getElementById(ids.get(name)).position({ x: wide * (at % columns), y: high * Math.floor(at / columns) });
    });
    cy.edges().addClass("quiet");
  }

  // One concept with what it needs and what it opens: the chosen one, or that of now, or the first that can be learnt.
  function focus() {
    const open = [...concepts].find(([, one]) => one.status === "ready") ?? [...concepts][0];
    const node = cy.getElementById(ids.get(chosen ?? (concepts.has(told.now) ? told.now : open[0])));
    const near = node.closedNeighborhood();
    if (focused && centre === node.id()) {
      shown.removeClass("faint"); // it is in view already, as large as its reader has made it
      return;
    }
    centre = node.id();
    show(near.union(near.nodes().edgesWith(near.nodes())), true);
  }

  const overview = () => show(cy.elements(), false);

  function show(some, near) {
    shown = some;
    focused = near;
    cy.elements().addClass("away");
    some.removeClass(near ? "away faint quiet" : "away");
    if (told.many && !near) tile();
    else arrange(some);
    nearButton.setAttribute("aria-pressed", String(near));
    place.dataset.shown = String(some.nodes().length);
    fit();
  }

  function fit() {
    cy.resize();
    cy.fit(shown, 12);
    if (cy.zoom() > 1.4) cy.zoom({ level: 1.4, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
    cy.userPanningEnabled(!coarse);
  }

  function zoom(factor) {
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
    if (chosen !== null) cy.center(cy.getElementById(ids.get(chosen)));
    cy.userPanningEnabled(true); // part of it may lie outside now
  }

  // What is searched for is all that is listed, folded away or not.
  const find = document.getElementById("find");
  const sought = document.getElementById("find-concept");
  const matching = () => {
    const words = sought.value.trim().toLowerCase();
    return words ? [...concepts.keys()].filter((name) => name.toLowerCase().includes(words)) : null;
  };

  function filter() {
    const names = matching();
    const wanted = new Set(names);
    for (const [name, one] of concepts) one.item.hidden = names !== null && !wanted.has(name);
    for (const group of document.querySelectorAll("#standing .group")) {
      const any = group.querySelector("[data-concept]:not([hidden])") !== null;
      group.hidden = names !== null && !any;
      if (names !== null && any) group.setAttribute("open", "");
    }
    document.getElementById("no-match").hidden = names === null || names.length > 0;
    document.getElementById("found").textContent = names === null ? "" : `${names.length} of ${concepts.size}`;
  }

  let focused = false;
  let centre = null;
  let shown = cy.elements();
  nearButton.hidden = !told.many;
  find.hidden = !told.many;
  paint();
  choose(null);
  if (told.many) focus();
  else overview();
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    const names = matching();
    if (names?.length) choose(names[0]);
  });
  sought.addEventListener("input", () => {
    filter();
    if (!sought.value) for (const fold of document.querySelectorAll("#standing details.fold")) fold.open = false;
  });
  cy.on("tap", "node", (event) => choose(event.target.data("name") === chosen ? null : event.target.data("name")));
  cy.on("tap", (event) => { if (event.target === cy) choose(null); });
  new ResizeObserver(fit).observe(place);

  tools.hidden = false;
  tools.addEventListener("click", (event) => {
    const what = event.target.dataset.zoom;
    if (what === "fit") overview();
    else if (what === "near") focus();
    else if (what) zoom((told.many && !focused ? 1.8 : 1.3) ** (what === "in" ? 1 : -1));
  });
  document.addEventListener("click", (event) => {
    const item = event.target.closest(".pick")?.closest("[data-concept]");
    if (item) choose(item.dataset.concept === chosen ? null : item.dataset.concept);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id !== "standing") return;
    told = read();
    paint();
    filter();
    choose(concepts.has(chosen) ? chosen : null);
    if (focused) focus();
  });
  place.dataset.drawn = String(cy.nodes().length);
})();
