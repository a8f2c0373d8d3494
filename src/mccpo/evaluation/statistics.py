"""What a handful of seeds says of one method: mean, deviation, and an interval that covers.

Intervals are Student's t, and for what a seed does or does not do, Clopper and Pearson's. A bootstrap of the mean is
too narrow for a handful of seeds: `mccpo reproduce coverage` shows both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from jaxtyping import Float
from numpy.typing import NDArray

from mccpo.errors import InputError

CONFIDENCE = 0.95

SHARES_OF_SEEDS = ("satisfaction", "satisfaction_strict", "within", "kept", "first")
"""Metrics that a seed has or has not: each value is 0 or 1."""

# Relative spread under which values differ by rounding only. Seeds that all reach the same deterministic policy differ
# in the last bits, and a variance made of those bits would turn into an astronomical t.
_ROUNDING = 1e-12

Values = Sequence[float] | NDArray[np.floating]


class SummaryJson(TypedDict):
    """One metric over seeds, as it stands in the JSON of every command."""

    mean: float
    std: float
    n: int
    per_seed: list[float]
    ci: list[float] | None
    iqm: float | None


@dataclass(frozen=True)
class Summary:
    """One metric over seeds. `ci` is None for a single seed; it and `iqm` also where a file does not state them.

    >>> summarise([3.0, 4.0, 5.0]).n
    3
    """

    mean: float
    std: float
    per_seed: tuple[float, ...]
    ci: tuple[float, float] | None
    iqm: float | None

    @property
    def n(self) -> int:
        """How many seeds there are: what an interval is worth depends on it."""
        return len(self.per_seed)

    @property
    def shown_std(self) -> float | None:
        """The deviation over seeds; None for one seed, where ± 0 would claim a certainty that is not there."""
        return self.std if self.n > 1 else None

    def as_json(self) -> SummaryJson:
        """The summary as JSON values."""
        return {
            "mean": self.mean,
            "std": self.std,
            "n": self.n,
            "per_seed": list(self.per_seed),
            "ci": None if self.ci is None else list(self.ci),
            "iqm": self.iqm,
        }


def summarise(per_seed: Values, *, yes_or_no: bool = False) -> Summary:
    """Sums up one metric over seeds: mean, sample std, 95 % interval of the mean, interquartile mean.

    The interval is Student's t, by n - 1 degrees of freedom. With `yes_or_no`, where a value is 1 or 0 for what a seed
    does or does not do, it is the exact one of a share: ten seeds of ten leave it open whether one in four fails. One
    seed has no interval, since nothing is known of the spread. Seeds that all agree have the interval [mean, mean].

    >>> summary = summarise([3.0, 4.0, 5.0])
    >>> summary.mean, summary.std
    (4.0, 1.0)
    """
    values = finite_values(per_seed, "per_seed")
    mean, std = float(values.mean()), spread_of(values)
    return Summary(
        mean=mean,
        std=std,
        per_seed=tuple(float(value) for value in values),
        ci=share_interval(round(float(values.sum())), values.size) if yes_or_no else t_interval(mean, std, values.size),
        iqm=float(scipy.stats.trim_mean(values, 0.25)),
    )


def summarise_metric(metric: str, per_seed: Values) -> Summary:
    """Sums up a metric by its name, which says whether it is something that a seed does or does not do.

    >>> low, high = summarise_metric("satisfaction", [1.0] * 10).ci
    >>> round(low, 3), high
    (0.692, 1.0)
    """
    return summarise(per_seed, yes_or_no=metric.removesuffix("_last") in SHARES_OF_SEEDS)


def summarise_metrics(seeds: Sequence[Mapping[str, float]]) -> dict[str, Summary]:
    """Sums up every metric of policies, of which there is one a seed.

    >>> summarise_metrics([{"return": 3.0}, {"return": 5.0}])["return"].mean
    4.0
    """
    return {metric: summarise_metric(metric, [values[metric] for values in seeds]) for metric in seeds[0]}


def t_interval(mean: float, std: float, n: int, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Student's two-sided interval of a mean; None for a single value."""
    if n < 2:
        return None
    half = float(scipy.stats.t.ppf((1 + confidence) / 2, n - 1)) * std / math.sqrt(n)
    return mean - half, mean + half


def share_interval(count: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Clopper and Pearson's two-sided interval of a chance that came true `count` times of `n`; None for one time.

    >>> low, high = share_interval(10, 10)
    >>> round(low, 3), high
    (0.692, 1.0)
    """
    if n < 2:
        return None
    tail = (1 - confidence) / 2
    low = float(scipy.stats.beta.ppf(tail, count, n - count + 1)) if count > 0 else 0.0
    high = float(scipy.stats.beta.ppf(1 - tail, count + 1, n - count)) if count < n else 1.0
    return low, high


def finite_values(values: Values, name: str) -> Float[np.ndarray, " seeds"]:
    """One number per seed, checked."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}", fix="give one number per seed, at least one")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(
            f"{name}[{bad[0]}] is {array[bad[0]]}", fix="a seed without a finite value cannot be averaged: leave it out"
        )
    return array


def spread_of(values: Float[np.ndarray, " seeds"], scale: float = 0.0) -> float:
    """The sample standard deviation; 0 for one value, and for values that differ by rounding only.

    `scale` is the size of the numbers that the values were computed from, where they are differences.
    """
    if values.size < 2 or np.ptp(values) <= _ROUNDING * max(float(np.abs(values).max()), scale):
        return 0.0
    return float(values.std(ddof=1))
