"""The learners of a prepared environment: one half of those in the logs, the other half, and how groups differ."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import polars as pl
from jaxtyping import Float, Int

from mccpo.env import Group
from mccpo.errors import InputError
from mccpo.logs import GROUP
from mccpo.mastery import BKT, PFA, BestLR, Recurrent, Responses, codes
from mccpo.mastery.fitting import FitReport, FitSettings, RecurrentReport, fit, fit_recurrent
from mccpo.work import Call, Calls, one_by_one

POOLED_WITH = 20
"""How many learners' worth of the mean over concepts the parameters of each are pooled with."""
RECURRENT_LEARNERS = 100
"""How many learners a recurrent network takes: of fewer it learns their answers by heart."""
MOST_GROUPS = 5
_UNKNOWN, _OTHER = "unknown", "other"
_LEAST_FACTOR, _MOST_FACTOR = 0.25, 4.0
"""How far the start and the pace of a group are taken to be off those of all."""


class ModelsReport(Protocol):
    """How the fits of the models of learners went."""

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""


class HalvesReport(NamedTuple):
    """How the fits to the two halves of the learners went."""

    tracing: FitReport
    factors: FitReport
    regression: FitReport
    network: RecurrentReport | None

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        network = {} if self.network is None else {"recurrent": self.network._asdict()}
        fits = {"bkt": self.tracing, "pfa": self.factors, "best-lr": self.regression}
        return {**{name: fit.as_json() for name, fit in fits.items()}, **network, "pooled with": POOLED_WITH}


class LearnerModels(NamedTuple):
    """The model of the learners to train with, those of the learners to judge by, and how the fits went.

    `judge`, `best_lr` and `recurrent` are of other kinds than `tutor`, and `others` of the same kind; all are of other
    people. There is no recurrent one where learners are too few for it, or their answers have no order.
    """

    tutor: BKT
    judge: PFA
    others: BKT
    best_lr: BestLR
    recurrent: Recurrent | None
    report: ModelsReport


FitModels: TypeAlias = Callable[[Responses, Responses, FitSettings], LearnerModels]
"""Gives the models of learners from the responses of the two halves."""


def halves(responses: Responses, seed: int) -> tuple[Responses, Responses]:
    """The responses of one half of the learners and of the other, by a hash of their names."""
    ranks = [hashlib.blake2b(f"half {seed}:{name}".encode(), digest_size=8).digest() for name in responses.learners]
    first = np.zeros(len(ranks), bool)
    first[sorted(range(len(ranks)), key=ranks.__getitem__)[: (len(ranks) + 1) // 2]] = True
    return responses.where(first[responses.learner]), responses.where(~first[responses.learner])


def fit_halves(ours: Responses, theirs: Responses, settings: FitSettings, calls: Calls = one_by_one) -> LearnerModels:
    """Knowledge tracing of one half, and every kind of model of the other."""
    fits = [
        Call("bkt of the tutor's learners", fit, ("bkt", ours, settings)),
        Call("pfa of the judge's learners", fit, ("pfa", theirs, settings)),
        Call("bkt of the judge's learners", fit, ("bkt", theirs, settings)),
        Call("best-lr of the judge's learners", fit, ("best-lr", without_clock(theirs), settings)),
    ]
    if len(np.unique(theirs.learner)) >= RECURRENT_LEARNERS:
        fits.append(Call("recurrent of the judge's learners", fit_recurrent, (theirs, settings.seed)))
    (tutor, tracing), (judge, factors), (others, _), (best_lr, regression), *more = calls(fits)
    assert isinstance(tutor, BKT)
    assert isinstance(judge, PFA)
    assert isinstance(others, BKT)
    assert isinstance(best_lr, BestLR)
    recurrent, network = more[0] if more else (None, None)
    report = HalvesReport(tracing, factors, regression, network)
    return LearnerModels(pooled(tutor, ours), judge, pooled(others, theirs), best_lr, recurrent, report)


def without_clock(responses: Responses) -> Responses:
    """The responses as simulated learners give theirs: no time passes between lessons."""
    return responses._replace(time=np.full(responses.rows, np.nan))


def pooled(model: BKT, responses: Responses) -> BKT:
    """The model with the parameters of each concept drawn to the mean, as if `POOLED_WITH` more learners had that.

    A concept that few learners met can fit anything: to learn it at once, or never.
    """
    learners = learners_of(model, responses)
    own = np.append(learners / (learners + POOLED_WITH), 1.0)  # the last is the mean itself
    drawn = {
        name: own * values + (1 - own) * values[-1] for name, values in model._asdict().items() if name != "concepts"
    }
    return model._replace(**drawn)


def learners_of(model: BKT, responses: Responses) -> Int[np.ndarray, " concepts"]:
    """How many learners met each concept of a model."""
    pairs = np.unique(responses.learner.astype(np.int64) * len(responses.concepts) + responses.concept)
    met = np.bincount(pairs % len(responses.concepts), minlength=len(responses.concepts))
    code_of = {name: at for at, name in enumerate(responses.concepts)}
    return met[[code_of[name] for name in model.concepts]]


def harmless(model: PFA) -> PFA:
    """The model with no answer that lowers the chance of the next one.

    That a wrong answer tells of a learner who knows less does not mean that it made them so: a lesson harms nobody.
    Counts that never fade would have no bound, so they fade a little.
    """
    return model._replace(
        success=np.maximum(model.success, 0.0),
        failure=np.maximum(model.failure, 0.0),
        decay=min(model.decay, 0.99),
    )


def as_learners(responses: Responses, concept: Int[np.ndarray, " rows"], concepts: tuple[str, ...]) -> Responses:
    """The responses on other concepts, with each learner's sequence on each of the old ones that of a learner apart.

    So what many concepts have in common can be fitted without taking two of them for one.
    """
    key = responses.learner.astype(np.int64) * len(responses.concepts) + responses.concept
    order = np.argsort(key, kind="stable")
    pairs, sequence = np.unique(key[order], return_inverse=True)
    return Responses(
        learner=sequence.astype(np.int32),
        concept=concept[order].astype(np.int32),
        correct=responses.correct[order],
        event=np.arange(responses.rows),
        time=responses.time[order],
        learners=tuple(map(str, pairs)),
        concepts=concepts,
    )


def labels_of(events: pl.DataFrame, group: str) -> dict[str, str]:
    """The group of each learner, by the learner's first event; beyond the largest groups all are one."""
    column = GROUP + group.removeprefix(GROUP)
    if column not in events.columns:
        known = [name.removeprefix(GROUP) for name in events.columns if name.startswith(GROUP)]
        raise InputError(
            f"the logs have no group {group!r}", fix=f"choose from {', '.join(known)}" if known else "leave it out"
        )
    whose = events.unique("learner", keep="first", maintain_order=True).select(
        pl.col("learner").cast(pl.String), pl.col(column).cast(pl.String).fill_null(_UNKNOWN).alias("group")
    )
    sizes = whose.group_by("group").len().sort(["len", "group"], descending=[True, False])
    large = set(sizes["group"][:MOST_GROUPS])
    return {learner: name if name in large else _OTHER for learner, name in whose.iter_rows()}


def groups_of(
    labels: Mapping[str, str], ours: Responses, settings: FitSettings, K0: np.ndarray, eta: np.ndarray
) -> tuple[Group, ...]:
    """The groups, the largest first, and how their start and pace differ: knowledge tracing, all concepts together.

    `K0` and `eta` are the environment's. What a group's factors make of the least of them stays a probability.
    """
    counts = {name: list(labels.values()).count(name) for name in sorted(set(labels.values()))}
    names = tuple(sorted(counts, key=lambda name: (name == _OTHER, -counts[name], name)))
    whose = np.array([names.index(labels[name]) for name in ours.learners], np.int32)
    model, _ = fit("bkt", as_learners(ours, whose[ours.learner], names), settings)
    assert isinstance(model, BKT)
    at = codes(model, names)
    share = np.array([counts[name] for name in names]) / len(labels)
    start = _factors(model.prior[at], share, 1 / float(K0.min()))
    pace = _factors(model.learn[at], share, 1 / float(eta.min()))
    share[-1] = 1 - share[:-1].sum()
    return tuple(
        Group(name, float(share[number]), eta=float(pace[number]), K0=float(start[number]))
        for number, name in enumerate(names)
    )


def _factors(
    values: Float[np.ndarray, " groups"], share: Float[np.ndarray, " groups"], most: float
) -> Float[np.ndarray, " groups"]:
    """Each group's value relative to the mean over learners."""
    values = np.maximum(values, 1e-3)
    return np.clip(values / (share @ values), _LEAST_FACTOR, min(_MOST_FACTOR, most))
