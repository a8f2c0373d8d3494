"""Bayesian knowledge tracing: a concept is known or not, and answers tell which, with guesses and slips.

Corbett and Anderson (1995), Knowledge tracing: modeling the acquisition of procedural knowledge. Forgetting after a
pause as in Qiu, Qi, Lu, Pardos and Heffernan (2011), Does time matter? Modeling the effect of time with Bayesian
knowledge tracing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.mastery.model import Number, Prediction

PAUSE = 86_400.0
"""Seconds after which something may have been forgotten: a day."""


class BKT(NamedTuple):
    """Mastery is the chance that the concept is known; the state is that chance before the next answer.

    **Fields:**

    - `prior`: the chance that it is known before the first answer.
    - `learn`: the chance to learn it with an answer, while it is not known.
    - `guess`, `slip`: the chances of a right answer while it is not known, and of a wrong one while it is.

    >>> model = BKT(*np.array([[0.4], [0.1], [0.2], [0.1]]), concepts=())
    >>> state = model.update(0, model.init(0), correct=True)
    >>> round(float(model.predict(0, state).correct), 4)
    0.7425
    """

    prior: Float[np.ndarray, " entries"]
    learn: Float[np.ndarray, " entries"]
    guess: Float[np.ndarray, " entries"]
    slip: Float[np.ndarray, " entries"]
    concepts: tuple[str, ...] = ()

    def init(self, concept: Number) -> Number:
        return self.prior[concept]

    def predict(self, concept: Number, state: Number, elapsed: Number = 0.0) -> Prediction:
        return Prediction(state, state * (1 - self.slip[concept]) + (1 - state) * self.guess[concept])

    def update(self, concept: Number, state: Number, correct: Number, elapsed: Number = 0.0) -> Number:
        return _learnt(_seen(state, correct, self.guess[concept], self.slip[concept]), self.learn[concept])


class BKTForget(NamedTuple):
    """Knowledge tracing in which what is known may be forgotten in a pause.

    A pause is a time of at least `pause` seconds since the last answer on the concept. Where there is no clock, there
    may be one before any answer. The state is the chance that the concept is known right after the last answer.

    **Fields:**

    - `prior`, `learn`, `guess`, `slip`: as in `BKT`.
    - `forget`: the chance that a known concept is no longer known after a pause.
    """

    prior: Float[np.ndarray, " entries"]
    learn: Float[np.ndarray, " entries"]
    guess: Float[np.ndarray, " entries"]
    slip: Float[np.ndarray, " entries"]
    forget: Float[np.ndarray, " entries"]
    pause: float = PAUSE
    concepts: tuple[str, ...] = ()

    def init(self, concept: Number) -> Number:
        return self.prior[concept]

    def predict(self, concept: Number, state: Number, elapsed: Number = 0.0) -> Prediction:
        known = self._retained(concept, state, elapsed)
        return Prediction(known, known * (1 - self.slip[concept]) + (1 - known) * self.guess[concept])

    def update(self, concept: Number, state: Number, correct: Number, elapsed: Number = 0.0) -> Number:
        known = self._retained(concept, state, elapsed)
        return _learnt(_seen(known, correct, self.guess[concept], self.slip[concept]), self.learn[concept])

    def _retained(self, concept: Number, state: Number, elapsed: Number) -> Number:
        return state * (1 - self.forget[concept] * paused(elapsed, self.pause))


def paused(elapsed: Number, pause: float) -> Number:
    """1 where something may have been forgotten, which a clock that is not there cannot rule out, else 0."""
    return 1 - (elapsed < pause)


def _seen(known: Number, correct: Number, guess: Number, slip: Number) -> Number:
    """The chance that a concept is known once an answer is seen."""
    if_known = known * (correct * (1 - slip) + (1 - correct) * slip)
    return if_known / (if_known + (1 - known) * (correct * guess + (1 - correct) * (1 - guess)))


def _learnt(known: Number, learn: Number) -> Number:
    return known + (1 - known) * learn
