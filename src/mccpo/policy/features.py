"""What a policy sees of a learner: named parts, and the one vector of numbers that they make in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from jaxtyping import Bool, Float

from mccpo.policy.arrays import Array, namespace


class Features(NamedTuple):
    """The parts of what a policy sees, in the order in which they are laid end to end.

    **Fields:**

    - `K`: the mastery of each concept, as far as it is known.
    - `novelty`: how new each concept is, from 1 (never taught) down to 0.
    - `last`: which action was the last, as a mask; all false before the first.
    - `ready`: the concepts that may be taught.
    - `case`: what else is known of the learner, some numbers for each concept, such as its targets.
    - `time`: the share of the episode that has passed, from 0 to 1.
    """

    K: Float[Array, "*batch concepts"]
    novelty: Float[Array, "*batch concepts"]
    last: Bool[Array, "*batch actions"]
    ready: Bool[Array, "*batch concepts"]
    case: tuple[Float[Array, "*batch concepts"], ...]
    time: Float[Array, "*batch 1"]


class Part(NamedTuple):
    """Where a part lies in the vector: its first number, and how many numbers it has."""

    first: int
    size: int

    @property
    def slice(self) -> slice:
        return slice(self.first, self.first + self.size)


@dataclass(frozen=True)
class Layout:
    """Where each part of `Features` lies in the vector that a network takes.

    >>> import numpy as np
    >>> layout = Layout(concepts=2, actions=4)
    >>> K, ready = np.array([0.25, 0.75]), np.array([True, False])
    >>> vector = layout.flatten(Features(K, np.ones(2), np.arange(4) == 3, ready, (), np.array([0.5])), np.float32)
    >>> vector.tolist()
    [0.25, 0.75, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.5]
    >>> layout.split(vector).last.tolist()
    [0.0, 0.0, 0.0, 1.0]

    **Fields:**

    - `concepts`, `actions`: how many there are; every concept has as many actions as another.
    - `case`: the names of what else is known of each concept.
    """

    concepts: int
    actions: int
    case: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many numbers the vector has."""
        return self.time.first + self.time.size

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts in their order; those of the case one by one."""
        cases = (self.concepts,) * len(self.case)
        sizes = (self.concepts, self.concepts, self.actions, self.concepts, *cases, 1)
        return tuple(map(Part, accumulate(sizes, initial=0), sizes))

    @property
    def of_concepts(self) -> tuple[Part, ...]:
        """The parts that are numbers of concepts, as many for each: all but the time."""
        return self.parts[:-1]

    @property
    def time(self) -> Part:
        return self.parts[-1]

    def flatten(self, features: Features, dtype: Any) -> Float[Array, "*batch features"]:
        """The parts end to end, as one vector of numbers of a kind."""
        *before, case, time = features
        return namespace(features.K).concatenate([*before, *case, time], axis=-1, dtype=dtype)

    def split(self, vector: Float[Array, ...], axis: int = -1) -> Features:
        """The parts of a vector, or of many side by side: the inverse of `flatten`, all as numbers.

        Of a NumPy array these are views: what is written to a part is written to the vector.
        """
        index: list[Any] = [slice(None)] * vector.ndim
        parts = []
        for part in self.parts:
            index[axis] = part.slice
            parts.append(vector[tuple(index)])
        K, novelty, last, ready, *case, time = parts
        return Features(K, novelty, last, ready, tuple(case), time)
