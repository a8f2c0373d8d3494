"""What a lesson is worth: the learner's engagement r_E, and the costs c2, c3 and c4 that carry the budgets.

With the demand of the lesson, the mastery K of its concept, the concept's novelty, all as they are before the lesson,
and the mastery ΔK that is gained:

    r_E = r_base − r_difficulty·demand·(1 − K) + r_novelty·novelty + the activity's own engagement, held to [0, 1]
    c2  = max(0, c2_gain − ΔK)        insufficient progress
    c3  = max(0, c3_demand − demand)  inadequate demand
    c4  = max(0, r_E − c4_rate·ΔK)    engagement without learning
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jaxtyping import Bool, Float, Int

from mccpo.policy.activities import Activity
from mccpo.policy.arrays import Array, namespace


class Prices(NamedTuple):
    """The numbers by which engagement and costs are worked out; see the formulas above."""

    r_base: float
    r_difficulty: float
    r_novelty: float
    c2_gain: float
    c3_demand: float
    c4_rate: float


class Costs(NamedTuple):
    """What a lesson costs: insufficient progress, inadequate demand, engagement without learning."""

    c2: Float[Array, "*batch"]
    c3: Float[Array, "*batch"]
    c4: Float[Array, "*batch"]


def engagement_of(
    prices: Prices,
    demand: Float[Array, "*batch"],
    K: Float[Array, "*batch"],
    novelty: Float[Array, "*batch"],
    activity: Float[Array, "*batch"] | float = 0.0,
) -> Float[Array, "*batch"]:
    """The engagement r_E of a lesson; `activity` is what its activity adds.

    >>> prices = Prices(0.581, 1.23, 0.03, c2_gain=0.022, c3_demand=0.5, c4_rate=10.5)
    >>> round(float(engagement_of(prices, demand=0.2, K=0.2, novelty=1.0)), 4)
    0.4142
    """
    xp = namespace(demand, K, novelty)
    difficulty = prices.r_difficulty * demand * (1 - K)
    unbounded = prices.r_base - difficulty + prices.r_novelty * novelty + activity
    return xp.minimum(1.0, xp.maximum(0.0, unbounded))


def costs_of(
    prices: Prices, engagement: Float[Array, "*batch"], demand: Float[Array, "*batch"], gain: Float[Array, "*batch"]
) -> Costs:
    """The costs of a lesson that engages so much, demands so much and gains so much mastery.

    >>> prices = Prices(0.581, 1.23, 0.03, c2_gain=0.022, c3_demand=0.5, c4_rate=10.5)
    >>> [round(float(cost), 4) for cost in costs_of(prices, engagement=0.4142, demand=0.2, gain=0.01)]
    [0.012, 0.3, 0.3092]
    """
    xp = namespace(engagement, demand, gain)
    return Costs(
        c2=xp.maximum(0.0, prices.c2_gain - gain),
        c3=xp.maximum(0.0, prices.c3_demand - demand),
        c4=xp.maximum(0.0, engagement - prices.c4_rate * gain),
    )


def demand_of(concepts: Float[Array, " concepts"], activities: Sequence[Activity]) -> Float[Array, " actions"]:
    """How much each action asks of a learner: the demand of its concept times its activity's factor, at most 1.

    >>> import numpy as np
    >>> demand_of(np.array([0.5, 0.9]), [Activity("hint", demand=0.6), Activity("challenge", demand=1.3)]).round(2)
    array([0.3 , 0.65, 0.54, 1.  ])
    """
    xp = namespace(concepts)
    factors = xp.asarray([activity.demand for activity in activities])
    return xp.minimum(xp.outer(concepts, factors).ravel(), 1.0)


def novelty_of(taught: Int[Array, "*concepts"], span: float) -> Float[Array, "*concepts"]:
    """How new a concept is that was taught so many times: 1 at first, 1/e after `span` lessons.

    >>> import numpy as np
    >>> novelty_of(np.array([0, 5, 10]), span=5.0).round(3)
    array([1.   , 0.368, 0.135])
    """
    return namespace(taught).exp(taught / -span)


def learning_rate(
    rate: Float[Array, "*batch"], ready: Bool[Array, "*batch"], unready_gain: float
) -> Float[Array, "*batch"]:
    """The share of the missing mastery that a lesson brings: `unready_gain` of its rate where it is not ready.

    >>> [round(float(learning_rate(0.08, ready, unready_gain=0.1)), 4) for ready in (True, False)]
    [0.08, 0.008]
    """
    return rate * namespace(rate, ready).where(ready, 1.0, unready_gain)
