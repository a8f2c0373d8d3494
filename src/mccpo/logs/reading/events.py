"""Rows as events: each learner's in the order in which they happened, repetitions dropped, rows of one event merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Int

from mccpo.logs.reading.headers import LINE
from mccpo.logs.reading.ordering import argsort
from mccpo.logs.reading.rows import EVENT, KEY
from mccpo.logs.reading.source import Source
from mccpo.logs.table import BETWEEN_CONCEPTS, encode, tidied


class OrderedRows(NamedTuple):
    """Rows in order, how many of them were out of order, and how many repeated another and were dropped."""

    rows: pl.DataFrame
    out_of_order: int
    duplicates: int


class MergedEvents(NamedTuple):
    """One row for each event, how many rows only added a concept to one, and how many repeated one."""

    events: pl.DataFrame
    merged: int
    repeated: int


def in_order(rows: pl.DataFrame) -> OrderedRows:
    """The rows by learner and in order, each once."""
    learner = rows["learner"].to_physical().to_numpy().astype(np.int64)
    keys = [name for name in rows.columns if name.startswith(KEY)]
    order, tied = argsort([learner, *(_number(rows[name]) for name in sorted(keys, key=_key_number))])
    # Where only the file's own order tells events apart, the same answer twice is two answers.
    ordered = rows.select(pl.any_horizontal(pl.lit(False), *(pl.col(name).is_not_null() for name in keys))).to_series()
    tied &= np.broadcast_to(ordered.to_numpy(), len(order))[order]
    learner = learner[order]
    out_of_order = int(((order[1:] < order[:-1]) & (learner[1:] == learner[:-1])).sum())
    near = np.flatnonzero(tied | np.append(tied[1:], False))
    again = near[_repeats(rows[order[near]])] if len(near) else near
    # Of millions of rows, only those columns that are still needed are put in order.
    return OrderedRows(rows.drop(LINE, *keys)[np.delete(order, again)], out_of_order, len(again))


def merged_events(rows: pl.DataFrame) -> MergedEvents:
    """One row for each event, its concepts joined.

    Rows that answer differently are no one event, whatever they say: neither answer is dropped.
    """
    keys = ["learner", EVENT, "correct"]
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
    return MergedEvents(first.drop(EVENT), merged, repeated)


def _repeats(rows: pl.DataFrame) -> Any:
    """Which rows say the same as an earlier one in everything but the line."""
    return ~rows.select(pl.struct(pl.exclude(LINE)).is_first_distinct()).to_series().to_numpy()


def _key_number(name: str) -> int:
    return int(name.removeprefix(KEY))


def _number(key: pl.Series) -> Int[np.ndarray, " rows"]:
    """A key as whole numbers; what has none comes first."""
    numbers = key.to_physical().cast(pl.Int64)
    return numbers.fill_null(numbers.min() if numbers.null_count() < len(numbers) else 0).to_numpy()


def numbers_in_learner(learner: pl.Series) -> pl.Series:
    """The number of every event among those of its learner, from 0, as the column `order`."""
    code = learner.to_physical().to_numpy()
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else np.zeros(0, int)
    lengths = np.diff(np.append(starts, len(code)))
    return pl.Series("order", (np.arange(len(code)) - np.repeat(starts, lengths)).astype(np.int32))


def with_groups(source: Source, path: Path, table: pl.DataFrame) -> pl.DataFrame:
    """The table with the groups of its learners, where its source has a file of them."""
    groups = source.groups_by_learner(path) if source.groups_by_learner is not None else None
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
