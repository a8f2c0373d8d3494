"""Damaged text: which lines are no rows, what is left without them, and on which line a row truly begins.

All of it goes through the file line by line, which is slow, and is done only where something is wrong.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LONGEST_ROW = 200
"""A quote that does not end within so many lines has no end."""
OPEN_QUOTE = "a quote without an end"


class DamagedLine(NamedTuple):
    """A line that is no row: its number among the rows, from 0 below the header, its line, and what is wrong."""

    row: int
    line: int
    reason: str


@dataclass(frozen=True)
class SoundRows:
    """A file without the lines that are no rows, and the lines that its rows begin on."""

    content: bytes
    lines: list[int]


def is_ragged(error: Exception) -> bool:
    """Whether polars gave up on a line that is no row: too many fields, or a quote without an end."""
    return any(sign in str(error) for sign in ("more fields", 'could not parse `"', "CSV malformed"))


def damaged_lines(
    handle: Iterable[str], width: int, delimiter: str, quote: str | None = '"'
) -> tuple[list[DamagedLine], bool]:
    """The lines that are no rows; and whether all quotes stand around fields, so that polars agrees on the others."""
    damaged = []
    plain = True
    for number, (line, row, text) in enumerate(_rows(handle, width, delimiter, quote), start=-1):
        if row is None:
            damaged.append(DamagedLine(number, line, OPEN_QUOTE))
        elif len(row) > width:
            damaged.append(DamagedLine(number, line, f"{len(row)} fields, where the header has {width}"))
        plain = plain and row is not None and (quote is None or _is_plain(text, delimiter))
    return damaged, plain


def without_damage(handle: Iterable[str], width: int, delimiter: str) -> SoundRows:
    """The file without the lines that are no rows."""
    lines: list[int] = []
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    for line, row, _ in _rows(handle, width, delimiter):
        if row is None or len(row) > width:
            continue
        if row == [""]:
            text.write("\n")
        else:
            writer.writerow(row)
        lines.append(line)
    return SoundRows(text.getvalue().encode(), lines[1:])


def line_numbers(handle: Iterable[str], rows: Sequence[int], delimiter: str) -> list[int]:
    """The lines on which some rows begin, counted from 0 below the header."""
    wanted = dict.fromkeys(rows, 0)
    last = max(rows, default=-1)
    for at, (line, *_) in enumerate(_rows(handle, None, delimiter), start=-1):
        if at in wanted:
            wanted[at] = line
        if at >= last:
            break
    return [wanted[row] for row in rows]


def _rows(
    handle: Iterable[str], width: int | None, delimiter: str, quote: str | None = '"'
) -> Iterator[tuple[int, list[str] | None, str]]:
    """The line each row begins on, its fields, and its text.

    There are no fields, but None, for a line whose quote has no end: the next line is then a new row.
    """
    source = iter(handle)
    waiting: list[str] = []
    line = 0
    while True:
        first = waiting.pop(0) if waiting else next(source, None)
        if first is None:
            return
        line += 1
        taken = [first]
        row = _row(taken, delimiter, quote)
        while row is None and len(taken) < _LONGEST_ROW:
            following = waiting.pop(0) if waiting else next(source, None)
            if following is None:
                break
            taken.append(following)
            row = _row(taken, delimiter, quote)
        if row is None or (width is not None and len(row) > width and _has_a_row(taken[1:], width, delimiter)):
            waiting = taken[1:] + waiting
            yield line, None, first
        else:
            yield line, row, "".join(taken)
            line += len(taken) - 1


def _has_a_row(lines: Sequence[str], width: int, delimiter: str) -> bool:
    """Whether lines that a quote has taken in hold a sound row: then the quote of a line before it has no end."""
    return any(_is_plain(line, delimiter) and len(_row([line], delimiter) or ()) == width for line in lines)


def _is_plain(text: str, delimiter: str) -> bool:
    """Whether quotes stand only around whole fields, and twice within them."""
    if '"' not in text:
        return True
    sign = re.escape(delimiter)
    field = rf'(?:"(?:[^"]|"")*"|[^"{sign}]*)'
    return re.fullmatch(rf"{field}(?:{sign}{field})*", text.rstrip("\r\n")) is not None


def _row(lines: Sequence[str], delimiter: str, quote: str | None = '"') -> list[str] | None:
    """The fields of a row, None where a quote is still open."""
    whole = "".join(lines).rstrip("\r\n")
    if quote is None or quote not in whole:
        return whole.split(delimiter)
    # Over several lines only what is well formed is one row: quotes of two rows would else make one of all between.
    for strict in (True, False) if len(lines) == 1 else (True,):
        try:
            return next(csv.reader(io.StringIO(whole, newline=""), delimiter=delimiter, strict=strict), [])
        except csv.Error as error:
            if "unexpected end" in str(error) or "limit" in str(error):
                return None
    return None
