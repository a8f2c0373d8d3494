"""From a log to the canonical table, with every row accounted for.

rows = rejected + duplicates + merged + interactions: a row is rejected with its line and reason, or repeats another, or
adds a concept to an event that is there already, or is an event of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
from jaxtyping import Int

from mccpo import atomic
from mccpo.errors import InputError, MccpoError
from mccpo.logs.fields import Field
from mccpo.logs.opening import LINE, Opened, is_ragged, reading
from mccpo.logs.ordering import argsort
from mccpo.logs.source import Opening, Source
from mccpo.logs.table import BETWEEN_CONCEPTS, COLUMNS, GROUP, NAMES, encode

MOST_REJECTED = 0.01
"""The share of rejected rows above which reading stops, unless the user says otherwise."""
_REASON = "reason"
_KEY = "key_"
_EVENT = "event"
_UNUSED = "unused"


class Account(NamedTuple):
    """Where every row went, and what the table holds."""

    rows: int
    interactions: int
    learners: int
    concepts: int
    items: int
    without_concept: int
    rejected: int
    duplicates: int
    merged: int
    out_of_order: int
    first: str | None
    last: str | None
    reasons: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "reasons": dict(self.reasons)}


@dataclass(frozen=True, eq=False)
class Logs:
    """A canonical table, its account, and the rows that were rejected: line, reason and what they held."""

    table: pl.DataFrame
    account: Account
    rejects: pl.DataFrame
    source: str


def read_source(
    source: Source, path: Path, opening: Opening | None = None, *, most_rejected: float = MOST_REJECTED
) -> Logs:
    """Reads a log by its source. More rejected rows than the stated share are an error: the format is then wrong."""
    if not 0 <= most_rejected <= 1:
        raise InputError(f"the share of rejects is {most_rejected}", fix="give a number from 0 to 1")
    opened, reasons, parsed = _parsed(source, path, opening or Opening())
    rows = parsed.height + len(opened.ragged)
    if not rows:
        raise InputError(f"{path} has a header and no rows", fix="give a file with rows")
    wrong = parsed.filter(pl.col(_REASON) > 0).select(LINE, _REASON)
    rejects = _rejects(opened, wrong, reasons)
    rejected = rejects.height
    if rejected > most_rejected * rows:
        raise _too_many(path, rejects, rows, most_rejected)
    good = parsed.filter(pl.col(_REASON) == 0) if wrong.height else parsed
    del parsed
    good = good.drop(_REASON)
    good, merged, repeated = _merge(good) if source.event is not None else (good, 0, 0)
    table, out_of_order, duplicates = _in_order(good)
    table = _with_groups(source, path, table)
    account = Account(
        rows=rows,
        interactions=table.height,
        **_contents(table),
        rejected=rejected,
        duplicates=duplicates + repeated,
        merged=merged,
        out_of_order=out_of_order,
        reasons=dict(rejects.group_by(_REASON).len().sort("len", _REASON, descending=[True, False]).iter_rows()),
    )
    if account.rows != account.rejected + account.duplicates + account.merged + account.interactions:
        raise MccpoError(f"{path}: the counts do not reconcile ({account.as_dict()}), which is a fault of mccpo")
    return Logs(table, account, rejects, source.name)


def write_rejects(logs: Logs, path: str | Path) -> None:
    """Writes the rejected rows as CSV: line, reason, then their columns as they stood."""
    with atomic.replacing(path) as scratch:
        logs.rejects.write_csv(scratch)


def _parsed(source: Source, path: Path, opening: Opening) -> tuple[Opened, list[str], pl.DataFrame]:
    """The file as opened, the reasons there can be, and all rows: see `_parse`."""
    with reading(path):
        opened = source.opened(path, opening)
        try:
            return opened, *_parse(source, opened)
        except pl.exceptions.ComputeError as error:
            if opened.mend is None or not is_ragged(error):
                raise
            opened = opened.mend()
            return opened, *_parse(source, opened)


def _parse(source: Source, opened: Opened) -> tuple[list[str], pl.DataFrame]:
    """All rows with their values, order keys and the number of the first reason against them, 0 where there is none."""
    keys = {f"{_KEY}{at}": key for at, key in enumerate(source.order) if isinstance(key, Field)}
    groups = {f"{GROUP}{name}": group for name, group in source.groups.items()}
    fields = {**source.fields, **groups, **keys} | ({} if source.event is None else {_EVENT: source.event})
    faults: dict[str, pl.Expr] = {}
    for each in (*fields.values(), *source.checks):
        faults |= each.faults
    reason = pl.lit(0, pl.UInt8)
    for number, fault in reversed(list(enumerate(faults.values(), start=1))):
        reason = pl.when(fault).then(pl.lit(number, pl.UInt8)).otherwise(reason)
    values = []
    for name, each in fields.items():
        value = each.value
        if name in NAMES or name.startswith(GROUP):
            value = value.cast(pl.Categorical(pl.Categories.random()))
        elif name in COLUMNS:
            value = value.cast(COLUMNS[name])
        values.append(value.alias(name))
    if opened.unused:
        values.append(pl.any_horizontal(pl.col(opened.unused).is_null()).alias(_UNUSED))
    frame = opened.frame.select(LINE, *values, reason.alias(_REASON)).collect(engine="streaming")
    lacking = [pl.lit(None, dtype).alias(name) for name, dtype in COLUMNS.items() if name not in frame.columns]
    frame = frame.with_columns(lacking).drop("order", *({_UNUSED} & set(frame.columns)))
    names = [name for name in frame.columns if name in NAMES or name.startswith(GROUP)]
    frame = frame.with_columns(encode(frame[name]) for name in names)
    chosen = {at: key for at, key in enumerate(source.order) if isinstance(key, str)}
    return list(faults), frame.with_columns(pl.col(key).alias(f"{_KEY}{at}") for at, key in chosen.items())


def _rejects(opened: Opened, wrong: pl.DataFrame, reasons: list[str]) -> pl.DataFrame:
    """The rejected rows as they stood; the file is looked at again only when there are some."""
    whole = opened.frame.filter(pl.col(LINE).is_in(wrong[LINE].implode())) if wrong.height else opened.frame.head(0)
    found = whole.collect(engine="streaming")
    told = wrong.with_columns(pl.col(_REASON).map_elements(lambda n: reasons[n - 1], return_dtype=pl.String))
    ragged = pl.DataFrame(
        {LINE: list(opened.ragged), _REASON: list(opened.ragged.values())}, {LINE: pl.UInt32, _REASON: pl.String}
    )
    return (
        pl.concat([told.cast({LINE: pl.UInt32}), ragged])
        .sort(LINE)
        .join(found.cast({LINE: pl.UInt32}), on=LINE, how="left", maintain_order="left")
    )


def _too_many(path: Path, rejects: pl.DataFrame, rows: int, most: float) -> InputError:
    reason, count = rejects.group_by(_REASON).len().sort("len", _REASON, descending=[True, False]).row(0)
    line = rejects.filter(pl.col(_REASON) == reason)[LINE][0]
    return InputError(
        f"{path}: {rejects.height} of {rows} rows cannot be used, more than the {most:.2%} allowed "
        f"(most often: {reason}, {count} times, first in line {line})",
        fix="check the format, or allow more with --most-rejected",
    )


def _merge(rows: pl.DataFrame) -> tuple[pl.DataFrame, int, int]:
    """One row for each event, its concepts joined: how many rows only added a concept, and how many repeated one."""
    keys = ["learner", _EVENT]
    distinct = rows.unique([*keys, "concept"], keep="first", maintain_order=True)
    repeated = rows.height - distinct.height
    first = distinct.unique(keys, keep="first", maintain_order=True)
    merged = distinct.height - first.height
    if merged:
        several = distinct.join(distinct.group_by(keys).len().filter(pl.col("len") > 1), on=keys)
        joined = several.group_by(keys).agg(
            pl.col("concept").cast(pl.String).drop_nulls().unique().sort().str.join(BETWEEN_CONCEPTS).alias("joined")
        )
        joined = joined.with_columns(pl.when(pl.col("joined") != "").then(pl.col("joined")))
        with_joined = first.with_columns(pl.col("concept").cast(pl.String)).join(
            joined, on=keys, how="left", maintain_order="left"
        )
        concept = pl.coalesce("joined", "concept").alias("concept")
        first = with_joined.with_columns(concept).drop("joined")
        first = first.with_columns(encode(first["concept"]))
    return first.drop(_EVENT), merged, repeated


def _in_order(rows: pl.DataFrame) -> tuple[pl.DataFrame, int, int]:
    """The events by learner and in order: with how many were out of order, and how many stood there twice."""
    learner = rows["learner"].to_physical().to_numpy().astype(np.int64)
    keys = [name for name in rows.columns if name.startswith(_KEY)]
    order, tied = argsort([learner, *(_number(rows[name]) for name in sorted(keys, key=_place))])
    moved = np.zeros(len(order), bool)
    moved[1:] = (order[1:] < order[:-1]) & (learner[order[1:]] == learner[order[:-1]])
    out_of_order = int(moved.sum())
    table = rows[order]
    duplicates = 0
    if tied.any():
        near = np.flatnonzero(tied | np.append(tied[1:], False))
        again = _repeats(table[near])
        if again.any():
            keep = np.ones(table.height, bool)
            keep[near[again]] = False
            duplicates = int(again.sum())
            table = table.filter(pl.Series(keep))
    extra = [name for name in table.columns if name.startswith(GROUP)]
    table = table.with_columns(_places(table["learner"])).select(*COLUMNS, *extra)
    return table, out_of_order, duplicates


def _repeats(rows: pl.DataFrame) -> Any:
    """Which rows say the same as an earlier one in everything but the line."""
    return ~rows.select(pl.struct(pl.exclude(LINE)).is_first_distinct()).to_series().to_numpy()


def _place(name: str) -> int:
    return int(name.removeprefix(_KEY))


def _number(key: pl.Series) -> Int[np.ndarray, " rows"]:
    """A key as whole numbers; what has none comes first."""
    numbers = key.to_physical().cast(pl.Int64)
    return numbers.fill_null(numbers.min() if numbers.null_count() < len(numbers) else 0).to_numpy()


def _places(learner: pl.Series) -> pl.Series:
    """The place of every event within its learner, from 0."""
    code = learner.to_physical().to_numpy()
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else np.zeros(0, int)
    lengths = np.diff(np.append(starts, len(code)))
    return pl.Series("order", (np.arange(len(code)) - np.repeat(starts, lengths)).astype(np.int32))


def _with_groups(source: Source, path: Path, table: pl.DataFrame) -> pl.DataFrame:
    groups = source.join(path) if source.join is not None else None
    if groups is None:
        return table
    names = table["learner"].dtype.categories  # type: ignore[attr-defined]  # an Enum
    by_learner = pl.DataFrame({"learner": names}).join(
        groups.unique("learner", keep="first"), on="learner", how="left", maintain_order="left"
    )
    codes = table["learner"].to_physical()
    return table.with_columns(
        encode(by_learner[name])[codes].alias(name) for name in groups.columns if name != "learner"
    )


def _contents(table: pl.DataFrame) -> dict[str, Any]:
    first, last = (cast(datetime | None, end) for end in (table["time"].min(), table["time"].max()))
    several = (
        table["concept"].cast(pl.String).unique().drop_nulls() if table["concept"].null_count() < table.height else None
    )
    concepts = 0 if several is None else several.str.split(BETWEEN_CONCEPTS).explode().n_unique()
    return {
        "learners": table["learner"].n_unique(),
        "concepts": concepts,
        "items": table["item"].drop_nulls().n_unique(),
        "without_concept": table["concept"].null_count(),
        "first": None if first is None else f"{first:%Y-%m-%dT%H:%M:%SZ}",
        "last": None if last is None else f"{last:%Y-%m-%dT%H:%M:%SZ}",
    }
