"""Counting events by learner, and by learner and level: all rates of an audit are made of such counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from jaxtyping import Bool, Float, Int

from mccpo.errors import InputError
from mccpo.logs.audit.gain_measures import GainMeasure
from mccpo.logs.audit.levels import Levels
from mccpo.logs.table import encode

Counts: TypeAlias = Mapping[str, Int[np.ndarray, " learners"]]
"""By learner: `n` interactions, `correct` ones; by measure those `known`, `right` among them, and `events`."""


@dataclass(frozen=True)
class Rows:
    """Who answered, as places among the learners, and whether rightly; a learner's rows stand together."""

    who: Int[np.ndarray, " rows"]
    starts: Int[np.ndarray, " learners"]
    correct: Bool[np.ndarray, " rows"]

    @classmethod
    def of(cls, table: pl.DataFrame) -> Rows:
        if not table.height:
            raise InputError("the logs hold no events", fix="give logs with rows")
        learner = table["learner"]
        code = (learner if isinstance(learner.dtype, pl.Enum) else encode(learner)).to_physical().to_numpy()
        if (code[1:] < code[:-1]).any():
            raise InputError("the events are not sorted by learner", fix="read the logs with mccpo.logs.read")
        starts = np.flatnonzero(np.append(True, code[1:] != code[:-1]))
        lengths = np.diff(np.append(starts, len(code)))
        who = np.repeat(np.arange(len(starts), dtype=np.uint32), lengths)
        return cls(who, starts, table["correct"].to_numpy())

    @property
    def learners(self) -> int:
        return len(self.starts)

    def sums(self, flags: Bool[np.ndarray, " rows"]) -> Int[np.ndarray, " learners"]:
        """How many of each learner's rows are marked."""
        return np.add.reduceat(flags, self.starts, dtype=np.int64)


@dataclass(frozen=True)
class Judged:
    """What one measure says of each row: whether it judges it at all, whether mastery was gained, and was lost."""

    measure: GainMeasure
    known: Bool[np.ndarray, " rows"]
    gained: Bool[np.ndarray, " rows"]
    lost: Bool[np.ndarray, " rows"]
    events: Bool[np.ndarray, " rows"]
    gain: Float[np.ndarray, " rows"] | None

    @classmethod
    def of(
        cls, measure: GainMeasure, table: pl.DataFrame, rows: Rows, gains: Mapping[str, pl.Series | np.ndarray]
    ) -> Judged:
        if measure.threshold is None:
            signal = table["signal"]
            known = signal.is_not_null().to_numpy()
            gained, lost = ((signal == sign).fill_null(False).to_numpy() for sign in (1, -1))
            return cls(measure, known, gained, lost, rows.correct & known & ~gained, None)
        gain = _array(gains[measure.name], table.height, measure.name)
        limit = gain.dtype.type(measure.threshold)  # of the gain's own precision, as on the curve
        known, gained = ~np.isnan(gain), gain > limit
        return cls(measure, known, gained, gain < -limit, rows.correct & known & ~gained, gain)


def by_learner(rows: Rows, judgements: Mapping[str, Judged], mask: Bool[np.ndarray, " rows"] | None) -> Counts:
    """The counts of each learner, in the rows of a mask only where there is one."""

    def count(flags: Bool[np.ndarray, " rows"]) -> Int[np.ndarray, " learners"]:
        return rows.sums(flags if mask is None else flags & mask)

    lengths = np.diff(np.append(rows.starts, len(rows.who)))
    counts = {"n": lengths if mask is None else rows.sums(mask), "correct": count(rows.correct)}
    for name, judged in judgements.items():
        whole = bool(judged.known.all())
        counts[f"known_{name}"] = counts["n"] if whole else count(judged.known)
        counts[f"right_{name}"] = counts["correct"] if whole else count(judged.known & rows.correct)
        counts[f"events_{name}"] = count(judged.events)
    return counts


def flags_of(rows: Rows, judgements: Mapping[str, Judged]) -> pl.DataFrame:
    flags = {f"events_{name}": judged.events for name, judged in judgements.items()}
    known = {f"known_{name}": judged.known for name, judged in judgements.items() if not judged.known.all()}
    return pl.DataFrame({"who": rows.who, "correct": rows.correct, **flags, **known})


def of_learners(codes: Int[np.ndarray, " rows"], rows: Rows) -> Int[np.ndarray, " learners"] | None:
    """The level of each learner, where no learner has two: then there is nothing left to count by row."""
    changes = codes[1:] != codes[:-1]
    changes[rows.starts[1:] - 1] = False
    return None if changes.any() else codes[rows.starts]


def count(flags: pl.DataFrame, levels: Levels, measures: Sequence[str]) -> pl.DataFrame:
    """Counts by learner and level. Both are packed into one key, by which polars groups far faster than by two."""
    size = len(levels.labels)
    small = (int(flags["who"][-1]) + 1) * size < 2**32  # half the bytes, and quicker for it
    key: Int[np.ndarray, " rows"] = flags["who"].to_numpy().astype(np.uint32 if small else np.uint64)
    key *= key.dtype.type(size)
    key += levels.codes
    counts = [name for name in flags.columns if name != "who"]
    grouped = flags.lazy().with_columns(pl.Series("key", key)).group_by("key")
    counted = grouped.agg(pl.len().alias("n"), pl.col(counts).sum()).collect(engine="streaming")
    key = counted["key"].to_numpy()
    whole = [name for name in measures if f"known_{name}" not in counts]
    return counted.select(
        pl.Series("who", (key // size).astype(np.uint32)),
        pl.Series("level", (key % size).astype(np.uint32)),
        pl.col("n", *counts).cast(pl.Int64),
        *(pl.col("n").cast(pl.Int64).alias(f"known_{name}") for name in whole),
    )


def _array(gain: pl.Series | np.ndarray, height: int, name: str) -> Float[np.ndarray, " rows"]:
    values = gain.fill_null(float("nan")).to_numpy() if isinstance(gain, pl.Series) else np.asarray(gain)
    if values.shape != (height,) or values.dtype.kind != "f":
        raise InputError(
            f"the gains of {name} are {values.dtype} of shape {values.shape}", fix=f"give {height} numbers, one a row"
        )
    return values
