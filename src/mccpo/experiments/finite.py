"""One finite environment under its budgets: methods trained, evaluated exactly, set beside the exact optimum.

Methods of the primal–dual family are learnt by a table, others by a network; a rule follows what it sees. What each is
worth is exact, unless it remembers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int

from mccpo.env import Constraints
from mccpo.errors import DoesNotApply
from mccpo.evaluation import Curves, Difference, Summary, paired, summarise, summarise_metrics
from mccpo.evaluation.policy import LEAST_GAIN, measure, metrics_of
from mccpo.exact import evaluate
from mccpo.experiments.options import Session, Stage
from mccpo.experiments.problem import BudgetedProblem
from mccpo.experiments.training import train
from mccpo.experiments.worth import evaluated
from mccpo.methods import (
    EVALUATION_EPISODES,
    METHODS,
    GradientEntry,
    MethodSpec,
    NeuralPlan,
    Progress,
    Snapshot,
    SolverEntry,
    TabularPlan,
    TabularRuns,
    TabularSettings,
    gather,
    method_entry,
    method_spec,
    remembers,
    tabulate,
    train_tabular,
)
from mccpo.runs.results import Supplement


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


def run(task: BudgetedProblem, methods: Sequence[str], plan: TabularPlan, label: str, session: Session) -> Outcome:
    """Trains the methods and evaluates the executed policies exactly."""
    family = [name for name in methods if _family(name) is not None]
    groups: dict[TabularSettings | None, list[str]] = {}
    for name in family:
        groups.setdefault(_entry(name).tabular, []).append(name)
    rows: dict[str, dict[str, Summary]] = {}
    curves = Curves(np.arange(1, plan.points + 1) * plan.updates_per_point * plan.batch, {})
    for settings, names in groups.items():
        part = label if settings is None else f"{label} {names[0]}"
        given = plan if settings is None else replace(plan, settings=settings)
        trained, learnt = _run_tables(task, tuple(names), given, part, session)
        rows |= trained
        curves = replace(curves, values={**curves.values, **learnt.values})
    others = [name for name in methods if name not in family]
    rows |= {name: _other_row(task, name, plan, label, session) for name in others}
    return Outcome({name: rows[name] for name in methods}, curves)


def _run_tables(
    task: BudgetedProblem, methods: tuple[str, ...], plan: TabularPlan, label: str, session: Session
) -> tuple[dict[str, dict[str, Summary]], Curves]:
    """Trains methods of the primal–dual family by one program, as one stage of a session."""
    stage = Stage(label, plan.points, len(methods) * plan.seeds * plan.updates_per_point * plan.batch, "episodes")

    def curves(snapshot: Snapshot[Any, Progress]) -> Curves:
        episodes = np.arange(1, snapshot.point + 1) * plan.updates_per_point * plan.batch
        return _curves(task, gather(snapshot, (len(methods), plan.seeds)), episodes, methods)

    with session.resuming(stage) as resume:
        runs = train_tabular(
            task.constraints.environment(task.env),  # type: ignore[arg-type]  # finite, as the task's is
            [method_spec(name) for name in methods],
            task.constraints.amounts,
            plan,
            resume=resume,
            after_point=session.after_point(stage, curves),
        )
    learnt = _curves(task, runs.curves, runs.episodes, methods)
    session.end(label, learnt)
    return {name: _row(task, runs, place, name) for place, name in enumerate(methods)}, learnt


def _other_row(task: BudgetedProblem, name: str, plan: TabularPlan, label: str, session: Session) -> dict[str, Summary]:
    """What a method outside the family is worth: a network trained for as many steps, a rule, or a solver's policy."""
    entry = METHODS[name]
    if isinstance(entry, SolverEntry):
        _check_solver(entry, task.constraints)
        solved = evaluate(task.model, entry.solve(task.model, task.budgets), constrained=tuple(task.budgets))
        return summarise_metrics([metrics_of(solved, task.anchor, task.env, task.constraints)] * plan.seeds)
    steps = plan.updates * plan.batch * task.env.horizon
    neural = NeuralPlan(steps, plan.seeds, plan.seed)
    kappa = task.kappa if isinstance(entry, GradientEntry) and entry.conditioned else None
    policies = train(task.env, [name], task.constraints, neural, label, session, kappa=kappa)[name].policies
    first = policies.policy(task.env, 0)
    if remembers(task.env, first):
        return evaluated(
            policies, task.env, task.anchor, task.constraints, episodes=EVALUATION_EPISODES, seed=plan.seed
        )
    seeds = range(policies.seeds)
    tables = [tabulate(task.env, policies.policy(task.env, at)) for at in seeds]
    return summarise_metrics([measure(task.model, table, task.anchor, task.env, task.constraints) for table in tables])


def _check_solver(entry: SolverEntry, constraints: Constraints) -> None:
    if constraints.floors or constraints.objective != "engagement":
        raise DoesNotApply(f"{entry.name} goes by budgets, and knows no floors", fix="leave it out here")


def _family(name: str) -> MethodSpec | None:
    entry = method_entry(name)
    return entry.spec if isinstance(entry, GradientEntry) else None


def _entry(name: str) -> GradientEntry:
    entry = method_entry(name)
    assert isinstance(entry, GradientEntry)
    return entry


def aims(task: BudgetedProblem) -> dict[str, dict[str, float]]:
    """The exact value of every metric that each method aims for: the optimum of its own problem, through its filter."""
    free = metrics_of(task.anchor, task.anchor, task.env, task.constraints)
    best = task.optimum_metrics
    trained = {f"{metric}_trained": value for metric, value in free.items()}
    return {"unconstrained": free, "post-hoc": trained, "mc-cpo": best, "mc-cpo-no-frontier": best}


def tests(rows: Mapping[str, Mapping[str, Summary]]) -> dict[str, Difference]:
    """Whether MC-CPO returns as much as each other method, seed by seed: methods of a run share their seeds."""
    if "mc-cpo" not in rows:
        return {}
    ours = rows["mc-cpo"]["return"].per_seed
    return {
        f"mc-cpo vs {name}, return": paired(ours, row["return"].per_seed)
        for name, row in rows.items()
        if name != "mc-cpo" and len(ours) > 1
    }


def _row(task: BudgetedProblem, runs: TabularRuns, place: int, method: str) -> dict[str, Summary]:
    spec = method_spec(method)
    if _entry(method).tabular is not None:  # a method whose result is its last policy
        runs = replace(runs, executed=runs.executed_last, averaged=runs.last, multipliers=runs.multipliers_last)
    seeds = [_seed(task, runs, place, seed, filtered=spec.filter != "none") for seed in range(runs.executed.shape[1])]
    row = summarise_metrics(seeds)
    if spec.constrained:
        priced = (*task.env.cost_names, *task.constraints.floors)
        for name in task.constraints.amounts:
            cost = priced.index(name)
            row[f"lambda_{name}"] = summarise(runs.multipliers[place, :, cost])
            row[f"lambda_{name}_last"] = summarise(runs.multipliers_last[place, :, cost])
    if spec.masked:
        late = np.asarray(runs.curves.frontier_events)[place, :, -max(1, len(runs.episodes) // 10) :]
        row["frontier_events"] = summarise(late.mean(axis=1))
    return row


def _seed(task: BudgetedProblem, runs: TabularRuns, place: int, seed: int, *, filtered: bool) -> dict[str, float]:
    def exact(policies: np.ndarray) -> dict[str, float]:
        return measure(task.model, policies[place, seed], task.anchor, task.env, task.constraints)

    values = exact(runs.executed)
    values |= {f"{metric}_last": value for metric, value in exact(runs.executed_last).items() if _worth_twice(metric)}
    if filtered:
        before = exact(runs.averaged)
        values |= {f"{metric}_trained": before[metric] for metric in ("return", "pi_hack", "rhsi", "dK", "mastered")}
    return values


def _worth_twice(metric: str) -> bool:
    return metric in ("return", "pi_hack", "satisfaction_strict") or metric.startswith("J_")


def _curves(
    task: BudgetedProblem, progress: Progress, episodes: Int[np.ndarray, " points"], methods: tuple[str, ...]
) -> Curves:
    values = {
        "return": progress.ret,
        "rhsi_ratio_discounted": progress.ret / (progress.gain + LEAST_GAIN),
        "dK": progress.gain,
        "pi_hack": progress.pi_hack,
        "violation_rate": progress.violation_rate,
        "prerequisite_violation_rate": progress.prerequisite_violation_rate,
        "frontier_events": progress.frontier_events,
    }
    for place, name in enumerate((*task.env.cost_names, *task.constraints.floors)):
        if name in task.env.cost_names:
            values[f"J_{name}"] = progress.costs[..., place]
        if name in task.constraints.amounts:
            values[f"lambda_{name}"] = progress.multipliers[..., place]
    by_method = {
        name: {metric: np.asarray(value[place]) for metric, value in values.items()}
        for place, name in enumerate(methods)
    }
    return Curves(episodes, by_method)
