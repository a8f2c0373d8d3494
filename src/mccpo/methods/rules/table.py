"""Whoever teaches, written out: the chance of every action in every state of a finite environment."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mccpo.env import Environment, FiniteEnvironment
from mccpo.errors import DoesNotApply
from mccpo.methods.episodes import Policy


def tabulate(env: Environment[Any], actor: Policy) -> Float[np.ndarray, "states actions+1"]:
    """One row of probabilities for each of the environment's state numbers, the no-op's last.

    It is what `mccpo.evaluation.policy.measure` takes, so that a rule or a learnt policy is evaluated exactly. A policy
    that remembers has no such table, since what it does depends on more than the state.
    """
    if not isinstance(env, FiniteEnvironment):
        raise DoesNotApply(f"{env.name} is not finite", fix="judge the policy by episodes of its own")
    if remembers(env, actor):
        raise DoesNotApply(
            f"{getattr(actor, 'name', type(actor).__name__)} remembers, so it is more than a table of states",
            fix="judge it by episodes of its own",
        )
    return np.asarray(_rows(env, actor))


def remembers(env: Environment[Any], actor: Policy) -> bool:
    """Whether what an actor does can depend on the episode so far, and not only on what it sees now."""
    return bool(jax.tree.leaves(jax.eval_shape(lambda: actor.begin(env, 1))))


@eqx.filter_jit
def _rows(env: FiniteEnvironment[Any], actor: Policy) -> Float[Array, "states actions+1"]:
    states = jax.vmap(env.state)(jnp.arange(env.num_states))
    obs = jax.vmap(env.observe, out_axes=-1)(states)
    return actor.probabilities(env, actor.begin(env, env.num_states), obs).T
