"""What came out as a table: one row for each environment, method, κ and seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from mccpo import files
from mccpo.errors import InputError
from mccpo.evaluation.policy import metrics_of, slack_of
from mccpo.exact import Values
from mccpo.experiments.benchmark.problem import Posed
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.trial import DIVERGED, Trial
from mccpo.files import dump_json

MEASURED = (
    "return",
    "satisfaction",
    "satisfaction_strict",
    "prerequisite_violation_rate",
    "violation_rate",
    "dK",
    "rhsi",
)
"""Metrics of a row by their names everywhere else."""

_TEXT = ("environment", "method", "kind", "status", "why", "settings", "folder")


def rows_of(posed: Posed, trial: Trial, protocol: Protocol) -> list[dict[str, Any]]:
    """The rows of a trial at every κ that was asked for; one that failed has rows that say so."""
    seeds = trial.seeds or range(protocol.seeds)
    return [
        row(posed, trial, kappa, seed, values)
        for kappa in protocol.kappa
        for seed, values in zip(seeds, trial.values.get(kappa) or [None] * len(seeds), strict=True)
    ]


def unseen_rows(posed: Posed, trial: Trial) -> list[dict[str, Any]]:
    """The same at the κ that nobody trained for."""
    return [
        row(posed, trial, kappa, seed, values)
        for kappa, seeds in trial.unseen.items()
        for seed, values in enumerate(seeds)
    ]


def row(posed: Posed, trial: Trial, kappa: float, seed: int, values: Values | None) -> dict[str, Any]:
    """One row. Seeds that came to something are done, whatever became of the others."""
    status, why = ("done", "") if values is not None else (trial.status, trial.why)
    if status == "does not apply" and kappa in trial.values:  # it has no answer at another κ, and came to nothing here
        status, why = "diverged", DIVERGED
    head = {
        "environment": posed.name,
        "method": trial.method,
        "kind": trial.kind,
        "kappa": kappa,
        "seed": seed,
        "status": status,
        "why": why,
        "settings": dump_json(trial.setting),
        "folder": folder_of(posed.name, trial.method),
        "seconds": trial.seconds,
    }
    budgets = {f"budget_{name}": limit for name, limit in posed.limits(kappa).items()}
    return {**head, **budgets, **(measured(posed, kappa, values) if values is not None else {})}


def measured(posed: Posed, kappa: float, values: Values) -> dict[str, float | None]:
    """What a policy is worth at a κ, absolutely and as shares of what is to be had."""
    found = metrics_of(values, posed.reference, posed.env, posed.limits(kappa))
    best = posed.best_return(kappa)
    return {
        **{metric: found[metric] for metric in MEASURED},
        **{f"J_{name}": cost for name, cost in values.costs.items()},
        "share": _ratio(values.ret, posed.reference.ret),
        "optimum_share": None if best is None else _ratio(values.ret, best),
        "cost_share": cost_share(values, posed),
    }


def cost_share(values: Values, posed: Posed) -> float:
    """What is spent of what is spent without budgets, by the cost of which it is most; 0 where nothing has a budget.

    Of a cost that is nothing without budgets, what counts as meeting a budget of 0 (`satisfies`) is nothing. More than
    that is more than all: above 1, and the more the more is spent.
    """
    whole, slack = posed.reference.costs, slack_of(posed.env)
    shares = [_spent(values.costs[name], whole[name], slack[name]) for name in posed.env.constrained]
    return max(shares, default=0.0)


def folder_of(environment: str, method: str) -> str:
    """The folder of a pair, relative to that of the benchmark."""
    return f"cells/{environment}/{method}"


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows as parquet; a cost that an environment does not have is null there."""
    with files.replacing(path) as scratch:
        frame(rows).write_parquet(scratch)


def frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as a data frame, with the same columns whatever the rows have."""
    rows = list(rows)
    first = ("environment", "method", "kind", "kappa", "seed", "return", "share", "optimum_share")
    costs = sorted({key for one in rows for key in one if key.startswith(("J_", "budget_"))})
    last = (*MEASURED[1:], "cost_share", "seconds", "status", "why", "settings", "folder")
    columns = {name: _kind(name) for name in (*first, *costs, *last)}
    return pl.DataFrame([{name: one.get(name) for name in columns} for one in rows], schema=columns)


def read_frame(path: Path) -> pl.DataFrame:
    """Reads rows that were written as parquet."""
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot read {path}: {error}", fix="name a file of rows") from error


def _kind(column: str) -> Any:
    return pl.String if column in _TEXT else pl.Int64 if column == "seed" else pl.Float64


def _spent(cost: float, whole: float, slack: float) -> float:
    if whole > 0:
        return cost / whole
    return 0.0 if cost <= slack else float(cost / slack)


def _ratio(part: float, whole: float) -> float | None:
    """A share of a whole; of nothing, nothing is 0 and anything is no share at all."""
    if whole == 0:
        return 0.0 if part == 0 else None
    found = part / whole
    return found if math.isfinite(found) else None
