"""What every table of results is made of."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mccpo.algo import TabularPlan
from mccpo.env import Environment
from mccpo.evaluation import Curves, metrics_of
from mccpo.exact import Optimum
from mccpo.experiments import paper
from mccpo.experiments.finite import Outcome, Task
from mccpo.experiments.verdicts import verdicts

NOTE_AVERAGED = (
    "Every row is the exact value of the executed policy, with no sampling error. The policy is the one whose "
    "occupancy is the mean over the second half of training; that of the last update stands under 'last iterate'. The "
    "multiplier is the mean over the same updates."
)


@dataclass(frozen=True, eq=False)
class Produced:
    """A table's results as JSON has them, and the training curves of its parts by name."""

    results: dict[str, Any]
    curves: dict[str, Curves]


def protocol(plan: TabularPlan, **more: Any) -> dict[str, Any]:
    """How the numbers came about."""
    return {
        "seeds": plan.seeds,
        "seed": plan.seed,
        "episodes": plan.updates * plan.batch,
        "batch": plan.batch,
        **more,
    }


def setting(
    task: Task, outcome: Outcome, reported: paper.Rows, aims: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    """One table: budgets, rows, the optimum, the paper's numbers and a verdict on each cell."""
    return {
        "budgets": task.budgets,
        "rows": outcome.rows,
        "optimum": task.optimum_metrics,
        "paper": {
            method: {metric: cell.as_json() for metric, cell in cells.items()}
            for method, cells in reported.items()
            if method in outcome.rows
        },
        "verdicts": verdicts(outcome.rows, reported, aims, paper_seeds=10),
    }


def description(env: Environment[Any]) -> str:
    """What an environment is, in the words of its class."""
    return inspect.cleandoc(type(env).__doc__ or "").replace("`", "")


def fronts(
    methods: Sequence[str], levels: Sequence[float | None], outcomes: Sequence[Outcome]
) -> dict[str, list[dict[str, float]]]:
    """Where each method ended up at each budget level it was trained for."""
    return {
        method: [
            _at(kappa) | {metric: cell["mean"] for metric, cell in outcome.rows[method].items()}
            for kappa, outcome in zip(levels, outcomes, strict=True)
            if method in outcome.rows
        ]
        for method in methods
    }


def _at(kappa: float | None) -> dict[str, float]:
    return {} if kappa is None else {"kappa": kappa}


def front_points(task: Task, solutions: Sequence[tuple[float, Optimum]]) -> list[dict[str, float]]:
    """The exact Pareto front as points: the budget, and every metric of the optimum there."""
    return [
        {"budget": budget} | metrics_of(found.values, task.anchor, task.env, task.budgets)
        for budget, found in solutions
    ]
