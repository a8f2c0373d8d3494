"""What seeds say over all environments: interquartile means, performance profiles, who is likely to be better.

Environments differ in what there is to be had. So a score counts relative to the best on its environment. Else the
quartiles that an interquartile mean leaves out would be whole environments, the hard and the easy ones, rather than
seeds of bad and of good luck.

Results are written after every pair, when most of the rows are as they were: what bootstrapping gave is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from mccpo.evaluation import Estimate, iqm, probability_of_improvement, profile
from mccpo.evaluation import Profile as ProfileArrays
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
    volumes, kept = relative(volumes), relative(kept)
    aggregates = {}
    for method, scores in volumes.items():
        complete = scores.keys() == everywhere
        beside = not complete and method != OURS
        same = [_same_runs(measure.get(OURS, {}), scores) for measure in (volumes, kept)] if beside else [{}, {}]
        aggregates[method] = Aggregate(
            scores=_overall_scores(scores, kept.get(method, {})),
            environments=tuple(scores),
            complete=complete,
            beside_ours=beside,
            ours=_overall_scores(*same) if same[0] else None,
        )
    return aggregates


def relative(scores: ByMethod) -> ByMethod:
    """Every score over the largest mean that any method has on its environment; 0 where that mean is 0."""
    best: dict[str, float] = {}
    for environments in scores.values():
        for environment, seeds in environments.items():
            best[environment] = max(best.get(environment, 0.0), float(np.mean(list(seeds.values()))))

    def share(score: float, environment: str) -> float:
        return score / best[environment] if best[environment] else 0.0

    return {
        method: {
            environment: {seed: share(score, environment) for seed, score in seeds.items()}
            for environment, seeds in environments.items()
        }
        for method, environments in scores.items()
    }


def profiles(volumes: ByMethod) -> dict[str, Profile]:
    """How often a seed of each method dominates more than τ, of what the best on its environment does."""
    return {
        method: Profile(*(tuple(part.tolist()) for part in _profile(_runs(scores, list(scores)))))
        for method, scores in relative(volumes).items()
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


def _overall_scores(volumes: Scores, kept: Scores) -> OverallScores:
    """The interquartile means of a method; older results do not know what it kept."""
    return OverallScores(_interquartile_mean(volumes), _interquartile_mean(kept) if kept else None)


def _interquartile_mean(scores: Scores) -> InterquartileMean:
    value, low, high = _iqm(_runs(scores, list(scores)))
    return InterquartileMean(value, (low, high))


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
def _iqm(runs: _Runs) -> Estimate:
    return iqm(np.array(runs))


@cache
def _profile(runs: _Runs) -> ProfileArrays:
    return profile(np.array(runs), TAUS.tolist())


@cache
def _improvement(ours: _Runs, theirs: _Runs) -> Estimate:
    return probability_of_improvement(np.array(ours), np.array(theirs))
