"""How MC-CPO compares on an environment, and who may be best: what seeds tell apart, and what they do not.

Methods share their seeds, so that two are compared seed by seed; an outside agent shares none. All comparisons of an
environment hold together with 95 % confidence: each has an equal part of the 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mccpo.evaluation import CONFIDENCE, DifferenceEstimate, paired_estimate, welch_estimate
from mccpo.report.benchmark.views import TIED, EnvironmentView, Measure, Pair
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

LEVEL = 0.01
"""Within how much of hypervolume two methods are level: a method that is run again may come out so far from itself."""
CANNOT_TELL = "cannot tell"
WORDS = ("ahead", "level", "behind", CANNOT_TELL)

Interval = tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """MC-CPO on one environment, and the best other method there.

    **Fields:**

    - `rank`, `of`: its rank by the mean hypervolume, and among how many.
    - `kept_rank`: its rank by what is kept within the budgets; none where that is not known.
    - `other`: who has the largest of the others, whether it meets the budgets or not; none where there is no other.
    - `difference`: its mean hypervolume less that of the other. `interval`: of how far it is from the best of all
      others, whichever that is in truth; none for a single seed, of which nobody knows how far the next would be.
    """

    ours: Pair
    rank: int
    of: int
    kept_rank: int | None
    other: Pair | None
    difference: float
    interval: Interval | None

    @property
    def word(self) -> str:
        """Level within a margin, else ahead or behind where the interval leaves out 0; cannot tell otherwise."""
        if self.interval is None:
            return CANNOT_TELL
        low, high = self.interval
        if low >= -LEVEL and high <= LEVEL:
            return "level"
        return "ahead" if low > TIED else "behind" if high < -TIED else CANNOT_TELL

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
    if not others:
        return Comparison(ours, *ranks, None, 0.0, None)
    return Comparison(ours, *ranks, others[0], ours.volume - others[0].volume, from_best(ours, others))


def from_best(ours: Pair, others: Sequence[Pair]) -> Interval | None:
    """The 95 % interval of one mean less the largest of others, though nobody knows whose that is.

    The intervals of all differences hold together, and the difference to the best is the smallest of them.
    """
    ends = [interval(ours, other, (1 - CONFIDENCE) / len(others)) for other in others]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return None
    return min(low for low, _ in known), min(high for _, high in known)


def not_told_apart(ranked: Sequence[Pair], measure: Measure = "hypervolume") -> list[Pair]:
    """Of some in order, who is behind the first and may yet be the best.

    The best in truth is the first or one of these, with 95 % confidence (subset selection, Gupta 1965): a method is out
    only where another is ahead of it by more than chance would put before the best in one of twenty cases.
    """
    scored = [pair for pair in ranked if pair.score(measure) is not None]
    chance = (1 - CONFIDENCE) / max(len(scored) - 1, 1)

    def beaten(pair: Pair, by: Pair) -> bool:
        apart = estimate(by, pair, measure)
        return apart is not None and apart.difference - apart.bound(chance) > TIED

    return [
        pair
        for pair in scored[1:]
        if pair.mean(measure) < scored[0].mean(measure) - TIED
        and not any(beaten(pair, other) for other in scored if other is not pair)
    ]


def not_told_apart_text(ranked: Sequence[Pair], measure: Measure = "hypervolume") -> str:
    """That seeds do not tell the first of some in order from others: who is next of these, and how many more."""
    if not (others := not_told_apart(ranked, measure)):
        return ""
    given = ", which is given the model" if others[0].kind == "solver" else ""
    more = f"{',' if given else ''} and {len(others) - 1} more" if len(others) > 1 else ""
    return f"not told apart from {method_label(others[0].method)}{given}{more}"


def not_told_apart_count(ranked: Sequence[Pair]) -> str:
    """The same by the hypervolume in fewer words, for a table: how many these are."""
    number = len(not_told_apart(ranked))
    return f"not told apart from {number} other{'' if number == 1 else 's'}" if number else ""


def _rank(ours: Pair, environment: EnvironmentView, measure: Measure) -> int:
    return 1 + sum(pair.mean(measure) > ours.mean(measure) + TIED for pair in environment.ranked_by(measure))


def interval(first: Pair, other: Pair, chance: float) -> Interval | None:
    """The interval of the difference of two hypervolumes, which fails by this chance; none for a single seed."""
    apart = estimate(first, other, "hypervolume")
    if apart is None:
        return None
    half = apart.bound(chance / 2)
    return apart.difference - half, apart.difference + half


def estimate(first: Pair, other: Pair, measure: Measure) -> DifferenceEstimate | None:
    """The difference of two scores: seed by seed where both have the same seeds."""
    mine, theirs = first.score(measure), other.score(measure)
    if mine is None or theirs is None:
        return None
    same = mine.n == theirs.n and "outside" not in (first.kind, other.kind)
    return (paired_estimate if same else welch_estimate)(mine.per_seed, theirs.per_seed)
