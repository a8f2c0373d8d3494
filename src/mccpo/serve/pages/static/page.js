// What all pages share: times in the reader's own zone, parts that keep themselves up to date, and a way to stop them.
"use strict";

(() => {
  const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const MOST_ROWS = 300;
  let paused = false;

  function localise(root) {
    for (const element of root.querySelectorAll("time[datetime]:not([title])")) {
      const at = new Date(element.dateTime);
      const today = at.toDateString() === new Date().toDateString();
      element.title = element.dateTime;
      element.textContent = today ? time.format(at) : day.format(at);
    }
  }

  // A row whose certificate is being read stays as it is; the oldest rows go, so that the page does not grow for ever.
  function trim() {
    const rows = document.querySelectorAll("#stream > .decision");
    for (const row of [...rows].slice(MOST_ROWS)) row.remove();
  }

  // A part that is replaced keeps what its reader had opened in it.
  const opened = new Set();

  document.addEventListener("htmx:beforeRequest", (event) => {
    const polls = event.target.hasAttribute("data-poll");
    if (polls && (paused || document.hidden)) event.preventDefault();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    opened.clear();
    for (const details of event.detail.target.querySelectorAll("details[open]")) opened.add(details.id || details.parentElement.id);
  });
  document.addEventListener("htmx:afterSettle", () => {
    for (const id of opened) (id && document.querySelector(`details#${id}, #${id} > details`))?.setAttribute("open", "");
    localise(document);
    trim();
  });

  const lost = document.getElementById("lost");
  const seen = (answers) => { if (lost) lost.hidden = answers; };
  document.addEventListener("htmx:sendError", () => seen(false));
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) seen(true);
    else if (event.detail.xhr && event.detail.xhr.status >= 500) seen(false);
  });

  const pause = document.getElementById("pause");
  pause?.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
  });

  localise(document);
})();
