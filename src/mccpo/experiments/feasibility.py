"""Why budgets were not met on an environment too large to solve exactly, as far as the learner can tell.

Policies are trained to minimise cost and nothing else, each at prices u ≥ 0 of its own: Σ u_i J_i. Who draws one of
several policies at the start of an episode incurs the mean of their costs, so that the convex hull of all cost vectors
seen can be reached. For a set S of budgets, a small linear program gives

    least(S) = min over mixtures of policies  max over i in S of  J_i / d_i

and where that is above 1, no mixture of the policies found meets the budgets of S. Least costs and scalings so found
can be reached for certain, up to what the episodes leave to chance; a better learner may find lower ones. From below,
every policy has  max_i J_i/d_i ≥ Σ u_i J_i / Σ u_i d_i  whatever the prices. The lowest Σ u_i J_i that was found, at
prices that policies were trained for, is what the learner believes no policy can go below. Both are given. They meet
at the prices that are the dual solution of the program, so where they lie apart, policies are trained for those too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mccpo.env import Constraints, Environment
from mccpo.experiments.mixtures import Costs, Prices, Reached, Unreached, verdict_on, weightings
from mccpo.experiments.options import Session
from mccpo.experiments.problem import Problem
from mccpo.experiments.training import train_specs
from mccpo.methods import METHODS, MethodSpec, budgets_of, evaluate_neural, is_masked, sees_budgets
from mccpo.runs.results import Row, Rows, UnmetBudgets

SEEDS = 3
ROUNDS = 3
EPISODES = 256

# What costs least in the end often costs most at first, so a minimiser looks ahead from the start, and keeps trying for
# longer than the constrained learner: with that one's settings it often settles for what is cheap at once.
ENTROPY = 0.25
FORESIGHT = 1e-6

_STREAM = 3  # sets the episodes here apart from those of the same seed that evaluate a table's policies


@dataclass(frozen=True, eq=False)
class Minimisers:
    """Policies that were trained to minimise cost: the prices each went by, its costs by seed, and what it all took.

    The same policies can be asked about other budgets.
    """

    prices: tuple[Prices, ...]
    costs: tuple[tuple[Costs, ...], ...]
    steps: int
    seconds: float

    def __add__(self, other: Minimisers) -> Minimisers:
        return Minimisers(
            self.prices + other.prices,
            self.costs + other.costs,
            self.steps + other.steps,
            self.seconds + other.seconds,
        )

    @property
    def all_costs(self) -> list[Costs]:
        """The costs of every policy, of all prices and seeds."""
        return [costs for seeds in self.costs for costs in seeds]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """A verdict on budgets, and the minimisers that it rests on."""

    budgets: dict[str, float]
    verdict: Unreached | Reached
    minimisers: Minimisers

    def unmet(self) -> UnmetBudgets:
        """The verdict in the words of `solve`, and the steps that it took; not the time, which differs every time."""
        return UnmetBudgets(
            feasible=isinstance(self.verdict, Reached),
            what=self.verdict.what(self.budgets),
            fix=self.verdict.fix(),
            steps=self.minimisers.steps,
            **{name: value for name, value in asdict(self.verdict).items() if name != "most"},  # which floors have
        )


def diagnose(
    problem: Problem,
    budgets: Mapping[str, float],
    rows: Rows,
    label: str,
    session: Session,
    *,
    seeds: int = SEEDS,
    steps: int | None = None,
    rounds: int = ROUNDS,
) -> Diagnosis:
    """Finds out why budgets were not met: trains minimisers, and weighs them together with a table's masked policies.

    The first round trains for prices all over the simplex, each further one for those at which the budgets then hinder
    most. `rows` are the table's; a minimiser is trained for `steps`, by default as many as the table's policies.
    """
    env = problem.env
    slack = dict(zip(env.cost_names, 1e-3 * env.cost_bounds * env.discounted_horizon, strict=True))  # as in metrics_of
    known = [costs for name, row in rows.items() if _masked(name) for costs in _per_seed(env, row)]
    tried = minimise(problem, _first_prices(env, budgets), label, session, seeds=seeds, steps=steps)
    verdict = verdict_on(known + tried.all_costs, budgets, prices=tried.prices, slack=slack)
    for again in range(2, rounds + 1):
        if isinstance(verdict, Reached) or verdict.settled:
            break
        tried += minimise(problem, [verdict.prices], f"{label}, round {again}", session, seeds=seeds, steps=steps)
        verdict = verdict_on(known + tried.all_costs, budgets, prices=tried.prices, slack=slack)
    return Diagnosis(dict(budgets), verdict, tried)


def examine(
    problem: Problem,
    rows: Rows,
    constraints: Constraints,
    label: str,
    session: Session,
) -> UnmetBudgets | None:
    """Why a table's budgets and floors were met in no seed; None where some seed met them."""
    met = [row["satisfaction_strict"].mean for name, row in rows.items() if sees_budgets(name)]
    if not met or max(met) > 0:
        return None
    if constraints.floors:
        return _short_of_floors(problem, constraints)
    return diagnose(problem, constraints.budgets, rows, f"{label}, least costs", session).unmet()


def _short_of_floors(problem: Problem, constraints: Constraints) -> UnmetBudgets:
    """What can be reached of floors that were met in no seed, as far as is known."""
    beyond = {name: floor for name, floor in constraints.floors.items() if floor > problem.reach[name]}
    asked = " and ".join(f"{name} ≥ {floor:.4g}" for name, floor in (beyond or constraints.floors).items())
    most = ", ".join(f"{name} {problem.reach[name]:.4g}" for name in beyond or constraints.floors)
    if beyond:
        return UnmetBudgets(
            feasible=False,
            what=f"no policy that is known reaches {asked}: the most that was reached is {most}",
            fix="lower the floor, or train for longer",
            conflict=tuple(beyond),
        )
    return UnmetBudgets(
        feasible=True,
        what=f"no seed reached {asked} within the budgets; by itself, {most} can be reached",
        fix="lower the floor, raise the budgets, or train for longer",
    )


def minimise(
    problem: Problem,
    prices: Sequence[Prices],
    label: str,
    session: Session,
    *,
    seeds: int = SEEDS,
    steps: int | None = None,
) -> Minimisers:
    """Trains masked policies that minimise cost at the prices, all at once."""
    env, before = problem.env, time.monotonic()
    settings = problem.training.settings._replace(entropy=ENTROPY, foresight=FORESIGHT)
    plan = replace(
        problem.training, steps=problem.training.steps if steps is None else steps, seeds=seeds, settings=settings
    )
    specs = [MethodSpec(_name(one), masked=True, engagement=0.0, shaping=one) for one in prices]
    runs = train_specs(env, specs, Constraints(), plan, label, session)
    seed = int(np.random.SeedSequence([plan.seed, _STREAM]).generate_state(1)[0])
    seen = evaluate_neural(env, specs, runs.selected, episodes=EPISODES, seed=seed)
    means = np.asarray(seen.costs, float).mean(axis=-1)
    costs = [tuple(dict(zip(env.cost_names, map(float, one), strict=True)) for one in each) for each in means]
    taken = len(specs) * seeds * plan.iterations * plan.sizes.steps
    return Minimisers(tuple(prices), tuple(costs), taken, time.monotonic() - before)


def _first_prices(env: Environment[Any], budgets: Mapping[str, float]) -> list[Prices]:
    """Prices at which costs at their budgets weigh as the weightings say."""
    scale = dict(zip(env.cost_names, map(float, budgets_of(env, dict(budgets)).scale), strict=True))
    return [{name: weight / scale[name] for name, weight in one.items()} for one in weightings(tuple(budgets))]


def _name(prices: Prices) -> str:
    return "least " + " + ".join(f"{price:.4g}·{name}" for name, price in prices.items())


def _masked(method: str) -> bool:
    return method in METHODS and is_masked(method)


def _per_seed(env: Environment[Any], row: Row) -> list[Costs]:
    columns = [row[f"J_{name}"].per_seed for name in env.cost_names]
    return [dict(zip(env.cost_names, values, strict=True)) for values in zip(*columns, strict=True)]
