"""One finite environment under its budgets: trained, evaluated exactly, set beside the exact optimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from mccpo.env import FiniteEnvironment, check_budgets
from mccpo.errors import InputError
from mccpo.evaluation import Curves, Summary, Welch, summarise, welch
from mccpo.evaluation.policy import LEAST_GAIN, measure, metrics_of
from mccpo.exact import FiniteModel, Infeasible, Optimum, Values, enumerate_model, solve
from mccpo.experiments.options import Session, Stage
from mccpo.methods import Progress, Snapshot, TabularPlan, TabularRuns, method_spec, train_tabular
from mccpo.methods.engine import gather
from mccpo.runs.results import Supplement

DEFAULT_KAPPA = 0.5


@dataclass(frozen=True, eq=False)
class Task:
    """An environment, its arrays, its unconstrained optimum, its budgets and the optimum under them."""

    env: FiniteEnvironment[Any]
    model: FiniteModel
    anchor: Values
    budgets: dict[str, float]
    optimum: Optimum

    @property
    def optimum_metrics(self) -> dict[str, float]:
        prices = {f"lambda_{name}": value for name, value in self.optimum.multipliers.items()}
        return metrics_of(self.optimum.values, self.anchor, self.env, self.budgets) | prices


def pose(
    env: FiniteEnvironment[Any], *, kappa: float | None = None, budgets: Mapping[str, float] | None = None
) -> Task:
    """Poses the problem: budgets are those given, else the environment's own, else κ times the unconstrained costs."""
    model = enumerate_model(env)
    free = solve(model)
    assert isinstance(free, Optimum)  # without budgets every environment has an optimum
    anchor = free.values
    own = env.fixed_budgets if kappa is None else {}
    share = DEFAULT_KAPPA if kappa is None else kappa
    limits = {name: own.get(name, share * anchor.costs[name]) for name in env.constrained} | dict(budgets or {})
    check_budgets(env.cost_names, limits)
    found = solve(model, limits)
    if isinstance(found, Infeasible):
        raise InputError(found.what(limits), fix=found.fix())
    return Task(env, model, anchor, limits, found)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What training gave on a task: exact metrics of every method over seeds, and the training curves."""

    rows: dict[str, dict[str, Summary]]
    curves: Curves

    def without_rows(self) -> Outcome:
        """Nothing trained, beside the same curves."""
        return Outcome({}, self.curves)

    def supplement(self) -> Supplement:
        """What the results tell besides rows and curves."""
        return Supplement()


def run(task: Task, methods: tuple[str, ...], plan: TabularPlan, label: str, session: Session) -> Outcome:
    """Trains the methods and evaluates the executed policies exactly."""
    stage = Stage(label, plan.points, len(methods) * plan.seeds * plan.updates_per_point * plan.batch, "episodes")

    def curves(snapshot: Snapshot[Any, Progress]) -> Curves:
        episodes = np.arange(1, snapshot.point + 1) * plan.updates_per_point * plan.batch
        return _curves(task, gather(snapshot, (len(methods), plan.seeds)), episodes, methods)

    with session.resuming(stage) as resume:
        runs = train_tabular(
            task.env,
            [method_spec(name) for name in methods],
            task.budgets,
            plan,
            resume=resume,
            after_point=session.after_point(stage, curves),
        )
    rows = {name: _row(task, runs, place, name) for place, name in enumerate(methods)}
    outcome = Outcome(rows, _curves(task, runs.curves, runs.episodes, methods))
    session.end(label, outcome.curves)
    return outcome


def aims(task: Task) -> dict[str, dict[str, float]]:
    """The exact value of every metric that each method aims for: the optimum of its own problem, through its filter."""
    free = metrics_of(task.anchor, task.anchor, task.env, task.budgets)
    best = task.optimum_metrics
    trained = {f"{metric}_trained": value for metric, value in free.items()}
    return {"unconstrained": free, "post-hoc": trained, "mc-cpo": best, "mc-cpo-no-frontier": best}


def tests(rows: Mapping[str, Mapping[str, Summary]]) -> dict[str, Welch]:
    """Welch's test of the return of MC-CPO against every other method."""
    if "mc-cpo" not in rows:
        return {}
    ours = rows["mc-cpo"]["return"].per_seed
    return {
        f"mc-cpo vs {name}, return": welch(ours, row["return"].per_seed)
        for name, row in rows.items()
        if name != "mc-cpo" and len(ours) > 1
    }


def _row(task: Task, runs: TabularRuns, place: int, method: str) -> dict[str, Summary]:
    spec = method_spec(method)
    seeds = [_seed(task, runs, place, seed, filtered=spec.filter != "none") for seed in range(runs.executed.shape[1])]
    row = {metric: summarise([seed[metric] for seed in seeds]) for metric in seeds[0]}
    if spec.constrained:
        for name in task.budgets:
            cost = task.env.cost_names.index(name)
            row[f"lambda_{name}"] = summarise(runs.multipliers[place, :, cost])
            row[f"lambda_{name}_last"] = summarise(runs.multipliers_last[place, :, cost])
    if spec.masked:
        late = np.asarray(runs.curves.frontier_events)[place, :, -max(1, len(runs.episodes) // 10) :]
        row["frontier_events"] = summarise(late.mean(axis=1))
    return row


def _seed(task: Task, runs: TabularRuns, place: int, seed: int, *, filtered: bool) -> dict[str, float]:
    def exact(policies: np.ndarray) -> dict[str, float]:
        return measure(task.model, policies[place, seed], task.anchor, task.env, task.budgets)

    found = exact(runs.executed)
    found |= {f"{metric}_last": value for metric, value in exact(runs.executed_last).items() if _worth_twice(metric)}
    if filtered:
        before = exact(runs.averaged)
        found |= {f"{metric}_trained": before[metric] for metric in ("return", "pi_hack", "rhsi")}
    return found


def _worth_twice(metric: str) -> bool:
    return metric in ("return", "pi_hack", "satisfaction_strict") or metric.startswith("J_")


def _curves(task: Task, progress: Progress, episodes: Int[np.ndarray, " points"], methods: tuple[str, ...]) -> Curves:
    values = {
        "return": progress.ret,
        "rhsi_ratio_discounted": progress.ret / (progress.gain + LEAST_GAIN),
        "dK": progress.gain,
        "pi_hack": progress.pi_hack,
        "violation_rate": progress.violation_rate,
        "prerequisite_violation_rate": progress.prerequisite_violation_rate,
        "frontier_events": progress.frontier_events,
    }
    for place, name in enumerate(task.env.cost_names):
        values[f"J_{name}"] = progress.costs[..., place]
        if name in task.budgets:
            values[f"lambda_{name}"] = progress.multipliers[..., place]
    by_method = {
        name: {metric: np.asarray(value[place]) for metric, value in values.items()}
        for place, name in enumerate(methods)
    }
    return Curves(episodes, by_method)
