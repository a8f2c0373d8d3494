"""From a log to the canonical table, with every row accounted for.

A row is rejected with its line and reason, or skipped as no answer at all, or repeats another, or adds a concept to an
event that is there already, or is an event of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Int

from mccpo import files
from mccpo.errors import InputError, MccpoError
from mccpo.logs.reading.account import Account, contents
from mccpo.logs.reading.fields import Field, Text
from mccpo.logs.reading.mending import is_ragged
from mccpo.logs.reading.opening import FILE, LINE, Opened, reading
from mccpo.logs.reading.ordering import argsort
from mccpo.logs.sources.source import Opening, Source
from mccpo.logs.table import BETWEEN_CONCEPTS, COLUMNS, GROUP, NAMES, OPTIONAL, beside, encode, tidied

MOST_REJECTED = 0.01
"""The share of rejected rows above which reading stops, unless the user says otherwise."""
EMPTY_LINE = "empty line"
_REASON = "reason"
_KEY = "key_"
_EVENT = "event"
_CHECK = "check_"
_BATCH = 100_000


@dataclass(frozen=True, eq=False)
class Logs:
    """A canonical table, its account, and the rows that were rejected: line, reason and what they held."""

    table: pl.DataFrame
    account: Account
    rejects: pl.DataFrame
    source: str


@dataclass(frozen=True, eq=False)
class _Judged:
    """All rows with their values and the number of what keeps each out of the table, 0 where nothing does.

    Numbers up to `skips` are of rows that are no answers, those above of rows to reject; `labels` says of which kind.
    """

    opened: Opened
    rows: pl.DataFrame
    reason: pl.Expr
    labels: Sequence[str]
    skips: int

    @property
    def good(self) -> pl.DataFrame:
        return self.rows.filter(pl.col(_REASON) == 0)

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """How many rows are rejected for which reason, and how many are skipped as what; the most frequent first."""
        found = self.rows.filter(pl.col(_REASON) > 0).group_by(_REASON).len().rows()
        rejected = Counter({self.labels[number - 1]: count for number, count in found if number > self.skips})
        rejected.update(each.reason for each in self.opened.ragged)
        skipped = Counter({self.labels[number - 1]: count for number, count in found if number <= self.skips})
        return _most_first(rejected), _most_first(skipped)


def read_source(
    source: Source, path: Path, opening: Opening | None = None, *, most_rejected: float = MOST_REJECTED
) -> Logs:
    """Reads a log by its source. More rejected rows than the stated share are an error: the format is then wrong."""
    if not 0 <= most_rejected <= 1:
        raise InputError(f"the share of rejects is {most_rejected}", fix="give a number from 0 to 1")
    with reading(path):
        judged = _judged(source, path, opening or Opening())
        rows = judged.rows.height + len(judged.opened.ragged)
        reasons, skips = judged.counts()
        skipped = sum(skips.values())
        if rows == skips.get(EMPTY_LINE, 0):
            raise InputError(f"{path} has no rows", fix="give a file with rows")
        if sum(reasons.values()) > most_rejected * (rows - skipped):
            raise _too_many(path, judged, rows - skipped, most_rejected)
        rejects = _rejects(judged)
    good = _encoded(judged.good) if reasons or skips else judged.rows  # names of rejected rows are in no table
    del judged
    if not good.height:
        raise InputError(f"{path} holds no answers, only {_told(skips | reasons)}", fix="check the format")
    events, out_of_order, duplicates = _in_order(good.drop(_REASON))
    del good
    events, merged, repeated = _merge(events) if source.event is not None else (events, 0, 0)
    table = events.with_columns(_places(events["learner"])).select(*COLUMNS, *beside(events.columns))
    table = _with_groups(source, path, table)
    account = Account(
        rows=rows,
        interactions=table.height,
        **contents(table),
        rejected=rejects.height,
        skipped=skipped,
        duplicates=duplicates + repeated,
        merged=merged,
        out_of_order=out_of_order,
        reasons=reasons,
        skips=skips,
    )
    if not account.reconciles:
        raise MccpoError(f"{path}: the counts do not reconcile ({account.as_dict()}), which is a fault of mccpo")
    return Logs(table, account, rejects, source.name)


def write_rejects(logs: Logs, path: str | Path) -> None:
    """Writes the rejected rows as CSV: line, reason, then their columns as they stood."""
    with files.replacing(path) as scratch:
        logs.rejects.write_csv(scratch)


def _judged(source: Source, path: Path, opening: Opening) -> _Judged:
    opened = source.opened(path, opening)
    try:
        return _parse(source, opened)
    except pl.exceptions.ComputeError as error:
        if opened.mend is None or not is_ragged(error):
            raise
        return _parse(source, opened.mend())


def _parse(source: Source, opened: Opened) -> _Judged:
    keys = {f"{_KEY}{at}": key for at, key in enumerate(source.order) if isinstance(key, Field)}
    groups = {f"{GROUP}{name}": group for name, group in source.groups.items()}
    checks = {f"{_CHECK}{at}": check for at, check in enumerate(source.checks)}
    events = {} if source.event is None else {_EVENT: source.event}
    fields = {**source.fields, **groups, **keys, **events, **checks}
    skips = {EMPTY_LINE: pl.all_horizontal(pl.exclude(LINE, FILE).is_null()), **source.skips}
    faults: dict[str, pl.Expr] = {}
    for each in fields.values():
        faults |= each.faults
    against = {**skips, **faults}
    reason = pl.lit(0, pl.UInt8)
    for number, fault in reversed(list(enumerate(against.values(), start=1))):
        reason = pl.when(fault).then(pl.lit(number, pl.UInt8)).otherwise(reason)
    frame = _in_batches(opened.frame, fields, reason.alias(_REASON), other_reasons=bool(source.skips))
    lacking = [pl.lit(None, dtype).alias(name) for name, dtype in COLUMNS.items() if name not in frame.columns]
    frame = frame.with_columns(lacking).drop("order", *checks)
    frame = _encoded(frame)
    chosen = {at: key for at, key in enumerate(source.order) if isinstance(key, str)}
    frame = frame.with_columns(pl.col(key).alias(f"{_KEY}{at}") for at, key in chosen.items())
    return _Judged(opened, frame, reason, list(against), len(skips))


def _in_batches(
    frame: pl.LazyFrame, fields: Mapping[str, Field], reason: pl.Expr, *, other_reasons: bool
) -> pl.DataFrame:
    """All rows with their values and reasons, some at a time: left to itself, polars reads ahead by gigabytes.

    A fault leaves no value. So where a quick look finds a value in every column that can have faults there are none,
    unless there are other reasons to keep a row out.
    """
    names = [name for name in fields if name in NAMES or name.startswith(GROUP)]
    names += [name for name, each in fields.items() if name == _EVENT and isinstance(each, Text)]
    codes = {name: pl.Categorical(pl.Categories.random()) for name in names}
    kinds: dict[str, pl.DataType] = {**COLUMNS, **OPTIONAL, **codes}

    def columns(values: Mapping[str, pl.Expr]) -> list[pl.Expr]:
        typed = {name: value.cast(kinds[name]) if name in kinds else value for name, value in values.items()}
        return [pl.col(LINE), *(value.alias(name) for name, value in typed.items())]

    quick = [*columns({name: each.quick for name, each in fields.items()}), pl.lit(0, pl.UInt8).alias(_REASON)]
    whole = [*columns({name: each.value for name, each in fields.items()}), reason]
    doubtful = [name for name, each in fields.items() if each.faults]

    def judged(batch: pl.DataFrame) -> pl.DataFrame:
        part = batch.lazy().select(quick if not other_reasons else whole).collect()
        if not other_reasons and any(part[name].null_count() for name in doubtful):
            part = batch.lazy().select(whole).collect()
        return part

    parts = [frame.head(0).select(whole).collect()]
    with ThreadPoolExecutor(1) as pool:  # one batch is judged while the next is read
        ahead = None
        for batch in frame.collect_batches(chunk_size=_BATCH, maintain_order=True, engine="streaming"):
            if ahead is not None:
                parts.append(ahead.result())
            ahead = pool.submit(judged, batch)
        if ahead is not None:
            parts.append(ahead.result())
    return pl.concat(parts)


def _encoded(frame: pl.DataFrame) -> pl.DataFrame:
    names = [name for name in frame.columns if name in NAMES or name.startswith(GROUP)]
    return frame.with_columns(encode(frame[name]) for name in names)


def _rejects(judged: _Judged) -> pl.DataFrame:
    """The rejected rows as they stood; the file is looked at again only when there are some."""
    opened = judged.opened
    wrong = judged.rows.filter(pl.col(_REASON) > judged.skips)[LINE].unique()
    some = opened.frame.filter(pl.col(LINE).is_in(wrong.implode())) if len(wrong) else opened.frame.head(0)
    found = some.with_columns(judged.reason.alias(_REASON)).collect(engine="streaming")
    found = found.filter(pl.col(_REASON) > judged.skips)
    if opened.locate is not None and found.height:
        found = opened.locate(found)
    reason = found[_REASON].map_elements(lambda number: judged.labels[number - 1], return_dtype=pl.String)
    ragged = pl.DataFrame(opened.ragged, {LINE: pl.UInt32, _REASON: pl.String, FILE: pl.String}, orient="row")
    if FILE not in found.columns:
        ragged = ragged.drop(FILE)
    told = found.with_columns(reason).cast({LINE: pl.UInt32})
    placed = [FILE, LINE, _REASON] if FILE in told.columns else [LINE, _REASON]
    return pl.concat([told, ragged], how="diagonal").select(*placed, pl.exclude(placed)).sort(LINE, maintain_order=True)


def _most_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counts.items()) or "rejected rows"


def _too_many(path: Path, judged: _Judged, rows: int, most: float) -> InputError:
    reasons, _ = judged.counts()
    reason, count = next(iter(reasons.items()))
    lines = [each.line for each in judged.opened.ragged if each.reason == reason]
    if not lines:
        number = judged.labels.index(reason) + 1
        first = judged.rows.filter(pl.col(_REASON) == number)[LINE].min()
        found = judged.opened.frame.filter(pl.col(LINE) == first).head(1).collect(engine="streaming")
        lines = (judged.opened.locate(found) if judged.opened.locate is not None else found)[LINE].to_list()
    return InputError(
        f"{path}: {sum(reasons.values())} of {rows} rows cannot be used, more than the {most:.2%} allowed "
        f"(most often: {reason}, {count} times, first in line {min(lines)})",
        fix="check the format, or allow more with --most-rejected",
    )


def _merge(rows: pl.DataFrame) -> tuple[pl.DataFrame, int, int]:
    """One row for each event, its concepts joined: how many rows only added a concept, and how many repeated one.

    Rows that answer differently are no one event, whatever they say: neither answer is dropped.
    """
    keys = ["learner", _EVENT, "correct"]
    distinct = rows.unique([*keys, "concept"], keep="first", maintain_order=True)
    repeated = rows.height - distinct.height
    first = distinct.unique(keys, keep="first", maintain_order=True)
    merged = distinct.height - first.height
    if merged:
        several = distinct.join(distinct.group_by(keys).len().filter(pl.col("len") > 1), on=keys)
        joined = several.group_by(keys).agg(
            pl.col("concept").cast(pl.String).drop_nulls().unique().sort().str.join(BETWEEN_CONCEPTS).alias("joined")
        )
        joined = joined.with_columns(tidied(joined["joined"].replace("", None)))
        with_joined = first.with_columns(pl.col("concept").cast(pl.String)).join(
            joined, on=keys, how="left", maintain_order="left"
        )
        concept = pl.coalesce("joined", "concept").alias("concept")
        first = with_joined.with_columns(concept).drop("joined")
        first = first.with_columns(encode(first["concept"]))
    return first.drop(_EVENT), merged, repeated


def _in_order(rows: pl.DataFrame) -> tuple[pl.DataFrame, int, int]:
    """The rows by learner and in order: with how many were out of order, and how many stood there twice."""
    learner = rows["learner"].to_physical().to_numpy().astype(np.int64)
    keys = [name for name in rows.columns if name.startswith(_KEY)]
    order, tied = argsort([learner, *(_number(rows[name]) for name in sorted(keys, key=_place))])
    # Where only the file's own order tells events apart, the same answer twice is two answers.
    told = rows.select(pl.any_horizontal(pl.lit(False), *(pl.col(name).is_not_null() for name in keys))).to_series()
    tied &= np.broadcast_to(told.to_numpy(), len(order))[order]
    learner = learner[order]
    out_of_order = int(((order[1:] < order[:-1]) & (learner[1:] == learner[:-1])).sum())
    near = np.flatnonzero(tied | np.append(tied[1:], False))
    again = near[_repeats(rows[order[near]])] if len(near) else near
    # Of millions of rows, only those columns that are still needed are put in order.
    return rows.drop(LINE, *keys)[np.delete(order, again)], out_of_order, len(again)


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
