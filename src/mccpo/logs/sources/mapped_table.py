"""Any table: CSV, TSV or parquet, its columns mapped to the canonical ones.

A column that bears a canonical name is taken without being mapped. Times are numbers since 1970 (seconds, milliseconds,
microseconds or nanoseconds, by their size) or written out. Small numbers, of data sets that count from their first
event, are taken as seconds since 1970 all the same: differences are right, days are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from mccpo.errors import InputError
from mccpo.logs import table
from mccpo.logs.reading.delimited import Opened, first_texts, header_of, open_table
from mccpo.logs.reading.fields import (
    ISO,
    NO_ANSWER,
    NOT_KNOWN,
    SPREADSHEET,
    Chance,
    Clock,
    Concepts,
    Epoch,
    Field,
    Seconds,
    Signal,
    Text,
    Truth,
    Whole,
)
from mccpo.logs.reading.headers import check_columns, check_delimiter
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.reading.text_files import reading
from mccpo.logs.sources.registry import register_source

RENUMBERED = {
    "learner": "user_id", "item": "item_id", "time": "timestamp", "correct": "correct", "concept": "skill_id"
}  # fmt: skip
"""The columns in which several data sets are passed on, with their ids renumbered."""
_EVENT = "event"
_SUFFIXES = {".tsv": "\t", ".tab": "\t"}
_SAMPLE = 1000
_ZEROS = frozenset({"0", "0.0"})
_SHARED = (frozenset({"concept", "item"}), frozenset({"event", "order"}), frozenset({"event", "item"}))
"""Fields that one column may give together: an exercise can be the concept too, a number can order events."""


def _source(path: Path, options: ReadOptions) -> Source:
    header = header_of(path, delimiter=_delimiter(path, options), encoding=options.encoding or "utf-8")
    mapping = _mapping(path, header, options)
    kinds: dict[str, Field] = {
        "learner": Text(mapping["learner"], required=True),
        "concept": Concepts(mapping.get("concept", ""), unknown=NOT_KNOWN),
        "item": Text(mapping.get("item", ""), unknown=NOT_KNOWN),
        "correct": Truth(mapping["correct"], required=True, unknown=NOT_KNOWN),
        "attempts": Whole(mapping.get("attempts", ""), unknown=NOT_KNOWN, least=0),
        "hints": Whole(mapping.get("hints", ""), unknown=NOT_KNOWN, least=0),
        "seconds": Seconds(mapping.get("seconds", "")),
        "signal": Signal(mapping.get("signal", ""), unknown=NOT_KNOWN),
        "propensity": Chance(mapping.get("propensity", ""), unknown=NOT_KNOWN),
    }
    fields = {name: kind for name, kind in kinds.items() if name in mapping}
    if "time" in mapping:
        fields["time"] = _clock(path, mapping["time"], options, required="order" not in mapping)
        if "order" not in mapping and _EVENT not in mapping:
            _refuse_stopped_clock(path, mapping, options)
    order: list[str | Field] = []
    if "order" in mapping:
        order.append(Whole(mapping["order"], required=True, dtype=pl.Int64))
    if "time" in mapping:
        order.append("time")
    return Source(
        open=lambda path, options: _open(path, options, tuple(dict.fromkeys(mapping.values()))),
        fields=fields,
        order=order,
        event=Text(mapping[_EVENT], required=True) if _EVENT in mapping else None,
        skips={"no answer": pl.col(mapping["correct"]).is_in(list(NO_ANSWER))},
        groups={
            name.removeprefix(table.GROUP): Text(column)
            for name, column in mapping.items()
            if name.startswith(table.GROUP)
        },
    )


@register_source(
    "table", "any CSV, TSV or parquet, its columns mapped (--map learner=COLUMN,correct=COLUMN,…)", takes_mapping=True
)
def mapped_table(path: Path, options: ReadOptions) -> Source:
    """A table whose columns the user maps, or that bear canonical names."""
    return _source(path, options)


def renumbered(path: Path, options: ReadOptions) -> Source | None:
    """The source of a file that passes on another release in `RENUMBERED` columns, None where the file does not."""
    header = header_of(path, delimiter=options.delimiter or ",", encoding=options.encoding or "utf-8")
    if not set(RENUMBERED.values()) <= set(header):
        return None
    return _source(path, replace(options, mapping=RENUMBERED))


def _open(path: Path, options: ReadOptions, columns: tuple[str, ...]) -> Opened:
    return open_table(path, columns, delimiter=_delimiter(path, options), encoding=options.encoding or "utf-8")


def _delimiter(path: Path, options: ReadOptions) -> str:
    named = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return options.delimiter or _SUFFIXES.get(named.suffix.lower(), ",")


def _mapping(path: Path, header: list[str], options: ReadOptions) -> Mapping[str, str]:
    """What the user maps, then columns that bear canonical names; without either, the columns of `RENUMBERED`."""
    names = (*table.COLUMNS, *table.OPTIONAL, _EVENT)
    for name in options.mapping:
        if name not in names and not name.startswith(table.GROUP):
            raise InputError(
                f"there is no canonical column {name!r} to map to", fix=f"choose from {', '.join(names)} or group_NAME"
            )
    own = {name: name for name in header if name in names or name.startswith(table.GROUP)}
    if not options.mapping and set(RENUMBERED.values()) <= set(header):
        own = RENUMBERED
    mapping = {**own, **options.mapping}
    check_columns(path, header, tuple(mapping.values()), _delimiter(path, options))
    _check_once(path, mapping)
    lacking = [name for name in ("learner", "correct") if name not in mapping]
    if lacking:
        check_delimiter(path, header, lacking, _delimiter(path, options))
        shown = ", ".join(header[:20])
        raise InputError(
            f"nothing says which column of {path} is {' and which is '.join(lacking)}; it has {shown[:500]}",
            fix="add " + ",".join(f"{name}=COLUMN" for name in lacking) + " to --map",
        )
    return mapping


def _check_once(path: Path, mapping: Mapping[str, str]) -> None:
    """Refuses a column that is to be two things at once, but for those of `_SHARED` and groups."""
    fields_of: dict[str, list[str]] = {}
    for name, column in mapping.items():
        if not name.startswith(table.GROUP):
            fields_of.setdefault(column, []).append(name)
    for column, names in fields_of.items():
        if len(names) > 1 and frozenset(names) not in _SHARED:
            raise InputError(
                f"the column {column!r} of {path} is to be {' and '.join(names)} at once",
                fix="map each to a column of its own, or leave one of them out",
            )


def _clock(path: Path, column: str, options: ReadOptions, *, required: bool) -> Field:
    """How times are told, by the first of them. Where an order tells which event came first, no row needs a time."""
    with reading(path):
        texts = first_texts(_open(path, options, (column,)), column, _SAMPLE)
    numbers = texts.cast(pl.Float64, strict=False).drop_nulls().drop_nans()
    if 2 * len(numbers) <= len(texts):
        return Clock(column, required, NOT_KNOWN, formats=(*ISO, *SPREADSHEET))
    most = float(numbers.abs().max() or 0)  # type: ignore[arg-type]  # a number
    per_second = next((10**n for n in (9, 6, 3) if most > 10 ** (8 + n)), 1)
    return Epoch(column, required, NOT_KNOWN, per_second=per_second)


def _refuse_stopped_clock(path: Path, mapping: Mapping[str, str], options: ReadOptions) -> None:
    """Refuses times that all are 0. By them, the same answer given twice would count as one row that stands twice."""
    learner, time = mapping["learner"], mapping["time"]
    with reading(path):
        seen = set(first_texts(_open(path, options, (time,)), time, _SAMPLE))
        if not seen or seen - _ZEROS:
            return
        counts = [pl.len(), pl.col(learner).n_unique(), (~pl.col(time).is_in(list(_ZEROS))).sum()]
        count = _open(path, options, (learner, time)).apply(lambda opened: opened.frame.select(counts).collect())
    rows, learners, others = count.row(0)
    if rows > learners and not others:
        raise InputError(
            f"{path}: every time is 0, which is 1970-01-01, so times tell nothing",
            fix="leave time out of --map, and name the other columns there (learner=COLUMN,correct=COLUMN,…)",
        )
