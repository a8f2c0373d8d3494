"""What a lesson that was served is worth by the run's own reckoning: engagement, and the costs that carry budgets."""

from __future__ import annotations

from typing import NamedTuple

from mccpo.policy import costs_of, engagement_of, novelty_of
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
    at, which = divmod(action, len(release.activities))
    activity, K = release.activities[which], float(standing.K[at])
    expected = learning_rate(release, standing, release.concepts[at], activity.name) * (1 - K)
    gain = gain if release.tutor.realised and gain is not None else expected
    demand = float(release.tutor.demand[action])
    novelty = float(novelty_of(standing.practised[at], release.tutor.novelty_span))
    engagement = float(engagement_of(release.prices, demand, K, novelty, activity.engagement))
    c2, c3, c4 = map(float, costs_of(release.prices, engagement, demand, gain))
    return Priced(engagement, c2, c3, c4, gain)
