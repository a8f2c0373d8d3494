"""Whether the gate treats groups of learners alike: measures of each group, and how far groups lie apart.

There are three measures, each with an interval that takes learners, not answers, as independent:

- `restriction_rate`: the share of concepts that the gate withholds, over decisions.
- `time_to_unlock`: the mean over concepts of the decisions until a concept is first ready, held to the horizon. A
  learner who has not come so far is censored (Kaplan and Meier 1958), not counted as locked out for good.
- `mastery_gain`: the mastery gained by an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from mccpo.serve.monitor.report import ComparisonReport, EstimateReport, GapReport, GroupReport

CONFIDENCE = 0.95
SMALLEST = 5
"""Learners of the smallest group that is shown: numbers of fewer would reveal persons, and say little."""
MOST_GROUPS = 20
"""Groups of a label that are compared, the largest ones; the report counts the others."""


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        width = NormalDist().inv_cdf((1 + confidence) / 2) * self.error
        return self.mean - width, self.mean + width

    def report(self) -> EstimateReport:
        return {"mean": self.mean, "interval": list(self.interval())}


class LearnerRows(NamedTuple):
    """What is known of learners, one row per learner.

    - `decisions`, `answers`: how many there were.
    - `withheld`: the share of concepts that the gate withheld, summed over decisions.
    - `gained`: mastery gained, summed over answers.
    - `unlocked`: the decision, from 0 on, at which each concept was first ready; -1 where it never was.
    """

    decisions: Int[np.ndarray, " learners"]
    withheld: Float[np.ndarray, " learners"]
    answers: Int[np.ndarray, " learners"]
    gained: Float[np.ndarray, " learners"]
    unlocked: Int[np.ndarray, "learners concepts"]

    def subset(self, rows: Bool[np.ndarray, " learners"] | Int[np.ndarray, " chosen"]) -> LearnerRows:
        return LearnerRows(*(field[rows] for field in self))


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


def measures(learners: LearnerRows, horizon: int) -> dict[str, Estimate | None]:
    """The three measures of some learners."""
    return {
        "restriction_rate": ratio(learners.withheld, learners.decisions.astype(float)),
        "time_to_unlock": time_to_unlock(learners.decisions, learners.unlocked, horizon),
        "mastery_gain": ratio(learners.gained, learners.answers.astype(float)),
    }


def compare_groups(groups: Mapping[str, LearnerRows], horizon: int, bounds: Mapping[str, float]) -> ComparisonReport:
    """The measures of each group, and for each measure the pair that lies furthest apart.

    The verdict is `alarm` if two groups differ by more than the measure's bound with 95 % confidence, shared among all
    pairs; `watch` if the estimates differ by more but the interval still reaches below the bound; else `within`.
    """
    measured = {name: measures(members, horizon) for name, members in groups.items()}
    return {
        "groups": {name: _group_report(groups[name], estimates) for name, estimates in measured.items()},
        "gaps": {
            measure: gap
            for measure, bound in bounds.items()
            if (gap := _widest_gap({name: of[measure] for name, of in measured.items()}, bound)) is not None
        },
    }


def _group_report(members: LearnerRows, estimates: Mapping[str, Estimate | None]) -> GroupReport:
    shown = {name: None if estimate is None else estimate.report() for name, estimate in estimates.items()}
    return {
        "learners": len(members.decisions),
        "restriction_rate": shown["restriction_rate"],
        "time_to_unlock": shown["time_to_unlock"],
        "mastery_gain": shown["mastery_gain"],
    }


def _widest_gap(estimates: Mapping[str, Estimate | None], bound: float) -> GapReport | None:
    known = [(name, estimate) for name, estimate in estimates.items() if estimate is not None]
    pairs = list(combinations(known, 2))
    if not pairs:
        return None
    confidence = 1 - (1 - CONFIDENCE) / len(pairs)
    gaps = [_gap(first, second, confidence, bound) for first, second in pairs]
    return max(gaps, key=lambda gap: (gap["verdict"] == "alarm", gap["difference"]))


def _gap(first: tuple[str, Estimate], second: tuple[str, Estimate], confidence: float, bound: float) -> GapReport:
    (least, low_end), (most, high_end) = (first, second) if first[1].mean <= second[1].mean else (second, first)
    difference = Estimate(abs(low_end.mean - high_end.mean), math.hypot(first[1].error, second[1].error))
    low, high = difference.interval(confidence)
    return {
        "least": least,
        "most": most,
        "difference": difference.mean,
        "interval": [low, high],
        "bound": bound,
        "verdict": "alarm" if low > bound else "watch" if difference.mean > bound else "within",
    }
