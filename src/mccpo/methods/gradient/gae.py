"""What a rollout says of its actions: advantages of the reward and of every cost, from a value head for each."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from mccpo.env import Environment
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.rollout import Playing, Rollout
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.multipliers import Budgets


class Appraisal(NamedTuple):
    """What a rollout says of its actions: advantages of the reward and of every cost, and the value heads' targets."""

    advantages: Float[Array, "time signals batch"]
    targets: Float[Array, "time signals batch"]


def appraise(
    env: Environment[Any],
    network: Network,
    budgets: Budgets,
    settings: PPOSettings,
    parameters: Float[Array, " parameters"],
    playing: Playing,
    rollout: Rollout,
    share: Float[Array, ""],
) -> Appraisal:
    """Advantages of the reward and of every cost, each in its own unit, at the foresight of this share of training."""
    # Practice pays off later where one goes on with the same concept, the more so the harder it is. A policy that does
    # not yet go on with any is therefore drawn to hard concepts at random, and stays; a short-sighted one first finds
    # what engages at once, and what then pays off is worked out from there.
    seen_ahead = jnp.minimum(1.0, share / jnp.where(settings.foresight > 0, settings.foresight, 1.0))
    gamma = env.gamma * jnp.where(settings.foresight > 0, seen_ahead, 1.0)
    scale = value_scale(env, budgets)[:, None]
    last = network.step(parameters, playing.memory, playing.obs.features)[1] * scale
    values = rollout.values * scale
    found = advantages(rollout.signals, values, rollout.ended, last, gamma, settings.gae)
    return Appraisal(found, (found + values) / scale)


def advantages(
    signals: Float[Array, "time signals batch"],
    values: Float[Array, "time signals batch"],
    ended: Bool[Array, "time batch"],
    last: Float[Array, "signals batch"],
    gamma: Float[Array, ""] | float,
    gae: Float[Array, ""] | float,
) -> Float[Array, "time signals batch"]:
    """Generalised advantage estimates of the reward and of every cost (Schulman et al. 2016)."""

    def back(carry: Any, row: Any) -> tuple[Any, Float[Array, "signals batch"]]:
        advantage, following = carry
        signal, value, end = row
        goes_on = jnp.where(end, 0.0, gamma)
        advantage = signal + goes_on * following - value + goes_on * gae * advantage
        return (advantage, value), advantage

    return jax.lax.scan(back, (jnp.zeros_like(last), last), (signals, values, ended), reverse=True)[1]


def standard(advantage: Float[Array, "time batch"]) -> Float[Array, "time batch"]:
    """Advantages of mean 0 and standard deviation 1."""
    return (advantage - advantage.mean()) / (advantage.std() + 1e-8)


def value_scale(env: Environment[Any], budgets: Budgets) -> Float[Array, " signals"]:
    """What a value head's output of 1 stands for: half of the most that its signal can add up to."""
    bound = jnp.where(budgets.bound > 0, budgets.bound, 1.0)  # a cost that is always 0 has any scale
    bounds = jnp.concatenate([budgets.reward_bound[None], bound])
    return 0.5 * bounds * env.discounted_horizon
