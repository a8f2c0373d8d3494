"""How far measures would move with other learners: the learners who are there, drawn again and again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

RESAMPLES = 400
CONFIDENCE = 0.95


class Interval(NamedTuple):
    """Where a measure lies in 95 % of the resamples."""

    low: float
    high: float


class Resamples(NamedTuple):
    """How often each learner is in each resample, and whose each event is.

    A learner is drawn with all events: those of one learner are alike, so drawing events one by one would make
    intervals too narrow.
    """

    counts: Float[np.ndarray, "resamples learners"]
    learner: Int[np.ndarray, " events"]

    @classmethod
    def draw(cls, learner: Int[np.ndarray, " events"], seed: int = 0) -> Resamples:
        """As many learners as there are, with replacement."""
        present, which = np.unique(learner, return_inverse=True)
        share = np.full(len(present), 1 / len(present))
        return cls(np.random.default_rng(seed).multinomial(len(present), share, RESAMPLES).astype(float), which)

    def totals(self, values: Float[np.ndarray, " events"]) -> Float[np.ndarray, " resamples"]:
        """The sum of values over the events of each resample."""
        return self.counts @ np.bincount(self.learner, values, self.counts.shape[1])

    def mean(self, values: Float[np.ndarray, " events"]) -> Float[np.ndarray, " resamples"]:
        """The mean of values over the events of each resample."""
        return self.totals(values) / self.totals(np.ones(len(values)))

    def share(self, chosen: Bool[np.ndarray, " events"], correct: Bool[np.ndarray, " events"]) -> Interval:
        """The share of right answers among chosen events; resamples without any are left out."""
        events = self.totals(chosen.astype(float))
        return interval(self.totals((chosen & correct).astype(float))[events > 0] / events[events > 0])

    def auc(
        self, predicted: Float[np.ndarray, " events"], correct: Bool[np.ndarray, " events"]
    ) -> Float[np.ndarray, " resamples"]:
        """The AUC of each resample; NaN where all its answers are the same."""
        order = np.argsort(predicted, kind="stable")
        right = correct[order]
        first = np.flatnonzero(np.diff(predicted[order], prepend=-np.inf))  # of events that are given the same
        learner = self.learner[order]
        return np.array([_weighted_auc(count[learner], right, first) for count in self.counts])


def interval(values: Float[np.ndarray, " resamples"]) -> Interval:
    """The middle 95 % of values, of those that are numbers."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Interval(np.nan, np.nan)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return Interval(float(low), float(high))


def _weighted_auc(
    weight: Float[np.ndarray, " events"], right: Bool[np.ndarray, " events"], first: Int[np.ndarray, " ties"]
) -> float:
    """The AUC of events sorted by what they are given; `first` of each that are given the same."""
    of_right = np.add.reduceat(weight * right, first)
    of_wrong = np.add.reduceat(weight * ~right, first)
    below = np.cumsum(of_wrong) - of_wrong / 2
    pairs = of_right.sum() * of_wrong.sum()
    return float((of_right * below).sum() / pairs) if pairs else float("nan")
