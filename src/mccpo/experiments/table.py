"""What every table of results is made of."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mccpo.env import Environment
from mccpo.evaluation import Curves, Summary, metrics_of
from mccpo.exact import Optimum, satisfies
from mccpo.experiments.finite import Outcome, Task
from mccpo.experiments.options import Options
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.paper.verdicts import verdicts
from mccpo.methods import NeuralPlan, TabularPlan, method_spec
from mccpo.methods.episodes import EVALUATION_EPISODES

NOTE_AVERAGED = (
    "Every row is the exact value of the executed policy, with no sampling error. The policy is the one whose "
    "occupancy is the mean over the second half of training; that of the last update stands under 'last iterate'. The "
    "multiplier is the mean over the same updates."
)

NOTE_JUDGED = (
    "Every row is a mean over fresh evaluation episodes of the policy that validation episodes selected during "
    "training. Budgets are a share κ of the unconstrained policies' mean costs in evaluation. Unready steps are "
    "counted by the environment, in evaluation and, under 'in training', over all training steps."
)


@dataclass(frozen=True, eq=False)
class Produced:
    """A table's results as JSON has them, and the training curves of its parts by name."""

    results: dict[str, Any]
    curves: dict[str, Curves]


def protocol(plan: TabularPlan, **more: Any) -> dict[str, Any]:
    """How the numbers of a tabular learner came about."""
    trained = {"episodes": plan.updates * plan.batch, "batch": plan.batch}
    return {"seeds": plan.seeds, "seed": plan.seed, **trained, **more}


def neural_protocol(plan: NeuralPlan, **more: Any) -> dict[str, Any]:
    """How the numbers of a neural learner came about."""
    trained = {"steps": plan.iterations * plan.sizes.steps, "evaluation episodes": EVALUATION_EPISODES}
    return {"seeds": plan.seeds, "seed": plan.seed, **trained, **more}


def reported(rows: paper.Rows, outcome: Outcome) -> dict[str, dict[str, list[float]]]:
    """The paper's numbers of the methods that were run, as JSON has them."""
    return {
        method: {metric: cell.as_json() for metric, cell in cells.items()}
        for method, cells in rows.items()
        if method in outcome.rows
    }


def setting(task: Task, outcome: Outcome, rows: paper.Rows, aims: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """One table: budgets, rows, the optimum, the paper's numbers and a verdict on each cell."""
    return {
        "budgets": task.budgets,
        "rows": outcome.rows,
        "optimum": task.optimum_metrics,
        "paper": reported(rows, outcome),
        "verdicts": verdicts(outcome.rows, rows, aims, paper_seeds=10),
    }


def met(row: Mapping[str, Summary], budgets: Mapping[str, float], tolerance: float = 0.0) -> float:
    """The share of seeds whose costs all stay within budgets, which need not be those of the row's own table."""
    seeds = zip(*(row[f"J_{name}"]["per_seed"] for name in budgets), strict=True)
    costs = [dict(zip(budgets, seed, strict=True)) for seed in seeds]
    return float(np.mean([satisfies(seed, budgets, dict.fromkeys(budgets, 0.0), tolerance) for seed in costs]))


def description(env: Environment[Any]) -> str:
    """What an environment is, in the words of its class."""
    return inspect.cleandoc(type(env).__doc__ or "").replace("`", "")


def fronts(
    methods: Sequence[str],
    levels: Sequence[float | None],
    outcomes: Sequence[Outcome],
    reasons: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Where each method ended up at each budget level it was trained for, and why not within the budgets, if known."""
    return {
        method: [
            {**_at(kappa), **{metric: cell["mean"] for metric, cell in outcome.rows[method].items()}, **why}
            for kappa, outcome, why in zip(levels, outcomes, reasons or [{}] * len(levels), strict=True)
            if method in outcome.rows
        ]
        for method in methods
    }


def paper_points(environment: str, options: Options) -> list[dict[str, Any]]:
    """Where the paper's constrained learners stand, on the environment as the paper has it."""
    if environment not in paper.tables() or options.parameters:
        return []
    cells = {name: row for name, row in paper.rows(environment).items() if method_spec(name).constrained}
    return [
        {"label": f"{name}, paper", "return": row["return"].mean, "rhsi_ratio": row["rhsi_ratio"].mean}
        for name, row in cells.items()
        if "rhsi_ratio" in row
    ]


def _at(kappa: float | None) -> dict[str, float]:
    return {} if kappa is None else {"kappa": kappa}


def front_points(task: Task, solutions: Sequence[tuple[float, Optimum]]) -> list[dict[str, float]]:
    """The exact Pareto front as points: the budget, and every metric of the optimum there."""
    return [
        {"budget": budget} | metrics_of(found.values, task.anchor, task.env, task.budgets)
        for budget, found in solutions
    ]
