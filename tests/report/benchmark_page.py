"""The tables of a benchmark's page, as a test reads them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any


class Tables(HTMLParser):
    """The sortable tables of a page: their rows as (text, link, key) of every cell."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[tuple[str, str], list[list[dict[str, object]]]] = {}
        self._section, self._cell = "", None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        about = dict(attrs)
        if tag == "section":
            self._section = about.get("id", "")
        if tag == "table":
            self._rows = self.tables.setdefault((self._section, about["class"].removeprefix("sortable ")), [])
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "th"):
            self._cell = {"text": "", "key": about.get("data-sort"), "links": [], "head": about.get("scope") == "col"}
            self._rows[-1].append(self._cell)
        if tag == "a" and self._cell is not None:
            self._cell["links"].append(about["href"])

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell["text"] += data


def row_of(rows: list[Any], name: str) -> Any:
    """The row of a method, or of whatever a row begins with."""
    return next(row for row in rows if row[0]["text"].startswith(name))
