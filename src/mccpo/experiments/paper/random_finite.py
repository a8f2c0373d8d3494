"""Twenty random finite environments with two binding budgets: how near the learners come to the exact optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mccpo.env import RandomFinite, make
from mccpo.errors import InputError
from mccpo.evaluation import Summary, summarise, summarise_metric
from mccpo.experiments.finite import Outcome, run
from mccpo.experiments.options import Options, Session
from mccpo.experiments.problem import BudgetedProblem, pose_finite
from mccpo.experiments.table import NOTE_AVERAGED, Produced, description, protocol
from mccpo.experiments.tables import register_table
from mccpo.runs.results import Instance, Results, Row, Rows, Setting

INSTANCES = 20
FIRST = 100  # the learner's step sizes were chosen on instances below this one
KAPPA = 0.6
OPTIMALITY, EXCESS = 0.98, 0.01  # what counts as near enough to the optimum and its budgets
BINDING = 1e-6  # a multiplier above this means that the budget binds

NOTE = (
    "Instances are taken in order from number 100 (the learner's step sizes were chosen on lower ones), leaving out "
    "those where the exact solution says that some budget does not bind. Means are over all runs: every instance with "
    "every seed; intervals take the instances as the unit."
)


@register_table("random-finite", finite=RandomFinite)
def produce(options: Options, session: Session) -> Produced:
    """Trains on the first instances on which both budgets bind and sums up over all runs."""
    if "instance" in options.parameters:
        raise InputError(
            "random-finite takes its instances in order",
            fix="run `mccpo compare random-finite --set instance=…` for one",
        )
    tasks = _binding_tasks(options)
    plan = options.plan(next(iter(tasks.values())).env)
    methods = options.methods
    outcomes = {
        instance: run(task, methods, plan, f"random-finite {instance}", session) for instance, task in tasks.items()
    }
    rows = {method: _row(tasks, outcomes, method) for method in methods}
    results = Results(
        table="random-finite",
        title="Random finite environments: two binding budgets",
        settings=(Setting("", budgets={}, rows=rows),),
        protocol=protocol(plan, instances=list(tasks), kappa=options.only_kappa("random-finite") or KAPPA),
        environment=description(next(iter(tasks.values())).env),
        notes=(NOTE, NOTE_AVERAGED),
        finding=_finding(rows),
        instances={str(instance): _details(task, outcomes[instance]) for instance, task in tasks.items()},
    )
    return Produced(results, {f"instance {instance}": outcome.curves for instance, outcome in outcomes.items()})


def _binding_tasks(options: Options) -> dict[int, BudgetedProblem]:
    kappa = options.only_kappa("random-finite") or KAPPA
    tasks: dict[int, BudgetedProblem] = {}
    for instance in range(FIRST, FIRST + 5 * INSTANCES):
        env = make("random-finite", instance=instance, **options.parameters)
        assert isinstance(env, RandomFinite)
        task = pose_finite(env, kappa=kappa, budgets=options.budgets)
        if min(task.optimum.multipliers.values()) > BINDING:
            tasks[instance] = task
        if len(tasks) == INSTANCES:
            return tasks
    raise InputError(f"at kappa {kappa} both budgets bind on {len(tasks)} instances only", fix="choose another kappa")


def _row(tasks: dict[int, BudgetedProblem], outcomes: dict[int, Outcome], method: str) -> dict[str, Summary]:
    """The metrics of a method over all runs, instance by instance and seed by seed."""
    cells: dict[str, list[np.ndarray]] = {}
    for instance, task in tasks.items():
        row = {metric: np.array(cell.per_seed) for metric, cell in outcomes[instance].rows[method].items()}
        optimality = row["return"] / task.optimum.values.ret
        excess = np.max([row[f"J_{name}"] / budget - 1 for name, budget in task.budgets.items()], axis=0)
        values = {
            "optimality": optimality,
            "excess": excess,
            "within": ((optimality >= OPTIMALITY) & (excess <= EXCESS)).astype(float),
            "satisfaction": row["satisfaction"],
            "satisfaction_strict": row["satisfaction_strict"],
            "prerequisite_violation_rate": row["prerequisite_violation_rate"],
        }
        for name, price in task.optimum.multipliers.items():
            if f"lambda_{name}" in row:
                values[f"error_{name}"] = np.abs(row[f"lambda_{name}"] / price - 1)
        for metric, seeds in values.items():
            cells.setdefault(metric, []).append(seeds)
    return {metric: _over_instances(metric, seeds) for metric, seeds in cells.items()}


def _over_instances(metric: str, cells: list[np.ndarray]) -> Summary:
    """A metric over all runs. Its interval takes instances as the unit: the runs of one are alike."""
    means = summarise([float(seeds.mean()) for seeds in cells])
    return replace(summarise_metric(metric, np.concatenate(cells)), ci=means.ci)


def _details(task: BudgetedProblem, outcome: Outcome) -> Instance:
    rows = {method: _seeds(row) for method, row in outcome.rows.items()}
    return Instance(task.budgets, task.optimum_metrics, rows)


def _seeds(row: Row) -> dict[str, tuple[float, ...]]:
    told = ("return", "J_", "lambda_")
    return {metric: summary.per_seed for metric, summary in row.items() if metric.startswith(told)}


def _finding(rows: Rows) -> str:
    method = "mc-cpo" if "mc-cpo" in rows else next(iter(rows))
    row = rows[method]
    good = row["within"].per_seed
    worst, most = min(row["optimality"].per_seed), max(row["excess"].per_seed)
    return (
        f"In {round(sum(good))} of {len(good)} runs {method} returns at least {OPTIMALITY:.0%} of the exact optimum "
        f"with its budgets met to within {EXCESS:.0%}; the lowest share of the optimum is {worst:.4f}, the largest "
        f"excess over a budget {most:+.4f}."
    )
