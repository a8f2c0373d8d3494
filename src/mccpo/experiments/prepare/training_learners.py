"""The learners to train with where they are of another kind than the tutor takes them for: `--learners`.

All models see the same events, with the concepts of the graph. Which is best is told by a fifth of the tutor's
learners, to whom none of them is fitted; the one that is taken is then fitted to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mccpo.env import PreparedEnsemble, PreparedTutor, Tutoring
from mccpo.errors import InputError
from mccpo.experiments.prepare.engagement import Engagement
from mccpo.experiments.prepare.held_out import HeldOut, held_out
from mccpo.experiments.prepare.judges import best_lr_judge, recurrent_judge
from mccpo.experiments.prepare.learners import RECURRENT_LEARNERS, harmless, pooled, without_clock
from mccpo.experiments.prepare.options import BEST, SIMULATED
from mccpo.experiments.prepare.parameters import SharedParameters, judge_of, tutor_of
from mccpo.mastery import BKT, PFA, BestLR, Recurrent, Responses, split_learners
from mccpo.mastery.fitting import FitSettings, fit, fit_recurrent
from mccpo.policy import Prices

HELD = 0.2
ENSEMBLE = ("bkt", "pfa", "best-lr")
"""The kinds that an ensemble has, where their models are good enough."""


class EnsembleKind(NamedTuple):
    """How many of an ensemble's learners are of a kind, and how its model predicts learners that are held out."""

    share: float
    held_out: HeldOut

    def as_json(self) -> dict[str, Any]:
        """The kind as plain values, for JSON."""
        return {"share": self.share, "held out": self.held_out._asdict()}


class ModelChoice(NamedTuple):
    """The model of the learners to train with, and how each predicted those held out, where they were compared."""

    model: str
    compared: dict[str, HeldOut]

    def as_json(self) -> dict[str, Any]:
        """The choice as plain values, for JSON."""
        return {"model": self.model, "held out": {name: loss._asdict() for name, loss in self.compared.items()}}


def choose_model(asked: str, responses: Responses, settings: FitSettings) -> ModelChoice:
    """The model that was asked for, or the one of the lowest log-loss on learners held out."""
    learners = len(np.unique(responses.learner))
    if asked == "recurrent" and learners < RECURRENT_LEARNERS:
        raise InputError(
            f"a recurrent network takes {RECURRENT_LEARNERS} learners, and there are {learners}",
            fix="take another kind with --learners, or give more logs",
        )
    if asked != BEST:
        return ModelChoice(asked, {})
    tried = [name for name in SIMULATED if name != "recurrent" or learners >= RECURRENT_LEARNERS]
    compared = compare_models(tried, responses, settings)
    return ModelChoice(min(compared, key=lambda name: compared[name].log_loss), compared)


def compare_models(names: Sequence[str], responses: Responses, settings: FitSettings) -> dict[str, HeldOut]:
    """How models predict a fifth of the learners, to whom they are not fitted."""
    fitted, held = split_learners(without_clock(responses), HELD, settings.seed)
    return {name: held_out(fit_model(name, fitted, settings), fitted, held) for name in names}


def ensemble_of(
    tracing: PreparedTutor, model: BKT, shared: SharedParameters, responses: Responses, settings: FitSettings
) -> tuple[PreparedEnsemble, dict[str, EnsembleKind]]:
    """Learners of several kinds, all fitted to the same people, and how each came to its share of them.

    `tracing` are those by knowledge tracing, of which `model` is what the tutor believes. A kind has the more learners
    the better its model predicts held-out ones, and none where it predicts them no better than a constant. Of a
    recurrent network nothing is learnt: it judges.
    """
    compared = compare_models(ENSEMBLE, responses, settings)
    skill = {name: loss.skill for name, loss in compared.items()}
    if not any(skill.values()):
        skill = {"bkt": 1.0}  # what the tutor believes in any case
    kinds = {name: EnsembleKind(skill.get(name, 0.0) / sum(skill.values()), compared[name]) for name in compared}
    others = {
        name: learners_of_kind(name, shared, model, responses, settings)[0]
        for name, kind in kinds.items()
        if kind.share > 0 and name != "bkt"
    }
    chosen = {name: tracing if name == "bkt" else others[name] for name, kind in kinds.items() if kind.share > 0}
    common = shared.as_arguments() | {name: getattr(tracing, name) for name in Prices._fields}
    del common["groups"]
    shares = tuple(kinds[name].share for name in chosen)
    return PreparedEnsemble(**common, kinds=tuple(chosen.values()), shares=shares), kinds


def fit_model(name: str, responses: Responses, settings: FitSettings) -> BKT | PFA | BestLR | Recurrent:
    """A model of learners that an environment can simulate; `responses` without a clock, which none of them has."""
    if name == "recurrent":
        return fit_recurrent(responses, settings.seed)[0]
    model = fit(name, responses, settings).model
    assert isinstance(model, BKT | PFA | BestLR)
    return pooled(model, responses) if isinstance(model, BKT) else model


def learners_of_kind(
    name: str, shared: SharedParameters, tracing: BKT, responses: Responses, settings: FitSettings
) -> tuple[Tutoring[Any], Engagement]:
    """The environment to train in with learners of a kind; `tracing` is what the tutor believes of them."""
    if name == "bkt":
        return tutor_of(shared, tracing, responses)
    model = fit_model(name, without_clock(responses), settings)
    if isinstance(model, PFA):
        return judge_of(shared, harmless(model), responses)
    if isinstance(model, BestLR):
        return best_lr_judge(shared, model, responses)
    assert isinstance(model, Recurrent)
    return recurrent_judge(shared, model, responses)
