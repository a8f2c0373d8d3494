"""The parameters of a tutor, checked as they are put together: of one to train in, and of one that is served."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mccpo.curriculum import Curriculum, check_confidence, check_theta
from mccpo.errors import InputError
from mccpo.policy.activities import Activity
from mccpo.policy.checks import (
    PerConcept,
    check_at_least_0,
    check_gamma,
    check_horizon,
    check_per_concept,
    check_probability,
    check_span,
    is_number,
)
from mccpo.policy.lesson import Prices


@dataclass(frozen=True, eq=False, kw_only=True)
class TutorParameters:
    """What a tutor takes for granted of a curriculum and its learners; parameters that cannot be are refused.

    **Fields:**

    - `curriculum`, `activities`: what can be taught, and how; without activities, every action is plain practice.
    - `K0`, `eta`: mastery at the start and learning rate, one number for all concepts or one for each.
    - `guess`, `slip`: the chances of a right answer without mastery and a wrong one with it, again for all or each.
    - `theta`: the mastery that opens the gate; `confidence`, where it is given: the chance that all prerequisites are
      mastered that opens it instead.
    - `doubt`: the share of the odds of mastery that a gate with a confidence does not count on, again for all or each.
    - `unready_gain`: the factor on the learning rate of a concept that is not ready.
    - `novelty_span`: the number of lessons over which a concept's novelty falls to 1/e.
    - `prices`: the numbers by which engagement and costs are worked out.
    - `horizon`, `gamma`: the length of an episode, and the discount.
    """

    curriculum: Curriculum
    activities: tuple[Activity, ...]
    K0: PerConcept
    eta: PerConcept
    guess: PerConcept
    slip: PerConcept
    theta: float
    unready_gain: float
    novelty_span: float
    prices: Prices
    horizon: int
    gamma: float
    confidence: float | None = None
    doubt: PerConcept = 0.0

    def __post_init__(self) -> None:
        if not is_number(self.theta):
            raise InputError(f"theta is {self.theta}", fix="give a number, such as 0.7")
        check_theta(self.theta)
        if self.confidence is not None:
            if not is_number(self.confidence):
                raise InputError(f"confidence is {self.confidence}", fix="give a number, such as 0.95")
            check_confidence(self.confidence)
        check_gamma(self.gamma)
        check_horizon(self.horizon)
        check_probability("unready_gain", self.unready_gain)
        check_probability("c3_demand", self.prices.c3_demand)
        for name in ("K0", "eta", "guess", "slip", "doubt"):
            check_per_concept(name, getattr(self, name), self.curriculum.concepts)
        for name, value in self.prices._asdict().items():
            check_at_least_0(name, value)
        check_span("novelty_span", self.novelty_span)
        _check_answers(self.guess, self.slip)
        for activity in self.activities:
            check_probability(f"eta times the gain of {activity.name}", np.max(self.eta) * activity.gain)


def _check_answers(guess: PerConcept, slip: PerConcept) -> None:
    """Refuses chances of answers that would say nothing of mastery."""
    if np.any(np.asarray(guess) + np.asarray(slip) >= 1):
        raise InputError(
            f"guess is {np.max(guess)} and slip is {np.max(slip)}",
            fix="let them sum to less than 1, so that a right answer speaks for mastery",
        )
