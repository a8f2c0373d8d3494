"""Decisions that mccpo's own service exports: JSON lines or CSV, plain or gzipped.

A decision with an outcome is an answer. One that still waits for it, or never got it, is skipped and counted. Labels of
learners are groups. The chance with which the service chose what it did becomes `propensity`; it is null where a
teacher chose.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from mccpo.logs import table
from mccpo.logs.reading.delimited import Opened, Ragged, header_of, open_table
from mccpo.logs.reading.fields import Chance, Clock, Field, Seconds, Text, Truth, Whole
from mccpo.logs.reading.headers import LINE
from mccpo.logs.reading.json_lines import json_lines
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.reading.text_files import check_file, is_parquet, open_text, reading
from mccpo.logs.sources.registry import register_source

COLUMNS = (
    "learner", "concept", "item", "order", "time", "correct", "hints", "seconds", "decision", "propensity", "release",
)  # fmt: skip
"""What is taken of an export, besides the columns of groups."""
_WHOLE = pl.col("release") != ""
"""Whether a row goes on past the outcome: one that was cut short is no decision without an outcome."""
_FIELDS: Mapping[str, Field] = {
    "learner": Text("learner", required=True),
    "concept": Text("concept", required=True),
    "item": Text("item", required=True),
    "time": Clock("time", required=True, formats=("%Y-%m-%dT%H:%M:%S%.f%#z",)),
    "correct": Truth("correct", required=True),
    "hints": Whole("hints", least=0),
    "seconds": Seconds("seconds"),
    "propensity": Chance("propensity"),
}


@register_source("decisions", "decisions as mccpo serve exports them (JSON lines or CSV)")
def decisions(path: Path, options: ReadOptions) -> Source:
    """JSON lines or a table, by how the file begins."""
    check_file(path)
    opened, groups = _lines(path, options) if _is_json(path, options) else _table(path, options)
    return Source(
        open=lambda *_: opened,
        fields=_FIELDS,
        order=(Whole("order", required=True, dtype=pl.Int64),),
        event=Text("decision", required=True),  # exports may overlap, and labels may have changed between them
        skips={"no outcome": (pl.col("correct").is_null() | (pl.col("correct") == "")) & _WHOLE},
        groups={name.removeprefix(table.GROUP): Text(name) for name in groups},
    )


def _is_json(path: Path, options: ReadOptions) -> bool:
    if is_parquet(path):
        return False
    with reading(path), open_text(path, options.encoding or "utf-8") as handle:
        return next((line.lstrip()[0] for line in handle if line.strip()), "") == "{"


def _table(path: Path, options: ReadOptions) -> tuple[Opened, list[str]]:
    delimiter, encoding = options.delimiter or ",", options.encoding or "utf-8"
    header = header_of(path, delimiter=delimiter, encoding=encoding)
    groups = [name for name in header if name.startswith(table.GROUP)]
    return open_table(path, COLUMNS, delimiter=delimiter, encoding=encoding, optional=groups), groups


def _lines(path: Path, options: ReadOptions) -> tuple[Opened, list[str]]:
    """The rows, and the groups that any of them has: learners need not have the same labels."""
    rows: list[dict[str, str | None]] = []
    lines, ragged = [], []
    groups: dict[str, None] = {}
    with reading(path), open_text(path, options.encoding or "utf-8") as handle:
        for line, row in json_lines(handle):
            if not isinstance(row, dict):
                ragged.append(Ragged(line, "not JSON"))
                continue
            own = [name for name in row if name.startswith(table.GROUP)]
            groups |= dict.fromkeys(own)
            lines.append(line)
            rows.append({name: _text(row.get(name)) for name in (*COLUMNS, *own)})
    schema = {LINE: pl.UInt32, **dict.fromkeys((*COLUMNS, *groups), pl.String)}
    columns = {name: [row.get(name) for row in rows] for name in (*COLUMNS, *groups)}
    return Opened(pl.LazyFrame({LINE: lines, **columns}, schema), ragged), list(groups)


def _text(value: Any) -> str | None:
    """A value as the text that fields read."""
    return value if value is None or isinstance(value, str) else json.dumps(value)
