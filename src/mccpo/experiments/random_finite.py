"""Twenty random finite environments with two binding budgets: how near the learners come to the exact optimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccpo.env import RandomFinite
from mccpo.errors import InputError
from mccpo.evaluation import summarise
from mccpo.experiments.finite import Outcome, Task, pose, run
from mccpo.experiments.options import Options, Session
from mccpo.experiments.table import NOTE_AVERAGED, Produced, description, protocol, setting

INSTANCES = 20
FIRST = 100  # the learner's step sizes were chosen on instances below this one
KAPPA = 0.6
BINDING = 1e-6  # a multiplier above this means that the budget binds

NOTE = (
    "Instances are taken in order from number 100 (the learner's step sizes were chosen on lower ones), leaving out "
    "those where the exact solution says that some budget does not bind. Optimality is the exact return over the "
    "optimum's; excess is the largest relative excess over a budget."
)


def produce(options: Options, session: Session) -> Produced:
    """Trains on the first instances on which both budgets bind and sums up over all runs."""
    if "instance" in options.parameters:
        raise InputError(
            "random-finite takes its instances in order",
            fix="run `mccpo compare random-finite --set instance=…` for one",
        )
    tasks = _binding_tasks(options)
    plan = options.plan("random-finite")
    methods = options.methods
    outcomes = {
        instance: run(task, methods, plan, f"random-finite {instance}", session) for instance, task in tasks.items()
    }
    shares = {method: _shares(tasks, outcomes, method) for method in methods}
    results: dict[str, Any] = {
        "table": "random-finite",
        "title": "Random finite environments: two binding budgets",
        "protocol": protocol(plan, instances=list(tasks), kappa=options.kappa[0] if options.kappa else KAPPA),
        "environment": description(next(iter(tasks.values())).env),
        "settings": {
            f"instance {instance}": setting(task, outcomes[instance], {}, {}) for instance, task in tasks.items()
        },
        "summary": {method: _summary(*values) for method, values in shares.items()},
        "tests": {},
        "notes": [NOTE, NOTE_AVERAGED, *(_sentence(method, *values) for method, values in shares.items())],
    }
    return Produced(results, {f"instance {instance}": outcome.curves for instance, outcome in outcomes.items()})


def _binding_tasks(options: Options) -> dict[int, Task]:
    kappa = options.kappa[0] if options.kappa else KAPPA
    tasks: dict[int, Task] = {}
    for instance in range(FIRST, FIRST + 5 * INSTANCES):
        task = pose(RandomFinite(instance=instance, **options.parameters), kappa=kappa, budgets=options.budgets)
        if min(task.optimum.multipliers.values()) > BINDING:
            tasks[instance] = task
        if len(tasks) == INSTANCES:
            return tasks
    raise InputError(f"at kappa {kappa} both budgets bind on {len(tasks)} instances only", fix="choose another kappa")


def _shares(tasks: dict[int, Task], outcomes: dict[int, Outcome], method: str) -> tuple[np.ndarray, np.ndarray]:
    """The share of the optimum and the largest relative excess over a budget, for each instance and seed."""
    optimality, excess = [], []
    for instance, task in tasks.items():
        row = outcomes[instance].rows[method]
        optimality.append(np.array(row["return"]["per_seed"]) / task.optimum.values.ret)
        over = [np.array(row[f"J_{name}"]["per_seed"]) / budget - 1 for name, budget in task.budgets.items()]
        excess.append(np.max(over, axis=0))
    return np.array(optimality), np.array(excess)


def _summary(optimality: np.ndarray, excess: np.ndarray) -> dict[str, Any]:
    return {
        "optimality": summarise(optimality.ravel()),
        "excess": summarise(excess.ravel()),
        "within": float(_good(optimality, excess).mean()),
    }


def _good(optimality: np.ndarray, excess: np.ndarray) -> np.ndarray:
    return (optimality >= 0.98) & (excess <= 0.01)


def _sentence(method: str, optimality: np.ndarray, excess: np.ndarray) -> str:
    good = _good(optimality, excess)
    return (
        f"{method}: {good.sum()} of {good.size} runs return at least 98 % of the optimum and meet budgets within 1 %."
        f" Optimality is {optimality.min():.4f} to {optimality.max():.4f},"
        f" excess {excess.min():+.4f} to {excess.max():+.4f}."
    )
