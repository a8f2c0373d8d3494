// Tables are sorted by their heads: by a click, or by Enter or Space on a head that has the focus. Whatever has no value
// stays last. Without a script the tables stand in the order in which they were written.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const ascending = before ? before === "descending" : head.dataset.first === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.sort ?? "";
      const rows = [...table.tBodies[0].rows];
      rows.sort((one, other) => compare(key(one), key(other), ascending));
      table.tBodies[0].append(...rows);
    });
  });
}

function compare(one, other, ascending) {
  if (one === "" || other === "") return (one === "") - (other === "");
  const difference = Number(one) - Number(other);
  const order = Number.isNaN(difference) ? one.localeCompare(other, "en") : difference;
  return ascending ? order : -order;
}
