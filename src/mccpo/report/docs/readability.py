"""How hard the pages of a folder are to read: `python -m mccpo.report.docs.readability docs`.

It counts what makes a reader start a sentence anew: length, passive voice and inverted order. Only prose counts, not
code, tables, headings or quoted output. The same script on the same pages, before and after, says what a rewrite did.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

LONG = 25
"""A sentence of more words than these is long."""

WIDE = 120
"""A line of prose of more characters than these is wide."""

_FENCE = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_FRONT = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NO_PROSE = re.compile(r"^(#|\||    |\t|:::|\$\$|\[[^\]]+\]: |!\[|\(\w[\w-]*\)=)")
_ITEM = re.compile(r"^ *([-*+]|\d+\.|:) +")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"(`+).+?\1")
_END = re.compile(r"(?<=[.!?:])[*_)\"'”]*\s+(?=[\"'“*_(]*[A-ZΔΣκλθ\d`])")
_ABBREVIATED = re.compile(r"\b(e\.g|i\.e|al|vs|cf|Fig|No)\.$")
_WORD = re.compile(r"[\w’'-]*[A-Za-zΔκλθ][\w’'-]*")
_IRREGULAR = (
    "given|made|taken|told|known|shown|seen|found|held|kept|left|lost|met|put|read|run|said|sent|set|taught|written|drawn"
    "|chosen|cut|begun|built|bound|brought|learnt|meant|paid|sold|thought|understood|won|worn"
)
_PASSIVE = re.compile(
    rf"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+|not\s+|never\s+|also\s+)?(?:\w{{2,}}ed|{_IRREGULAR})\b",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"^(?:of (?:the|all|an?|those|these|which|whom|\d)|nor |neither |never |not only"
    r"|so (?:is|are|does|do|did|was|were)\b"
    r"|whoever|whatever|whichever|who |among |beside |between |within |beyond |by (?:the|this|that|which|whom))"
    r"|\b(?:by|of|in|to|for|with|on|from|after|behind|under|at) (?:which|whom|whose)\b|\bwhereupon\b|\bthereof\b"
    r"|; so (?:is|are|does|do)\b|, (?:nor|neither) ",
    re.IGNORECASE,
)


class Prose(NamedTuple):
    """What a page asks of its reader."""

    sentences: int
    words: int
    long: int
    passive: int
    inverted: int
    widest: int
    """The characters of the longest line of prose."""


def together(pages: Iterable[Prose]) -> Prose:
    """What several pages ask: the sums, and the longest line of all."""
    columns = list(zip(*pages, strict=True)) or [(0,)] * 6
    sentences, words, long, passive, inverted = (sum(column) for column in columns[:5])
    return Prose(sentences, words, long, passive, inverted, max(columns[5]))


def sentences(text: str) -> Iterator[str]:
    """The sentences of a Markdown page, without its markup.

    >>> list(sentences("# Title\\n\\nA gate opens. It shuts, e.g. at night.\\n\\n- `code` runs\\n\\n| a | table |"))
    ['A gate opens.', 'It shuts, e.g. at night.', 'code runs']
    """
    for paragraph in _paragraphs(text):
        words = _CODE.sub("code", _LINK.sub(r"\1", paragraph))
        sentence = ""
        for part in _END.split(words):
            sentence = f"{sentence} {part}".strip()
            if not _ABBREVIATED.search(sentence):
                yield sentence
                sentence = ""
        if sentence:
            yield sentence


def _paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in [*_prose_lines(text), ""]:
        starts = _ITEM.match(line)
        if lines and (starts or not line.strip()):
            yield " ".join(lines)
            lines = []
        if line.strip():
            lines.append(line[starts.end() if starts else 0 :].strip(" >*"))


def _prose_lines(text: str) -> list[str]:
    bare = _FENCE.sub("", _COMMENT.sub("", _FRONT.sub("", text)))
    kept, inside_item = [], False
    for line in bare.splitlines():
        inside_item = bool(_ITEM.match(line)) or (inside_item and (not line.strip() or line.startswith("  ")))
        indented = line.startswith(("    ", "\t")) and not inside_item
        kept.append("" if indented or (_NO_PROSE.match(line) and not inside_item) else line)
    return kept


def measure(text: str) -> Prose:
    """What a Markdown page asks of its reader.

    >>> measure("The gate opens. By which it is known that nobody was held back.")
    Prose(sentences=2, words=13, long=0, passive=1, inverted=1, widest=63)
    """
    found = [sentence for sentence in sentences(text) if _WORD.search(sentence)]
    lengths = [len(_WORD.findall(sentence)) for sentence in found]
    return Prose(
        len(found),
        sum(lengths),
        sum(length > LONG for length in lengths),
        sum(bool(_PASSIVE.search(sentence)) for sentence in found),
        sum(bool(_INVERTED.search(sentence)) for sentence in found),
        max(map(len, _prose_lines(text)), default=0),
    )


def _row(name: str, prose: Prose) -> str:
    n = max(prose.sentences, 1)
    shares = "".join(f"{100 * count / n:9.1f}%" for count in (prose.long, prose.passive, prose.inverted))
    return f"{name:44}{prose.sentences:10,}{prose.words / n:10.1f}{shares}{prose.widest:8}"


def main(arguments: Sequence[str]) -> int:
    """Prints a row for each page below a folder, or for the pages that are named after it, and one for all."""
    docs, *named = arguments
    pages = [Path(docs) / name for name in named]
    pages = pages or [page for page in sorted(Path(docs).rglob("*.md")) if "_build" not in page.parts]
    head = f"{'page':44}{'sentences':>10}{'words':>10}{f'> {LONG}':>10}{'passive':>10}{'inverted':>10}{'widest':>8}\n"
    sys.stdout.write(head)
    measured = {page: measure(page.read_text(encoding="utf-8")) for page in pages}
    for page, prose in measured.items():
        sys.stdout.write(_row(str(page.relative_to(docs)), prose) + "\n")
    sys.stdout.write(_row("all", together(measured.values())) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
