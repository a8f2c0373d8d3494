"""What the rows say: cells, hypervolumes, what was kept within the budgets, winners.

Results are written after every pair, when most of the rows are as they were: what bootstrapping gave is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from mccpo.evaluation import SummaryJson, hypervolume, summarise
from mccpo.experiments.benchmark.overall import ByMethod, improvement, over_environments, profiles
from mccpo.experiments.benchmark.rows import MEASURED
from mccpo.methods import OURS

_TIED = 1e-9

Row = Mapping[str, Any]


class Met(NamedTuple):
    """Whether a cell meets the budgets in every seed, and whether in any."""

    always: bool
    ever: bool


def summed_up(rows: Sequence[Row]) -> dict[str, Any]:
    """Everything that follows from rows."""
    volumes, within = hypervolumes(rows), kept(rows)
    cells = cells_of(rows)
    best = winners(volumes, cells)
    overall = over_environments(volumes, within)
    return {
        "cells": cells,
        "aggregate": {method: found | {"best_on": _best_on(method, best)} for method, found in overall.items()},
        "profiles": profiles(volumes),
        "improvement": {OURS: improvement(volumes, OURS)} if volumes.get(OURS) else {},
        "hypervolume": _by_environment(volumes),
        "kept": _by_environment(within),
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


def kept(rows: Iterable[Row]) -> ByMethod:
    """The share of the unconstrained return that every seed keeps within the budgets, by method and environment.

    It is the mean over the κ asked for, each counting what the policy for that very κ returns; one that misses a budget
    there (τ = 0), or failed, counts 0. No policies keep more than the optimum under each budget does. Hypervolume asks
    for something else: there a policy counts at every κ that it spends no more than, so that to spend less than asked
    is a merit. A method that does not apply to an environment has no entry there.
    """
    rows = list(rows)
    asked = {row["kappa"] for row in rows}
    found: dict[str, dict[str, dict[int, float]]] = {}
    for row in rows:
        if row["status"] == "does not apply":
            continue
        seeds = found.setdefault(row["method"], {}).setdefault(row["environment"], {})
        met = row["status"] == "done" and row["satisfaction_strict"] == 1
        share = max(0.0, row.get("share") or 0.0) if met else 0.0  # to miss a budget is never worth more
        seeds[row["seed"]] = seeds.get(row["seed"], 0.0) + share / len(asked)
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


def _summaries(rows: Sequence[Row]) -> dict[str, SummaryJson]:
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


@cache
def _summary(seeds: tuple[float, ...]) -> SummaryJson:
    return summarise(seeds).as_json()


def _by_environment(scores: ByMethod) -> dict[str, dict[str, SummaryJson]]:
    found: dict[str, dict[str, SummaryJson]] = {}
    for method, environments in scores.items():
        for environment, seeds in environments.items():
            found.setdefault(environment, {})[method] = _summary(tuple(seeds.values()))
    return found


def _best(scores: Mapping[str, float]) -> list[str]:
    """Who has the largest score, which is none of 0."""
    most = max(scores.values(), default=0.0)
    return [method for method, score in scores.items() if score > 0 and score >= most - _TIED]
