"""What seeds say over all environments: interquartile means, performance profiles, who is likely to be better.

Environments differ in what there is to be had. So a score counts relative to the best on its environment. Else the
quartiles that an interquartile mean leaves out would be whole environments, the hard and the easy ones, rather than
seeds of bad and of good luck. The best is found anew in every resample of the bootstrap: that it is best is in part
luck, too.

Results are written after every pair, when most of the rows are as they were: what bootstrapping gave is remembered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np

from mccpo.evaluation import Estimate, Relative, iqm, probability_of_improvement, profile, relative_to_best
from mccpo.methods import OURS
from mccpo.runs.benchmark import Aggregate, Improvement, InterquartileMean, OverallScores, Profile

# Closer together where the best are apart, and beyond 1: a seed may be better than the best is on average.
TAUS = np.round(np.concatenate([np.arange(0.0, 0.9, 0.02), np.arange(0.9, 1.1, 0.004)]), 3)

Scores = Mapping[str, Mapping[int, float]]
"""Scores of one method, by environment and seed: its hypervolumes, or the return that it kept."""
ByMethod = Mapping[str, Scores]
_Runs = tuple[tuple[float, ...], ...]
"""Runs × environments, as a key."""


def over_environments(volumes: ByMethod, kept: ByMethod) -> dict[str, Aggregate]:
    """Every method over the environments that it has a result on, which are named.

    Its scores are relative to the best on each environment. It is complete where these environments are all that any
    method has a result on; a failure is a result. Only complete methods can be ranked. One that is not complete has
    MC-CPO beside it, on the very environments and seeds that it has itself.
    """
    everywhere = {environment for scores in volumes.values() for environment in scores}
    of_volumes, of_kept = relative(volumes), relative(kept)
    aggregates = {}
    for method, scores in volumes.items():
        complete = scores.keys() == everywhere
        beside = not complete and method != OURS
        ours = _beside(method)
        aggregates[method] = Aggregate(
            scores=_overall_scores(of_volumes[method], of_kept.get(method)),
            environments=tuple(scores),
            complete=complete,
            beside_ours=beside,
            ours=_overall_scores(of_volumes[ours], of_kept.get(ours)) if beside and ours in of_volumes else None,
        )
    return aggregates


def relative(scores: ByMethod) -> dict[str, Relative]:
    """Every score over the largest mean that any method has on its environment, with resamples of both.

    Our scores on the environments and seeds of each other method stand beside them.
    """
    frozen = tuple(
        (method, tuple((environment, tuple(seeds.items())) for environment, seeds in environments.items()))
        for method, environments in scores.items()
    )
    return _relative(frozen)


_Frozen = tuple[tuple[str, tuple[tuple[str, tuple[tuple[int, float], ...]], ...]], ...]
"""Scores by method, environment and seed, as a key."""


@lru_cache(maxsize=4)
def _relative(frozen: _Frozen) -> dict[str, Relative]:
    scores = {method: {place: dict(seeds) for place, seeds in environments} for method, environments in frozen}
    same = {method: _same_runs(scores.get(OURS, {}), theirs) for method, theirs in scores.items() if method != OURS}
    return relative_to_best(
        {method: _values(environments) for method, environments in scores.items()},
        {_beside(method): _values(environments) for method, environments in same.items() if environments},
    )


def _beside(method: str) -> str:
    """The name that MC-CPO goes by on the environments and seeds of another method."""
    return f"{OURS} beside {method}"


def _values(environments: Scores) -> dict[str, list[float]]:
    return {environment: list(seeds.values()) for environment, seeds in environments.items()}


def profiles(volumes: ByMethod) -> dict[str, Profile]:
    """How often a seed of each method dominates more than τ, of what the best on its environment does."""
    scored = relative(volumes)
    return {
        method: Profile(*(tuple(part.tolist()) for part in profile(scored[method], TAUS.tolist())))
        for method in volumes
    }


def improvement(volumes: ByMethod, ours: str) -> dict[str, Improvement]:
    """How likely a run of ours dominates more than one of each other, on the environments that both are in."""
    improvements = {}
    for other, theirs in volumes.items():
        common = [environment for environment in volumes[ours] if environment in theirs]
        if other == ours or not common:
            continue
        p, low, high = _improvement(_runs(volumes[ours], common), _runs(theirs, common))
        improvements[other] = Improvement(p, (low, high), tuple(common))
    return improvements


def _overall_scores(volumes: Relative, kept: Relative | None) -> OverallScores:
    """The interquartile means of a method; older results do not know what it kept."""
    return OverallScores(_interquartile_mean(volumes), None if kept is None else _interquartile_mean(kept))


def _interquartile_mean(scores: Relative) -> InterquartileMean:
    value, low, high = iqm(scores)
    return InterquartileMean(value, None if math.isnan(low) else (low, high))


def _same_runs(ours: Scores, theirs: Scores) -> Scores:
    """Our scores on their environments and of their seeds; none where we lack an environment."""
    same = {
        environment: {seed: ours.get(environment, {})[seed] for seed in seeds if seed in ours.get(environment, {})}
        for environment, seeds in theirs.items()
    }
    return same if all(same.values()) else {}


def _runs(scores: Scores, environments: Sequence[str]) -> _Runs:
    """Seeds × environments; of an agent with more seeds on one environment than on another, the first of each."""
    runs = min(len(scores[environment]) for environment in environments)
    return tuple(zip(*(list(scores[environment].values())[:runs] for environment in environments), strict=True))


@cache
def _improvement(ours: _Runs, theirs: _Runs) -> Estimate:
    return probability_of_improvement(np.array(ours), np.array(theirs))
