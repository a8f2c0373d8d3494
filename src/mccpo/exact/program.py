"""The constrained optimum of a finite environment, by a linear program over occupancy measures.

With x(s, a) the discounted number of times that a is taken in s,

    maximise    Σ x(s, a) r(s, a)
    subject to  Σ_a x(s', a) = start(s') + γ Σ_{s,a} P(s' | s, a) x(s, a)   for every s'
                Σ x(s, a) c_i(s, a) ≤ d_i                                   for every budget
                Σ x(s, a) g_j(s, a) ≥ f_j                                   for every floor
                x(s, a) ≥ 0, and x(s, a) = 0 where a is not ready in s

(Altman, Constrained Markov Decision Processes, 1999). The multipliers are the duals of the budget rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from jaxtyping import Float

from mccpo.env import FLOORS, Objective, check_budgets
from mccpo.errors import InputError, MccpoError
from mccpo.exact.evaluation import Values, evaluate
from mccpo.exact.model import FiniteModel


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best policy under the budgets, what it is worth, and what a unit of each budget would buy."""

    policy: Float[np.ndarray, "states actions"]
    values: Values
    multipliers: dict[str, float]


@dataclass(frozen=True)
class Infeasible:
    """Why no policy meets the budgets and floors.

    `conflict` is a smallest set of them that cannot be met together, `least` the lowest value that each cost can take
    by itself, `most` the highest of what each floor is about, `scaling` the smallest common factor by which raising all
    budgets makes them reachable (None where no factor does, because a budget of 0 stays 0, or where there are floors).
    """

    conflict: tuple[str, ...]
    least: dict[str, float]
    scaling: float | None
    most: dict[str, float] = field(default_factory=dict, kw_only=True)

    def what(self, budgets: Mapping[str, float], floors: Mapping[str, float] | None = None) -> str:
        """Why no policy meets the budgets and floors, in words."""
        signs = {name: f"{name} ≤ {budget:g}" for name, budget in budgets.items()}
        signs |= {name: f"{name} ≥ {floor:g}" for name, floor in (floors or {}).items()}
        asked = " and ".join(signs[name] for name in self.conflict)
        best = self.least | self.most
        reach = ", ".join(f"{name} {best[name]:.4f}" for name in self.conflict)
        alone = f"the {'most' if self.conflict[0] in self.most else 'least'} that can be reached is"
        return f"no policy meets {asked}: {'each alone can reach' if len(self.conflict) > 1 else alone} {reach}"

    def fix(self) -> str:
        """What would make the budgets reachable, in words."""
        if self.most:
            asked = ", ".join(f"{name} up to {self.most[name]:.4f}" for name in self.conflict if name in self.most)
            return f"lower the floor: by itself, {asked} can be reached" if asked else "raise the budgets"
        if self.scaling is None:
            return "raise the budgets that are 0"
        return f"raise all budgets by a factor of at least {self.scaling:.4f}"


def solve(
    model: FiniteModel,
    budgets: Mapping[str, float] | None = None,
    *,
    floors: Mapping[str, float] | None = None,
    objective: Objective = "engagement",
    masked: bool = True,
) -> Optimum | Infeasible:
    """The best policy under budgets and floors, or why there is none; `objective` is what it is best in.

    >>> import mccpo
    >>> model = mccpo.enumerate_model(mccpo.make("chain"))
    >>> round(solve(model, {"c4": 2.4505}).values.ret, 3)
    3.676
    >>> round(solve(model, floors={"learning": 3.0}).values.learning, 3)
    3.0
    """
    budgets, floors = dict(budgets or {}), dict(floors or {})
    check_budgets(model.cost_names, budgets)
    program = _Program(model, masked)
    found = program.maximise(program.counted(objective), budgets, floors)
    if found.status == 2:
        return _explain(program, budgets, floors)
    policy = program.policy(_solved(found).x)
    prices = -found.ineqlin.marginals if budgets or floors else ()
    multipliers = {name: max(0.0, float(price)) for name, price in zip([*budgets, *floors], prices, strict=True)}
    return Optimum(policy, evaluate(model, policy), multipliers)


def safest(model: FiniteModel, budgets: Mapping[str, float]) -> Float[np.ndarray, "states actions"] | Infeasible:
    """The policy that meets the budgets and is the furthest below them, or why there is none.

    Its costs, each relative to its budget, add up to the least; a budget of 0 counts by the cost itself.
    """
    check_budgets(model.cost_names, dict(budgets))
    program = _Program(model, masked=True)
    weights = {name: 1.0 / d if d > 0 else 1.0 for name, d in budgets.items()}
    objective = -sum((weight * program.costs[model.cost_index(c)] for c, weight in weights.items()), 0 * program.reward)
    found = program.maximise(objective, budgets)
    if found.status == 2:
        return _explain(program, dict(budgets), {})
    return program.policy(_solved(found).x)


def most(model: FiniteModel, floor: str) -> float:
    """The highest value of what a floor is about that any policy reaches behind the gate.

    >>> from mccpo.env import make
    >>> from mccpo.exact import enumerate_model
    >>> round(most(enumerate_model(make("gate")), "learning-total"), 2)
    1.0
    """
    return _Program(model, masked=True).most(floor)


def front(
    model: FiniteModel, cost: str, *, budgets: Mapping[str, float] | None = None, points: int = 21
) -> list[tuple[float, Optimum]]:
    """The Pareto front over the budget of one cost, from the least that can be reached to where it no longer binds.

    >>> import mccpo
    >>> points = front(mccpo.enumerate_model(mccpo.make("chain")), "c4", points=3)
    >>> [round(optimum.values.ret, 2) for budget, optimum in points]
    [2.94, 3.92, 4.9]
    """
    others = {name: d for name, d in (budgets or {}).items() if name != cost}
    free = solve(model, others)
    if isinstance(free, Infeasible):
        raise InputError(
            f"the other budgets ({', '.join(free.conflict)}) cannot be met together", fix="raise them or leave them out"
        )
    least = _Program(model, masked=True).least(cost, others)
    # A hair above the least: on the very edge, rounding in the solver can read as infeasible.
    levels = np.linspace(least + 1e-7 * max(1.0, least), max(free.values.costs[cost], least), points)
    solutions = [(float(level), solve(model, {**others, cost: float(level)})) for level in levels]
    return [(level, found) for level, found in solutions if isinstance(found, Optimum)]


class _Program:
    """The linear program of a model, to be solved for one objective after another."""

    def __init__(self, model: FiniteModel, masked: bool) -> None:
        self.model = model
        allowed = model.mask if masked else np.ones_like(model.mask)
        self.pairs = np.argwhere(allowed)
        columns = self._columns = self.pairs[:, 0] * (model.num_actions + 1) + self.pairs[:, 1]
        leaves = scipy.sparse.csr_array(
            (np.ones(len(columns)), (self.pairs[:, 0], np.arange(len(columns)))), shape=(model.num_states, len(columns))
        )
        self.flow = (leaves - model.gamma * model.flow[columns].T).tocsr()
        self.reward = model.reward.ravel()[columns]
        self.costs = model.costs.reshape(-1, len(model.cost_names))[columns].T

    def counted(self, name: str) -> Float[np.ndarray, " pairs"]:
        """What each action in each state adds to what a floor is about, for every time it is taken, with discount."""
        model = self.model
        if name == "engagement":
            return self.reward
        if name in ("learning", "learning-total"):
            gained = model.gain.ravel()[self._columns]
        elif name == "mastered":
            gained = model.mastered_at_end.ravel()[self._columns]
        else:
            raise InputError(f"unknown floor '{name}'", fix=f"choose from {', '.join(FLOORS)}")
        if name == "learning":
            return gained
        if model.elapsed is None:
            raise InputError(f"a floor on {name} needs states that tell the time", fix="give a floor on learning")
        undone: Float[np.ndarray, " pairs"] = gained * model.gamma ** -model.elapsed[self.pairs[:, 0]].astype(float)
        return undone

    def maximise(
        self,
        objective: Float[np.ndarray, " pairs"],
        budgets: Mapping[str, float],
        floors: Mapping[str, float] = MappingProxyType({}),
    ) -> scipy.optimize.OptimizeResult:
        held = [self.costs[self.model.cost_index(name)] for name in budgets] + [-self.counted(name) for name in floors]
        rows = np.stack(held) if held else None
        limits = [*budgets.values(), *(-floor for floor in floors.values())] if held else None
        return scipy.optimize.linprog(
            -objective, A_ub=rows, b_ub=limits, A_eq=self.flow, b_eq=self.model.start, method="highs-ipm"
        )

    def least(self, cost: str, budgets: Mapping[str, float]) -> float:
        """The lowest value of one cost under the budgets of others."""
        return float(_solved(self.maximise(-self.costs[self.model.cost_index(cost)], budgets)).fun)

    def most(self, floor: str) -> float:
        """The highest value of what one floor is about, without budgets."""
        return -float(_solved(self.maximise(self.counted(floor), {})).fun)

    def feasible(self, budgets: Mapping[str, float], floors: Mapping[str, float]) -> bool:
        return bool(self.maximise(np.zeros_like(self.reward), budgets, floors).status != 2)

    def scaling(self, budgets: Mapping[str, float]) -> float | None:
        """The smallest s for which the budgets s·d_i can be met together."""
        limits = np.array(list(budgets.values()))
        positive = limits > 0
        if not positive.any():
            return None
        # Each row in units of its own budget, and all in those of their geometric mean: the solver takes coefficients
        # below 1e-9 for 0, and budgets that lie far apart for infeasible.
        unit = np.exp(np.log(limits[positive]).mean())
        weights = np.where(positive, unit / np.where(positive, limits, 1.0), 1.0)
        costs = self.costs[[self.model.cost_index(name) for name in budgets]]
        rows = np.column_stack([weights[:, None] * costs, -positive.astype(float)])
        flow = scipy.sparse.hstack([self.flow, scipy.sparse.csr_array((self.model.num_states, 1))])
        objective = np.append(np.zeros_like(self.reward), 1.0)
        found = scipy.optimize.linprog(
            objective, A_ub=rows, b_ub=np.zeros(len(limits)), A_eq=flow, b_eq=self.model.start, method="highs-ipm"
        )
        return float(found.fun / unit) if found.status == 0 else None

    def policy(self, x: Float[np.ndarray, " pairs"]) -> Float[np.ndarray, "states actions"]:
        """The policy of an occupancy; where a state is never visited, uniform over what is ready."""
        counts = np.zeros_like(self.model.mask, float)
        counts[self.pairs[:, 0], self.pairs[:, 1]] = np.maximum(x, 0)
        total = counts.sum(axis=1, keepdims=True)
        idle = self.model.mask / self.model.mask.sum(axis=1, keepdims=True)
        shares: Float[np.ndarray, "states actions"] = np.where(total > 1e-12, counts / np.maximum(total, 1e-12), idle)
        return shares


def _solved(found: scipy.optimize.OptimizeResult) -> scipy.optimize.OptimizeResult:
    if found.status != 0:
        raise MccpoError(f"the linear program was not solved: {found.message}")
    return found


def _explain(program: _Program, budgets: dict[str, float], floors: dict[str, float]) -> Infeasible:
    asked = [*budgets, *floors]

    def feasible(names: tuple[str, ...]) -> bool:
        held = {name: budgets[name] for name in names if name in budgets}
        return program.feasible(held, {name: floors[name] for name in names if name in floors})

    sets = (names for size in range(1, len(asked) + 1) for names in combinations(asked, size))
    return Infeasible(
        conflict=next((names for names in sets if not feasible(names)), tuple(asked)),
        least={name: program.least(name, {}) for name in budgets},
        scaling=None if floors else program.scaling(budgets),
        most={name: program.most(name) for name in floors},
    )
