"""What the episodes of a policy say it is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from mccpo.env import Constraints, Environment
from mccpo.evaluation import Summary, summarise, summarise_metrics
from mccpo.evaluation.policy import metrics_of
from mccpo.exact import Values
from mccpo.methods import Episodes, PolicySet


def values_of(env: Environment[Any], played: Episodes, seed: int) -> Values:
    """What the episodes of one policy say it is worth; the leading axis is that of seeds."""
    costs = np.asarray(played.costs)[seed].mean(axis=-1)
    steps = float(np.asarray(played.length)[seed].sum())
    return Values(
        ret=float(played.ret[seed].mean()),
        costs={name: float(cost) for name, cost in zip(env.cost_names, costs, strict=True)},
        engagement=float(played.engagement[seed].mean()),
        gain=float(played.gain[seed].mean()),
        pi_hack=0.0,
        violation_rate=float(played.violates[seed].mean()),
        prerequisite_violation_rate=float(played.unready[seed].sum()) / steps,
        true_violation_rate=float(played.untrue[seed].sum()) / steps,
        learning=float(played.learning[seed].mean()),
        mastered=float(played.mastered[seed].mean()),
    )


def mean_worth(env: Environment[Any], played: Episodes) -> Values:
    """What the policies of the first method are worth on average over seeds; leading axes are methods and seeds."""
    alone = jax.tree.map(lambda values: np.asarray(values)[0], played)
    return mean_values([values_of(env, alone, seed) for seed in range(len(alone.ret))])


def mean_values(values: Sequence[Values]) -> Values:
    """The mean over policies of everything that each is worth."""

    def over(pick: Callable[[Values], float]) -> float:
        return float(np.mean([pick(worth) for worth in values]))

    return Values(
        ret=over(lambda worth: worth.ret),
        costs={name: over(lambda worth, name=name: worth.costs[name]) for name in values[0].costs},  # type: ignore[misc]
        engagement=over(lambda worth: worth.engagement),
        gain=over(lambda worth: worth.gain),
        pi_hack=0.0,
        violation_rate=over(lambda worth: worth.violation_rate),
        prerequisite_violation_rate=over(lambda worth: worth.prerequisite_violation_rate),
        true_violation_rate=over(lambda worth: worth.true_violation_rate or 0.0),
        learning=over(lambda worth: worth.learning),
        mastered=over(lambda worth: worth.mastered),
    )


def evaluated(
    policies: PolicySet,
    env: Environment[Any],
    anchor: Values,
    constraints: Constraints,
    *,
    episodes: int,
    seed: int,
) -> dict[str, Summary]:
    """What policies are worth on fresh episodes of an environment, over seeds."""
    return summarised(policies.play(env, episodes=episodes, seed=seed), env, anchor, constraints)


def summarised(played: Episodes, env: Environment[Any], anchor: Values, constraints: Constraints) -> dict[str, Summary]:
    """What policies are worth by their episodes, whose leading axis is that of seeds.

    Where the policy sees an estimate of mastery, `true_violation_rate` counts what the learner was not ready for. Where
    learners are drawn from several members, `worst_member` is that of the one that fares worst.
    """
    policies = range(len(played.ret))
    seeds = [metrics_of(values_of(env, played, at), anchor, env, constraints) for at in policies]
    cells = summarise_metrics([{name: value for name, value in one.items() if name != "pi_hack"} for one in seeds])
    if env.estimates_readiness:
        untrue, steps = (np.asarray(counts, float).sum(axis=-1) for counts in (played.untrue, played.length))
        cells["true_violation_rate"] = summarise(untrue / steps)
    if played.member is not None and constraints.amounts:
        cells["worst_member"] = summarise([worst_member(env, played, at, constraints) for at in policies])
    return cells


def worst_member(env: Environment[Any], played: Episodes, seed: int, constraints: Constraints) -> float:
    """By how much the member that fares worst misses a budget or a floor, as a share of it; at most 0 if none does.

    A budget of 0, which is never quite reached, has no share: it is left to `satisfaction`.
    """
    assert played.member is not None
    member = np.asarray(played.member)[seed]
    missed = []
    for one in np.unique(member):
        alone = jax.tree.map(lambda values, which=member == one: np.asarray(values)[seed][None, ..., which], played)
        values = values_of(env, alone, 0)
        missed += [values.costs[name] / budget - 1 for name, budget in constraints.budgets.items() if budget > 0]
        missed += [1 - values.reached(name) / floor for name, floor in constraints.floors.items()]
    return max(missed, default=0.0)
