"""What policies are worth: exactly on a finite environment, else by fresh episodes, of the same keys for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from mccpo.algo import engine
from mccpo.algo.judging import Actor, Episodes, NetworkActor, judge_actor
from mccpo.algo.method import Method
from mccpo.algo.network import Network
from mccpo.algo.neural import EVALUATION, evaluate_policies
from mccpo.algo.tutors import remembers, tabulate
from mccpo.env import Environment, FiniteEnvironment
from mccpo.exact import Values, evaluate
from mccpo.experiments.benchmark.posing import Posed
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.neural import values_of

BySeed: TypeAlias = list[Values | None]
"""What the policy of each seed is worth; None where it is not made of finite numbers."""


def judge_policies(
    posed: Posed,
    env: Environment[Any],
    playing: Method,
    network: Network,
    parameters: Float[np.ndarray, "variants seeds parameters"],
    protocol: Protocol,
    seed: int,
) -> list[BySeed]:
    """What learnt policies are worth in an environment: the one judged in, or as a conditioned policy sees it."""
    sound = np.isfinite(parameters).all(axis=-1)
    policies = np.where(sound[..., None], parameters, 0.0)
    if posed.model is not None and isinstance(env, FiniteEnvironment):
        found = [[_exactly(posed, env, NetworkActor(playing, one, network)) for one in row] for row in policies]
    else:
        methods = [playing] * len(policies)
        seen = evaluate_policies(env, methods, network, policies, episodes=protocol.episodes, seed=seed)
        found = [[values_of(env, seen, at, place) for place in range(len(row))] for at, row in enumerate(policies)]
    return [
        [one if good and _finite(one) else None for one, good in zip(*row, strict=True)]
        for row in zip(found, sound, strict=True)
    ]


def judge_rule(posed: Posed, actor: Actor, protocol: Protocol) -> BySeed:
    """What a rule is worth, seed by seed; a finite environment tells it exactly, so that all seeds agree."""
    env = posed.env
    if posed.model is not None and not remembers(env, actor):
        return [_exactly(posed, env, actor)] * protocol.seeds
    key = jax.random.fold_in(jax.random.key(protocol.seed), EVALUATION)
    seen = _judge_all(engine.as_arrays(env), actor, jax.random.split(key, protocol.seeds), protocol.episodes)
    whole = jax.tree.map(lambda leaf: np.asarray(leaf)[None], seen)
    return _sound([values_of(env, whole, 0, place) for place in range(protocol.seeds)])


def judge_table(posed: Posed, table: Float[np.ndarray, "states actions"]) -> Values:
    """The exact worth of a policy over the states of the model."""
    assert posed.model is not None  # only finite environments have tables
    return evaluate(posed.model, table, constrained=posed.env.constrained)


def _exactly(posed: Posed, env: Environment[Any], actor: Actor) -> Values:
    assert posed.model is not None
    return judge_table(posed, tabulate(env, actor)[posed.model.index])


def _sound(values: Sequence[Values]) -> BySeed:
    return [one if _finite(one) else None for one in values]


def _finite(values: Values) -> bool:
    return all(math.isfinite(one) for one in (values.ret, values.engagement, values.gain, *values.costs.values()))


@eqx.filter_jit
def _judge_all(env: Environment[Any], actor: Actor, keys: Any, episodes: int) -> Episodes:
    return jax.lax.map(lambda key: judge_actor(env, actor, key, episodes), jnp.asarray(keys))
