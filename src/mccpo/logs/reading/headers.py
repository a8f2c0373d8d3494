"""The first line of a delimited file: which columns there are, and whether they are the ones that are needed."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from mccpo.errors import InputError
from mccpo.logs.reading.text_files import LONGEST_HEADER, open_text, reading

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
LINE = "line"
"""The column that says on which line a row begins."""
FILE = "file"
"""The column that says which of several files a row is from."""


def check_header(path: Path, header: Sequence[str]) -> None:
    """Refuses a header with a name that is kept for us."""
    if LINE in header:
        raise InputError(
            f"{path} has a column {LINE!r}, a name that is kept for the lines of a file", fix="give it another name"
        )


def check_columns(path: Path, header: Sequence[str], columns: Sequence[str], delimiter: str = ",") -> None:
    """Refuses a header that lacks a column, saying whether another delimiter would have found it."""
    missing = [name for name in columns if name not in header]
    if not missing:
        return
    check_delimiter(path, header, columns, delimiter)
    shown = ", ".join(header[:20]) + (" …" if len(header) > 20 else "")
    raise InputError(
        f"{path} has no column {missing[0]!r}; it has {shown[:500]}", fix="check the format, or map columns with --map"
    )


def check_delimiter(path: Path, header: Sequence[str], columns: Sequence[str], delimiter: str) -> None:
    """Refuses a header that another delimiter splits into `columns` and perhaps others, or that is left in one piece.

    Called where columns are missing: a table that needs only one column may have a name with a semicolon in it.
    """
    line = delimiter.join(header)
    for other, words in DELIMITERS.items():
        split = next(csv.reader([line], delimiter=other), []) if other != delimiter else []
        if (columns and set(columns) <= set(split)) or (len(header) == 1 and len(split) > 1):
            raise InputError(
                f"{path} is separated by {words}, not by {DELIMITERS.get(delimiter, repr(delimiter))}",
                fix=f"give --delimiter {other!r}" if other != "\t" else "give --delimiter tab",
            )


def read_header(path: Path, delimiter: str, encoding: str, *, numbered: bool = False) -> list[str]:
    """The names of the columns in the first line."""
    with reading(path), open_text(path, encoding) as handle:
        line = handle.readline(LONGEST_HEADER)
    if "\0" in line:
        little = "\0" in line[1::2]  # where the letters of a header are ASCII, every other byte is null
        fix = f"give --encoding {'utf-16-le' if little else 'utf-16-be'}, or save it as UTF-8"
        raise InputError(f"{path} holds null bytes, as UTF-16 text does", fix=fix)
    header = next(csv.reader([line.lstrip("\ufeff").rstrip("\r\n")], delimiter=delimiter), [])
    if not header or not any(name.strip() for name in header):
        raise InputError(f"{path} has no header in its first line", fix="give a file whose first line names columns")
    check_header(path, header)
    if numbered:
        return [name if not (again := header[:at].count(name)) else f"{name}.{again}" for at, name in enumerate(header)]
    twice = next((name for at, name in enumerate(header) if name in header[:at]), None)
    if twice is not None:
        raise InputError(f"{path} has the column {twice!r} twice", fix="give each column a name of its own")
    return header
