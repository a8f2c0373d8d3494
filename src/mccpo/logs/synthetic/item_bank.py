"""What made-up learners practise: exercises in a four-level taxonomy, each with a difficulty, a stage and problems."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import polars as pl
from jaxtyping import Bool, Int

DIFFICULTIES = ("easy", "normal", "hard")
STAGES = ("elementary", "junior", "senior")
_TWO_CONCEPTS = 7
"""Every seventh problem asks for two concepts, in the formats that can say so."""


@dataclass(frozen=True)
class ItemBank:
    """Exercises in the order in which the platform offers them, and how many problems each has.

    **Fields:**

    - `nodes`: how many nodes the second, third and fourth level of the taxonomy have; the first level is one subject.
      They are nested: a run of exercises shares a node, and a run of nodes the node above.
    """

    exercises: int
    problems: int
    nodes: tuple[int, int, int] = (10, 42, 171)

    @property
    def items(self) -> int:
        return self.exercises * self.problems

    @cached_property
    def level(self) -> tuple[Int[np.ndarray, " exercises"], ...]:
        """The node of each exercise at the second, third and fourth level."""
        fourth = _runs(self.exercises, self.nodes[2])
        third = _runs(self.nodes[2], self.nodes[1])[fourth]
        return _runs(self.nodes[1], self.nodes[0])[third], third, fourth

    @cached_property
    def difficulty(self) -> Int[np.ndarray, " exercises"]:
        """0 easy, 1 normal, 2 hard: rising within a node of the fourth level."""
        fourth = self.level[2]
        rank = np.arange(self.exercises) - np.searchsorted(fourth, fourth)
        size = np.bincount(fourth, minlength=self.nodes[2])[fourth]
        return rank * len(DIFFICULTIES) // np.maximum(size, 1)

    @cached_property
    def stage(self) -> Int[np.ndarray, " exercises"]:
        """0 elementary, 1 junior, 2 senior: the same for all of a node of the second level, as in Junyi's release."""
        return self.level[0] * len(STAGES) // self.nodes[0]

    def asks_for_two(self, item: Int[np.ndarray, " rows"]) -> Bool[np.ndarray, " rows"]:
        """Which problems ask for the exercise after their own, too."""
        return (item % _TWO_CONCEPTS == 0) & (item // self.problems + 1 < self.exercises)


@cache
def hashed(kind: str, count: int) -> pl.Series:
    """Ids as Junyi's release has them: base64 of 32 bytes, the same for the same kind and number."""
    digests = (hashlib.sha256(f"{kind} {number}".encode()).digest() for number in range(count))
    return pl.Series(kind, [base64.b64encode(digest).decode() for digest in digests], dtype=pl.String)


def _runs(length: int, count: int) -> Int[np.ndarray, " length"]:
    return np.arange(length) * min(count, length) // length
