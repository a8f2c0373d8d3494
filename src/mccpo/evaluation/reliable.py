"""What few runs on several environments say of a method, and how surely.

After R. Agarwal, M. Schwarzer, P. S. Castro, A. Courville, M. G. Bellemare, Deep Reinforcement Learning at the Edge of
the Statistical Precipice, NeurIPS 2021. Scores are arrays of runs × environments. The bootstrap is stratified: runs are
drawn again within each environment, so that no resample has more of an easy environment than there is. Intervals are
percentiles of the resamples, which the same scores and `key` always give again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError

CONFIDENCE = 0.95
RESAMPLES = 2_000

Scores = Float[np.ndarray, "runs environments"]


class Estimate(NamedTuple):
    """A number and its interval."""

    value: float
    low: float
    high: float


class Profile(NamedTuple):
    """At each threshold `tau`, the share of runs whose score is above it, and its interval."""

    tau: Float[np.ndarray, " thresholds"]
    share: Float[np.ndarray, " thresholds"]
    low: Float[np.ndarray, " thresholds"]
    high: Float[np.ndarray, " thresholds"]


def interquartile_mean(scores: Float[np.ndarray, "*batch runs environments"]) -> Float[np.ndarray, "*batch"]:
    """The mean of the middle half of all scores: as robust as a median against single runs, and less noisy."""
    flat = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = flat.shape[-1] // 4
    middle: Float[np.ndarray, "*batch"] = flat[..., cut : flat.shape[-1] - cut].mean(axis=-1)
    return middle


def iqm(scores: Scores, *, key: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """The interquartile mean over runs and environments."""
    checked = _checked(scores)
    value, low, high = _with_interval(interquartile_mean, checked, key, resamples)
    return Estimate(float(value), float(low), float(high))


def profile(scores: Scores, tau: Sequence[float], *, key: int = 0, resamples: int = RESAMPLES) -> Profile:
    """The performance profile: how often a run does better than each threshold."""
    thresholds = np.asarray(tau, np.float64)

    def above(drawn: Float[np.ndarray, "*batch runs environments"]) -> Float[np.ndarray, "*batch thresholds"]:
        found: Float[np.ndarray, "*batch thresholds"] = (drawn[..., None] > thresholds).mean(axis=(-3, -2))
        return found

    return Profile(thresholds, *_with_interval(above, _checked(scores), key, resamples))


def probability_of_improvement(ours: Scores, theirs: Scores, *, key: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """How likely a run of ours beats one of theirs on an environment drawn at random; a tie counts half.

    Both need the same environments, in the same order, but not as many runs.
    """
    first, second = _checked(ours), _checked(theirs)
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"one has {first.shape[1]} environments, the other {second.shape[1]}", fix="compare them on the same"
        )
    one, other = np.random.default_rng(key).spawn(2)
    drawn = _wins(_resampled(first, one, resamples), _resampled(second, other, resamples))
    low, high = _percentiles(drawn)
    return Estimate(float(_wins(first, second)), float(low), float(high))


def _wins(
    ours: Float[np.ndarray, "*batch runs environments"], theirs: Float[np.ndarray, "*batch others environments"]
) -> Float[np.ndarray, "*batch"]:
    difference = ours[..., :, None, :] - theirs[..., None, :, :]
    won: Float[np.ndarray, "*batch"] = ((difference > 0) + 0.5 * (difference == 0)).mean(axis=(-3, -2, -1))
    return won


def _with_interval(
    statistic: Callable[[np.ndarray], np.ndarray], scores: Scores, key: int, resamples: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low, high = _percentiles(statistic(_resampled(scores, np.random.default_rng(key), resamples)))
    return statistic(scores), low, high


def _resampled(
    scores: Scores, random: np.random.Generator, resamples: int
) -> Float[np.ndarray, "resamples runs environments"]:
    """Runs drawn with replacement, in each environment on its own."""
    runs = random.integers(len(scores), size=(resamples, *scores.shape))
    return scores[runs, np.arange(scores.shape[1])]


def _percentiles(drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return low, high


def _checked(scores: Scores) -> Scores:
    found = np.asarray(scores, np.float64)
    if found.ndim != 2 or found.size == 0:
        raise InputError(f"the scores have the shape {found.shape}", fix="give runs × environments, not none")
    if not np.isfinite(found).all():
        raise InputError("a score is not a finite number", fix="leave its environment out, or score the failure")
    return found
