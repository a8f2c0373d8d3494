"""Deferring: what the service does where it is not sure enough that a learner is ready for the policy's choice.

Mistakes are likeliest for choices that only just pass the gate. A service that defers therefore holds the policy to a
stricter gate, which asks for the chance `below`. What falls short of it is not served. Either a safe choice is served
and a teacher is asked, or the lesson whose answer tells most about the prerequisites in doubt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from mccpo.errors import InputError
from mccpo.serve.policy.gate import Opening

DeferTo = Literal["teacher", "probe"]


@dataclass(frozen=True)
class Deferral:
    """What is done with choices whose chance of being ready lies `below` a bound.

    - `to` a `teacher`: the case waits on a list until the learner answers, and a safe choice is served meanwhile.
    - `to` a `probe`: the lesson is served that tells most about what is in doubt.
    """

    to: DeferTo
    below: float = 0.97

    def __post_init__(self) -> None:
        if self.to not in get_args(DeferTo):
            choices = ", ".join(get_args(DeferTo))
            raise InputError(f"choices cannot be deferred to {self.to!r}", fix=f"choose from {choices}")
        if isinstance(self.below, bool) or not 0 < self.below < 1:
            raise InputError(f"choices are deferred below {self.below}", fix="give a chance between 0 and 1")

    def stricter(self, opening: Opening) -> Opening:
        """The gate that choices pass without being deferred. Whatever it opens, the gate itself opens, too."""
        return opening._replace(confidence=self.below)


def read_deferral(content: Mapping[str, Any] | None, opening: Opening) -> Deferral | None:
    """The deferral of a release's description; its bound must be stricter than the gate itself."""
    if content is None:
        return None
    deferral = Deferral(**content)
    if deferral.below <= opening.mastered:
        raise InputError(
            f"choices are deferred below {deferral.below}, and the gate opens at {opening.mastered}",
            fix=f"give --defer-below between {opening.mastered} and 1",
        )
    return deferral


def information(known: float, guess: float, slip: float) -> float:
    """The bits that the next answer is expected to tell about whether a concept is mastered.

    It is the mutual information of the two, where mastery has the chance `known`. An answer tells nothing where mastery
    is certain, or where it is as likely to be right without mastery as with it.

    >>> information(0.5, guess=0.0, slip=0.0), round(information(0.9, guess=0.2, slip=0.1), 3)
    (1.0, 0.163)
    """
    right = known * (1 - slip) + (1 - known) * guess
    wrong = known * slip + (1 - known) * (1 - guess)
    cases = (
        (known, 1 - slip, right),
        (known, slip, wrong),
        (1 - known, guess, right),
        (1 - known, 1 - guess, wrong),
    )
    told = math.fsum(
        prior * answer * math.log2(answer / overall)
        for prior, answer, overall in cases
        if prior > 0 and answer > 0 and overall > 0
    )
    return max(told, 0.0)
