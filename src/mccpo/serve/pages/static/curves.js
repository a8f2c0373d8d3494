// The monitor's curves. A cost is drawn as a share of its budget, so that one line shows where the budget is.
"use strict";

(() => {
  const root = document.getElementById("curves");
  const nothing = document.getElementById("no-curves");
  const EVERY = 5000;
  const LASTS = { hour: 3600, day: 86400, year: 366 * 86400 }[root.dataset.span];
  const series = {
    right: ["right", "#1a7f4e"],
    decoupling: ["decoupling", "#c2570c"],
    fallback: ["fallback", "#7a3fb0"],
    override: ["override", "#1d5fbf"],
    deferral: ["deferred", "#0f6f7a"],
    gain: ["gain", "#1a7f4e"],
    c2: ["too little progress", "#c2570c"],
    c3: ["too little challenge", "#7a3fb0"],
    c4: ["busy without learning", "#1d5fbf"],
  };
  const percent = (value) => `${(100 * value).toFixed(Math.abs(value) < 0.1 && value !== 0 ? 1 : 0)}\u00a0%`;
  const small = (value) => value.toPrecision(2);
  const plots = new Map();

  // Up to now, and back as far as the span, or a sixth of it where nothing is older.
  function recent(_, first) {
    const now = Date.now() / 1000;
    return [Math.max(now - LASTS, Math.min(first ?? now, now - LASTS / 6)), now];
  }

  function shown(names, { columns, budgets }) {
    const data = [columns.time];
    for (const name of names) {
      const budget = budgets[name];
      data.push(name in budgets ? columns[name].map((cost) => (cost === null || !budget ? null : cost / budget)) : columns[name]);
    }
    if (names.includes("c2")) data.push(columns.time.map(() => 1));
    return data;
  }

  function make(place, names) {
    const costs = names.includes("c2");
    const write = names.includes("gain") ? small : percent;
    const lines = names.map((name) => ({
      label: series[name][0],
      stroke: series[name][1],
      width: 2,
      points: { size: 5 },
      value: (_, value) => (value === null || value === undefined ? "–" : write(value)),
    }));
    if (costs) lines.push({ label: "budget", stroke: "#14181f", width: 1, dash: [6, 4], points: { show: false }, value: () => "100 %" });
    const fromZero = (_, low, high) => [Math.min(0, low ?? 0), Math.max(1.08 * (high ?? 0), costs ? 1.1 : names.includes("right") ? 1 : names.includes("gain") ? 0.02 : 0.05)];
    return new uPlot({
      width: place.clientWidth,
      height: 190,
      series: [{ label: "time" }, ...lines],
      scales: { x: { range: recent }, y: { range: fromZero } },
      axes: [
        { stroke: "#4b5260", grid: { stroke: "#e9ebef", width: 1 }, ticks: { show: false } },
        { stroke: "#4b5260", size: 58, grid: { stroke: "#e9ebef", width: 1 }, ticks: { show: false }, values: (_, ticks) => ticks.map(write) },
      ],
    }, [[]], place);
  }

  function describe(place, names, data) {
    const parts = names.map((name, at) => {
      const last = data[at + 1].findLast((value) => value !== null);
      return `${series[name][0]}: ${last === undefined ? "nothing yet" : `${names.includes("gain") ? small(last) : percent(last)} at the end`}`;
    });
    place.setAttribute("aria-label", `A curve over time. ${parts.join("; ")}.`);
  }

  function draw(found) {
    const any = found.columns.time.length > 0;
    nothing.hidden = any;
    root.hidden = !any;
    if (!any) return;
    for (const place of root.querySelectorAll("[data-plot]")) {
      const names = place.dataset.plot.split(" ");
      if (!plots.has(place)) plots.set(place, make(place, names));
      const data = shown(names, found);
      plots.get(place).setData(data);
      describe(place, names, data);
    }
    root.dataset.drawn = String(found.columns.time.length);
  }

  async function refresh() {
    if (document.hidden) return;
    try {
      const answer = await fetch(root.dataset.source, { headers: { "HX-Request": "true" } });
      if (answer.status === 401) location.assign(answer.headers.get("HX-Redirect"));
      else if (answer.ok) draw(await answer.json());
    } catch {
      // the numbers below say that the service does not answer; the next time may succeed
    }
  }

  new ResizeObserver(() => {
    for (const [place, plot] of plots) plot.setSize({ width: place.clientWidth, height: 190 });
  }).observe(root);
  setInterval(refresh, EVERY);
  refresh();
})();
