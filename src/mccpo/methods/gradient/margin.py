"""How far below its budgets a policy has to stay, so that chance will not show it to be above.

A policy is chosen by the mean of some episodes and judged by that of others, of which tables take few. One whose true
costs stand at the budgets is seen above them every second time. Training therefore aims, and validation chooses, some
standard errors below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from mccpo.env import Environment
from mccpo.methods.episodes import evaluation_episodes
from mccpo.methods.gradient.rollout import Rollout, Sizes


def as_long(env: Environment[Any], episodes: int) -> int:
    """So many episodes that their steps are those of `episodes` of a hundred steps: short ones say less each."""
    return max(episodes, episodes * 100 // env.horizon)


def error_of(spread: Float[Array, "*any"], seen: Any, later: Any) -> Float[Array, "*any"]:
    """The standard error of the difference between a mean of episodes that were seen and one of those to come later."""
    return spread * jnp.sqrt(1 / seen + 1 / later)


class Finished(NamedTuple):
    """The episodes that ended in a rollout: how many (1 if none), the mean of their costs, and how these differ."""

    episodes: Int[Array, ""]
    J_c: Float[Array, " costs"]
    spread: Float[Array, " costs"]


def finished(rollout: Rollout) -> Finished:
    """What the episodes that ended in a rollout have cost; zeros where none did."""
    count = jnp.maximum(rollout.ended.sum(), 1)
    costs = rollout.totals[:, 1:]
    mean = costs.sum(axis=(0, 2)) / count
    apart = jnp.where(rollout.ended[:, None], (costs - mean[:, None]) ** 2, 0.0)
    return Finished(count, mean, jnp.sqrt(apart.sum(axis=(0, 2)) / count))


def final_error(env: Environment[Any], sizes: Sizes, seen: Finished) -> Float[Array, " costs"]:
    """The standard error (`error_of`) between choosing and judging the policy of these episodes, by how they differ."""
    return error_of(seen.spread, as_long(env, sizes.final), evaluation_episodes(env))
