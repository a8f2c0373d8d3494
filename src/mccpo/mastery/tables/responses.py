"""Responses from the canonical table of logs: the one module of this room that needs polars."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from mccpo.errors import InputError
from mccpo.logs import split_concepts
from mccpo.mastery.responses import Responses


def responses_of(frame: pl.DataFrame, observed: Literal["correct", "signal"] = "correct") -> Responses:
    """One row for each concept of each event; events without a concept are left out.

    With `observed="signal"` what counts as right is that the platform registered a gain of mastery; events without a
    signal are left out, too.
    """
    frame = frame.with_row_index("event")
    if observed == "signal":
        frame = frame.with_columns(correct=pl.col("signal") > 0)
    frame = frame.filter(pl.col("concept").is_not_null() & pl.col("correct").is_not_null())
    if not frame.height:
        raise InputError("the logs hold no answer on a named concept", fix="give logs whose events name concepts")
    learner, learners = _codes(frame["learner"])
    combination, combinations = _codes(frame["concept"])
    split = split_concepts(combinations)
    row, offset = _exploded(split.counts[combination])
    item, items = _items(frame)
    return Responses(
        learner=learner[row],
        concept=split.codes[split.starts[combination][row] + offset].astype(np.int32),
        correct=frame["correct"].to_numpy()[row],
        event=frame["event"].cast(pl.Int64).to_numpy()[row],
        time=_seconds(frame)[row],
        learners=learners,
        concepts=split.concepts,
        item=None if item is None else item[row],
        items=items,
    )


def _codes(names: pl.Series) -> tuple[np.ndarray, tuple[str, ...]]:
    """Names as codes of those that occur, sorted."""
    kind = names if isinstance(names.dtype, pl.Enum | pl.Categorical) else names.cast(pl.String).cast(pl.Categorical)
    physical = kind.to_physical().to_numpy()
    met = kind.unique().drop_nulls()
    names_and_codes = pl.DataFrame({"name": met.cast(pl.String), "code": met.to_physical()}).sort("name")
    rank = np.zeros(int(names_and_codes["code"].max()) + 1, np.int32)  # type: ignore[arg-type]
    rank[names_and_codes["code"].to_numpy()] = np.arange(names_and_codes.height, dtype=np.int32)
    return rank[physical], tuple(names_and_codes["name"])


def _items(frame: pl.DataFrame) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Items as codes, −1 where an event names none; nothing where none does."""
    if "item" not in frame.columns or frame["item"].null_count() == frame.height:
        return None, ()
    named = frame["item"].is_not_null().to_numpy()
    code, names = _codes(frame["item"].drop_nulls())
    item = np.full(frame.height, -1, np.int32)
    item[named] = code
    return item, names


def _exploded(count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row to be made, the row it comes from, and which of its concepts it is."""
    if (count == 1).all():
        return np.arange(len(count)), np.zeros(len(count), np.int64)
    row = np.repeat(np.arange(len(count)), count)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)


def _seconds(frame: pl.DataFrame) -> np.ndarray:
    """The clock in seconds since the epoch, NaN where there is none."""
    if "time" not in frame.columns or frame["time"].null_count() == frame.height:
        return np.full(frame.height, np.nan)
    return (frame["time"].dt.epoch("ms").cast(pl.Float64) / 1000.0).fill_null(float("nan")).to_numpy()
