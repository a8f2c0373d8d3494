"""Best-LR: a logistic regression on the item, its concepts, and what the learner answered before.

Gervet, Koedinger, Schneider and Mitchell (2020), When is deep learning the best approach to knowledge tracing?, have
the item, the concepts, and counts of earlier answers: on each concept, on the item, and in total. Ours counts right and
wrong answers rather than right ones and all. Beside them it has counts that fade, as in Galyardt and Goldin (2015), and
counts within an hour, a day, a week and a month, as in Choffin, Popineau, Bourda and Vie (2019), DAS3H. What all
concepts share is a weight of its own, so that a concept of which little is known behaves like the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mccpo.mastery.history import NOTHING, PRACTICE, WINDOWS, History
from mccpo.mastery.model import Prediction
from mccpo.mastery.response_model import NO_CLOCK, Weights, logistic


@dataclass(frozen=True, eq=False)
class BestLR:
    """A logistic regression; the state is the learner's history."""

    weights: Weights

    OWN: ClassVar[tuple[str, ...]] = ("ease", "wins", "fails")
    """What each concept adds: ease, and the first two of `PRACTICE`."""
    SHARED: ClassVar[tuple[str, ...]] = (
        "bias",
        *(f"item_{name}" for name in PRACTICE),
        *(f"total_{name}" for name in PRACTICE),
        *(f"concept_{name}" for name in PRACTICE),
        *(f"{name}_within_{window:g}" for window in WINDOWS for name in ("wins", "fails")),
    )
    ITEM: ClassVar[slice] = slice(1, 1 + len(PRACTICE))
    """Where in `SHARED` the practice of the item is."""
    CONCEPT: ClassVar[int] = 1 + 2 * len(PRACTICE)
    """Where in `SHARED` that of the concepts begins."""

    @property
    def concepts(self) -> tuple[str, ...]:
        return self.weights.concepts

    def init(self) -> History:
        return History()

    def predict(self, state: History, item: str | None, concepts: Sequence[str], time: float = NO_CLOCK) -> Prediction:
        shared, now = self.weights.shared, state.at(time)
        known = [0.0] * (len(PRACTICE) + 2 * len(WINDOWS))
        logit = float(shared[0] + np.dot(shared[self.ITEM.stop : self.CONCEPT], state.total.practice()))
        for name in concepts:
            tally = state.concepts.get(name, NOTHING)
            practice = tally.practice()
            known = [a + b for a, b in zip(known, practice + tally.recent(now), strict=True)]
            logit += float(np.dot(self.weights.of_concept(name), [1.0, *practice[:2]]))
        logit += float(np.dot(shared[self.CONCEPT :], known))
        of_item = state.items.get(item, NOTHING).practice() if item is not None else NOTHING.practice()
        extra = self.weights.of_item(item) + float(np.dot(shared[self.ITEM], of_item))
        return Prediction(logistic(logit), logistic(logit + extra))

    def update(
        self, state: History, item: str | None, concepts: Sequence[str], correct: bool, time: float = NO_CLOCK
    ) -> None:
        state.record(item, concepts, correct, time)
