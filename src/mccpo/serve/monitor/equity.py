"""Whether the gate treats groups of learners alike: what each group meets with, and how far groups lie apart.

Three measures, each with an interval that takes learners, not answers, as independent:

- `restriction_rate`: the share of concepts that the gate withholds, over decisions.
- `time_to_unlock`: the mean over concepts of the decisions until a concept is first ready, held to the horizon. A
  learner who has not come so far is followed up to now (Kaplan and Meier 1958), not taken for one who stays locked out.
- `mastery_gain`: the mastery gained by an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

CONFIDENCE = 0.95
SMALLEST = 5
"""Learners of the smallest group that is shown: the numbers of fewer would be those of persons, and say little."""
MOST_GROUPS = 20
"""Groups of a label that are compared, the largest ones: how many more there are is told."""


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        width = NormalDist().inv_cdf((1 + confidence) / 2) * self.error
        return self.mean - width, self.mean + width

    def as_dict(self) -> dict[str, Any]:
        return {"mean": self.mean, "interval": list(self.interval())}


class Followed(NamedTuple):
    """What is known of learners, one row each.

    **Fields:**

    - `decisions`, `answers`: how many of each.
    - `withheld`: the share of concepts that the gate withheld, summed over decisions.
    - `gained`: mastery gained, summed over answers.
    - `unlocked`: the decision, from 0 on, at which each concept was first ready; -1 where it never was.
    """

    decisions: Int[np.ndarray, " learners"]
    withheld: Float[np.ndarray, " learners"]
    answers: Int[np.ndarray, " learners"]
    gained: Float[np.ndarray, " learners"]
    unlocked: Int[np.ndarray, "learners concepts"]

    def only(self, rows: Bool[np.ndarray, " learners"] | Int[np.ndarray, " chosen"]) -> Followed:
        return Followed(*(field[rows] for field in self))


def ratio(parts: Float[np.ndarray, " units"], wholes: Float[np.ndarray, " units"]) -> Estimate | None:
    """The sum of parts over the sum of wholes, with an error that takes each unit as one draw."""
    return ratio_of_sums(
        len(parts), parts.sum(), wholes.sum(), (parts * parts).sum(), (parts * wholes).sum(), (wholes * wholes).sum()
    )


def ratio_of_sums(units: int, x: float, w: float, xx: float, xw: float, ww: float) -> Estimate | None:
    """`ratio` from the sums and the sums of products alone; None without two units or any whole."""
    if units < 2 or w <= 0:
        return None
    mean = x / w
    residual = max(0.0, xx - 2 * mean * xw + mean * mean * ww)
    return Estimate(float(mean), math.sqrt(residual * units / (units - 1)) / float(w))


def time_to_unlock(
    decisions: Int[np.ndarray, " learners"], unlocked: Int[np.ndarray, "learners concepts"], horizon: int
) -> Estimate | None:
    """The mean over concepts of the decisions until a concept is first ready, at most `horizon`.

    A concept is at risk in each decision of its learner up to that in which it is first ready. The share that opens in
    a decision, of those at risk, makes the curve of what is still locked, and the mean is the area under it. Its error
    comes from the influence of each learner on it, with all of the learner's concepts together.
    """
    learners, concepts = unlocked.shape
    if learners < 2:
        return None
    steps = np.arange(horizon)
    seen = (unlocked >= 0) & (unlocked < horizon)
    which, _ = np.nonzero(seen)
    opened = np.bincount(which * horizon + unlocked[seen], minlength=learners * horizon).reshape(learners, horizon)
    locked = concepts - np.cumsum(opened, axis=1) + opened
    at_risk = locked * (steps < decisions[:, None])
    total = at_risk.sum(axis=0)
    if not total[0]:
        return None
    followed = total > 0  # beyond it nobody has come, or nothing is locked any more: the curve stays as it is
    share = np.divide(opened.sum(axis=0), total, out=np.zeros(horizon), where=followed)
    still = np.cumprod(1 - share)
    left = np.cumsum(still[::-1])[::-1]  # the area from each step on
    slope = np.divide(left, (1 - share) * total, out=np.zeros(horizon), where=followed & (share < 1))
    influence = -((opened - share * at_risk) @ slope)
    error = math.sqrt(float((influence**2).sum()) * learners / (learners - 1))
    return Estimate(float(still.sum()), error)


def measures(learners: Followed, horizon: int) -> dict[str, Estimate | None]:
    """The three measures of some learners."""
    return {
        "restriction_rate": ratio(learners.withheld, learners.decisions.astype(float)),
        "time_to_unlock": time_to_unlock(learners.decisions, learners.unlocked, horizon),
        "mastery_gain": ratio(learners.gained, learners.answers.astype(float)),
    }


def compare(groups: Mapping[str, Followed], horizon: int, bounds: Mapping[str, float]) -> dict[str, Any]:
    """The measures of each group, and for each measure the pair that lies furthest apart.

    There is an alarm where two groups differ by more than the measure's bound with 95 % confidence, shared among all
    pairs; where the estimates differ by more and the interval still reaches below the bound, it is a `watch`.
    """
    found = {name: measures(members, horizon) for name, members in groups.items()}
    return {
        "groups": {
            name: {"learners": len(groups[name].decisions), **{key: _shown(one) for key, one in of.items()}}
            for name, of in found.items()
        },
        "gaps": {
            measure: gap
            for measure, bound in bounds.items()
            if (gap := _gap({name: of[measure] for name, of in found.items()}, bound)) is not None
        },
    }


def _shown(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.as_dict()


def _gap(estimates: Mapping[str, Estimate | None], bound: float) -> dict[str, Any] | None:
    known = {name: one for name, one in estimates.items() if one is not None}
    pairs = list(combinations(known, 2))
    if not pairs:
        return None
    each = 1 - (1 - CONFIDENCE) / len(pairs)
    gaps = [_pair(one, known[one], other, known[other], each, bound) for one, other in pairs]
    return max(gaps, key=lambda gap: (gap["verdict"] == "alarm", gap["difference"]))


def _pair(one: str, first: Estimate, other: str, second: Estimate, confidence: float, bound: float) -> dict[str, Any]:
    least, most = (one, other) if first.mean <= second.mean else (other, one)
    apart = Estimate(abs(first.mean - second.mean), math.hypot(first.error, second.error))
    low, high = apart.interval(confidence)
    return {
        "least": least,
        "most": most,
        "difference": apart.mean,
        "interval": [low, high],
        "bound": bound,
        "verdict": "alarm" if low > bound else "watch" if apart.mean > bound else "within",
    }
