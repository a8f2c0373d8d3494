"""The kinds of learners that judge policies: how each is made an environment of, and which are refused.

A model judges only where it says more of held-out learners than a constant does. What mastered, ready and gained mean
for learners by their answers is said in `mccpo.env.tutor.answering`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.env import (
    BEST_LR_FILE,
    JUDGE_FILE,
    OTHERS_FILE,
    RECURRENT_FILE,
    PracticeWeights,
    PreparedBestLR,
    PreparedRecurrent,
    RecurrentWeights,
    Tutoring,
)
from mccpo.experiments.prepare.engagement import Engagement, engagement_of
from mccpo.experiments.prepare.held_out import HeldOut, held_out
from mccpo.experiments.prepare.learners import RECURRENT_LEARNERS, LearnerModels, without_clock
from mccpo.experiments.prepare.parameters import LEAST_RATE, SharedParameters, signals_of
from mccpo.mastery import BestLR, Recurrent, Responses, gated
from mccpo.mastery.fitting import predict_events, predict_recurrent, total_practice

LEVELS = 8
"""How many levels learners are told apart by, and the items of a concept, each of which has as many of them."""
_MIDDLES = (np.arange(LEVELS) + 0.5) / LEVELS
KINDS = {
    JUDGE_FILE: "performance factors",
    OTHERS_FILE: "knowledge tracing",
    BEST_LR_FILE: "Best-LR with items",
    RECURRENT_FILE: "a recurrent network",
}
"""What the learners of a judge are, by its file."""


class JudgeReport(NamedTuple):
    """How a judge came about.

    **Fields:**

    - `file`: of the prepared folder; `kind`: what its learners are.
    - `held_out`: how its model predicts learners that it was not fitted to; None where there is no model.
    - `refused`: why it does not judge, None where it does.
    """

    file: str
    kind: str
    held_out: HeldOut | None
    refused: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        loss = None if self.held_out is None else self.held_out._asdict()
        return {"file": self.file, "kind": self.kind, "held out": loss, "refused": self.refused}


def make_judges(
    shared: SharedParameters, fitted: LearnerModels, factors: HeldOut, ours: Responses, theirs: Responses
) -> tuple[dict[str, Tutoring[Any]], tuple[JudgeReport, ...]]:
    """The judges beside the first two, by their files; and the report of all. `factors` is of performance factors."""
    clockless = without_clock(ours)
    few = f"a recurrent network takes {RECURRENT_LEARNERS} learners, whose answers have an order"
    network = None if fitted.recurrent is None else held_out(fitted.recurrent, theirs, ours)
    reports = (
        reported(JUDGE_FILE, factors),
        reported(OTHERS_FILE, held_out(fitted.others, theirs, ours)),
        reported(BEST_LR_FILE, held_out(fitted.best_lr, theirs, clockless)),
        reported(RECURRENT_FILE, network, few if network is None else ""),
    )
    refused = {report.file for report in reports if report.refused is not None}
    judges: dict[str, Tutoring[Any]] = {}
    if BEST_LR_FILE not in refused:
        judges[BEST_LR_FILE] = best_lr_judge(shared, fitted.best_lr, theirs)[0]
    if RECURRENT_FILE not in refused and fitted.recurrent is not None:
        judges[RECURRENT_FILE] = recurrent_judge(shared, fitted.recurrent, theirs)[0]
    return judges, reports


def reported(file: str, held_out: HeldOut | None, missing: str = "") -> JudgeReport:
    """The report of a judge, refused where there is no model or it is no better than a constant."""
    refused = missing or None
    if held_out is not None and not held_out.beats_constant:
        refused = (
            f"it predicts held-out learners no better than a constant (log-loss {held_out.log_loss:.3f}, constant "
            f"{held_out.constant:.3f})"
        )
    return JudgeReport(file, KINDS[file], held_out, refused)


def best_lr_judge(shared: SharedParameters, model: BestLR, responses: Responses) -> tuple[PreparedBestLR, Engagement]:
    """Learners as Best-LR sees them, and how their engagement was fitted."""
    weights = practice_weights(model, shared.curriculum.concepts, responses)
    chance = predict_events(model, without_clock(responses)).mastery
    engagement = _engagement(shared, responses, chance)
    signals = signals_of(engagement, max(first_gain(weights), LEAST_RATE))
    return PreparedBestLR(**_common(shared), weights=weights, **signals), engagement


def recurrent_judge(
    shared: SharedParameters, model: Recurrent, responses: Responses
) -> tuple[PreparedRecurrent, Engagement]:
    """Learners as a recurrent network sees them, and how their engagement was fitted."""
    weights = RecurrentWeights(*model[:-1])
    chance = predict_recurrent(model, responses)[0].correct
    engagement = _engagement(shared, responses, chance)
    signals = signals_of(engagement, max(first_recurrent_gain(weights), LEAST_RATE))
    return PreparedRecurrent(**_common(shared), weights=weights, **signals), engagement


def _engagement(shared: SharedParameters, responses: Responses, chance: Float[np.ndarray, " events"]) -> Engagement:
    """How engagement depends on the chance of a right answer, which is known of each event."""
    of_rows = np.repeat(chance, np.diff(responses.event_starts, append=responses.rows))
    return engagement_of(responses, of_rows, np.asarray(shared.curriculum.demand))


def practice_weights(model: BestLR, concepts: tuple[str, ...], responses: Responses) -> PracticeWeights:
    """The weights of Best-LR for the concepts of a curriculum, with the items that the responses meet.

    What it has for items met before and for the clock is left out: lessons meet new items, and no time passes.
    """
    shared, own = model.weights.shared, model.weights.own[model.weights.concept_rows(concepts)]
    size = BestLR.ITEM.stop - BestLR.ITEM.start
    return PracticeWeights(
        ease=shared[0] + own[:, 0],
        wins=own[:, 1],
        fails=own[:, 2],
        concept=shared[BestLR.CONCEPT : BestLR.CONCEPT + size],
        ability=_ability_levels(model, responses),
        items=_item_levels(model, concepts, responses),
    )


def _ability_levels(model: BestLR, responses: Responses) -> Float[np.ndarray, " levels"]:
    """What all answers together add to a learner's log-odds, the mean over its events, in equal shares of learners."""
    starts = responses.event_starts
    total = model.weights.shared[BestLR.ITEM.stop : BestLR.CONCEPT]
    added = total_practice(responses) @ total
    _, whose = np.unique(responses.learner[starts], return_inverse=True)
    of_learner = np.bincount(whose, added) / np.bincount(whose)
    return np.quantile(of_learner, _MIDDLES)


def _item_levels(
    model: BestLR, concepts: tuple[str, ...], responses: Responses
) -> Float[np.ndarray, "concepts levels"]:
    """Of each concept, the ease of items at the middle of equal shares of its answers; 0 where it has none."""
    levels = np.zeros((len(concepts), LEVELS))
    if responses.item is None or not len(model.weights.items):
        return levels
    ease = np.append(model.weights.ease[model.weights.item_places(responses.items)], 0.0)[responses.item]
    for at, name in enumerate(concepts):
        met = ease[responses.concept == responses.concepts.index(name)] if name in responses.concepts else ease[:0]
        if len(met):
            levels[at] = np.quantile(met, _MIDDLES)
    return levels


def first_gain(weights: PracticeWeights) -> float:
    """What the first lesson on a concept is expected to add to the chance of a right answer, the mean over concepts."""
    start = np.add.outer(np.asarray(weights.ease)[:, None] + weights.items, weights.ability)
    two = np.log(2.0)
    now = _chance(start).mean(axis=1)  # [concepts, abilities]: items are met at random, learners stay who they are
    after = []
    for own, told in ((weights.wins, [two, 0, 1, 0, 1, 0]), (weights.fails, [0, two, 0, 1, 0, 1])):
        added = two * np.asarray(own) + np.dot(weights.concept, told)
        after.append(_chance(start + added[:, None, None]).mean(axis=1))
    return float((now * after[0] + (1 - now) * after[1] - now).mean())


def first_recurrent_gain(weights: RecurrentWeights) -> float:
    """The same of a recurrent network."""
    start = np.zeros((weights.concepts, weights.units))
    now = _chance(np.asarray(weights.bias, float))
    wrong, right = (
        _chance((weights.out * gated(read, weights.recurrent, weights.candidate, start)).sum(axis=1) + weights.bias)
        for read in np.asarray(weights.answer, float)
    )
    return float((now * right + (1 - now) * wrong - now).mean())


def _chance(log_odds: Float[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
    return 1 / (1 + np.exp(-log_odds))


def _common(shared: SharedParameters) -> dict[str, Any]:
    """What these judges share with the tutor: all but groups, which their models do not tell apart."""
    return {name: value for name, value in shared.as_arguments().items() if name != "groups"}
