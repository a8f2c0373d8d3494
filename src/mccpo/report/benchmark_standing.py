"""Where MC-CPO stands on an environment: ahead of the best other method there, level with it, or behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import scipy

from mccpo.evaluation.statistics import CONFIDENCE
from mccpo.report.benchmark_data import TIED, Pair, Place
from mccpo.report.finding import OUR_METHOD
from mccpo.report.results import Measured

WORDS = ("ahead", "level", "behind")


@dataclass(frozen=True)
class Standing:
    """MC-CPO on one environment, and the best other method there.

    **Fields:**

    - `rank`, `of`: its place by the mean hypervolume, and among how many.
    - `other`: who has the largest of the others, whether it meets the budgets or not; none where there is no other.
    - `difference`: its mean hypervolume less that of the other, and the interval of that: none for a single seed, of
      which nobody knows how far the next would be.
    """

    ours: Pair
    rank: int
    of: int
    other: Pair | None
    difference: float
    interval: tuple[float, float] | None

    @property
    def word(self) -> str:
        """Ahead, level or behind; empty where that cannot be told."""
        if self.interval is None:
            return ""
        low, high = self.interval
        return "ahead" if low > TIED else "behind" if high < -TIED else "level"


def standing(place: Place) -> Standing | None:
    """MC-CPO's standing on an environment; none where it took no part."""
    ours = place.pair(OUR_METHOD)
    if ours is None or ours.hypervolume is None:
        return None
    others = [pair for pair in place.ranked if pair is not ours]
    above = [pair for pair in others if pair.volume > ours.volume + TIED]
    rank, of = 1 + len(above), 1 + len(others)
    if not others or (best := others[0]).hypervolume is None:
        return Standing(ours, rank, of, None, 0.0, None)
    apart = interval(ours.hypervolume, best.hypervolume)
    return Standing(ours, rank, of, best, ours.volume - best.volume, apart)


def interval(one: Measured, other: Measured) -> tuple[float, float] | None:
    """Welch's interval of the difference of two means, whose spreads need not be alike."""
    difference, spread = one.mean - other.mean, (one.std, other.std)
    sizes = (len(one.per_seed), len(other.per_seed))
    if min(sizes) < 2:
        return None
    errors = [std**2 / size for std, size in zip(spread, sizes, strict=True)]
    if not sum(errors):
        return difference, difference
    freedom = sum(errors) ** 2 / sum(error**2 / (size - 1) for error, size in zip(errors, sizes, strict=True))
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(sum(errors))
    return difference - half, difference + half
