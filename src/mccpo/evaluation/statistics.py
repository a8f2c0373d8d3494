"""What a handful of seeds says: summaries with intervals, and tests between two methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from numpy.typing import NDArray

from mccpo.errors import InputError

CONFIDENCE = 0.95
RESAMPLES = 9_999

# Relative spread under which values differ by rounding only. Seeds that all reach the same deterministic policy differ
# in the last bits, and a variance made of those bits would turn into an astronomical t.
_ROUNDING = 1e-12


class SummaryJson(TypedDict):
    """One metric over seeds, as it stands in the JSON of every command."""

    mean: float
    std: float
    per_seed: list[float]
    ci: list[float] | None
    iqm: float | None


@dataclass(frozen=True)
class Summary:
    """One metric over seeds. `ci` and `iqm` are None only where a file does not state them."""

    mean: float
    std: float
    per_seed: tuple[float, ...]
    ci: tuple[float, float] | None
    iqm: float | None

    @property
    def shown_std(self) -> float | None:
        """The deviation over seeds; None for one seed, where ± 0 would claim a certainty that is not there."""
        return self.std if len(self.per_seed) > 1 else None

    def as_json(self) -> SummaryJson:
        """The summary as JSON values."""
        return {
            "mean": self.mean,
            "std": self.std,
            "per_seed": list(self.per_seed),
            "ci": None if self.ci is None else list(self.ci),
            "iqm": self.iqm,
        }


class WelchJson(TypedDict):
    """One comparison of two methods, as it stands in the JSON of every command."""

    t: float | None
    p: float | None
    cohens_d: float | None
    means: list[float]


@dataclass(frozen=True)
class Welch:
    """One comparison of two methods; `None` where the samples leave a statistic undefined."""

    t: float | None
    p: float | None
    cohens_d: float | None
    means: tuple[float, ...]

    def as_json(self) -> WelchJson:
        """The comparison as JSON values."""
        return {"t": self.t, "p": self.p, "cohens_d": self.cohens_d, "means": list(self.means)}


def summarise(per_seed: Sequence[float] | NDArray[np.floating], *, key: int = 0) -> Summary:
    """Sums up one metric over seeds: mean, sample std, 95 % bootstrap interval of the mean, interquartile mean.

    The interval is the bias-corrected and accelerated bootstrap's, drawn with the random `key`, so the same values
    always give the same interval. One seed, or seeds that all agree, have std 0.0 and the interval [mean, mean]; for
    one seed that says that nothing is known about the spread, not that there is none.
    """
    values = _finite(per_seed, "per_seed")
    mean = float(values.mean())
    return Summary(
        mean=mean,
        std=_std(values),
        per_seed=tuple(float(value) for value in values),
        ci=_interval(values, key),
        iqm=float(scipy.stats.trim_mean(values, 0.25)),
    )


def welch(a: Sequence[float] | NDArray[np.floating], b: Sequence[float] | NDArray[np.floating]) -> Welch:
    """Tests whether two methods have the same mean: Welch's t, its two-sided p, and Cohen's d by the pooled std.

    Positive t and d mean that `a` is larger. Where a statistic does not exist it is `None`, never NaN or infinity:
    t, p and d when neither sample varies (the means are then simply equal or different, and no test adds to that),
    and all three when a sample has a single value, whose variance is unknown.
    """
    first, second = _finite(a, "a"), _finite(b, "b")
    means = float(first.mean()), float(second.mean())
    spread = [_std(first), _std(second)]
    if min(first.size, second.size) < 2 or max(spread) == 0.0:
        return Welch(t=None, p=None, cohens_d=None, means=means)
    # From the moments, because `ttest_ind` warns about precision whenever one of the samples is constant.
    outcome = scipy.stats.ttest_ind_from_stats(
        means[0], spread[0], first.size, means[1], spread[1], second.size, equal_var=False
    )
    freedom = first.size + second.size - 2
    pooled = np.sqrt(((first.size - 1) * spread[0] ** 2 + (second.size - 1) * spread[1] ** 2) / freedom)
    return Welch(
        t=float(outcome.statistic),
        p=float(outcome.pvalue),
        cohens_d=float((means[0] - means[1]) / pooled),
        means=means,
    )


def _finite(values: Sequence[float] | NDArray[np.floating], name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}", fix="give one number per seed, at least one")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(
            f"{name}[{bad[0]}] is {array[bad[0]]}", fix="a seed without a finite value cannot be averaged: leave it out"
        )
    return array


def _std(values: NDArray[np.float64]) -> float:
    if values.size < 2 or np.ptp(values) <= _ROUNDING * np.abs(values).max():
        return 0.0
    return float(values.std(ddof=1))


def _interval(values: NDArray[np.float64], key: int) -> tuple[float, float]:
    mean = float(values.mean())
    if _std(values) == 0.0:
        return mean, mean
    outcome = scipy.stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="BCa",
        rng=np.random.default_rng(key),
    )
    return float(outcome.confidence_interval.low), float(outcome.confidence_interval.high)
