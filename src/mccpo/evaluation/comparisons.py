"""Whether two methods differ: tests of a difference of means, and Holm's correction where there are many.

Methods of one run share their seeds: the i-th policies of both begin with the same random numbers and meet the same
learners. So they are compared seed by seed. Welch's test is for samples that share nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypedDict

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from jaxtyping import Float

from mccpo.errors import InputError
from mccpo.evaluation.statistics import CONFIDENCE, Values, finite_values, spread_of

Kind = Literal["paired", "welch"]


class DifferenceJson(TypedDict):
    """One comparison of two methods, as it stands in the JSON of every command."""

    kind: str
    n: list[int]
    means: list[float]
    difference: float
    ci: list[float] | None
    t: float | None
    p: float | None
    cohens_d: float | None


@dataclass(frozen=True)
class Difference:
    """One comparison of two methods: the first mean less the second. None where a statistic is undefined.

    **Fields:**

    - `kind`: seed by seed (`paired`), or by two samples that share nothing (`welch`).
    - `means`, `n`: of both; of an older file, `n` may be empty.
    - `ci`: the 95 % interval of the difference.
    - `cohens_d`: the difference in pooled standard deviations of the two samples.

    >>> paired([3.0, 4.0, 5.0], [2.0, 2.0, 4.0]).means[0]
    4.0
    """

    kind: Kind
    means: tuple[float, ...]
    n: tuple[int, ...]
    ci: tuple[float, float] | None
    t: float | None
    p: float | None
    cohens_d: float | None

    def as_json(self) -> DifferenceJson:
        """The comparison as JSON values."""
        return {
            "kind": self.kind,
            "n": list(self.n),
            "means": list(self.means),
            "difference": self.means[0] - self.means[-1],
            "ci": None if self.ci is None else list(self.ci),
            "t": self.t,
            "p": self.p,
            "cohens_d": self.cohens_d,
        }


class DifferenceEstimate(NamedTuple):
    """A difference of means, its standard error, and the degrees of freedom of that.

    >>> round(DifferenceEstimate(difference=1.0, error=0.5, freedom=10.0).bound(0.025), 2)
    1.11
    """

    difference: float
    error: float
    freedom: float

    def bound(self, chance: float) -> float:
        """How far the difference may be off to one side, but for this chance."""
        return float(scipy.stats.t.isf(chance, self.freedom)) * self.error


def paired(a: Values, b: Values) -> Difference:
    """Tests whether two methods have the same mean, seed by seed: Student's t on the differences, two-sided.

    Positive t and d mean that `a` is larger. A statistic that does not exist is None, never NaN or infinity. That is
    so if the differences do not vary (no test adds to that), and for a single pair.

    >>> round(paired([3.0, 4.0, 5.0], [2.0, 2.0, 4.0]).t, 6)
    4.0
    """
    first, second = finite_values(a, "a"), finite_values(b, "b")
    return _tested("paired", first, second, paired_estimate(first, second))


def welch(a: Values, b: Values) -> Difference:
    """Tests whether two methods whose runs share nothing have the same mean: Welch's t, two-sided.

    The signs are those of `paired`. A statistic that does not exist is None: if neither sample varies, and for a sample
    of one.

    >>> round(welch([3.0, 4.0, 5.0], [2.0, 2.0, 4.0]).t, 2)
    1.51
    """
    first, second = finite_values(a, "a"), finite_values(b, "b")
    return _tested("welch", first, second, welch_estimate(first, second))


def paired_estimate(a: Values, b: Values) -> DifferenceEstimate | None:
    """The mean difference of pairs; None for a single pair, whose spread nobody knows.

    >>> round(paired_estimate([3.0, 4.0, 5.0], [2.0, 2.0, 4.0]).difference, 2)
    1.33
    """
    first, second = finite_values(a, "a"), finite_values(b, "b")
    if first.size != second.size:
        raise InputError(f"there are {first.size} values and {second.size}", fix="give one of each for every seed")
    if first.size < 2:
        return None
    apart = first - second
    spread = spread_of(apart, float(max(np.abs(first).max(), np.abs(second).max())))
    return DifferenceEstimate(float(apart.mean()), spread / math.sqrt(apart.size), apart.size - 1)


def welch_estimate(a: Values, b: Values) -> DifferenceEstimate | None:
    """The difference of two means whose spreads need not be alike; None where a sample has one value.

    >>> round(welch_estimate([3.0, 4.0, 5.0], [2.0, 2.0, 4.0]).error, 2)
    0.88
    """
    first, second = finite_values(a, "a"), finite_values(b, "b")
    if min(first.size, second.size) < 2:
        return None
    moments = [(float(one.mean()), spread_of(one), one.size) for one in (first, second)]
    return from_moments(*moments)


def from_moments(first: tuple[float, float, int], second: tuple[float, float, int]) -> DifferenceEstimate:
    """The same from mean, deviation and size of each, by Welch's degrees of freedom.

    >>> from_moments((4.0, 1.0, 30), (3.5, 1.0, 30)).difference
    0.5
    """
    sizes = np.array([first[2], second[2]])
    variances = np.array([first[1], second[1]]) ** 2 / sizes
    total = float(variances.sum())
    freedom = total**2 / float((variances**2 / np.maximum(sizes - 1, 1)).sum()) if total > 0 else float(sizes.sum() - 2)
    return DifferenceEstimate(first[0] - second[0], math.sqrt(total), freedom)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p: those at most α are significant, with a chance of at most α that any of them is so by luck.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p)), key=lambda place: p[place])
    adjusted, least = [0.0] * len(p), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = least
    return adjusted


def adjusted(tests: Mapping[str, Difference]) -> dict[str, float]:
    """Holm's adjusted p of every test of a family that has one.

    >>> tests = {"gate": paired([3.0, 4.0, 5.0], [2.0, 2.0, 4.0]), "chain": paired([3.0, 4.0, 5.0], [3.1, 4.0, 5.2])}
    >>> {name: round(p, 2) for name, p in adjusted(tests).items()}
    {'gate': 0.11, 'chain': 0.23}
    """
    known = {name: test.p for name, test in tests.items() if test.p is not None}
    return dict(zip(known, holm(list(known.values())), strict=True))


def _tested(
    kind: Kind, a: Float[np.ndarray, " seeds"], b: Float[np.ndarray, " seeds"], estimated: DifferenceEstimate | None
) -> Difference:
    means, n = (float(a.mean()), float(b.mean())), (a.size, b.size)
    if estimated is None:
        return Difference(kind, means, n, None, None, None, None)
    half = estimated.bound((1 - CONFIDENCE) / 2)
    ends = estimated.difference - half, estimated.difference + half
    if estimated.error == 0.0:
        return Difference(kind, means, n, ends, None, None, None)
    t = estimated.difference / estimated.error
    p = 2 * float(scipy.stats.t.sf(abs(t), estimated.freedom))
    return Difference(kind, means, n, ends, t, p, _cohens_d(a, b))


def _cohens_d(a: Float[np.ndarray, " seeds"], b: Float[np.ndarray, " seeds"]) -> float | None:
    squares = (a.size - 1) * spread_of(a) ** 2 + (b.size - 1) * spread_of(b) ** 2
    pooled = math.sqrt(squares / (a.size + b.size - 2))
    return float((a.mean() - b.mean()) / pooled) if pooled > 0 else None
