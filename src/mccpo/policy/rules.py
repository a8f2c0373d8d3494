"""Rules by which tutors choose without having learnt: of which actions one is drawn, each with the same chance.

Masks and numbers are of actions first, then of whatever comes in batches. What else a rule goes by, such as the
mastery K of the concept that each action teaches, is given in the same shape.

>>> import numpy as np
>>> K, open = np.array([0.8, 0.3, 0.3, 0.1]), np.array([True, True, True, False])
>>> curriculum_order(K, 0.7, open).tolist()
[False, True, False, False]
>>> mastery_learning(K, 0.7, open).tolist()
[False, True, True, False]
>>> greedy_gain(np.array([0.9, 0.1, 0.2, 0.9]), K, open).tolist()
[True, False, False, False]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from mccpo.policy.activities import PRACTICE, Activity
from mccpo.policy.arrays import Array, namespace

MASTERED = 0.95
"""The estimate of mastery at which cognitive tutors go on to the next skill."""


def curriculum_order(
    K: Float[Array, actions * batch], enough: Float[Array, actions * batch], lessons: Bool[Array, actions * batch]
) -> Bool[Array, actions * batch]:
    """The first lesson that is not mastered enough; where there is none, the first of those mastered least."""
    new = lessons & (enough > K)
    return first(namespace(K).where(new.any(axis=0), new, highest(-K, lessons)))


def mastery_learning(
    K: Float[Array, actions * batch],
    enough: Float[Array, actions * batch],
    lessons: Bool[Array, actions * batch],
    mastered: float = MASTERED,
) -> Bool[Array, actions * batch]:
    """The lessons mastered least, until all are `mastered`; then any. A gate may ask for more: `enough`."""
    xp = namespace(K)
    missing = lessons & (xp.maximum(mastered, enough) > K)
    return xp.where(missing.any(axis=0), highest(-K, missing), lessons)


def greedy_gain(
    rate: Float[Array, actions * batch], K: Float[Array, actions * batch], lessons: Bool[Array, actions * batch]
) -> Bool[Array, actions * batch]:
    """The lessons of which most is expected; `rate` is the share of the missing mastery that each brings."""
    return highest(rate * (1 - K), lessons)


def highest(score: Float[Array, actions * batch], among: Bool[Array, actions * batch]) -> Bool[Array, actions * batch]:
    """Those of the best score among some, more than one where they are equal."""
    xp = namespace(score, among)
    held = xp.where(among, score, -xp.inf)
    return among & (held == held.max(axis=0))


def first(among: Bool[Array, actions * batch]) -> Bool[Array, actions * batch]:
    """The first of some, in the order of the actions."""
    return among & (namespace(among).cumsum(among, axis=0) == 1)


def nearest_to_practice(activities: Sequence[Activity]) -> Bool[np.ndarray, " activities"]:
    """The activity nearest to plain practice, by its gain."""
    off = [abs(activity.gain - PRACTICE.gain) for activity in activities]
    return np.arange(len(off)) == np.argmin(off)
