"""How much a gate locks at the start of an episode, and how soon lessons open it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from mccpo.curriculum import Curriculum
from mccpo.experiments.prepare.parameters import SharedParameters


class GateReach(NamedTuple):
    """What a gate locks at the start, and how many lessons open the first concept that is locked.

    **Fields:**

    - `locked`, `concepts`: how many concepts are locked at the start, and how many there are.
    - `fewest_lessons`: where every answer is right, which is the most that the estimate of mastery can rise.
    - `expected_lessons`: where the estimate rises as it does on average.
    - `flag`, `asked`: which of --theta and --ready opens it, and at what.
    """

    locked: int
    concepts: int
    fewest_lessons: float
    expected_lessons: float
    flag: str
    asked: float
    horizon: int


def gate_reach(shared: SharedParameters) -> GateReach:
    """How far the gate of an environment lets a learner get, by what the tutor believes of learners."""
    K0, eta, guess, slip, doubt = (np.asarray(values, float) for values in shared.beliefs)
    if shared.confidence is None:
        flag, asked, enough = "theta", shared.theta, np.full(len(K0), shared.theta)
        ready = shared.curriculum.ready(K0, shared.theta)
    else:
        flag, asked, enough = "ready", shared.confidence, shared.curriculum.enough(shared.confidence, doubt)
        ready = shared.curriculum.joint_chance(K0, doubt) >= shared.confidence
    right = _lessons(K0, eta, guess, slip, enough, shared.horizon)
    # The posterior is K on average, so that only learning moves the mean: 1 − (1 − K₀)(1 − η)ⁿ.
    with np.errstate(divide="ignore"):  # where all is in doubt, nothing is enough, and no number of lessons will do
        missing = np.log((1 - enough) / (1 - K0))
    expected = np.maximum(np.ceil(missing / np.log1p(-eta) - 1e-9), 0.0)
    return GateReach(
        locked=int((~ready).sum()),
        concepts=len(shared.curriculum),
        fewest_lessons=_first_opening(shared.curriculum, ready, right),
        expected_lessons=_first_opening(shared.curriculum, ready, expected),
        flag=flag,
        asked=asked,
        horizon=shared.horizon,
    )


def _lessons(
    K0: Float[np.ndarray, " concepts"],
    eta: Float[np.ndarray, " concepts"],
    guess: Float[np.ndarray, " concepts"],
    slip: Float[np.ndarray, " concepts"],
    enough: Float[np.ndarray, " concepts"],
    most: int,
) -> Float[np.ndarray, " concepts"]:
    """How many lessons with a right answer bring each concept's estimate to enough; infinitely many over `most`."""
    K, lessons = K0.copy(), np.where(enough <= K0, 0.0, np.inf)
    for lesson in range(1, most + 1):
        mastered = K * (1 - slip)
        K = mastered / (mastered + (1 - K) * guess)
        K = K + eta * (1 - K)
        lessons = np.minimum(lessons, np.where(enough <= K, lesson, np.inf))
        if np.isfinite(lessons).all():
            break
    return lessons


def _first_opening(
    curriculum: Curriculum, ready: Bool[np.ndarray, " concepts"], lessons: Float[np.ndarray, " concepts"]
) -> float:
    """The fewest lessons after which a concept that is locked at the start opens; 0 where none is locked.

    The first to open has no locked prerequisite: that one would have to open before it.
    """
    if ready.all():
        return 0.0
    before, after = curriculum.prerequisites.edges.T
    waiting = np.zeros(len(curriculum))
    np.add.at(waiting, after, np.where(ready, lessons, np.inf)[before])
    return float(waiting[~ready].min())
