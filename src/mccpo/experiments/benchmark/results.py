"""What the rows say: cells, hypervolumes, aggregates over environments, winners.

Results are written after every pair, when most of the rows are as they were: what bootstrapping gave is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np

from mccpo.evaluation import Summary, summarise
from mccpo.evaluation.hypervolume import hypervolume
from mccpo.evaluation.reliable import Estimate, Profile, iqm, probability_of_improvement, profile
from mccpo.experiments.benchmark.methods import OURS
from mccpo.experiments.benchmark.rows import MEASURED

_TIED = 1e-9
TAUS = np.round(np.linspace(0.0, 1.0, 101), 2)

Row = Mapping[str, Any]
ByMethod = dict[str, dict[str, list[float]]]
"""Hypervolumes of seeds, by method and environment."""
Scores = tuple[tuple[float, ...], ...]
"""Runs × environments, as a key."""


def summed_up(rows: Sequence[Row]) -> dict[str, Any]:
    """Everything that follows from rows."""
    volumes = hypervolumes(rows)
    cells = cells_of(rows)
    best = winners(volumes, cells)
    return {
        "cells": cells,
        "aggregate": {method: _aggregate(method, found, best) for method, found in volumes.items() if found},
        "profiles": {method: _profile(found) for method, found in volumes.items() if found},
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
    found: ByMethod = {}
    smallest = min((row["kappa"] for row in rows), default=0.0)
    least = smallest if smallest < 1 else 0.0
    points: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for row in rows:
        if row["status"] == "does not apply":
            continue
        seed = points.setdefault((row["method"], row["environment"], row["seed"]), [])
        if row["status"] == "done" and row.get("share") is not None:
            seed.append((row["cost_share"], row["share"]))
    for (method, environment, _), front in points.items():
        volume = hypervolume([x for x, _ in front], [y for _, y in front], least=least)
        found.setdefault(method, {}).setdefault(environment, []).append(volume)
    return found


def improvement(volumes: ByMethod, ours: str) -> dict[str, dict[str, Any]]:
    """How likely a run of ours dominates more than one of each other, on the environments that both are in."""
    found = {}
    for other, theirs in volumes.items():
        common = [environment for environment in volumes[ours] if environment in theirs]
        if other == ours or not common:
            continue
        p, low, high = _improvement(_scores(volumes[ours], common), _scores(theirs, common))
        found[other] = {"p": p, "ci": [low, high], "environments": len(common)}
    return found


def winners(volumes: ByMethod, cells: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """On each environment, who has the largest mean hypervolume: of all, and of those that always meet the budgets.

    Several share a first place (`methods`, `safe_methods`), the first of them being `method`. Who dominates nothing
    has no place.
    """
    kept: dict[tuple[str, str], bool] = {}
    for cell in cells:
        pair = cell["environment"], cell["method"]
        met = cell["status"] == "done" and cell["satisfaction_strict"]["mean"] == 1
        kept[pair] = kept.get(pair, True) and met
    found = {}
    for environment, methods in _by_environment(volumes).items():
        means = {method: summary["mean"] for method, summary in methods.items()}
        safe = {method: mean for method, mean in means.items() if kept.get((environment, method))}
        found[environment] = {
            "method": next(iter(_best(means)), None),
            "methods": _best(means),
            "hypervolume": max(means.values()),
            "safe_method": next(iter(_best(safe)), None),
            "safe_methods": _best(safe),
            "safe_hypervolume": max(safe.values(), default=None),
            "safe": sorted(safe),
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


def _aggregate(
    method: str, volumes: Mapping[str, list[float]], best: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    value, low, high = _iqm(_scores(volumes, list(volumes)))
    return {
        "iqm": value,
        "ci": [low, high],
        "environments": len(volumes),
        "best_on": [environment for environment, found in best.items() if method in found["safe_methods"]],
    }


def _profile(volumes: Mapping[str, list[float]]) -> dict[str, Any]:
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


def _scores(volumes: Mapping[str, list[float]], environments: Sequence[str]) -> Scores:
    """Seeds × environments; of an agent with more seeds here than there, the first of each."""
    runs = min(len(volumes[environment]) for environment in environments)
    return tuple(zip(*(volumes[environment][:runs] for environment in environments), strict=True))


def _by_environment(volumes: ByMethod) -> dict[str, dict[str, Summary]]:
    found: dict[str, dict[str, Summary]] = {}
    for method, environments in volumes.items():
        for environment, seeds in environments.items():
            found.setdefault(environment, {})[method] = _summary(tuple(seeds))
    return found


def _best(scores: Mapping[str, float]) -> list[str]:
    """Who has the largest score, which is none of 0."""
    most = max(scores.values(), default=0.0)
    return [method for method, score in scores.items() if score > 0 and score >= most - _TIED]
