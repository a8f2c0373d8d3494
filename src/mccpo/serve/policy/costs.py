"""What a lesson is worth by the run's own reckoning: engagement and the three costs that carry budgets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccpo.serve.policy.learner_state import LearnerState, learning_rate
from mccpo.serve.policy.release import Release


class Priced(NamedTuple):
    """The engagement r_E and the costs of one lesson; `gain` is the mastery gained by which it was priced."""

    reward: float
    c2: float
    c3: float
    c4: float
    gain: float


def price(release: Release, standing: LearnerState, action: int, gain: float | None = None) -> Priced:
    """Prices a lesson by how the learner stood when it was decided.

    `gain` is the change of mastery that its outcome brought; it counts only where the run priced by it. The others go
    by the gain to be expected of the lesson, whatever the luck of its answer.
    """
    prices = release.prices
    at, which = divmod(action, len(release.activities))
    activity, K = release.activities[which], float(standing.K[at])
    expected = learning_rate(release, standing, release.concepts[at], activity.name) * (1 - K)
    gain = gain if release.tutor.realised and gain is not None else expected
    demand = min(float(release.curriculum.demand[at]) * activity.demand, 1.0)
    novelty = float(np.exp(-standing.practised[at] / release.tutor.novelty_span))
    engagement = prices.r_base - prices.r_difficulty * demand * (1 - K) + prices.r_novelty * novelty
    reward = min(max(engagement + activity.engagement, 0.0), 1.0)
    return Priced(
        reward=reward,
        c2=max(0.0, prices.c2_gain - gain),
        c3=max(0.0, prices.c3_demand - demand),
        c4=max(0.0, reward - prices.c4_rate * gain),
        gain=gain,
    )
