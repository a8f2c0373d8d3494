// Search, and one concept with its neighbours, read from the list of the page. Names are only ever set as text.
"use strict";
(() => {
  const MOST = 14; // neighbours on a side that are drawn; the others are counted
  const HITS = 200; // found concepts that are shown at once
  const SVG = "http://www.w3.org/2000/svg";
  const items = [...document.querySelectorAll("li[id^=c]")];
  const name = (item) => item.firstChild.textContent;
  const places = new Map(items.map((item) => [item.id, item]));
  const linked = (item, kind) => [...item.querySelectorAll(`.${kind} a`)].map((a) => places.get(a.hash.slice(1)));
  const find = document.getElementById("find");
  const found = document.getElementById("found");
  const near = document.getElementById("near");
  let chosen = null;

  const make = (tag, attributes, text) => {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const short = (text) => (text.length > 32 ? `${text.slice(0, 31)}…` : text);

  function box(svg, item, x, y, centre) {
    const group = make("g", { class: `${centre ? "centre " : ""}${item.className}`, transform: `translate(${x} ${y})` });
    group.append(make("title", {}, name(item)), make("rect", { class: "box", width: 240, height: 28, rx: 6 }),
      make("text", { x: 10, y: 18 }, short(name(item))));
    group.addEventListener("click", () => choose(item));
    svg.append(group);
  }

  function draw(item) {
    const sides = [linked(item, "n"), linked(item, "o")];
    const rows = Math.max(1, ...sides.map((side) => Math.min(side.length, MOST) + (side.length > MOST ? 1 : 0)));
    const high = rows * 38 + 12;
    const svg = make("svg", { viewBox: `0 0 900 ${high}`, width: 900, height: high });
    const middle = high / 2;
    sides.forEach((side, after) => {
      const shown = side.slice(0, MOST);
      const lines = shown.length + (side.length > MOST ? 1 : 0);
      const x = after ? 655 : 5;
      shown.forEach((other, at) => {
        const y = middle + (at - lines / 2) * 38 + 5;
        const [from, to] = after ? [570, x] : [245, 330];
        const [start, end] = after ? [middle, y + 14] : [y + 14, middle];
        svg.append(make("path", { d: `M${from} ${start}C${(from + to) / 2} ${start} ${(from + to) / 2} ${end} ${to} ${end}` }));
        box(svg, other, x, y, false);
      });
      if (side.length > MOST) {
        const y = middle + (shown.length - lines / 2) * 38 + 24;
        svg.append(make("text", { class: "more", x: x + 10, y }, `and ${side.length - MOST} more, in the list`));
      }
    });
    box(svg, item, 330, middle - 14, true);
    near.replaceChildren(svg);
    const level = item.closest("details").querySelector("summary").textContent.split(":")[0];
    document.getElementById("about").textContent =
      `${name(item)}: ${level.toLowerCase()}, needs ${sides[0].length}, opens ${sides[1].length}. Choose a box to go on.`;
  }

  function choose(item) {
    chosen?.classList.remove("chosen");
    chosen = item;
    item.classList.add("chosen");
    draw(item);
  }

  function filter() {
    const words = find.value.trim().toLowerCase();
    const hits = words ? items.filter((item) => name(item).toLowerCase().includes(words)) : items;
    const shown = new Set(words ? hits.slice(0, HITS) : items);
    for (const item of items) item.hidden = !shown.has(item);
    for (const level of document.querySelectorAll("details")) {
      const any = level.querySelector("li:not([hidden])") !== null;
      level.hidden = !any;
      level.open = words ? any : false;
    }
    found.textContent = words ? ` ${hits.length} of ${items.length}${hits.length > HITS ? `, the first ${HITS} shown` : ""}` : "";
    if (words && hits.length) choose(hits[0]);
  }

  find.addEventListener("input", filter);
  document.addEventListener("click", (event) => {
    const item = event.target.closest("li[id^=c]");
    if (item && !event.target.closest("a")) choose(item);
  });
  window.addEventListener("hashchange", () => {
    const item = places.get(location.hash.slice(1));
    if (item) {
      item.closest("details").open = true;
      item.scrollIntoView({ block: "center" });
      choose(item);
    }
  });
  document.getElementById("explore").hidden = false;
  const linkedTo = places.get(location.hash.slice(1));
  const most = items.reduce((best, item) => (item.querySelectorAll("a").length > best.querySelectorAll("a").length ? item : best), items[0]);
  choose(linkedTo ?? most);
  if (linkedTo) linkedTo.closest("details").open = true;
})();
