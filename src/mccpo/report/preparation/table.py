"""A table of words and numbers as these pages show it."""

from __future__ import annotations

from collections.abc import Sequence

from mccpo.report.markup import Html, el


def plain_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    """Rows under the names of their columns; the first cell of a row is its heading."""
    head = el("tr", *(el("th", name, scope="col") for name in names))
    body = [el("tr", el("th", row[0], scope="row"), *(el("td", cell) for cell in row[1:])) for row in rows]
    return el("div", el("table", el("thead", head), el("tbody", *body), class_="levels"), class_="scroll", tabindex="0")
