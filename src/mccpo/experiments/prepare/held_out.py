"""Whether a model of learners says more of others than a constant does."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mccpo.mastery import MasteryModel, Recurrent, ResponseModel, Responses
from mccpo.mastery.fitting import auc, predict_recurrent, predicted_by_event

_CLOSEST = 1e-12  # to 0 and 1, for the logarithm


class HeldOut(NamedTuple):
    """The log-loss of a model on learners that it was not fitted to, and that of one chance for all answers.

    `auc` is the chance that of a right and a wrong answer the right one was given more.
    """

    log_loss: float
    constant: float
    auc: float = math.nan

    @property
    def beats_constant(self) -> bool:
        return self.log_loss < self.constant

    @property
    def skill(self) -> float:
        """The share of the constant's log-loss that the model takes away; 0 where it is no better."""
        return max(1 - self.log_loss / self.constant, 0.0)


class HeldOutLosses(NamedTuple):
    """How each model predicts the learners whom the other was fitted to."""

    tutor: HeldOut
    judge: HeldOut

    def as_json(self) -> dict[str, dict[str, float]]:
        """The losses as plain values, for JSON."""
        return {"tutor": self.tutor._asdict(), "judge": self.judge._asdict()}


def held_out(model: MasteryModel | ResponseModel | Recurrent, fitted_to: Responses, others: Responses) -> HeldOut:
    """How a model predicts the answers of others, beside the share of right answers that it was fitted to."""
    if isinstance(model, Recurrent):
        predicted, correct = predict_recurrent(model, others)
    else:
        predicted, correct = predicted_by_event(model, others)
    said = np.clip(predicted.correct, _CLOSEST, 1 - _CLOSEST)
    chance = float(np.clip(fitted_to.correct.mean(), _CLOSEST, 1 - _CLOSEST))
    right = float(correct.mean())
    return HeldOut(
        log_loss=float(-np.log(np.where(correct, said, 1 - said)).mean()),
        constant=-(right * math.log(chance) + (1 - right) * math.log(1 - chance)),
        auc=auc(predicted.correct, correct),
    )
