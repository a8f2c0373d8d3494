"""The plane of engagement and learning: how much more a method returns than mixtures of simple tutors.

Whoever draws, at the start of an episode, between the unconstrained tutor and rules reaches every point of the hull of
theirs. A method is worth its training where it returns more than any such mixture that teaches as much. Mixtures are
not held to the budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from mccpo.evaluation import envelope
from mccpo.experiments.benchmark.overall import ByMethod
from mccpo.runs.benchmark import Anchor, Row

RULE = "tutor"
"""The kind of a method that follows a rule."""


class SimpleTutors:
    """What mixtures of simple tutors reach: points of ΔK and return, whose upper envelope counts.

    >>> simple = SimpleTutors([0.0, 4.0], [10.0, 2.0])
    >>> float(simple.best_return(2.0)), float(simple.best_return(5.0))
    (6.0, nan)
    """

    def __init__(self, gain: Sequence[float], ret: Sequence[float]) -> None:
        x, y = envelope(np.asarray(gain, np.float64), np.asarray(ret, np.float64))
        self._gain, self._ret = x[y.argmax() :], y[y.argmax() :]  # left of the highest, more learning costs nothing

    def best_return(self, gain: float | Float[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
        """The highest return of a mixture that teaches at least so much; where none does, no number (NaN)."""
        return np.interp(gain, self._gain, self._ret, right=np.nan)


def beyond_rules(rows: Iterable[Row], anchors: Mapping[str, Anchor]) -> ByMethod:
    """By method, environment and seed: the return beyond the best mixture of simple tutors that teaches as much.

    It is a share of the unconstrained return, and the mean over the κ at which some mixture teaches as much. Where none
    does at any κ, and where no rule was run, there is none; a rule has none itself.
    """
    by_environment: dict[str, list[Row]] = {}
    for row in rows:
        if row.outcome is not None and row.environment in anchors:
            by_environment.setdefault(row.environment, []).append(row)
    scores: dict[str, dict[str, dict[int, float]]] = {}
    for environment, done in by_environment.items():
        anchor, rules = anchors[environment], [row for row in done if row.kind == RULE]
        if not rules or not anchor.ret:
            continue
        simple = _simple_tutors(anchor, rules)
        for (method, seed), points in _by_seed(done).items():
            beyond = np.array([(ret - simple.best_return(gain)) / anchor.ret for gain, ret in points])
            if not np.isnan(beyond).all():
                scores.setdefault(method, {}).setdefault(environment, {})[seed] = float(np.nanmean(beyond))
    return scores


def _simple_tutors(anchor: Anchor, rules: Sequence[Row]) -> SimpleTutors:
    """The unconstrained tutor, and each rule by its mean over seeds."""
    points: dict[str, list[tuple[float, float]]] = {"": [(anchor.gain, anchor.ret)]}
    for row in rules:
        assert row.outcome is not None
        points.setdefault(row.method, []).append((row.outcome.dK, row.outcome.ret))
    gain, ret = zip(*(np.mean(seeds, axis=0) for seeds in points.values()), strict=True)
    return SimpleTutors(gain, ret)


def _by_seed(rows: Iterable[Row]) -> dict[tuple[str, int], list[tuple[float, float]]]:
    """ΔK and return at every κ, by method and seed, of what is no rule."""
    points: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for row in rows:
        if row.outcome is not None and row.kind != RULE:
            points.setdefault((row.method, row.seed), []).append((row.outcome.dK, row.outcome.ret))
    return points
