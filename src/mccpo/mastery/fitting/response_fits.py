"""Response models fitted to responses, and what they predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int64
from scipy.optimize import minimize
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from mccpo.errors import InputError
from mccpo.mastery.best_lr import BestLR
from mccpo.mastery.elo import Elo
from mccpo.mastery.fitting.history_features import (
    Places,
    coefficients_of,
    history_design,
    item_logits,
    places_of,
    sparse_weights,
    weights_of,
)
from mccpo.mastery.fitting.reports import ResponseReport
from mccpo.mastery.fitting.sparse_logistic import Design, SparseRegression, fit_sparse_logistic
from mccpo.mastery.model import Prediction
from mccpo.mastery.response_model import ResponseModel, Weights
from mccpo.mastery.responses import Responses

ENOUGH = 20_000
"""Events from which the gains of Elo are chosen."""
_GAINS = (0.4, 0.05, 0.4, 0.1)
"""Where the search for the gains begins."""
_TRIES = 60


def fit_best_lr(responses: Responses, ridge: float) -> tuple[BestLR, ResponseReport]:
    """One regression over all events of all learners."""
    places, items = _own_places(responses)
    starts = responses.event_starts
    end = fit_sparse_logistic(history_design(responses, places), responses.correct[starts], ridge)
    shared, own = len(BestLR.SHARED), len(BestLR.OWN)
    model = BestLR(weights_of(end.coefficients, shared, own, responses.concepts, items))
    return model, _report(responses, end, ridge, places)


def fit_elo(responses: Responses, ridge: float, seed: int) -> tuple[Elo, ResponseReport]:
    """Difficulties by item response theory, with one ability for each learner; then gains that predict best."""
    places, items = _own_places(responses)
    starts = responses.event_starts
    event = np.repeat(np.arange(len(starts)), np.diff(starts, append=responses.rows))
    eases = sparse_weights(np.ones((responses.rows, 1)), event, places)
    who, learner = np.unique(responses.learner[starts], return_inverse=True)
    abilities = csr_array((np.ones(len(starts)), (np.arange(len(starts)), learner)), shape=(len(starts), len(who)))
    design = Design(np.ones((len(starts), 1)), csr_array(hstack([eases, abilities])))
    end = fit_sparse_logistic(design, responses.correct[starts], ridge)
    difficulties = weights_of(end.coefficients[: -len(who)], 1, 1, responses.concepts, items)
    return _with_best_gains(difficulties, _some_events(responses, seed)), _report(responses, end, ridge, places)


def _with_best_gains(difficulties: Weights, responses: Responses) -> Elo:
    """The gains under which each answer is likeliest after those before it."""
    right = responses.correct[responses.event_starts]

    def loss(logarithms: Float[np.ndarray, " gains"]) -> float:
        said = replay(_with_gains(difficulties, np.exp(logarithms)), responses).correct
        return float(-np.log(np.clip(np.where(right, said, 1 - said), 1e-12, 1.0)).mean())

    options = {"maxfev": _TRIES, "xatol": 0.05, "fatol": 1e-5}
    best = minimize(loss, np.log(_GAINS), method="Nelder-Mead", options=options)
    return _with_gains(difficulties, np.exp(best.x))


def predict_events(model: ResponseModel, responses: Responses) -> Prediction:
    """The model's prediction before each event, from the learner's earlier events."""
    return _predict_best_lr(model, responses) if isinstance(model, BestLR) else replay(model, responses)


def replay(model: ResponseModel, responses: Responses) -> Prediction:
    """The same, learner by learner and answer by answer, as a service goes."""
    mastery: list[float] = []
    correct: list[float] = []
    last, state = -1, model.init()
    for event in _events(responses):
        if event.learner != last:
            last, state = event.learner, model.init()
        said = model.predict(state, event.item, event.concepts, event.time)
        mastery.append(said.mastery)
        correct.append(said.correct)
        model.update(state, event.item, event.concepts, event.correct, event.time)
    return Prediction(np.array(mastery), np.array(correct))


class _Event(NamedTuple):
    learner: int
    item: str | None
    concepts: list[str]
    correct: bool
    time: float


def _events(responses: Responses) -> Iterator[_Event]:
    starts = responses.event_starts
    ends = np.append(starts[1:], responses.rows).tolist()
    concepts = [responses.concepts[code] for code in responses.concept]
    item = np.full(len(starts), -1) if responses.item is None else responses.item[starts]
    columns = (responses.learner[starts], item, responses.correct[starts], responses.time[starts])
    rows = zip(starts.tolist(), ends, *(column.tolist() for column in columns), strict=True)
    for start, end, learner, code, correct, time in rows:
        yield _Event(learner, responses.items[code] if code >= 0 else None, concepts[start:end], correct, time)


def _predict_best_lr(model: BestLR, responses: Responses) -> Prediction:
    places = places_of(model.weights, responses)
    design = history_design(responses, places)
    logits = design.logits(coefficients_of(model.weights))
    return Prediction(expit(logits - item_logits(model.weights, design, places)), expit(logits))


def _own_places(responses: Responses) -> tuple[Places, tuple[str, ...]]:
    """The places of the responses that a model is fitted to, and the items among them."""
    starts = responses.event_starts
    if responses.item is None:
        return Places(responses.concept, np.full(len(starts), -1), len(responses.concepts), 0), ()
    code = responses.item[starts]
    present = np.unique(code[code >= 0])
    place = np.where(code >= 0, np.searchsorted(present, code), -1)
    items = tuple(responses.items[at] for at in present)
    return Places(responses.concept, place, len(responses.concepts), len(items)), items


def _with_gains(difficulties: Weights, gains: Float[np.ndarray, " gains"]) -> Elo:
    return Elo(replace(difficulties, shared=np.append(difficulties.shared[:1], gains)))


def _some_events(responses: Responses, seed: int) -> Responses:
    """The responses of learners drawn until they make `ENOUGH` events, or all."""
    events: Int64[np.ndarray, " learners"] = np.bincount(
        responses.learner[responses.event_starts], minlength=len(responses.learners)
    )
    order = np.random.default_rng(seed).permutation(np.flatnonzero(events))
    count = int(np.searchsorted(np.cumsum(events[order]), ENOUGH)) + 1
    return responses.where(np.isin(responses.learner, order[:count]))


def _report(responses: Responses, end: SparseRegression, ridge: float, places: Places) -> ResponseReport:
    if not np.isfinite(end.coefficients).all():
        raise InputError(f"no finite weights fit with a ridge of {ridge:g}", fix="give a larger ridge")
    clock = bool(np.isfinite(responses.time).any())
    return ResponseReport(end.log_likelihood, ridge, places.items, clock, end.steps, end.converged)
