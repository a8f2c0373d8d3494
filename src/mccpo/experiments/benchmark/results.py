"""What the rows say: cells, hypervolumes, aggregates over environments, winners.

Results are written after every pair, when most of the rows are as they were: what bootstrapping gave is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from mccpo.evaluation import Summary, summarise
from mccpo.evaluation.hypervolume import hypervolume
from mccpo.evaluation.reliable import Estimate, Profile, iqm, probability_of_improvement, profile
from mccpo.experiments.benchmark.methods import OURS
from mccpo.experiments.benchmark.rows import MEASURED

_TIED = 1e-9
TAUS = np.round(np.linspace(0.0, 1.0, 101), 2)

Row = Mapping[str, Any]
Volumes = Mapping[str, Mapping[int, float]]
"""Hypervolumes of one method, by environment and seed."""
ByMethod = Mapping[str, Volumes]
Scores = tuple[tuple[float, ...], ...]
"""Runs × environments, as a key."""


class Met(NamedTuple):
    """Whether a cell meets the budgets in every seed, and whether in any."""

    always: bool
    ever: bool


def summed_up(rows: Sequence[Row]) -> dict[str, Any]:
    """Everything that follows from rows."""
    volumes = hypervolumes(rows)
    cells = cells_of(rows)
    best = winners(volumes, cells)
    overall = over_environments(volumes)
    return {
        "cells": cells,
        "aggregate": {method: found | {"best_on": _best_on(method, best)} for method, found in overall.items()},
        "profiles": {method: _profile(found) for method, found in volumes.items()},
        "improvement": {OURS: improvement(volumes, OURS)} if volumes.get(OURS) else {},
        "hypervolume": _by_environment(volumes),
        "winners": best,
    }


def cells_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """A cell for each environment, method and κ: its status, and every metric over the seeds that are done."""
    found = []
    for (environment, method, kappa), group in groupby(rows, _cell):
        seeds = list(group)
        failed = [row for row in seeds if row["status"] != "done"]
        head = {
            "environment": environment,
            "method": method,
            "kind": seeds[0]["kind"],
            "kappa": kappa,
            "status": failed[0]["status"] if failed else "done",
            "why": failed[0]["why"] if failed else "",
            "folder": seeds[0]["folder"],
            "seconds": seeds[0].get("seconds"),
            "seeds_done": len(seeds) - len(failed),
        }
        found.append(head | _summaries([row for row in seeds if row["status"] == "done"]))
    return found


def hypervolumes(rows: Iterable[Row]) -> ByMethod:
    """The hypervolume over κ of every seed, by method and environment.

    The plane begins at the smallest κ. Else a policy that spends next to nothing, and returns as little, would dominate
    more than the optimum under the budgets that were asked for, which has no reason to spend less than the smallest.
    A seed that failed has dominated nothing. A method that does not apply to an environment has no entry there.
    """
    rows = list(rows)
    found: dict[str, dict[str, dict[int, float]]] = {}
    smallest = min((row["kappa"] for row in rows), default=0.0)
    least = smallest if smallest < 1 else 0.0
    points: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for row in rows:
        if row["status"] == "does not apply":
            continue
        front = points.setdefault((row["method"], row["environment"], row["seed"]), [])
        if row["status"] == "done" and row.get("share") is not None:
            front.append((row["cost_share"], row["share"]))
    for (method, environment, seed), front in points.items():
        volume = hypervolume([x for x, _ in front], [y for _, y in front], least=least)
        found.setdefault(method, {}).setdefault(environment, {})[seed] = volume
    return found


def over_environments(volumes: ByMethod) -> dict[str, dict[str, Any]]:
    """The interquartile mean of every method over the environments that it has a result on, which are named.

    A method is complete where these are all on which anybody has one; a failure is a result. Environments differ in
    what there is to dominate, so that only complete methods can be ranked. One that is not has MC-CPO beside it, on the
    very environments and seeds that it has itself: `ours`, null where MC-CPO has no result on one of them.
    """
    everywhere = {environment for found in volumes.values() for environment in found}
    told = {}
    for method, found in volumes.items():
        told[method] = _interquartile(found) | {"environments": list(found), "complete": found.keys() == everywhere}
        if not told[method]["complete"] and method != OURS:
            same = _same_runs(volumes.get(OURS, {}), found)
            told[method]["ours"] = _interquartile(same) if same else None
    return told


def improvement(volumes: ByMethod, ours: str) -> dict[str, dict[str, Any]]:
    """How likely a run of ours dominates more than one of each other, on the environments that both are in."""
    found = {}
    for other, theirs in volumes.items():
        common = [environment for environment in volumes[ours] if environment in theirs]
        if other == ours or not common:
            continue
        p, low, high = _improvement(_scores(volumes[ours], common), _scores(theirs, common))
        found[other] = {"p": p, "ci": [low, high], "environments": common}
    return found


def winners(volumes: ByMethod, cells: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """On each environment, who has the largest mean hypervolume: of all, and of those that always meet the budgets.

    Several share a first place (`methods`, `safe_methods`), the first of them being `method`. Who dominates nothing
    has no place. `unmet` are the κ at which no method meets the budgets in any seed, where nobody can be safe. Who is
    best of those that always meet the budgets at every other κ is `reachable_method`: the safe one, where all are met.
    """
    met: dict[str, dict[float, dict[str, Met]]] = {}
    for cell in cells:
        met.setdefault(cell["environment"], {}).setdefault(cell["kappa"], {})[cell["method"]] = _met(cell)
    found = {}
    for environment, methods in _by_environment(volumes).items():
        means = {method: summary["mean"] for method, summary in methods.items()}
        levels = met.get(environment, {})
        unmet = [kappa for kappa, level in levels.items() if not any(one.ever for one in level.values())]
        safe = _keeping(means, list(levels.values()))
        reachable = _keeping(means, [level for kappa, level in levels.items() if kappa not in unmet])
        found[environment] = {
            "method": next(iter(_best(means)), None),
            "methods": _best(means),
            "hypervolume": max(means.values()),
            **_first("safe", safe),
            "safe": sorted(safe),
            "unmet": sorted(unmet),
            **_first("reachable", reachable),
        }
    return found


def unseen_of(rows: Iterable[Row], kappas: Sequence[float]) -> dict[str, Any]:
    """What methods do at κ that nobody trained for: by method and environment, a summary for each κ or null."""
    found: dict[str, Any] = {"kappa": list(kappas)}
    by_pair: dict[tuple[str, str], dict[float, list[Row]]] = {}
    for row in rows:
        if row["status"] == "done":
            by_pair.setdefault((row["method"], row["environment"]), {}).setdefault(row["kappa"], []).append(row)
    for (method, environment), levels in by_pair.items():
        summaries = [_summaries(levels[kappa]) if kappa in levels else {} for kappa in kappas]
        metrics = ("return", "share", "satisfaction", "satisfaction_strict", "cost_share")
        told = {metric: [one.get(metric) for one in summaries] for metric in metrics}
        found.setdefault(method, {})[environment] = told
    return found


def _summaries(rows: Sequence[Row]) -> dict[str, Summary]:
    """Every metric over seeds."""
    costs = [key for key in (rows[0] if rows else ()) if key.startswith("J_")]
    found = {}
    for metric in (*MEASURED, "share", "optimum_share", "cost_share", *costs):
        values = [row[metric] for row in rows if row.get(metric) is not None]
        if values:
            found[metric] = _summary(tuple(values))
    return found


def _cell(row: Row) -> tuple[str, str, float]:
    return row["environment"], row["method"], row["kappa"]


def _met(cell: Mapping[str, Any]) -> Met:
    strict = cell.get("satisfaction_strict", {"mean": 0.0})["mean"]
    return Met(always=cell["status"] == "done" and strict == 1, ever=strict > 0)


def _keeping(means: Mapping[str, float], levels: Sequence[Mapping[str, Met]]) -> dict[str, float]:
    """Those that always meet the budgets at all these κ; where there is none, nobody has shown that."""
    return {
        method: mean
        for method, mean in means.items()
        if levels and all(method in level and level[method].always for level in levels)
    }


def _first(name: str, means: Mapping[str, float]) -> dict[str, Any]:
    """Who is first of some, under keys that say of which."""
    best = _best(means)
    return {
        f"{name}_method": next(iter(best), None),
        f"{name}_methods": best,
        f"{name}_hypervolume": max(means.values(), default=None),
    }


def _best_on(method: str, best: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [environment for environment, found in best.items() if method in found["safe_methods"]]


def _interquartile(volumes: Volumes) -> dict[str, Any]:
    value, low, high = _iqm(_scores(volumes, list(volumes)))
    return {"iqm": value, "ci": [low, high]}


def _same_runs(ours: Volumes, theirs: Volumes) -> Volumes:
    """Of our hypervolumes, those on their environments and of their seeds; none where we lack an environment."""
    found = {
        environment: {seed: ours.get(environment, {})[seed] for seed in seeds if seed in ours.get(environment, {})}
        for environment, seeds in theirs.items()
    }
    return found if all(found.values()) else {}


def _profile(volumes: Volumes) -> dict[str, Any]:
    found = _profile_of(_scores(volumes, list(volumes)))
    return {"tau": found.tau, "share": found.share, "ci": [found.low, found.high]}


@cache
def _summary(seeds: tuple[float, ...]) -> Summary:
    return summarise(seeds)


@cache
def _iqm(scores: Scores) -> Estimate:
    return iqm(np.array(scores))


@cache
def _profile_of(scores: Scores) -> Profile:
    return profile(np.array(scores), TAUS.tolist())


@cache
def _improvement(ours: Scores, theirs: Scores) -> Estimate:
    return probability_of_improvement(np.array(ours), np.array(theirs))


def _scores(volumes: Volumes, environments: Sequence[str]) -> Scores:
    """Seeds × environments; of an agent with more seeds here than there, the first of each."""
    runs = min(len(volumes[environment]) for environment in environments)
    return tuple(zip(*(list(volumes[environment].values())[:runs] for environment in environments), strict=True))


def _by_environment(volumes: ByMethod) -> dict[str, dict[str, Summary]]:
    found: dict[str, dict[str, Summary]] = {}
    for method, environments in volumes.items():
        for environment, seeds in environments.items():
            found.setdefault(environment, {})[method] = _summary(tuple(seeds.values()))
    return found


def _best(scores: Mapping[str, float]) -> list[str]:
    """Who has the largest score, which is none of 0."""
    most = max(scores.values(), default=0.0)
    return [method for method, score in scores.items() if score > 0 and score >= most - _TIED]
