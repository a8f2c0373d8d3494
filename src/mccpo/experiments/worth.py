"""What the episodes of a policy say it is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mccpo.env import Constraints, Environment
from mccpo.evaluation import Summary, summarise
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
    alone = Episodes(*(np.asarray(values)[0] for values in played))
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

    Where the policy sees an estimate of mastery, `true_violation_rate` counts what the learner was not ready for.
    """
    policies = range(len(played.ret))
    seeds = [metrics_of(values_of(env, played, at), anchor, env, constraints) for at in policies]
    cells = {metric: summarise([values[metric] for values in seeds]) for metric in seeds[0] if metric != "pi_hack"}
    if env.estimates_readiness:
        untrue, steps = (np.asarray(counts, float).sum(axis=-1) for counts in (played.untrue, played.length))
        cells["true_violation_rate"] = summarise(untrue / steps)
    return cells
