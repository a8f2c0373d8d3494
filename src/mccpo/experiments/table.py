"""What every table of results is made of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mccpo.env import Environment
from mccpo.evaluation import Curves
from mccpo.evaluation.policy import metrics_of
from mccpo.exact import Optimum, satisfies
from mccpo.experiments.finite import Outcome
from mccpo.experiments.options import Level, Options
from mccpo.experiments.paper import reported as paper
from mccpo.experiments.paper.verdicts import PAPER_SEEDS, verdicts
from mccpo.experiments.problem import BudgetedProblem
from mccpo.methods import EVALUATION_EPISODES, NeuralPlan, TabularPlan, method_spec
from mccpo.runs.results import (
    Facts,
    FrontPoint,
    Fronts,
    PaperPoint,
    Reported,
    Results,
    Row,
    Rows,
    Setting,
    Supplement,
    UnmetBudgets,
    means_of,
)

NOTE_AVERAGED = (
    "Every row is the exact value of the executed policy, with no sampling error. The policy is the one whose "
    "occupancy is the mean over the second half of training; that of the last update stands under 'last iterate'. The "
    "multiplier is the mean over the same updates."
)

NOTE_EVALUATED = (
    "Every row is a mean over fresh evaluation episodes of the policy that validation episodes selected during "
    "training. Budgets are a share κ of the unconstrained policies' mean costs in evaluation. A lesson is "
    "unready where the learner has not mastered every prerequisite: such lessons are counted in evaluation and, under "
    "'in training', over all training steps."
)


NOTE_FITTED = (
    "Numbers marked 'fitted' are those of the paper that the environment's own numbers were worked out from: that they "
    "agree shows that the environment fits, and no more. Every other verdict is on a prediction."
)


@dataclass(frozen=True, eq=False)
class Produced:
    """A table's results, and the training curves of its parts by name."""

    results: Results
    curves: dict[str, Curves]


def protocol(plan: TabularPlan, **more: object) -> Facts:
    """How the numbers of a tabular learner came about."""
    trained = {"episodes": plan.updates * plan.batch, "batch": plan.batch}
    return {"seeds": plan.seeds, "seed": plan.seed, **trained, **more}


def neural_protocol(plan: NeuralPlan, **more: object) -> Facts:
    """How the numbers of a neural learner came about."""
    trained = {"steps": plan.iterations * plan.sizes.steps, "evaluation episodes": EVALUATION_EPISODES}
    return {"seeds": plan.seeds, "seed": plan.seed, **trained, **more}


def solved_setting(
    name: str, task: BudgetedProblem, outcome: Outcome, stated: paper.Rows, aims: Mapping[str, Mapping[str, float]]
) -> Setting:
    """A setting of a finite environment: beside the exact optimum, the paper's numbers and a verdict on each."""
    return replace(
        beside_paper(name, task.budgets, outcome.rows, stated, aims=aims, optimum=task.optimum_metrics),
        floors=task.constraints.floors,
    )


def beside_paper(
    name: str,
    budgets: Mapping[str, float],
    rows: Rows,
    stated: paper.Rows,
    *,
    aims: Mapping[str, Mapping[str, float]] | None = None,
    optimum: Mapping[str, float] | None = None,
    supplement: Supplement | None = None,
    fitted: Mapping[str, tuple[str, ...]] | None = None,
) -> Setting:
    """A setting with what the paper states of the methods that were run, and a verdict on each of its numbers."""
    return Setting(
        name=name,
        budgets=budgets,
        rows=rows,
        optimum=optimum or {},
        paper=_run(stated, rows),
        verdicts=verdicts(rows, stated, aims or {}, paper_seeds=PAPER_SEEDS),
        supplement=supplement or Supplement(),
        fitted=fitted or {},
    )


def _run(stated: paper.Rows, rows: Rows) -> dict[str, dict[str, Reported]]:
    return {method: cells for method, cells in stated.items() if method in rows}


def met(row: Row, budgets: Mapping[str, float], tolerance: float = 0.0) -> float:
    """The share of seeds whose costs all stay within budgets, which need not be those of the row's own table."""
    seeds = zip(*(row[f"J_{name}"].per_seed for name in budgets), strict=True)
    costs = [dict(zip(budgets, seed, strict=True)) for seed in seeds]
    return float(np.mean([satisfies(seed, budgets, dict.fromkeys(budgets, 0.0), tolerance) for seed in costs]))


def description(env: Environment[Any]) -> str:
    """What an environment is, in the words of its class, without its list of parameters, its example and its markup."""
    about = re.split(r"\n\n(?=>>> |\*\*Parameters:)", inspect.cleandoc(type(env).__doc__ or ""))[0]
    return about.replace("`", "").replace("**", "")


def fronts(
    methods: Sequence[str],
    levels: Sequence[Level],
    outcomes: Sequence[Outcome],
    unmet: Sequence[UnmetBudgets | None] | None = None,
) -> Fronts:
    """Where each method ended up at each budget level it was trained for, and why not within the budgets, if known."""
    return {
        method: tuple(
            FrontPoint(means_of(outcome.rows[method]), kappa=level.kappa, floor=level.share, unmet=why)
            for level, outcome, why in zip(levels, outcomes, unmet or [None] * len(levels), strict=True)
            if method in outcome.rows
        )
        for method in methods
    }


def paper_points(environment: str, options: Options) -> tuple[PaperPoint, ...]:
    """Where the paper's constrained learners stand, on the environment as the paper has it."""
    if environment not in paper.tables() or options.parameters:
        return ()
    cells = {name: row for name, row in paper.rows(environment).items() if method_spec(name).constrained}
    return tuple(
        PaperPoint(f"{name}, paper", {metric: row[metric].mean for metric in ("return", "rhsi_ratio")})
        for name, row in cells.items()
        if "rhsi_ratio" in row
    )


def front_points(task: BudgetedProblem, solutions: Sequence[tuple[float, Optimum]]) -> tuple[FrontPoint, ...]:
    """The exact Pareto front as points: the budget, and every metric of the optimum there."""
    return tuple(
        FrontPoint(metrics_of(optimum.values, task.anchor, task.env, task.constraints), budget=budget)
        for budget, optimum in solutions
    )
