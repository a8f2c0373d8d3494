"""How fast the tabular learners are: the paper's two tables in full, and beside them a plain NumPy loop."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mccpo.bench.plain_tabular import PlainLearner
from mccpo.env import Chain, FiniteEnvironment, Gate
from mccpo.experiments.options import Options, Session, Stage
from mccpo.experiments.problem import BudgetedProblem, pose_finite
from mccpo.methods import PAPER_METHODS, TabularPlan, method_spec, train_tabular
from mccpo.methods.engine import workers

PLAIN_SECONDS = 3.0  # how long the NumPy loop is timed on each table


def measure(session: Session) -> dict[str, Any]:
    """Times both tables with all five methods, ten seeds and all episodes, and the NumPy loop on the same updates."""
    tables = {
        name: _table(name, env, Options().plan(env), session)
        for name, env in {"gate": Gate(), "chain": Chain()}.items()
    }
    seconds = sum(table["seconds"] for table in tables.values())
    plain = sum(table["plain_seconds"] for table in tables.values())
    return {
        "cores": workers(),
        "tables": tables,
        "seconds": seconds,
        "plain_seconds": plain,
        "ratio": plain / seconds,
        "ratio_per_core": plain / workers() / seconds,
    }


def _table(name: str, env: FiniteEnvironment[Any], plan: TabularPlan, session: Session) -> dict[str, float]:
    task = pose_finite(env)
    runs = len(PAPER_METHODS) * plan.seeds
    stage = Stage(name, plan.points, runs * plan.updates_per_point * plan.batch, "episodes")
    session.begin(stage)
    marks = [time.perf_counter()]

    def after_point(snapshot: Any) -> None:
        marks.append(time.perf_counter())
        if session.progress is not None:
            session.progress(stage, snapshot.point)

    train_tabular(env, [method_spec(method) for method in PAPER_METHODS], task.budgets, plan, after_point=after_point)
    seconds = time.perf_counter() - marks[0]
    per_update = _plain_seconds(task, plan)
    return {
        "seconds": seconds,
        "compile_seconds": marks[1] - marks[0],  # the first hundredth of the run, nearly all of it compilation
        "episodes_per_second": runs * plan.updates * plan.batch / seconds,
        "plain_seconds": per_update * runs * plan.updates,
        "plain_episodes_per_second": plan.batch / per_update,
    }


def _plain_seconds(task: BudgetedProblem, plan: TabularPlan) -> float:
    """Seconds that the NumPy loop takes for one update of one run, the mean over the methods."""
    draw = np.random.default_rng(plan.seed)
    limit = np.array([task.budgets.get(name, np.nan) for name in task.env.cost_names])
    scale = np.fmax(limit, 0.01 * task.env.cost_bounds * task.env.discounted_horizon)
    shape = (task.env.horizon, plan.batch)
    sizes = (task.env.horizon, task.env.cost_bounds, task.env.reward_bound)
    spent, updates = 0.0, 0
    for method in PAPER_METHODS:
        learner = PlainLearner(task.model, method_spec(method), limit, scale, plan.settings, *sizes)
        begun = time.perf_counter()
        while time.perf_counter() - begun < PLAIN_SECONDS / len(PAPER_METHODS):
            learner.learn(draw.uniform(size=shape), draw.uniform(size=shape))
            updates += 1
        spent += time.perf_counter() - begun
    return spent / updates
