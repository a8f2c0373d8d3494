"""Why budgets were not met on an environment too large to solve exactly, as far as a search can tell.

First the rules are asked, and a policy that is trained to teach: where one of them meets the budgets, they can be met.
Then policies are trained to minimise cost and nothing else, each at prices u ≥ 0 of its own: Σ u_i J_i. Who draws one
of several policies at the start of an episode incurs the mean of their costs, so that the convex hull of all cost
vectors seen can be reached. For a set S of budgets, a small linear program gives

    least(S) = min over mixtures of policies  max over i in S of  J_i / d_i

and where that is above 1, no mixture of the policies found meets the budgets of S. That proves nothing of policies that
were not found. So the verdict is then "not found", never "infeasible", and says what came nearest. Least costs and
scalings so found can be reached for certain, up to what the episodes leave to chance; a better learner may find lower
ones. From below, every policy has  max_i J_i/d_i ≥ Σ u_i J_i / Σ u_i d_i  whatever the prices. The lowest Σ u_i J_i
that was found, at prices that policies were trained for, is what the learner believes no policy can go below. Both are
given. They meet at the prices that are the dual solution of the program, so where they lie apart, policies are trained
for those too, at last for longer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from mccpo.env import Constraints, Environment
from mccpo.errors import DoesNotApply
from mccpo.experiments.anchors import MOST_TEACHING, PLANNED_EPISODES, train_anchor
from mccpo.experiments.feasibility.mixtures import Costs, Prices, Reached, Unreached, verdict_on, weightings
from mccpo.experiments.options import Session
from mccpo.experiments.problem import Problem
from mccpo.experiments.training import train_specs
from mccpo.experiments.worth import values_of
from mccpo.methods import (
    EVALUATION_EPISODES,
    METHODS,
    MethodSpec,
    NeuralPlan,
    RuleEntry,
    RulePolicies,
    budgets_of,
    evaluate_neural,
    is_masked,
)
from mccpo.runs.results import Row, Rows, UnmetBudgets

SEEDS = 3
ROUNDS = 3
LONGER = 4
"""How many times as long the last minimisers are trained, before it is said that nothing was found."""
EPISODES = 256

# What costs least in the end often costs most at first, so a minimiser looks ahead from the start, and keeps trying for
# longer than the constrained learner: with that one's settings it often settles for what is cheap at once.
ENTROPY = 0.25
FORESIGHT = 1e-6

_STREAM = 3  # sets the episodes here apart from those of the same seed that evaluate a table's policies


Found = tuple[str, Costs]
"""A policy that was found, by name, and what it costs."""


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
    def named(self) -> list[Found]:
        """Every policy with its costs, of all prices and seeds."""
        return [
            (f"{_name(prices)}, seed {seed}", costs)
            for prices, seeds in zip(self.prices, self.costs, strict=True)
            for seed, costs in enumerate(seeds)
        ]

    @property
    def all_costs(self) -> list[Costs]:
        """The costs of every policy, of all prices and seeds."""
        return [costs for _, costs in self.named]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """A verdict on budgets, and the minimisers that it rests on."""

    budgets: dict[str, float]
    verdict: Unreached | Reached
    minimisers: Minimisers

    def unmet(self) -> UnmetBudgets:
        """The verdict in the words of `solve`, and the steps that it took; not the time, which differs every time."""
        found = UnmetBudgets(
            feasible=True,
            what=self.verdict.what(self.budgets),
            fix=self.verdict.fix(),
            scaling=self.verdict.scaling,
            policies=self.verdict.policies,
            steps=self.minimisers.steps,
        )
        if isinstance(self.verdict, Reached):
            return found
        return replace(
            found,
            feasible=None,
            conflict=self.verdict.conflict,
            least=self.verdict.least,
            floor=self.verdict.floor,
            prices=self.verdict.prices,
            nearest=str(self.verdict.nearest),
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
    longer: int = LONGER,
) -> Diagnosis:
    """Finds out why budgets were not met, from what costs little to what costs much, until something meets them.

    First a table's masked policies and every rule, then a policy that is trained to teach, then minimisers: a round for
    prices all over the simplex, further ones for those at which the budgets then hinder most, and at last those trained
    `longer` times as long. `rows` are the table's; a minimiser is trained for `steps`, by default as many as the
    table's policies. Only what was trained as a minimiser counts among its steps.
    """
    env, plan = problem.env, problem.training
    slack = dict(zip(env.cost_names, 1e-3 * env.cost_bounds * env.discounted_horizon, strict=True))  # as in metrics_of
    found, tried = [*_of_table(env, rows), *_of_rules(env, plan.seed)], Minimisers((), (), 0, 0.0)

    def verdict() -> Unreached | Reached:
        names, costs = zip(*found, *tried.named, strict=True)
        return verdict_on(costs, budgets, prices=tried.prices, slack=slack, names=names)

    if not found or isinstance(verdict(), Unreached):
        found += _of_teaching(env, replace(plan, seeds=seeds), session)
    searches = [(1, "")] + [(1, f", round {again}") for again in range(2, rounds + 1)]
    searches += [(longer, f", {longer} times as long")] if longer > 1 else []
    for length, words in searches:
        now = verdict()
        if isinstance(now, Reached) or (tried.prices and now.settled and length == 1):
            continue
        prices = [now.prices] if tried.prices and now.prices else _first_prices(env, budgets)
        spent = length * (plan.steps if steps is None else steps)
        tried += minimise(problem, prices, f"{label}{words}", session, seeds=seeds, steps=spent)
    return Diagnosis(dict(budgets), verdict(), tried)


def _of_table(env: Environment[Any], rows: Rows) -> list[Found]:
    return [
        (f"{name}, seed {seed}", costs)
        for name, row in rows.items()
        if _masked(name)
        for seed, costs in enumerate(_per_seed(env, row))
    ]


def _of_rules(env: Environment[Any], seed: int) -> list[Found]:
    """What every rule costs that has an answer here."""
    found: list[Found] = []
    for name in METHODS.registered:  # what another package names is asked once it is in use
        entry = METHODS[name]
        if not isinstance(entry, RuleEntry):
            continue
        episodes = PLANNED_EPISODES if name == "planning" else EVALUATION_EPISODES
        try:
            played = RulePolicies(entry.build(), 1).play(env, episodes=episodes, seed=_seed(seed))
        except DoesNotApply:
            continue
        found.append((f"the rule {name}", values_of(env, played, 0).costs))
    return found


def _of_teaching(env: Environment[Any], plan: NeuralPlan, session: Session) -> list[Found]:
    """What the policies cost that are trained to teach, which floors refer to as well."""
    _, played = train_anchor(env, MOST_TEACHING, Constraints(objective="learning"), plan, session)
    alone = jax.tree.map(lambda values: np.asarray(values)[0], played)
    return [
        (f"the policy that teaches most, seed {seed}", values_of(env, alone, seed).costs)
        for seed in range(len(alone.ret))
    ]


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
    seen = evaluate_neural(env, specs, runs.selected, episodes=EPISODES, seed=_seed(plan.seed))
    means = np.asarray(seen.costs, float).mean(axis=-1)
    costs = [tuple(dict(zip(env.cost_names, map(float, one), strict=True)) for one in each) for each in means]
    taken = len(specs) * seeds * plan.iterations * plan.sizes.steps
    return Minimisers(tuple(prices), tuple(costs), taken, time.monotonic() - before)


def _seed(root: int) -> int:
    return int(np.random.SeedSequence([root, _STREAM]).generate_state(1)[0])


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
