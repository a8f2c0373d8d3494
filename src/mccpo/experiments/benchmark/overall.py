"""What seeds say over all environments: interquartile means, performance profiles, who is likely to be better.

Environments differ in what there is to be had. So a score counts relative to the best on its environment. Else the
quartiles that an interquartile mean leaves out would be whole environments, the hard and the easy ones, rather than
seeds of bad and of good luck.

Results are written after every pair, when most of the rows are as they were: what bootstrapping gave is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from mccpo.evaluation import Estimate, Profile, iqm, probability_of_improvement, profile
from mccpo.methods import OURS

# Closer together where the best are apart, and beyond 1: a seed may be better than the best is on average.
TAUS = np.round(np.concatenate([np.arange(0.0, 0.9, 0.02), np.arange(0.9, 1.1, 0.004)]), 3)

Scores = Mapping[str, Mapping[int, float]]
"""Scores of one method, by environment and seed: its hypervolumes, or what it kept."""
ByMethod = Mapping[str, Scores]
_Runs = tuple[tuple[float, ...], ...]
"""Runs × environments, as a key."""


def over_environments(volumes: ByMethod, kept: ByMethod) -> dict[str, dict[str, Any]]:
    """The interquartile means of every method over the environments that it has a result on, which are named.

    They are of hypervolumes, and below `kept` of what was kept, both relative to the best on each environment.
    A method is complete where these environments are all on which anybody has a result; a failure is one. Only complete
    methods can be ranked. One that is not has MC-CPO beside it, on the very environments and seeds that it has itself:
    `ours`, null where MC-CPO has no result on one of them.
    """
    everywhere = {environment for found in volumes.values() for environment in found}
    volumes, kept = relative(volumes), relative(kept)
    told = {}
    for method, found in volumes.items():
        about = _middle(found, kept.get(method, {}))
        told[method] = about | {"environments": list(found), "complete": found.keys() == everywhere}
        if not told[method]["complete"] and method != OURS:
            same = [_same_runs(scores.get(OURS, {}), found) for scores in (volumes, kept)]
            told[method]["ours"] = _middle(*same) if same[0] else None
    return told


def relative(scores: ByMethod) -> ByMethod:
    """Every score over the largest mean that any method has on its environment; 0 where nobody has more than that."""
    best: dict[str, float] = {}
    for found in scores.values():
        for environment, seeds in found.items():
            best[environment] = max(best.get(environment, 0.0), float(np.mean(list(seeds.values()))))

    def share(score: float, environment: str) -> float:
        return score / best[environment] if best[environment] else 0.0

    return {
        method: {where: {seed: share(score, where) for seed, score in seeds.items()} for where, seeds in found.items()}
        for method, found in scores.items()
    }


def profiles(volumes: ByMethod) -> dict[str, dict[str, Any]]:
    """How often a seed of each method dominates more than τ, of what the best on its environment does."""
    told = {}
    for method, found in relative(volumes).items():
        tau, share, low, high = (part.tolist() for part in _profile(_runs(found, list(found))))
        told[method] = {"tau": tau, "share": share, "ci": [low, high]}
    return told


def improvement(volumes: ByMethod, ours: str) -> dict[str, dict[str, Any]]:
    """How likely a run of ours dominates more than one of each other, on the environments that both are in."""
    found = {}
    for other, theirs in volumes.items():
        common = [environment for environment in volumes[ours] if environment in theirs]
        if other == ours or not common:
            continue
        p, low, high = _improvement(_runs(volumes[ours], common), _runs(theirs, common))
        found[other] = {"p": p, "ci": [low, high], "environments": common}
    return found


def _middle(volumes: Scores, kept: Scores) -> dict[str, Any]:
    """The interquartile means of a method; that of `kept` only where it is known, which older results do not say."""
    return _interquartile(volumes) | ({"kept": _interquartile(kept)} if kept else {})


def _interquartile(scores: Scores) -> dict[str, Any]:
    value, low, high = _iqm(_runs(scores, list(scores)))
    return {"iqm": value, "ci": [low, high]}


def _same_runs(ours: Scores, theirs: Scores) -> Scores:
    """Of our scores, those on their environments and of their seeds; none where we lack an environment."""
    found = {
        environment: {seed: ours.get(environment, {})[seed] for seed in seeds if seed in ours.get(environment, {})}
        for environment, seeds in theirs.items()
    }
    return found if all(found.values()) else {}


def _runs(scores: Scores, environments: Sequence[str]) -> _Runs:
    """Seeds × environments; of an agent with more seeds here than there, the first of each."""
    runs = min(len(scores[environment]) for environment in environments)
    return tuple(zip(*(list(scores[environment].values())[:runs] for environment in environments), strict=True))


@cache
def _iqm(runs: _Runs) -> Estimate:
    return iqm(np.array(runs))


@cache
def _profile(runs: _Runs) -> Profile:
    return profile(np.array(runs), TAUS.tolist())


@cache
def _improvement(ours: _Runs, theirs: _Runs) -> Estimate:
    return probability_of_improvement(np.array(ours), np.array(theirs))
