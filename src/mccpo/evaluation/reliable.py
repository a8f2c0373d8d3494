"""What few runs on several environments say of a method, and how surely.

After R. Agarwal, M. Schwarzer, P. S. Castro, A. Courville, M. G. Bellemare, Deep Reinforcement Learning at the Edge of
the Statistical Precipice, NeurIPS 2021. Scores are arrays of runs × environments. The bootstrap is stratified: runs are
drawn again within each environment, so that no resample has more of an easy environment than there is. Where scores
are relative to the best method, that best is found anew in every resample: it is an estimate too. The same scores and
`key` always give the same intervals.

The interval of an interquartile mean is Student's, with the deviation of the resamples: percentiles are too narrow for
a handful of runs, whose resamples vary by (n - 1)/n of what the runs do. Those of profiles and of the probability of
improvement are percentiles, and are too narrow for fewer than about ten runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy  # whose parts load when they are used
from jaxtyping import Float

from mccpo.errors import InputError

CONFIDENCE = 0.95
RESAMPLES = 1_000

Scores = Float[np.ndarray, "runs environments"]


class Estimate(NamedTuple):
    """A number and its interval; the ends are no numbers (NaN) where a single run tells nothing of the spread.

    >>> Estimate(0.8, low=0.7, high=0.9).low
    0.7
    """

    value: float
    low: float
    high: float


class Profile(NamedTuple):
    """At each threshold `tau`, the share of runs whose score is above it, and its interval.

    >>> profile(np.array([[0.8, 0.9], [1.0, 0.7]]), tau=[0.5, 0.85]).tau.tolist()
    [0.5, 0.85]
    """

    tau: Float[np.ndarray, " thresholds"]
    share: Float[np.ndarray, " thresholds"]
    low: Float[np.ndarray, " thresholds"]
    high: Float[np.ndarray, " thresholds"]


class Relative(NamedTuple):
    """Scores over the best mean on their environment: as they are, and drawn again together with that mean."""

    scores: Scores
    drawn: Float[np.ndarray, "resamples runs environments"]


def relative_to_best(
    methods: Mapping[str, Mapping[str, Sequence[float]]],
    beside: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    *,
    key: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Relative]:
    """Every method's runs by environment, relative to the largest mean that any method has there; 0 where that is 0.

    Runs of methods that have as many are drawn alike: they share their seeds. Of a method with more runs on one
    environment than on another, the first of each count. What stands `beside` the methods is relative to the same best.

    >>> relative_to_best({"ours": {"gate": [2.0, 4.0]}, "theirs": {"gate": [1.5, 1.5]}})["theirs"].scores.tolist()
    [[0.5], [0.5]]
    """
    everything = {**methods, **(beside or {})}
    random = np.random.default_rng(key)
    plain: dict[str, list[np.ndarray]] = {name: [] for name in everything}
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in everything}
    for environment in dict.fromkeys(place for runs in everything.values() for place in runs):
        there = {name: np.asarray(runs[environment], float) for name, runs in everything.items() if environment in runs}
        sizes = sorted({len(runs) for runs in there.values()})
        chosen = {size: random.integers(size, size=(resamples, size)) for size in sizes}
        again = {name: runs[chosen[len(runs)]] for name, runs in there.items()}
        best = max((runs.mean() for name, runs in there.items() if name in methods), default=0.0)
        bests = np.max([again[name].mean(axis=1) for name in there if name in methods], axis=0)
        for name, runs in there.items():
            plain[name].append(runs / best if best else 0.0 * runs)
            drawn[name].append(np.divide(again[name], bests[:, None], where=bests[:, None] > 0, out=0.0 * again[name]))
    return {name: Relative(_even(plain[name]), _even(drawn[name])) for name in everything}


def _even(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Runs of several environments side by side, as many of each as there are of all."""
    runs = min(column.shape[-1] for column in columns)
    return np.stack([column[..., :runs] for column in columns], axis=-1)


def interquartile_mean(scores: Float[np.ndarray, "*batch runs environments"]) -> Float[np.ndarray, "*batch"]:
    """The mean of the middle half of all scores: as robust as a median against single runs, and less noisy."""
    flat = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = flat.shape[-1] // 4
    middle: Float[np.ndarray, "*batch"] = flat[..., cut : flat.shape[-1] - cut].mean(axis=-1)
    return middle


def iqm(scores: Scores | Relative, *, key: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """The interquartile mean over runs and environments.

    >>> round(iqm(np.array([[0.8, 0.9], [1.0, 0.7]])).value, 2)
    0.85
    """
    plain, drawn = _drawn(scores, key, resamples)
    value = float(interquartile_mean(plain))
    runs, environments = plain.shape
    if runs < 2:
        return Estimate(value, math.nan, math.nan)
    error = float(interquartile_mean(drawn).std(ddof=1)) * math.sqrt(runs / (runs - 1))
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, environments * (runs - 1))) * error
    return Estimate(value, value - half, value + half)


def profile(scores: Scores | Relative, tau: Sequence[float], *, key: int = 0, resamples: int = RESAMPLES) -> Profile:
    """The performance profile: how often a run does better than each threshold.

    >>> profile(np.array([[0.8, 0.9], [1.0, 0.7]]), tau=[0.5, 0.85]).share.tolist()
    [1.0, 0.5]
    """
    thresholds = np.asarray(tau, np.float64)

    def above(drawn: Float[np.ndarray, "*batch runs environments"]) -> Float[np.ndarray, "*batch thresholds"]:
        found: Float[np.ndarray, "*batch thresholds"] = (drawn[..., None] > thresholds).mean(axis=(-3, -2))
        return found

    plain, drawn = _drawn(scores, key, resamples)
    return Profile(thresholds, above(plain), *_percentiles(_in_parts(above, drawn)))


def _in_parts(above: Callable[[np.ndarray], np.ndarray], drawn: np.ndarray) -> np.ndarray:
    """The same of all resamples, a few at a time: every threshold is held against every run."""
    parts = np.array_split(drawn, max(1, len(drawn) // 100))
    return np.concatenate([above(part) for part in parts])


def probability_of_improvement(ours: Scores, theirs: Scores, *, key: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """How likely a run of ours beats one of theirs on an environment drawn at random; a tie counts half.

    Both need the same environments, in the same order, but not as many runs.

    >>> probability_of_improvement(np.array([[2.0], [4.0]]), np.array([[1.0], [3.0]])).value
    0.75
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


def _drawn(scores: Scores | Relative, key: int, resamples: int) -> Relative:
    """Scores and their resamples, which relative ones have with them."""
    if isinstance(scores, Relative):
        return Relative(_checked(scores.scores), scores.drawn)
    plain = _checked(scores)
    return Relative(plain, _resampled(plain, np.random.default_rng(key), resamples))


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
