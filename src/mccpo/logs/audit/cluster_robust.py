"""Shares of events, with intervals that know that the events of one learner are alike.

A share is the ratio of two sums over learners, r = Σd/Σn. Its variance is that of the linearised ratio: with L
learners, L/(L − 1) · Σ(d − r·n)² / (Σn)². Where the events of a learner go together, that is far above the r(1 − r)/Σn
of independent events. The interval is Wilson's at the number of independent events that would have this variance, with
Student's quantile for L − 1 degrees of freedom: it stays within 0 and 1, and has a width where nothing, or everything,
was counted. Two rates are compared by the distances of their intervals' ends (Zou and Donner 2008, Construction of
confidence limits about effect measures), which takes in the correlation of groups that share learners.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy  # whose parts load when they are used
from jaxtyping import Float, Int

CONFIDENCE = 0.95
_ROUNDING = 1e-10


class Rate(NamedTuple):
    """A share of events with its interval; the interval is None where there are fewer than two learners."""

    events: int
    analysed: int
    learners: int
    rate: float | None
    low: float | None
    high: float | None


class Difference(NamedTuple):
    """How far a rate lies above another, with its interval.

    >>> Difference(0.10, low=0.05, high=0.15).high
    0.15
    """

    difference: float
    low: float
    high: float


class Sums(NamedTuple):
    """Sums over learners, for many shares at once, of d events among n analysed ones, their squares and products.

    `learners` counts those with n > 0; the others add nothing to any sum.
    """

    d: Float[np.ndarray, " shares"]
    n: Float[np.ndarray, " shares"]
    dd: Float[np.ndarray, " shares"]
    dn: Float[np.ndarray, " shares"]
    nn: Float[np.ndarray, " shares"]
    learners: Float[np.ndarray, " shares"]


def sums(d: Float[np.ndarray, "learners shares"], n: Float[np.ndarray, "learners shares"]) -> Sums:
    """The sums of counts by learner."""
    d, n = np.asarray(d, float), np.asarray(n, float)
    return Sums(d.sum(0), n.sum(0), (d * d).sum(0), (d * n).sum(0), (n * n).sum(0), (n > 0).sum(0).astype(float))


def sums_by(
    level: Int[np.ndarray, " counts"], size: int, d: Int[np.ndarray, " counts"], n: Int[np.ndarray, " counts"]
) -> Sums:
    """The sums of each of `size` levels, from counts by learner and level."""
    d, n = d.astype(float), n.astype(float)
    return Sums(*(np.bincount(level, part, minlength=size) for part in (d, n, d * d, d * n, n * n, n > 0)))


def rate_of(d: Float[np.ndarray, " learners"], n: Float[np.ndarray, " learners"]) -> Rate:
    """One share, from the counts of each learner.

    >>> rate_of(np.array([1, 3]), np.array([4, 4])).rate
    0.5
    """
    return rates(sums(np.asarray(d)[:, None], np.asarray(n)[:, None]))[0]


def rates(totals: Sums, confidence: float = CONFIDENCE) -> list[Rate]:
    """All shares with their intervals."""
    share, low, high = intervals(totals, confidence)
    counts = zip(totals.d, totals.n, totals.learners, strict=True)
    return [
        Rate(round(d), round(n), round(learners), *(_known(value) for value in ends))
        for (d, n, learners), ends in zip(counts, zip(share, low, high, strict=True), strict=True)
    ]


def intervals(
    totals: Sums, confidence: float = CONFIDENCE
) -> tuple[Float[np.ndarray, " shares"], Float[np.ndarray, " shares"], Float[np.ndarray, " shares"]]:
    """The shares and the ends of their intervals; NaN where there is none."""
    learners, n = totals.learners, totals.n
    with np.errstate(invalid="ignore", divide="ignore"):
        share = totals.d / n
        effective = effective_number(totals)
        t = scipy.special.stdtrit(np.where(learners > 1, learners - 1, np.nan), 0.5 + confidence / 2)
        pull = t * t / effective
        centre = (share + pull / 2) / (1 + pull)
        half = t / (1 + pull) * np.sqrt(share * (1 - share) / effective + pull / (4 * effective))
    return share, np.clip(np.minimum(centre - half, share), 0, 1), np.clip(np.maximum(centre + half, share), 0, 1)


def effective_number(totals: Sums) -> Float[np.ndarray, " shares"]:
    """How many independent events would tell as much: at most those there are.

    Where all events, or none, were counted, nothing is known of how alike a learner's events are. They then count as
    one for each learner.
    """
    share = totals.d / totals.n
    spread = totals.dd - 2 * share * totals.dn + share * share * totals.nn
    spread = np.where(spread > _ROUNDING * totals.nn, spread, 0.0)
    variance = totals.learners / (totals.learners - 1) * spread / totals.n**2
    constant = (totals.d == 0) | (totals.d == totals.n)
    unbounded = np.where(variance > 0, share * (1 - share) / variance, np.inf)
    return np.where(constant, totals.learners, np.minimum(unbounded, totals.n))


def compare(rate: Rate, other: Rate, correlation: float = 0.0) -> Difference | None:
    """How far one rate lies above the other; groups that share no learner have correlation 0."""
    ends = (rate.rate, rate.low, rate.high, other.rate, other.low, other.high)
    if any(end is None for end in ends):
        return None
    r, low, high, s, other_low, other_high = (float(end) for end in ends if end is not None)
    below = _side(r - low, other_high - s, correlation)
    above = _side(high - r, s - other_low, correlation)
    return Difference(r - s, max(-1.0, r - s - below), min(1.0, r - s + above))


def _side(a: float, b: float, correlation: float) -> float:
    return float(np.sqrt(max(0.0, a * a + b * b - 2 * correlation * a * b)))


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
