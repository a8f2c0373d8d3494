"""Models of learners fitted to responses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int64

from mccpo.errors import InputError
from mccpo.mastery.bkt import BKT, PAUSE, BKTForget, paused
from mccpo.mastery.ema import ALPHA, EMA
from mccpo.mastery.fitting.em import EPSILON, Optimum, Stop, maximise
from mccpo.mastery.fitting.logistic import Regression, fit_logistic
from mccpo.mastery.fitting.reports import AverageReport, FitReport, RegressionReport, TracingReport
from mccpo.mastery.fitting.response_fits import fit_best_lr, fit_elo
from mccpo.mastery.fitting.sequence_packing import Tiles, tile
from mccpo.mastery.fitting.trajectories import practice
from mccpo.mastery.model import MasteryModel, with_unseen
from mccpo.mastery.pfa import PFA
from mccpo.mastery.response_model import ResponseModel
from mccpo.mastery.responses import Responses, elapsed, sequences
from mccpo.work import cores

_START = {"prior": 1.0, "learn": 0.4, "guess": 0.4, "slip": 0.3, "forget": 0.3}
"""Restarts begin anywhere between 0 and this."""
DECAYS = (0.6, 0.7, 0.8, 0.9, 1.0)
PENALTY = 0.1
ENOUGH = 200_000
"""Responses from which the decay is chosen."""


@dataclass(frozen=True)
class FitSettings:
    """How to fit.

    **Fields:**

    - `restarts`: places from which knowledge tracing starts; the best end counts, concept by concept.
    - `seed`: of these places.
    - `bound`: the most that guess and slip may be. Above one half a right answer speaks against knowing.
    - `stop`: when each of them stops.
    - `pause`: seconds after which something may have been forgotten.
    - `alpha`: of the moving average.
    - `ridge`: how strongly the weights of response models are drawn to 0.
    - `workers`: threads.
    """

    restarts: int = 5
    seed: int = 0
    bound: float = 0.5
    stop: Stop = field(default_factory=Stop)
    pause: float = PAUSE
    alpha: float = ALPHA
    ridge: float = 1.0
    workers: int = field(default_factory=cores)

    def __post_init__(self) -> None:
        if self.restarts < 1:
            raise InputError(f"restarts is {self.restarts}", fix="give at least 1")
        if not 0 < self.bound <= 1:
            raise InputError(f"the bound of guess and slip is {self.bound:g}", fix="give a number above 0, up to 1")
        if not 0 < self.alpha <= 1:
            raise InputError(f"alpha is {self.alpha:g}", fix="give a number above 0, up to 1")
        if not 0 < self.ridge < math.inf:
            raise InputError(f"ridge is {self.ridge:g}", fix="give a number above 0, such as 1")


class Fitted(NamedTuple):
    """A fitted model, and how the fit went."""

    model: MasteryModel | ResponseModel
    report: FitReport


def fit(name: str, responses: Responses, settings: FitSettings | None = None) -> Fitted:
    """Fits the model of this name; every concept that has responses gets parameters of its own."""
    if name not in _FITS:
        raise InputError(f"there is no model {name!r}", fix=f"choose from {', '.join(_FITS)}")
    if not responses.rows:
        raise InputError("there are no responses to fit", fix="give logs that hold some")
    present, concept = np.unique(responses.concept, return_inverse=True)
    names = tuple(responses.concepts[code] for code in present)
    seen = responses._replace(concept=concept.astype(np.int32), concepts=names)
    return _FITS[name](seen, settings or FitSettings())


def bkt_tiles(responses: Responses, pause: float | None = None) -> Tiles:
    """The responses as knowledge tracing is fitted to them; with pauses where `pause` is given."""
    grouped = sequences(responses)
    correct = responses.correct[grouped.order]
    if pause is None:
        return tile(grouped, correct)
    return tile(grouped, correct, np.asarray(paused(elapsed(responses, grouped), pause), bool))


def starts(
    names: tuple[str, ...], concepts: int, settings: FitSettings
) -> Float[np.ndarray, "concepts restarts parameters"]:
    """Where the restarts of each concept begin."""
    draw = np.random.default_rng(settings.seed).uniform(size=(concepts, settings.restarts, len(names)))
    return draw * [_START[name] for name in names]


def _bkt(responses: Responses, settings: FitSettings) -> Fitted:
    values, report = _traced(responses, settings, BKT._fields[:4], None)
    return Fitted(BKT(**values, concepts=responses.concepts), report)


def _bkt_forget(responses: Responses, settings: FitSettings) -> Fitted:
    values, report = _traced(responses, settings, BKTForget._fields[:5], settings.pause)
    clock = bool(np.isfinite(responses.time).any())
    model = BKTForget(**values, pause=settings.pause, concepts=responses.concepts)
    forgetting = "in pauses" if clock else "before any answer, for want of a clock"
    return Fitted(model, replace(report, forgetting=forgetting))


def _traced(
    responses: Responses, settings: FitSettings, names: tuple[str, ...], pause: float | None
) -> tuple[dict[str, Float[np.ndarray, " entries"]], TracingReport]:
    concepts = len(responses.concepts)
    most = np.array([settings.bound if name in ("guess", "slip") else 1.0 for name in names])
    most = np.minimum(most, 1 - EPSILON)
    end = maximise(
        bkt_tiles(responses, pause), starts(names, concepts, settings), most, settings.stop, settings.workers
    )
    best = end.log_likelihood.reshape(concepts, -1).argmax(axis=1) + settings.restarts * np.arange(concepts)
    rows = np.bincount(responses.concept, minlength=concepts).astype(float)
    fitted = end.parameters[best]
    values = {name: with_unseen(fitted[:, at], rows) for at, name in enumerate(names)}
    return values, _report(responses, settings, end, best, values)


def _report(
    responses: Responses,
    settings: FitSettings,
    end: Optimum,
    best: Int64[np.ndarray, " concepts"],
    values: dict[str, Float[np.ndarray, " entries"]],
) -> TracingReport:
    def named(chosen: Bool[np.ndarray, " concepts"]) -> tuple[str, ...]:
        return tuple(name for name, is_chosen in zip(responses.concepts, chosen, strict=True) if is_chosen)

    bound = min(settings.bound, 1 - EPSILON)
    return TracingReport(
        log_likelihood=float(end.log_likelihood[best].sum()),
        restarts=settings.restarts,
        tolerance=settings.stop.tolerance,
        mean_steps=float(end.steps.mean()),
        most_steps=int(end.steps.max()),
        not_converged=named(~end.converged[best]),
        bound=settings.bound,
        at_bound={name: named(values[name][:-1] >= bound - 1e-9) for name in ("guess", "slip")},
    )


def _ema(responses: Responses, settings: FitSettings) -> Fitted:
    """Mastery starts at the share of right first answers on the concept."""
    grouped = sequences(responses)
    first = responses.correct[grouped.order[grouped.start]].astype(float)
    learners = np.bincount(grouped.concept, minlength=len(responses.concepts)).astype(float)
    right = np.bincount(grouped.concept, first, len(responses.concepts))
    return Fitted(EMA(with_unseen(right / learners, learners), settings.alpha, responses.concepts), AverageReport())


def _pfa(responses: Responses, settings: FitSettings) -> Fitted:
    """Takes the decay under which the responses, or enough of them to tell, are likeliest."""
    some = _some_learners(responses, settings.seed)
    decay = max(DECAYS, key=lambda decay: _regressed(some, decay).objective)
    end = _regressed(responses, decay)
    rows = np.bincount(responses.concept).astype(float)
    ease, success, failure = (with_unseen(column, rows) for column in end.coefficients.T)
    unfinished = tuple(name for name, done in zip(responses.concepts, end.converged, strict=True) if not done)
    report = RegressionReport(end.log_likelihood, decay, PENALTY, unfinished)
    return Fitted(PFA(ease, success, failure, decay, responses.concepts), report)


def _regressed(responses: Responses, decay: float) -> Regression:
    before = practice(responses, decay)
    features = np.stack([np.ones(responses.rows), before.successes, before.failures])
    return fit_logistic(features, responses.correct, responses.concept, PENALTY)


def _some_learners(responses: Responses, seed: int) -> Responses:
    """All responses, or those of some learners where they are more than `ENOUGH`."""
    if responses.rows <= ENOUGH:
        return responses
    rows = np.bincount(responses.learner, minlength=len(responses.learners))
    order = np.random.default_rng(seed).permutation(len(rows))
    chosen = np.zeros(len(rows), bool)
    chosen[order[np.cumsum(rows[order]) <= ENOUGH]] = True
    some = responses.where(chosen[responses.learner])
    present, concept = np.unique(some.concept, return_inverse=True)
    return some._replace(concept=concept.astype(np.int32), concepts=tuple(responses.concepts[at] for at in present))


def _best_lr(responses: Responses, settings: FitSettings) -> Fitted:
    return Fitted(*fit_best_lr(responses, settings.ridge))


def _elo(responses: Responses, settings: FitSettings) -> Fitted:
    return Fitted(*fit_elo(responses, settings.ridge, settings.seed))


_FITS: dict[str, Callable[[Responses, FitSettings], Fitted]] = {
    "ema": _ema,
    "bkt": _bkt,
    "bkt-forget": _bkt_forget,
    "pfa": _pfa,
    "elo": _elo,
    "best-lr": _best_lr,
}
