"""What is served in the place of a choice that is not: the safe choice, or where choices are probed, what tells most.

The safe choice is the least mastered of the concepts that may be served, the first in order among equals.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from jaxtyping import Bool

from mccpo.errors import MccpoError
from mccpo.serve.policy import gate
from mccpo.serve.policy.certificate import By
from mccpo.serve.policy.deferral import information
from mccpo.serve.policy.release import Release

_EQUAL = 1e-9
"""Lessons tell equally much up to this share of the most: machines differ in the last digits of a logarithm."""


class Refusal(MccpoError):  # noqa: N818 - an answer, not a fault of the program
    """There is nothing that may be taught: no concept is ready, or what is known of the learner is unsound."""


class StandIn:
    """What may be served to one learner now, and what is served in the place of everything else."""

    def __init__(self, release: Release, known: Mapping[str, float]) -> None:
        self.release, self.known = release, known
        self._probes: dict[str | None, int] = {}

    @property
    def by(self) -> By:
        """Who chooses what stands in."""
        deferral = self.release.deferral
        if deferral is None:
            return "fallback"
        return "deferred" if deferral.to == "teacher" else "probe"

    def ready(self, action: int) -> bool:
        """Whether the gate lets an action through."""
        return self._ready(self.release.actions[action][0])

    def sure(self, action: int) -> bool:
        """Whether an action may be served: it passes the gate and, where choices are deferred, the stricter one."""
        return self._sure(self.release.actions[action][0])

    def shut(self, ready: Bool[np.ndarray, " actions"]) -> Bool[np.ndarray, " actions"]:
        """Which actions are not served; without deferring, those that are not `ready` by the policy's own arrays."""
        if self.release.deferral is None:
            return ~ready
        of_concepts = [not self._sure(name) for name in self.release.concepts]
        return np.repeat(np.array(of_concepts), len(self.release.activities))

    def instead_of(self, wanted: int | None) -> int:
        """The action that stands in for one that the policy wanted, or for none, where it gave none."""
        if self.by != "probe":
            return self.safe
        concept = None if wanted is None else self.release.actions[wanted][0]
        if concept not in self._probes:
            self._probes[concept] = self._probe(concept)
        return self._probes[concept]

    @cached_property
    def safe(self) -> int:
        """The first action of the least mastered concept that may be served."""
        served = [name for name in self.release.concepts if self._sure(name)]
        if not served:
            raise Refusal("the learner is ready for no concept")
        return self.release.action(min(served, key=self.known.__getitem__))

    def _ready(self, concept: str) -> bool:
        return gate.holds(self.release.prerequisites, self.release.opening, self.known, concept)

    def _sure(self, concept: str) -> bool:
        strict = self.release.stricter
        return self._ready(concept) and (
            strict is None or gate.holds(self.release.prerequisites, strict, self.known, concept)
        )

    def _probe(self, concept: str | None) -> int:
        """The first action of the concept whose answer tells most about what keeps `concept` below the bound."""
        about = self._in_doubt(concept)
        told = {name: self._information(name) for name in self.release.concepts if name in about and self._sure(name)}
        if not told:
            return self.safe
        most = max(told.values())
        return self.release.action(next(name for name, bits in told.items() if bits >= most * (1 - _EQUAL)))

    def _in_doubt(self, concept: str | None) -> set[str]:
        """The prerequisites that keep a concept below the bound; of one that may not be served itself, its own.

        Without a concept, all there are: the answer shall tell most about the learner.
        """
        strict = self.release.stricter
        if concept is None or strict is None:
            return set(self.release.concepts)
        found: set[str] = set()
        open_ends = [concept]
        while open_ends:
            for name in gate.unmet(self.release.prerequisites, strict, self.known, open_ends.pop()):
                if name not in found:
                    found.add(name)
                    if not self._sure(name):
                        open_ends.append(name)
        return found

    def _information(self, concept: str) -> float:
        at, model = self.release.curriculum.index(concept), self.release.learner
        return information(self.known[concept], float(model.guess[at]), float(model.slip[at]))
