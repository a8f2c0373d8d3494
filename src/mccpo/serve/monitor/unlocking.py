"""How long concepts stay locked to the learners of a group, from sums that are kept as decisions are taken.

A concept is at risk in each decision of its learner up to that in which it is first ready. The share that opens in a
decision, of those at risk, makes the curve of what is still locked (Kaplan and Meier 1958), and the mean is the area
under it. Its error comes from the influence of each learner on it, with all of the learner's concepts together. That is
a quadratic form in how many concepts opened to a learner and were at risk, decision by decision, so that the sums of
their products over learners suffice: they are as large as the horizon, however many learners there are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from mccpo.serve.monitor.estimates import Estimate

_CHUNK = 4_096
"""Learners whose profiles are in memory at a time."""


def unlock_profiles(
    decisions: Int[np.ndarray, " learners"], unlocked: Int[np.ndarray, "learners concepts"], horizon: int
) -> Float[np.ndarray, "learners steps"]:
    """How many concepts opened to each learner in each decision up to the horizon, then how many were at risk in it."""
    learners, concepts = unlocked.shape
    seen = (unlocked >= 0) & (unlocked < horizon)
    which, _ = np.nonzero(seen)
    opened = np.bincount(which * horizon + unlocked[seen], minlength=learners * horizon).reshape(learners, horizon)
    locked = concepts - np.cumsum(opened, axis=1) + opened
    at_risk = locked * (np.arange(horizon) < decisions[:, None])
    return np.hstack([opened, at_risk]).astype(np.float64)


class LearnerProfile(NamedTuple):
    """The concepts that opened to a learner in each decision so far, that were at risk in it, and that are now."""

    opened: Int[np.ndarray, " steps"]
    at_risk: Int[np.ndarray, " steps"]
    at_risk_now: int


def learner_profile(step: int, unlocked: Int[np.ndarray, " concepts"]) -> LearnerProfile:
    """The profile of one learner, who has had so many decisions."""
    opened = np.bincount(unlocked[unlocked >= 0], minlength=step)
    after = len(unlocked) - np.cumsum(opened)
    return LearnerProfile(opened, after + opened, int((unlocked < 0).sum()))


class UnlockSums:
    """Sums over the learners of a group, by decision up to the horizon: of profiles, and of their products."""

    def __init__(self, horizon: int) -> None:
        self.horizon, self.learners = horizon, 0
        self.profile = np.zeros(2 * horizon)
        self.products = np.zeros((2 * horizon, 2 * horizon))

    def add(
        self, decisions: Int[np.ndarray, " learners"], unlocked: Int[np.ndarray, "learners concepts"], sign: int = 1
    ) -> None:
        """Adds learners with all that happened to them so far, or takes them out again."""
        self.learners += sign * len(decisions)
        by_length = np.argsort(decisions, kind="stable")  # so that few steps of most chunks are after the last decision
        for start in range(0, len(decisions), _CHUNK):
            part = by_length[start : start + _CHUNK]
            steps = min(self.horizon, int(decisions[part].max()))
            profiles = unlock_profiles(decisions[part], unlocked[part], steps)
            used = np.r_[:steps, self.horizon : self.horizon + steps]
            self.profile[used] += sign * profiles.sum(axis=0)
            self.products[np.ix_(used, used)] += sign * (profiles.T @ profiles)

    def count_decision(self, step: int, opened: int, before: LearnerProfile) -> None:
        """A learner's decision of this number, in which so many concepts opened.

        The matrix need not stay symmetric: only its form is asked for.
        """
        if step >= self.horizon:
            return
        self.learners += step == 0
        at_risk = before.at_risk_now
        for index, count in ((step, opened), (self.horizon + step, at_risk)):
            if count:
                row = self.products[index]
                self.profile[index] += count
                row[:step] += 2 * count * before.opened
                row[self.horizon : self.horizon + step] += 2 * count * before.at_risk
                row[index] += count * count
        self.products[step, self.horizon + step] += 2 * opened * at_risk

    def estimate(self) -> Estimate | None:
        """The mean over concepts of the decisions until a concept is first ready, at most the horizon."""
        horizon, learners = self.horizon, self.learners
        opened, total = self.profile[:horizon], self.profile[horizon:]
        if learners < 2 or not total[0]:
            return None
        followed = total > 0  # beyond it nobody has come, or nothing is locked any more: the curve stays as it is
        share = np.divide(opened, total, out=np.zeros(horizon), where=followed)
        still = np.cumprod(1 - share)
        left = np.cumsum(still[::-1])[::-1]  # the area from each step on
        slope = np.divide(left, (1 - share) * total, out=np.zeros(horizon), where=followed & (share < 1))
        influence = np.concatenate([-slope, share * slope])
        squares = max(0.0, float(influence @ self.products @ influence))
        return Estimate(float(still.sum()), math.sqrt(squares * learners / (learners - 1)))
