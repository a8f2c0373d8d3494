"""The decoupling prevalence of a log: how often answers are right and bring no gain of mastery.

The rate depends on what counts as a gain, and on what it is a share of. So an audit takes the platform's own signal,
where there is one, and the gains of any number of mastery models; it says how each defines an event, and it shows the
rate as a function of the threshold, over all interactions and over the retained episodes alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from jaxtyping import Bool, Float

from mccpo.errors import InputError
from mccpo.logs.audit.breakdowns import Breakdown, broken_down
from mccpo.logs.audit.cluster_robust import Rate, rate_of, rates, sums
from mccpo.logs.audit.event_counts import Counts, Judged, Rows, by_learner
from mccpo.logs.audit.gain_measures import SIGNAL, GainMeasure

THRESHOLD = 0.005
STRICT, LENIENT = 0.0005, 0.05
"""Thresholds a tenth of, and ten times, the usual one: how far the rate moves between them sums up its curve."""
THRESHOLDS: tuple[float, ...] = tuple(
    sorted({0.0, STRICT, LENIENT, *(float(f"{value:.3g}") for value in np.geomspace(1e-5, 1.0, 26))})
)
"""Where the rate of a model is worked out: at no gain at all, and from a hundred thousandth to 1."""

Population: TypeAlias = Literal["all", "episodes"]
Share: TypeAlias = Literal["interactions", "judged", "correct"]
"""What an event is counted against: all interactions; those on which the measure says something; the right ones."""


@dataclass(frozen=True)
class Prevalence:
    """One rate: by which measure, in which population, as a share of what."""

    measure: str
    population: Population
    of: Share
    rate: Rate

    def as_json(self) -> dict[str, Any]:
        return {"measure": self.measure, "population": self.population, "of": self.of, **self.rate._asdict()}


@dataclass(frozen=True)
class Curve:
    """The rate of a model over thresholds of the gain, as a share of the interactions that it judges."""

    measure: str
    population: Population
    thresholds: tuple[float, ...]
    rates: tuple[Rate, ...]

    def as_json(self) -> dict[str, Any]:
        points = zip(self.thresholds, self.rates, strict=True)
        return {
            "measure": self.measure,
            "population": self.population,
            "points": [{"threshold": threshold, **rate._asdict()} for threshold, rate in points],
        }


@dataclass(frozen=True)
class Answers:
    """What came of right or of wrong answers by one measure, in interactions."""

    measure: str
    correct: bool
    gained: int
    none: int
    lost: int
    not_judged: int


@dataclass(frozen=True)
class Audit:
    """What the audit of one log found. `main` is the measure that it is summed up by."""

    interactions: int
    learners: int
    correct: float
    without_concept: int
    without_signal: int
    retained: tuple[int, int] | None
    """Interactions and learners of the retained episodes, where there are such."""
    measures: tuple[GainMeasure, ...]
    main: str
    prevalence: tuple[Prevalence, ...]
    curves: tuple[Curve, ...]
    answers: tuple[Answers, ...]
    breakdowns: tuple[Breakdown, ...]

    def rate(self, measure: str | None = None, population: Population = "all", of: Share = "judged") -> Rate:
        """One of the rates; of the main measure, unless another is named."""
        wanted = (measure or self.main, population, of)
        for prevalence in self.prevalence:
            if (prevalence.measure, prevalence.population, prevalence.of) == wanted:
                return prevalence.rate
        raise KeyError(wanted)

    def measure(self, name: str) -> GainMeasure:
        return next(measure for measure in self.measures if measure.name == name)

    def breakdown(self, name: str) -> Breakdown | None:
        return next((breakdown for breakdown in self.breakdowns if breakdown.name == name), None)

    def curve(self, measure: str, population: Population = "all") -> Curve | None:
        wanted = (measure, population)
        return next((curve for curve in self.curves if (curve.measure, curve.population) == wanted), None)

    def as_json(self) -> dict[str, Any]:
        """All of it, for JSON."""
        episodes = None if self.retained is None else {"interactions": self.retained[0], "learners": self.retained[1]}
        return {
            "interactions": self.interactions,
            "learners": self.learners,
            "correct": self.correct,
            "without_concept": self.without_concept,
            "without_signal": self.without_signal,
            "episodes": episodes,
            "definitions": {measure.name: measure.as_json() for measure in self.measures},
            "main": self.main,
            "prevalence": [prevalence.as_json() for prevalence in self.prevalence],
            "curves": [curve.as_json() for curve in self.curves],
            "answers": [asdict(answers) for answers in self.answers],
            "breakdowns": {breakdown.name: breakdown.as_json() for breakdown in self.breakdowns},
        }


def audit(
    table: pl.DataFrame,
    gains: Mapping[str, pl.Series | Float[np.ndarray, " rows"]] | None = None,
    *,
    threshold: float | Mapping[str, float] = THRESHOLD,
    retained: Bool[np.ndarray, " rows"] | None = None,
    by: Sequence[str] | None = None,
    main: str | None = None,
    hours_ahead: float = 0.0,
) -> Audit:
    """Audits a canonical table.

    `gains` are the gains of mastery with each row by model, NaN or null where a model says nothing; an answer that is
    right and gains at most the `threshold` of its model is an event. `retained` marks the rows of the retained
    episodes. `by` names group columns; all of the table by default. Months and hours are told `hours_ahead` of UTC.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mccpo.logs import read
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     _ = path.write_text("learner,concept,correct\\n" + "Ana,adding,1\\n" * 4)
    ...     found = audit(read(path, "table"), {"my-model": np.array([0.2, 0.1, 0.001, 0.0])})
    >>> found.rate("my-model").events
    2
    """
    rows = Rows.of(table)
    measures = _measures(table, gains or {}, threshold)
    judgements = {measure.name: Judged.of(measure, table, rows, gains or {}) for measure in measures}
    main = _main(main, measures)
    populations: dict[Population, Bool[np.ndarray, " rows"] | None] = {"all": None}
    if retained is not None:
        populations["episodes"] = _mask(retained, rows)
    counted = {name: by_learner(rows, judgements, mask) for name, mask in populations.items()}
    in_episodes = counted.get("episodes")
    return Audit(
        interactions=table.height,
        learners=rows.learners,
        correct=float(rows.correct.mean()),
        without_concept=table["concept"].null_count(),
        without_signal=table["signal"].null_count(),
        retained=None if in_episodes is None else (int(in_episodes["n"].sum()), int((in_episodes["n"] > 0).sum())),
        measures=measures,
        main=main,
        prevalence=tuple(_prevalence(counted, measures)),
        curves=tuple(_curves(rows, judgements, populations, counted)),
        answers=tuple(_answers(rows, judgements)),
        breakdowns=tuple(broken_down(table, rows, judgements, counted["all"], by, hours_ahead)),
    )


def _measures(
    table: pl.DataFrame, gains: Mapping[str, Any], threshold: float | Mapping[str, float]
) -> tuple[GainMeasure, ...]:
    measures = [GainMeasure(SIGNAL)] if table["signal"].null_count() < table.height else []
    if SIGNAL in gains:
        raise InputError(f"a model is named {SIGNAL!r}", fix="that is the platform's own; choose another name")
    for name in gains:
        limit = threshold.get(name, THRESHOLD) if isinstance(threshold, Mapping) else threshold
        if not 0 <= limit <= 1:
            raise InputError(f"the threshold of {name} is {limit}", fix="give a gain of mastery from 0 to 1")
        measures.append(GainMeasure(name, float(limit)))
    if not measures:
        raise InputError("the logs have no signal of mastery", fix="give the gains of a model, such as --model ema")
    return tuple(measures)


def _main(main: str | None, measures: Sequence[GainMeasure]) -> str:
    names = [measure.name for measure in measures]
    if main is not None and main not in names:
        raise InputError(f"there is no measure {main!r}", fix=f"choose from {', '.join(names)}")
    return main or names[0]


def _mask(retained: Bool[np.ndarray, " rows"], rows: Rows) -> Bool[np.ndarray, " rows"]:
    mask = np.asarray(retained)
    if mask.dtype != bool or mask.shape != rows.correct.shape:
        raise InputError(f"retained is {mask.dtype} of shape {mask.shape}", fix="give one yes or no for each row")
    return mask


def _prevalence(counted: Mapping[Population, Counts], measures: Sequence[GainMeasure]) -> Iterator[Prevalence]:
    shares: dict[Share, str] = {"interactions": "n", "judged": "known_{}", "correct": "right_{}"}
    for measure in measures:
        for population, counts in counted.items():
            for of, column in shares.items():
                analysed = counts[column.format(measure.name)]
                yield Prevalence(measure.name, population, of, rate_of(counts[f"events_{measure.name}"], analysed))


def _curves(
    rows: Rows,
    judgements: Mapping[str, Judged],
    populations: Mapping[Population, Bool[np.ndarray, " rows"] | None],
    counted: Mapping[Population, Counts],
) -> Iterator[Curve]:
    for name, judged in judgements.items():
        if judged.gain is None:
            continue
        thresholds = tuple(sorted({*THRESHOLDS, judged.measure.threshold or 0.0}))
        limits = np.array(thresholds, judged.gain.dtype)
        for population, mask in populations.items():
            right = rows.correct & judged.known if mask is None else rows.correct & judged.known & mask
            # The first threshold that the gain does not exceed: the event is one there, and at all that follow.
            bins = np.searchsorted(limits, judged.gain[right])
            size = len(limits) + 1
            cells = rows.who[right].astype(np.int64) * size + bins
            table = np.bincount(cells, minlength=rows.learners * size).reshape(rows.learners, size)
            events = table.cumsum(axis=1)[:, :-1]
            analysed = np.broadcast_to(counted[population][f"known_{name}"][:, None], events.shape)
            yield Curve(name, population, thresholds, tuple(rates(sums(events, analysed))))


def _answers(rows: Rows, judgements: Mapping[str, Judged]) -> Iterator[Answers]:
    for name, judged in judgements.items():
        for correct in (True, False):
            which = rows.correct if correct else ~rows.correct
            total, known, gained, lost = (
                int(np.count_nonzero(flags & which)) for flags in (np.True_, judged.known, judged.gained, judged.lost)
            )
            yield Answers(name, correct, gained, known - gained - lost, lost, total - known)
