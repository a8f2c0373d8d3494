"""How MC-CPO compares on an environment, and who is level: whose difference in mean may well be chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from mccpo.evaluation import CONFIDENCE, Summary
from mccpo.report.benchmark.views import TIED, EnvironmentView, Measure, Pair
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

WORDS = ("ahead", "level", "behind")


@dataclass(frozen=True)
class Comparison:
    """MC-CPO on one environment, and the best other method there.

    **Fields:**

    - `rank`, `of`: its rank by the mean hypervolume, and among how many.
    - `kept_rank`: its rank by what is kept within the budgets; none where that is not known.
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
    def position(self) -> str:
        """Its rank by the hypervolume, and that by what is kept where it is another."""
        text = f"{self.rank} of {self.of}"
        return text if self.kept_rank in (None, self.rank) else f"{text}; by kept {self.kept_rank}"


def compare_ours(environment: EnvironmentView) -> Comparison | None:
    """MC-CPO beside the best other method of an environment; none where it took no part."""
    ours = environment.pair(OUR_METHOD)
    if ours is None or ours.hypervolume is None:
        return None
    others = [pair for pair in environment.ranked if pair is not ours]
    ranks = (
        _rank(ours, environment, "hypervolume"),
        1 + len(others),
        _rank(ours, environment, "kept") if ours.kept else None,
    )
    if not others or (best := others[0]).hypervolume is None:
        return Comparison(ours, *ranks, None, 0.0, None)
    apart = interval(ours.hypervolume, best.hypervolume)
    return Comparison(ours, *ranks, best, ours.volume - best.volume, apart)


def level_with(ranked: Sequence[Pair], measure: Measure = "hypervolume") -> list[Pair]:
    """Of some in order, who is behind the first and yet level with it: that it is first may well be chance."""
    if not ranked or (first := ranked[0].score(measure)) is None:
        return []
    level = []
    for pair in ranked[1:]:
        score = pair.score(measure)
        apart = interval(first, score) if score and score.mean < first.mean - TIED else None
        if apart is not None and apart[0] <= TIED:
            level.append(pair)
    return level


def level_text(ranked: Sequence[Pair], measure: Measure = "hypervolume") -> str:
    """That the first of some in order is level with others: who is next of these, and how many more."""
    if not (level := level_with(ranked, measure)):
        return ""
    given = ", which is given the model" if level[0].kind == "solver" else ""
    more = f"{',' if given else ''} and {len(level) - 1} more" if len(level) > 1 else ""
    return f"level with {method_label(level[0].method)}{given}{more}"


def level_count(ranked: Sequence[Pair]) -> str:
    """The same by the hypervolume in fewer words, for a table: how many these are."""
    number = len(level_with(ranked))
    return f"level with {number} other{'' if number == 1 else 's'}" if number else ""


def _rank(ours: Pair, environment: EnvironmentView, measure: Measure) -> int:
    return 1 + sum(pair.mean(measure) > ours.mean(measure) + TIED for pair in environment.ranked_by(measure))


def interval(first: Summary, other: Summary) -> tuple[float, float] | None:
    """Welch's interval of the difference of two means, whose spreads need not be alike."""
    difference, spread = first.mean - other.mean, (first.std, other.std)
    sizes = (len(first.per_seed), len(other.per_seed))
    if min(sizes) < 2:
        return None
    errors = [std**2 / size for std, size in zip(spread, sizes, strict=True)]
    if not sum(errors):
        return difference, difference
    freedom = sum(errors) ** 2 / sum(error**2 / (size - 1) for error, size in zip(errors, sizes, strict=True))
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(sum(errors))
    return difference - half, difference + half
