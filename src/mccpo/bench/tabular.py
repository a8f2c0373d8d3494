"""How fast the tabular learners are: the paper's two tables in full, and beside them a plain NumPy loop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mccpo.bench.plain_tabular import PlainLearner
from mccpo.env import Chain, FiniteEnvironment, Gate
from mccpo.experiments import BudgetedProblem, Options, Session, Stage, pose_finite
from mccpo.methods import PAPER_METHODS, TabularPlan, method_spec, train_tabular, workers

PLAIN_SECONDS = 3.0  # how long the NumPy loop is timed on each table


@dataclass(frozen=True)
class TableSpeed:
    """One table: its seconds, those of its first hundredth, and the seconds that the NumPy loop would take."""

    seconds: float
    compile_seconds: float
    episodes_per_second: float
    plain_seconds: float
    plain_episodes_per_second: float

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class TabularBench:
    """Both tables on all cores, beside a plain NumPy loop on one."""

    cores: int
    tables: Mapping[str, TableSpeed]

    @property
    def seconds(self) -> float:
        return sum(table.seconds for table in self.tables.values())

    @property
    def plain_seconds(self) -> float:
        return sum(table.plain_seconds for table in self.tables.values())

    @property
    def ratio(self) -> float:
        return self.plain_seconds / self.seconds

    @property
    def ratio_per_core(self) -> float:
        return self.plain_seconds / self.cores / self.seconds

    def as_json(self) -> dict[str, object]:
        return {
            "cores": self.cores,
            "tables": {name: table.as_json() for name, table in self.tables.items()},
            "seconds": self.seconds,
            "plain_seconds": self.plain_seconds,
            "ratio": self.ratio,
            "ratio_per_core": self.ratio_per_core,
        }


def measure(session: Session) -> TabularBench:
    """Times both tables with all five methods, ten seeds and all episodes, and the NumPy loop on the same updates."""
    environments: dict[str, FiniteEnvironment[Any]] = {"gate": Gate(), "chain": Chain()}
    tables = {name: _table(name, env, Options().plan(env), session) for name, env in environments.items()}
    return TabularBench(workers(), tables)


def _table(name: str, env: FiniteEnvironment[Any], plan: TabularPlan, session: Session) -> TableSpeed:
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
    return TableSpeed(
        seconds=seconds,
        compile_seconds=marks[1] - marks[0],  # the first hundredth of the run, nearly all of it compilation
        episodes_per_second=runs * plan.updates * plan.batch / seconds,
        plain_seconds=per_update * runs * plan.updates,
        plain_episodes_per_second=plan.batch / per_update,
    )


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
