"""Whether a model of learners says more of others than a constant does."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mccpo.mastery import MasteryModel, Responses
from mccpo.mastery.fitting import diagnose

_CLOSEST = 1e-12  # to 0 and 1, for the logarithm


class HeldOut(NamedTuple):
    """The log-loss of a model on learners that it was not fitted to, and that of one chance for all answers."""

    log_loss: float
    constant: float


class HeldOutLosses(NamedTuple):
    """How each model predicts the learners whom the other was fitted to."""

    tutor: HeldOut
    judge: HeldOut

    def as_json(self) -> dict[str, dict[str, float]]:
        """The losses as plain values, for JSON."""
        return {"tutor": self.tutor._asdict(), "judge": self.judge._asdict()}


def held_out(model: MasteryModel, fitted_to: Responses, others: Responses) -> HeldOut:
    """How a model predicts the answers of others, beside the share of right answers that it was fitted to."""
    result = diagnose(model, others)
    chance = float(np.clip(fitted_to.correct.mean(), _CLOSEST, 1 - _CLOSEST))
    constant = -(result.correct * math.log(chance) + (1 - result.correct) * math.log(1 - chance))
    return HeldOut(result.log_loss, constant)
