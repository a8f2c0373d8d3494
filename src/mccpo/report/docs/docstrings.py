"""Docstrings as pages show them, and tables as Markdown has them."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH = 118
_MARK = re.compile(r" *(?:- )?")
_PART = re.compile(r"^\*\*([^*\n]+):\*\*[ \n]", re.MULTILINE)


@dataclass(frozen=True)
class Docstring:
    """A docstring: its first paragraph, what follows before any part, and the parts `**Name:** …` by name."""

    first: str
    rest: str
    parts: Mapping[str, str]


def parse_docstring(docstring: str | None) -> Docstring:
    """The parts of a docstring.

    >>> parse_docstring("A rule.\\n\\n**Problem:** none.\\n\\n    a = b\\n\\n**Source:** nobody.").parts["Problem"]
    'None.\\n\\n    a = b'
    """
    before, *named = _PART.split(inspect.cleandoc(docstring or ""))
    parts = {name: _begun(text.strip("\n")) for name, text in zip(named[::2], named[1::2], strict=True)}
    first, _, rest = before.strip().partition("\n\n")
    return Docstring(first.replace("\n", " "), rest.strip("\n"), parts)


def _begun(text: str) -> str:
    """A part under a heading of its own begins with a capital letter, unless it begins with a symbol."""
    word = text.split(maxsplit=1)[0].rstrip(".,:;") if text else ""
    return text[:1].upper() + text[1:] if word.isalpha() and word.isascii() else text


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; a bar in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def wrapped(page: str) -> str:
    """A page whose lines of prose fit in `WIDTH`; headings, tables and code stay as they are.

    >>> wrapped("- " + "word " * 30)[:4], max(map(len, wrapped("word " * 60).splitlines())) <= WIDTH
    ('- wo', True)
    """
    lines, in_code = [], False
    for line in page.split("\n"):
        in_code ^= line.startswith("```")
        if in_code or len(line) <= WIDTH or line.startswith(("#", "|", "    ", "```")):
            lines.append(line)
        else:
            hang = " " * len(_MARK.match(line)[0])  # type: ignore[index]  # it matches any line
            lines += textwrap.wrap(
                line, WIDTH, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
            )  # fmt: skip
    return "\n".join(lines)
