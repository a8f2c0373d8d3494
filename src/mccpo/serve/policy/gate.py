"""The gate, told in plain Python: it stands apart from the code that policies run on, and checks what they chose.

Nothing here is shared with the arrays of `mccpo.curriculum`: a fault there is found here. Whatever is doubtful keeps
the gate shut: a mastery that is missing, NaN or beyond [0, 1], a threshold that is none, a concept that is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class Opening(NamedTuple):
    """What opens the gate: a mastery of `theta` in every prerequisite; with a `confidence`, that chance of them all.

    Of the odds that a concept is mastered, a gate with a confidence does not count on the share `doubt`.
    """

    theta: float
    confidence: float | None = None
    doubt: Mapping[str, float] = MappingProxyType({})

    @property
    def mastered(self) -> float:
        """The mastery from which a concept, as the only prerequisite of another, opens it."""
        return self.theta if self.confidence is None else self.confidence

    def looser_than(self, other: Opening) -> bool:
        """Whether there is a mastery at which this opens a gate that `other` keeps shut.

        >>> Opening(0.3).looser_than(Opening(0.7)), Opening(0.7, confidence=0.9).looser_than(Opening(0.7))
        (True, False)
        """
        if self.confidence is None:
            return other.confidence is not None or self.theta < other.theta
        if other.confidence is None:  # a chance of them all is at most that of each
            return self.confidence < other.theta
        less_doubt = any(self.doubt.get(name, 0.0) < doubt for name, doubt in other.doubt.items())
        return self.confidence < other.confidence or less_doubt


def holds(
    prerequisites: Mapping[str, Sequence[str]], opening: Opening, mastery: Mapping[str, float], concept: str
) -> bool:
    """Whether a concept may be taught.

    >>> holds({"a": (), "b": ("a",)}, Opening(0.7), {"a": 0.7, "b": 0.2}, "b")
    True
    >>> holds({"a": (), "b": ("a",)}, Opening(0.7, confidence=0.95), {"a": 0.7, "b": 0.2}, "b")
    False
    """
    return concept in prerequisites and 0 < opening.mastered < 1 and not unmet(prerequisites, opening, mastery, concept)


def unmet(
    prerequisites: Mapping[str, Sequence[str]], opening: Opening, mastery: Mapping[str, float], concept: str
) -> list[str]:
    """The prerequisites of a concept that keep it locked, in their order.

    With a confidence these are the least mastered ones: as few as would open the gate if they were certain.

    >>> unmet({"a": (), "b": ("a",)}, Opening(0.7), {"a": 0.69, "b": 0.2}, "b")
    ['a']
    >>> unmet({"c": ("a", "b")}, Opening(0.7, confidence=0.95), {"a": 0.96, "b": 0.97}, "c")
    ['a']
    """
    needed = prerequisites[concept]
    known = {name: mastery.get(name, math.nan) for name in needed}
    if opening.confidence is None:
        return [name for name in needed if not opening.theta <= known[name] <= 1]
    blocking = {name for name in needed if not 0 <= known[name] <= 1}
    rest = sorted((name for name in needed if name not in blocking), key=lambda name: chance(opening, known, [name]))
    while rest and not chance(opening, known, rest) >= opening.confidence:
        blocking.add(rest.pop(0))
    return [name for name in needed if name in blocking]


def chance(opening: Opening, mastery: Mapping[str, float], concepts: Iterable[str]) -> float:
    """The chance that all of some concepts are mastered, of each as far as it is not in doubt.

    >>> round(chance(Opening(0.7), {"a": 0.9, "b": 0.8}, ["a", "b"]), 2)
    0.72
    """
    return math.prod(_less_doubt(mastery[name], opening.doubt.get(name, 0.0)) for name in concepts)


def trusted(opening: Opening, mastery: Mapping[str, float], concept: str) -> float:
    """The mastery of a concept that the gate counts on: with a confidence, less its doubt.

    >>> opening = Opening(0.7, confidence=0.95, doubt={"a": 0.9})
    >>> round(trusted(opening, {"a": 0.99}, "a"), 3)
    0.908
    """
    return mastery[concept] if opening.confidence is None else chance(opening, mastery, [concept])


def _less_doubt(known: float, doubt: float) -> float:
    """The chance of mastery at odds·(1 − doubt); 0 where all of them are in doubt."""
    certain = 1 - doubt * known
    return (1 - doubt) * known / certain if certain > 0 else 0.0
