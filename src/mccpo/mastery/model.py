"""What every mastery model can do, and where its parameters are kept.

A model is a named tuple of arrays with one entry for each concept, and a last one for concepts that were not there when
it was fitted: position −1. Its functions are plain arithmetic, so that they take numbers, NumPy arrays and, inside jit,
those of JAX alike; a service needs no jax to run them. What is known of one learner and one concept is a small state,
and an answer updates it in constant time:

    state = model.init(concept)
    mastery, correct = model.predict(concept, state, elapsed)   # before the answer
    state = model.update(concept, state, right, elapsed)        # after it

`elapsed` is seconds since the learner's last answer on the concept: 0 before the first, NaN where there is no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from jaxtyping import Float, Int

Number: TypeAlias = Any
"""A number, or an array of NumPy or JAX."""


class Prediction(NamedTuple):
    """What a model says before an answer: how much is mastered, and the chance that the answer is right."""

    mastery: Number
    correct: Number


class MasteryModel(Protocol):
    """A model of what learners know, concept by concept."""

    @property
    def concepts(self) -> tuple[str, ...]:
        """The names that codes of concepts stand for."""

    def init(self, concept: Number) -> Any:
        """The state of a learner of whom no answer on the concept is known."""

    def predict(self, concept: Number, state: Any, elapsed: Number = 0.0) -> Prediction:
        """What the state says about the next answer."""

    def update(self, concept: Number, state: Any, correct: Number, elapsed: Number = 0.0) -> Any:
        """The state once the answer is seen."""


def codes(model: MasteryModel, names: Sequence[str]) -> Int[np.ndarray, " names"]:
    """The model's codes of concepts; −1, which stands for its last entry, where it does not know one."""
    code_of = {name: at for at, name in enumerate(model.concepts)}
    return np.array([code_of.get(name, -1) for name in names], np.int32)


def with_unseen(
    values: Float[np.ndarray, " concepts"], weight: Float[np.ndarray, " concepts"]
) -> Float[np.ndarray, " entries"]:
    """The values of the concepts, and last, for a concept that was not seen, their weighted mean."""
    return np.append(values, np.average(values, weights=weight))
