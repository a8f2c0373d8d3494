"""The exact optimum of a finite environment under budgets: its value, multipliers, policy and front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mccpo.env import FiniteEnvironment, Objective
from mccpo.exact import FiniteModel, Infeasible, Optimum, enumerate_model, front, most, occupancy, solve
from mccpo.experiments.asked.floors import Floor, check_asked

_NEGLIGIBLE = 1e-9  # chances and visits below this are what the solver leaves of 0


@dataclass(frozen=True)
class Point:
    """The metrics of an optimum, and what a unit of each budget would buy; on a front, under a `budget`."""

    metrics: dict[str, float]
    multipliers: dict[str, float]
    budget: float | None = None

    def as_json(self) -> dict[str, object]:
        """The budget, the metrics and the multipliers, as JSON values."""
        level = {} if self.budget is None else {"budget": self.budget}
        return {**level, **self.metrics, "multipliers": self.multipliers}


@dataclass(frozen=True)
class Visited:
    """A state that the optimum visits so often, and the chances of what it does there."""

    state: str
    visits: float
    probabilities: dict[str, float]

    def as_json(self) -> dict[str, object]:
        """The state as JSON values."""
        return dict(vars(self))


@dataclass(frozen=True)
class Solution:
    """The optimum under budgets, or the `conflict` that there is none for; states in the order of visits."""

    environment: str
    states: int
    budgets: dict[str, float]
    optimum: Point | None
    conflict: Infeasible | None = None
    policy: tuple[Visited, ...] = ()
    front: tuple[Point, ...] | None = None
    floors: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The solution as `--json` prints it."""
        asked = {"environment": self.environment, "states": self.states, "budgets": self.budgets}
        asked |= {"floors": self.floors} if self.floors else {}
        if self.optimum is None:
            return {**asked, "feasible": False, **({} if self.conflict is None else vars(self.conflict))}
        policy = [state.as_json() for state in self.policy]
        traced = {} if self.front is None else {"front": [point.as_json() for point in self.front]}
        return {**asked, "feasible": True, **self.optimum.as_json(), "policy": policy, **traced}


def solution(
    env: FiniteEnvironment[Any],
    *,
    name: str,
    budgets: Mapping[str, float],
    kappa: float | None = None,
    floors: Sequence[Floor] = (),
    objective: Objective = "engagement",
    cost: str | None = None,
    points: int = 21,
) -> Solution:
    """Solves an environment under budgets and floors.

    A κ sets the budgets that are not given, and a `cost` asks for its front.
    """
    model = enumerate_model(env)
    check_asked(floors, env)
    limits = {**({} if kappa is None else _shares(model, kappa)), **budgets}
    least = {floor.name: floor.amount({floor.name: most(model, floor.name)}) for floor in floors}
    optimum = solve(model, limits, floors=least, objective=objective)
    if isinstance(optimum, Infeasible):
        return Solution(name, model.num_states, limits, None, optimum, floors=least)
    traced = None
    if cost is not None:
        steps = front(model, cost, budgets=limits, points=points)
        traced = tuple(_point(step, budget) for budget, step in steps)
    visited = _visited(env, model, optimum)
    return Solution(name, model.num_states, limits, _point(optimum), policy=visited, front=traced, floors=least)


def _shares(model: FiniteModel, kappa: float) -> dict[str, float]:
    free = solve(model)
    assert isinstance(free, Optimum)  # without budgets there is always one
    return {name: kappa * free.values.costs[name] for name in model.constrained}


def _point(optimum: Optimum, budget: float | None = None) -> Point:
    values = optimum.values
    metrics = {
        "return": values.ret,
        **{f"J_{name}": cost for name, cost in values.costs.items()},
        "learning": values.learning,
        "dK": values.gain,
        "mastered": values.mastered,
        "pi_hack": values.pi_hack,
        "violation_rate": values.violation_rate,
    }
    return Point(metrics, optimum.multipliers, budget)


def _visited(env: FiniteEnvironment[Any], model: FiniteModel, optimum: Optimum) -> tuple[Visited, ...]:
    """The optimum's choices in every state that it visits, the most visited first."""
    visits = occupancy(model, np.pad(optimum.policy, ((0, 0), (0, 1))), model.gamma).sum(axis=1)
    order = [state for state in np.argsort(-visits, kind="stable") if visits[state] > _NEGLIGIBLE]
    return tuple(
        Visited(
            state=env.describe(env.state(model.index[state])),
            visits=float(visits[state]),
            probabilities={
                name: float(chance)
                for name, chance in zip(model.action_names, optimum.policy[state], strict=True)
                if chance > _NEGLIGIBLE
            },
        )
        for state in order
    )
