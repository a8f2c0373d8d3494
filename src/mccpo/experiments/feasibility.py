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

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from jaxtyping import Float

from mccpo.env import Environment
from mccpo.errors import MccpoError
from mccpo.exact import Infeasible
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

_CLOSE = 0.99  # a floor this near to the scaling needs no further prices
_STREAM = 3  # sets the episodes here apart from those of the same seed that evaluate a table's policies
_ROUNDING = 1e-9

Costs = Mapping[str, float]
Prices = Mapping[str, float]


@dataclass(frozen=True)
class Unreached(Infeasible):
    """Why no policy that was found meets the budgets.

    `conflict` is a smallest set of budgets that no mixture of the policies found meets, `least` the lowest value found
    of each cost, `scaling` the smallest common factor by which raising all budgets brings a mixture within them.
    `floor` is the factor that the learner believes no policy can do with less than; what holds between the two is open.
    `prices` are those at which the budgets hinder most, `policies` is how many were found.
    """

    floor: float | None
    prices: dict[str, float]
    policies: int

    @property
    def settled(self) -> bool:
        """Whether further prices would tell nothing new."""
        return self.scaling is None or (self.floor is not None and self.floor >= _CLOSE * self.scaling)

    def what(self, budgets: Mapping[str, float]) -> str:
        asked = " and ".join(f"{name} ≤ {budgets[name]:g}" for name in self.conflict)
        least = ", ".join(f"{name} {self.least[name]:.4f}" for name in self.conflict)
        together = "each alone was brought down to" if len(self.conflict) > 1 else "the least found is"
        return f"none of {self.policies} policies, nor a mixture of them, meets {asked}: {together} {least}"

    def fix(self) -> str:
        if self.scaling is None:
            return "raise the budgets that are 0"
        enough = math.ceil(self.scaling * 1e4) / 1e4  # rounded up, so that what is printed will do
        doubt = "" if self.floor is None else f" (the learner believes that less than {self.floor:.4f} cannot do)"
        return f"raise all budgets by a factor of {enough:.4f}, within which a mixture stays{doubt}"


@dataclass(frozen=True)
class Reached:
    """The budgets can be met after all: a mixture of the policies found stays within `scaling` times each of them."""

    scaling: float
    policies: int

    def what(self, budgets: Mapping[str, float]) -> str:
        """What was found, in words."""
        asked = " and ".join(f"{name} ≤ {budget:g}" for name, budget in budgets.items())
        return f"{asked} can be met: a mixture of the {self.policies} policies found has {self.scaling:.4f} of them"

    def fix(self) -> str:
        """What would make the learner meet them, in words."""
        return "train for more steps, or with more seeds"


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
            **asdict(self.verdict),
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
    budgets: Mapping[str, float],
    label: str,
    session: Session,
) -> UnmetBudgets | None:
    """Why a table's budgets were met in no seed; None where some seed met them."""
    met = [row["satisfaction_strict"].mean for name, row in rows.items() if sees_budgets(name)]
    if not met or max(met) > 0:
        return None
    return diagnose(problem, budgets, rows, f"{label}, least costs", session).unmet()


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
    runs = train_specs(env, specs, {}, plan, label, session)
    seed = int(np.random.SeedSequence([plan.seed, _STREAM]).generate_state(1)[0])
    seen = evaluate_neural(env, specs, runs.selected, episodes=EPISODES, seed=seed)
    means = np.asarray(seen.costs, float).mean(axis=-1)
    costs = [tuple(dict(zip(env.cost_names, map(float, one), strict=True)) for one in each) for each in means]
    taken = len(specs) * seeds * plan.iterations * plan.sizes.steps
    return Minimisers(tuple(prices), tuple(costs), taken, time.monotonic() - before)


def weightings(names: tuple[str, ...]) -> list[dict[str, float]]:
    """Where to look on the simplex of weightings: its corners, the middles of its edges, its centre.

    >>> weightings(("c3", "c4"))
    [{'c3': 1.0}, {'c4': 1.0}, {'c3': 0.5, 'c4': 0.5}]
    """
    sizes = sorted({min(size, len(names)) for size in (1, 2, len(names))})
    return [dict.fromkeys(part, 1 / size) for size in sizes for part in combinations(names, size)]


def verdict_on(
    costs: Sequence[Costs],
    budgets: Mapping[str, float],
    *,
    prices: Sequence[Prices] = (),
    slack: Mapping[str, float] | None = None,
) -> Unreached | Reached:
    """Whether a mixture of policies of these costs meets the budgets, and if not, why not.

    `prices` are those that policies were trained for; a budget of 0 is met up to `slack`.
    """
    allowed = slack or {}

    def scaling(names: Sequence[str]) -> Scaling | None:
        table = np.array([[one[name] for name in names] for one in costs])
        limits, slacks = ([mapping.get(name, 0.0) for name in names] for mapping in (budgets, allowed))
        return least_scaling(table, np.array(limits), np.array(slacks))

    def met(found: Scaling | None) -> bool:
        return found is not None and found.factor <= 1 + _ROUNDING

    overall = scaling(tuple(budgets))
    if overall is not None and met(overall):
        return Reached(overall.factor, len(costs))
    sets = (names for size in range(1, len(budgets) + 1) for names in combinations(budgets, size))
    hinder = {} if overall is None else dict(zip(budgets, map(float, overall.prices), strict=True))
    return Unreached(
        conflict=next((names for names in sets if not met(scaling(names))), tuple(budgets)),
        least={name: min(one[name] for one in costs) for name in budgets},
        scaling=None if overall is None else overall.factor,
        floor=None if overall is None else _floor(costs, budgets, prices),
        prices={name: price for name, price in hinder.items() if price > _ROUNDING},
        policies=len(costs),
    )


class Scaling(NamedTuple):
    """The smallest `factor` on all limits that a mixture meets, and the `prices` that no mixture undercuts it at."""

    factor: float
    prices: Float[np.ndarray, " costs"]


def least_scaling(
    costs: Float[np.ndarray, "policies costs"],
    limits: Float[np.ndarray, " costs"],
    slack: Float[np.ndarray, " costs"],
) -> Scaling | None:
    """The smallest factor s for which a mixture of policies has costs of at most s times the limits, if there is one.

    A limit of 0 stays 0 whatever s is, and is met up to its slack. With no other limits, s is 0 where they are met.
    """
    positive = limits > 0
    units = np.where(positive, limits, 1.0)
    found = scipy.optimize.linprog(
        np.append(np.zeros(len(costs)), 1.0),
        A_ub=np.column_stack([(costs / units).T, -positive.astype(float)]),
        b_ub=np.where(positive, 0.0, slack),
        A_eq=np.append(np.ones(len(costs)), 0.0)[None],
        b_eq=[1.0],
        method="highs",
    )
    if found.status not in (0, 2):
        raise MccpoError(f"the linear program was not solved: {found.message}")
    return Scaling(float(found.fun), -found.ineqlin.marginals / units) if found.status == 0 else None


def _floor(costs: Sequence[Costs], budgets: Mapping[str, float], prices: Sequence[Prices]) -> float | None:
    """The largest factor that one of the prices rules out for every policy found."""

    def worth(price: Prices, amounts: Mapping[str, float]) -> float:
        return sum(each * amounts[name] for name, each in price.items())

    usable = [price for price in prices if all(budgets.get(name, 0.0) > 0 for name in price)]
    return max((min(worth(price, one) for one in costs) / worth(price, budgets) for price in usable), default=None)


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
