"""Models of an answer: they know the item, and all that the learner answered before, on any concept.

A `MasteryModel` keeps a state for each learner and concept. A `ResponseModel` keeps one for a learner, because what is
right on one concept tells of the others too, and because items differ. Concepts and items go by their names, so that
two of them that were not there when the model was fitted are still told apart:

    state = model.init()
    mastery, correct = model.predict(state, "problem 12", ["fractions"], time)   # before the answer
    model.update(state, "problem 12", ["fractions"], right, time)                # after it

`time` is in seconds, on any clock that goes forward; NaN where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from mccpo.mastery.model import Prediction

NO_CLOCK = math.nan


@runtime_checkable
class ResponseModel(Protocol):
    """A model of answers to items.

    Mastery is the chance of a right answer on an item of the concepts of which nothing is known. `SHARED` and `OWN`
    name the weights.
    """

    SHARED: ClassVar[tuple[str, ...]]
    OWN: ClassVar[tuple[str, ...]]

    @property
    def weights(self) -> Weights:
        """What was fitted."""

    @property
    def concepts(self) -> tuple[str, ...]:
        """The concepts it was fitted to."""

    def init(self) -> Any:
        """The state of a learner of whom no answer is known."""

    def predict(self, state: Any, item: str | None, concepts: Sequence[str], time: float = NO_CLOCK) -> Prediction:
        """What the state says about the next answer; an item of None is not known."""

    def update(
        self, state: Any, item: str | None, concepts: Sequence[str], correct: bool, time: float = NO_CLOCK
    ) -> None:
        """Puts the answer in the state, in place."""


@dataclass(frozen=True, eq=False)
class Weights:
    """What a response model was fitted to be.

    **Fields:**

    - `shared`: what holds for all concepts and items.
    - `own`: what is added for each concept; last, for concepts that were not there, nothing.
    - `ease`: what is added for each item; last, for items that were not there, nothing. The ridge draws items to the
      mean of their concepts, which is where such an item then is.
    """

    shared: Float[np.ndarray, " shared"]
    own: Float[np.ndarray, "concepts+1 own"]
    ease: Float[np.ndarray, " items+1"]
    concepts: tuple[str, ...]
    items: tuple[str, ...]

    @cached_property
    def concept_at(self) -> dict[str, int]:
        """The row of each concept in `own`."""
        return {name: at for at, name in enumerate(self.concepts)}

    @cached_property
    def item_at(self) -> dict[str, int]:
        """The place of each item in `ease`."""
        return {name: at for at, name in enumerate(self.items)}

    def of_concept(self, name: str) -> Float[np.ndarray, " own"]:
        """The row of a concept, whether it was there or not."""
        return self.own[self.concept_at.get(name, -1)]

    def of_item(self, name: str | None) -> float:
        """The ease of an item, whether it was there or not."""
        return float(self.ease[self.item_at.get(name, -1)]) if name is not None else 0.0

    def concept_rows(self, names: Sequence[str]) -> Int[np.ndarray, " names"]:
        """The rows of some concepts."""
        return np.array([self.concept_at.get(name, -1) for name in names], np.int64)

    def item_places(self, names: Sequence[str]) -> Int[np.ndarray, " names"]:
        """The places of some items."""
        return np.array([self.item_at.get(name, -1) for name in names], np.int64)


def logistic(logit: float) -> float:
    """The chance of these log-odds, however far from 0 they are."""
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0
