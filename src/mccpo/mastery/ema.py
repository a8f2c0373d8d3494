"""Mastery as an exponential moving average of what was observed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.mastery.model import Number, Prediction

ALPHA = 0.08
"""The paper's."""


class EMA(NamedTuple):
    """Mastery moves by a share α of the way to 1 with each right answer, and of the way to 0 with each wrong one.

    What is observed may as well be the platform's signal of a gain: see `responses_of`.

    **Fields:**

    - `start`: mastery before the first answer.

    >>> model = EMA(start=np.array([0.5]), alpha=0.1)
    >>> round(float(model.update(0, model.init(0), correct=1.0)), 2)
    0.55
    """

    start: Float[np.ndarray, " entries"]
    alpha: float = ALPHA
    concepts: tuple[str, ...] = ()

    def init(self, concept: Number) -> Number:
        return self.start[concept]

    def predict(self, concept: Number, state: Number, elapsed: Number = 0.0) -> Prediction:
        return Prediction(state, state)

    def update(self, concept: Number, state: Number, correct: Number, elapsed: Number = 0.0) -> Number:
        return state + self.alpha * (correct - state)
