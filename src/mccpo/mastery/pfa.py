"""Performance factors analysis: the odds of a right answer from what went right and wrong before.

Pavlik, Cen and Koedinger (2009), Performance factors analysis: a new alternative to knowledge tracing. Counts fade, so
that what is recent weighs more, as in Galyardt and Goldin (2015), Move your lamp post.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.mastery.model import Number, Prediction


class Practice(NamedTuple):
    """What was practised: right and wrong answers, each weighing `decay` of the one after it."""

    successes: Number
    failures: Number


class PFA(NamedTuple):
    """A logistic model; mastery is the chance of a right answer. The state is the practice so far.

    **Fields:**

    - `ease`: the log-odds of a right answer without practice.
    - `success`, `failure`: what each right and each wrong answer adds to them.

    >>> model = PFA(ease=np.array([0.0]), success=np.array([0.5]), failure=np.array([-0.1]))
    >>> round(float(model.predict(0, model.update(0, model.init(0), correct=1.0)).correct), 2)
    0.62
    """

    ease: Float[np.ndarray, " entries"]
    success: Float[np.ndarray, " entries"]
    failure: Float[np.ndarray, " entries"]
    decay: float = 0.8
    concepts: tuple[str, ...] = ()

    def init(self, concept: Number) -> Practice:
        none = 0.0 * self.ease[concept]  # zeros, as many as concepts are asked for
        return Practice(none, none)

    def predict(self, concept: Number, state: Practice, elapsed: Number = 0.0) -> Prediction:
        logit = self.ease[concept] + self.success[concept] * state.successes + self.failure[concept] * state.failures
        chance = 1 / (1 + math.e**-logit)
        return Prediction(chance, chance)

    def update(self, concept: Number, state: Practice, correct: Number, elapsed: Number = 0.0) -> Practice:
        return Practice(self.decay * state.successes + correct, self.decay * state.failures + (1 - correct))
