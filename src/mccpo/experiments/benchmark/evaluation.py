"""What policies are worth: exactly on a finite environment, else by fresh episodes.

The keys of these episodes follow from the seed of the protocol: one for each seed, the same for every method and κ. So
methods are compared on the same learners, and what differs between them is not the luck of the draw.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import Float

from mccpo.env import Environment, FiniteEnvironment
from mccpo.exact import Values, evaluate
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.problem import Problem
from mccpo.experiments.worth import values_of
from mccpo.methods import (
    IMPROPER,
    ImproperPolicyError,
    MethodArrays,
    Network,
    NetworkPolicy,
    Policy,
    evaluate_policies,
    is_distribution,
    play_rule,
    remembers,
    tabulate,
)

BySeed: TypeAlias = list[Values | None]
"""What the policy of each seed is worth; None where it is not made of finite numbers."""


def evaluate_networks(
    problem: Problem,
    env: Environment[Any],
    playing: MethodArrays,
    network: Network,
    parameters: Float[np.ndarray, "variants seeds parameters"],
    protocol: Protocol,
    seed: int,
) -> list[BySeed]:
    """What learnt policies are worth in an environment: the one judged in, or as a conditioned policy sees it."""
    sound = np.isfinite(parameters).all(axis=-1)
    policies = np.where(sound[..., None], parameters, 0.0)
    if problem.model is not None and isinstance(env, FiniteEnvironment):
        found: list[BySeed] = [
            [_exactly(problem, env, NetworkPolicy(playing, one, network)) for one in row] for row in policies
        ]
    else:
        methods = [playing] * len(policies)
        seen = evaluate_policies(env, methods, network, policies, episodes=protocol.episodes, seed=seed)
        found = [
            [values_of(env, jax.tree.map(lambda leaf, at=at: leaf[at], seen), place) for place in range(len(row))]
            for at, row in enumerate(policies)
        ]
    return [
        [one if good and one is not None and _finite(one) else None for one, good in zip(*row, strict=True)]
        for row in zip(found, sound, strict=True)
    ]


def evaluate_rule(
    problem: Problem, actor: Policy, protocol: Protocol, after: Callable[[], None] = lambda: None
) -> tuple[BySeed, float]:
    """What a rule is worth, seed by seed, and the seconds that judging one seed takes once it is compiled.

    A finite environment tells it exactly, so that all seeds agree. `after` is called after every seed, and may stop it
    by raising.
    """
    exact = problem.model is not None and not remembers(problem.test, actor)
    if exact:  # once to compile, and once more to see how long it takes
        parts = [partial(_exactly, problem, problem.test, actor)] * 2
    else:
        copies = range(protocol.seeds)
        parts = [partial(_by_episodes, problem.test, actor, protocol.seed, copy, protocol.episodes) for copy in copies]
    values, ticks = [], [time.perf_counter()]
    for part in parts:
        values.append(part())
        ticks.append(time.perf_counter())
        after()
    return values[-1:] * protocol.seeds if exact else values, steady(ticks) / len(parts)


def evaluate_table(problem: Problem, table: Float[np.ndarray, "states actions"]) -> Values:
    """The exact worth of a policy over the states of the model."""
    assert problem.model is not None  # only finite environments have tables
    return evaluate(problem.model, table, constrained=problem.test.constrained)


def steady(ticks: Sequence[float]) -> float:
    """The seconds of all parts at the pace of those after the first, which compiles; a single one counts as it is."""
    parts = len(ticks) - 1
    if parts < 2:
        return ticks[-1] - ticks[0]
    return (ticks[-1] - ticks[1]) * parts / (parts - 1)


def _exactly(problem: Problem, env: Environment[Any], actor: Policy) -> Values | None:
    assert problem.model is not None
    table = tabulate(env, actor)[problem.model.index]
    if not np.isfinite(table).all():
        return None
    if not is_distribution(table.T).all():
        raise ImproperPolicyError(IMPROPER)
    return evaluate_table(problem, table)


def _by_episodes(env: Environment[Any], actor: Policy, seed: int, copy: int, episodes: int) -> Values | None:
    played = play_rule(env, actor, seed, copy, episodes)
    if not played.finite:
        return None
    played.check()
    values = values_of(env, jax.tree.map(lambda leaf: np.asarray(leaf)[None], played.episodes), 0)
    return values if _finite(values) else None


def _finite(values: Values) -> bool:
    return all(math.isfinite(one) for one in (values.ret, values.engagement, values.gain, *values.costs.values()))
