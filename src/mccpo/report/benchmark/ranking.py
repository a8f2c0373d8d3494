"""Who stands where on an environment, and who is level: whose difference in mean may well be chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from mccpo.evaluation import CONFIDENCE, Summary
from mccpo.report.benchmark.data import TIED, Measure, Pair, Place
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

WORDS = ("ahead", "level", "behind")


@dataclass(frozen=True)
class Standing:
    """MC-CPO on one environment, and the best other method there.

    **Fields:**

    - `rank`, `of`: its place by the mean hypervolume, and among how many.
    - `kept_rank`: its place by what is kept within the budgets; none where that is not known.
    - `other`: who has the largest of the others, whether it meets the budgets or not; none where there is no other.
    - `difference`: its mean hypervolume less that of the other, and the interval of that: none for a single seed, of
      which nobody knows how far the next would be.
    """

    ours: Pair
    rank: int
    of: int
    kept_rank: int | None
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

    @property
    def place(self) -> str:
        """Its place by the hypervolume, and that by what is kept where it is another."""
        told = f"{self.rank} of {self.of}"
        return told if self.kept_rank in (None, self.rank) else f"{told}; by kept {self.kept_rank}"


def standing(place: Place) -> Standing | None:
    """MC-CPO's standing on an environment; none where it took no part."""
    ours = place.pair(OUR_METHOD)
    if ours is None or ours.hypervolume is None:
        return None
    others = [pair for pair in place.ranked if pair is not ours]
    ranks = (_rank(ours, place, "hypervolume"), 1 + len(others), _rank(ours, place, "kept") if ours.kept else None)
    if not others or (best := others[0]).hypervolume is None:
        return Standing(ours, *ranks, None, 0.0, None)
    apart = interval(ours.hypervolume, best.hypervolume)
    return Standing(ours, *ranks, best, ours.volume - best.volume, apart)


def level_with(ranked: Sequence[Pair], measure: Measure = "hypervolume") -> list[Pair]:
    """Of some in order, who is behind the first and yet level with it: that it is first may well be chance."""
    if not ranked or (first := ranked[0].score(measure)) is None:
        return []
    found = []
    for pair in ranked[1:]:
        score = pair.score(measure)
        apart = interval(first, score) if score and score.mean < first.mean - TIED else None
        if apart is not None and apart[0] <= TIED:
            found.append(pair)
    return found


def level_text(ranked: Sequence[Pair], measure: Measure = "hypervolume") -> str:
    """That the first of some in order is level with others: who is next of these, and how many more."""
    if not (found := level_with(ranked, measure)):
        return ""
    given = ", which is given the model" if found[0].kind == "solver" else ""
    more = f"{',' if given else ''} and {len(found) - 1} more" if len(found) > 1 else ""
    return f"level with {method_label(found[0].method)}{given}{more}"


def level_count(ranked: Sequence[Pair]) -> str:
    """The same by the hypervolume in fewer words, for a table: how many these are."""
    number = len(level_with(ranked))
    return f"level with {number} other{'' if number == 1 else 's'}" if number else ""


def _rank(ours: Pair, place: Place, measure: Measure) -> int:
    return 1 + sum(pair.mean(measure) > ours.mean(measure) + TIED for pair in place.ranked_by(measure))


def interval(one: Summary, other: Summary) -> tuple[float, float] | None:
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
