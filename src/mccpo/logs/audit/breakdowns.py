"""The rates of an audit by level: of each concept, group, month and so on, and how groups compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from mccpo.logs.audit import levels as ways
from mccpo.logs.audit.cluster_robust import Difference, Rate, compare, rates, sums_by
from mccpo.logs.audit.event_counts import Counts, Judged, Rows, count, flags_of, of_learners
from mccpo.logs.audit.levels import NOT_KNOWN, Levels
from mccpo.logs.table import GROUP, split_concepts


@dataclass(frozen=True)
class Level:
    """One concept, group, month or the like: what was counted there, and how it compares with the reference level."""

    label: str
    interactions: int
    learners: int
    correct: float
    rates: Mapping[str, Rate]
    against: Mapping[str, Difference] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "level": self.label,
            "interactions": self.interactions,
            "learners": self.learners,
            "correct": self.correct,
            "rates": {name: rate._asdict() for name, rate in self.rates.items()},
            "against": {name: difference._asdict() for name, difference in self.against.items()},
        }


@dataclass(frozen=True)
class Breakdown:
    """The rates by level; `reference` is the level that the others are compared with."""

    name: str
    title: str
    levels: tuple[Level, ...]
    reference: str | None = None

    def as_json(self) -> dict[str, Any]:
        levels = [level.as_json() for level in self.levels]
        return {"title": self.title, "reference": self.reference, "levels": levels}


def broken_down(
    table: pl.DataFrame,
    rows: Rows,
    judgements: Mapping[str, Judged],
    learners: Counts,
    by: Sequence[str] | None,
    hours_ahead: float,
) -> Iterator[Breakdown]:
    groups = [name for name in table.columns if name.startswith(GROUP)] if by is None else by
    flags = flags_of(rows, judgements)
    whole = pl.DataFrame({"who": np.arange(rows.learners, dtype=np.uint32), **learners})
    for levels in _levels(table, groups, hours_ahead, learners):
        of_learner = levels.codes if len(levels.codes) == rows.learners else of_learners(levels.codes, rows)
        if of_learner is not None:
            counted = whole.with_columns(pl.Series("level", of_learner.astype(np.uint32)))
        else:
            counted = count(flags, levels, list(judgements))
        labels: Sequence[str] = levels.labels
        if levels.name == "concept":
            counted, labels = _taken_apart(counted, labels)
        yield _summed(counted, levels, labels, list(judgements), compared=levels.name.startswith(GROUP))


def _levels(table: pl.DataFrame, groups: Sequence[str], hours_ahead: float, learners: Counts) -> Iterator[Levels]:
    yield from (
        levels
        for levels in (
            ways.by_concept(table),
            *(ways.by_group(table, column) for column in groups),
            ways.by_accuracy(learners["correct"], learners["n"]),
            ways.by_place(table),
            *ways.by_time(table, hours_ahead),
        )
        if levels is not None
    )


def _taken_apart(counted: pl.DataFrame, labels: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Counts by learner and combination of concepts as counts by learner and each of the concepts."""
    split = split_concepts(labels)
    if split.single:
        return counted, list(labels)
    code = counted.schema["level"]
    cells = np.repeat(np.arange(len(labels)), split.counts)
    belongs = pl.DataFrame({"level": pl.Series(cells).cast(code), "concept": pl.Series(split.codes).cast(code)})
    single = counted.join(belongs, on="level").drop("level").rename({"concept": "level"})
    return single.group_by("who", "level").agg(pl.all().sum()), list(split.concepts)


def _summed(
    counted: pl.DataFrame, levels: Levels, labels: Sequence[str], measures: Sequence[str], *, compared: bool
) -> Breakdown:
    """The levels with their rates, from counts by learner and level."""
    level, size = counted["level"].to_numpy(), len(labels)
    n, correct, learners = (
        np.bincount(level, values, minlength=size)
        for values in (counted["n"].to_numpy(), counted["correct"].to_numpy(), None)
    )
    by_measure = {
        name: rates(sums_by(level, size, counted[f"events_{name}"].to_numpy(), counted[f"known_{name}"].to_numpy()))
        for name in measures
    }
    by_code = {
        at: Level(
            labels[at],
            int(n[at]),
            int(learners[at]),
            float(correct[at] / n[at]),
            {name: by_measure[name][at] for name in measures},
        )
        for at in np.flatnonzero(n).tolist()
    }
    if not compared or len(by_code) < 2:
        return Breakdown(levels.name, levels.title, tuple(by_code.values()))
    return _compared(counted, levels, by_code, measures)


def _compared(
    counted: pl.DataFrame, levels: Levels, by_code: Mapping[int, Level], measures: Sequence[str]
) -> Breakdown:
    """Compares every level with that of most learners, whose group is known."""
    named = [at for at, level in by_code.items() if level.label != NOT_KNOWN]
    base = max(named, key=lambda at: by_code[at].learners)
    compared = []
    for at, level in by_code.items():
        against = {}
        for name in measures if at != base else ():
            pair = (level.rates[name], by_code[base].rates[name])
            difference = compare(*pair, _correlation(counted, (at, base), pair, name))
            if difference is not None:
                against[name] = difference
        compared.append(replace(level, against=against))
    return Breakdown(levels.name, levels.title, tuple(compared), by_code[base].label)


def _correlation(counted: pl.DataFrame, levels: tuple[int, int], pair: tuple[Rate, Rate], measure: str) -> float:
    """How the two rates go together: not at all, unless learners are in both groups."""
    sides = []
    for level, rate in zip(levels, pair, strict=True):
        residual = pl.col(f"events_{measure}") - (rate.rate or 0.0) * pl.col(f"known_{measure}")
        sides.append(counted.filter(pl.col("level") == level).select("who", residual.alias("z")))
    z, other = (side["z"].to_numpy() for side in sides)
    both = sides[0].join(sides[1], on="who")
    size = np.sqrt((z @ z) * (other @ other))
    return float(both["z"].to_numpy() @ both["z_right"].to_numpy() / size) if size else 0.0
