"""Reads the tables and JSON files that recipes start from, with messages that say where they are wrong."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mccpo.curriculum.formats.fields import decode
from mccpo.curriculum.formats.files import read_bytes
from mccpo.errors import InputError


def read_table(path: Path, wanted: Sequence[str]) -> tuple[list[str], list[dict[str, str]]]:
    """The columns and rows of a CSV file that must have the columns `wanted`; `a|b` wants one of the two."""
    reader = csv.DictReader(io.StringIO(decode(read_bytes(path), str(path)), newline=""), strict=True)
    try:
        columns = list(reader.fieldnames or ())
        for column in wanted:
            if not set(column.split("|")) & set(columns):
                name = column.replace("|", " or ")
                shown = ", ".join(columns[:10]) or "none"
                raise InputError(
                    f"{path} has no column {name}", fix=f"give the file as released; its columns are {shown}"
                )
        rows = []
        for row in reader:
            if None in row or None in row.values():
                raise InputError(
                    f"{path} line {reader.line_num} does not have {len(columns)} cells", fix="fetch the file again"
                )
            rows.append(row)
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num} is not CSV ({error})", fix="fetch the file again") from error
    if not rows:
        raise InputError(f"{path} has no rows", fix="give the file as released")
    return columns, rows


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file that holds one object."""
    try:
        content = json.loads(decode(read_bytes(path), str(path)))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error})", fix="give the file as released") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a JSON object", fix="give the file as released")
    return content


def read_counts(path: Path) -> dict[str, int]:
    """How many interactions each item or concept has: a JSON object, or a CSV whose last column is the number."""
    if path.suffix.lower() == ".json":
        stated = read_object(path).items()
    else:
        columns, rows = read_table(path, ())
        stated = {row[columns[0]]: row[columns[-1]] for row in rows}.items()
    counts = {}
    for name, value in stated:
        try:
            counts[name] = int(value)
        except (TypeError, ValueError):
            raise InputError(f"{path}: {name!r} has the count {value!r}", fix="give whole numbers") from None
    return counts
