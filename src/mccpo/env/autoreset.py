"""A step that starts a new episode where the last one ends, for loops under `jit`, `vmap` and `scan`."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from mccpo.env.contract import Environment, Observation, StateT, TimeStep


class AutoReset(NamedTuple, Generic[StateT]):
    """A step, and where the next one starts from.

    **Fields:**

    - `step`: what the action brought about; its `obs` is the last of an episode that ended, which a critic may need.
    - `state`, `obs`: those of the step, or of a new episode where `step` ended one.
    """

    step: TimeStep[StateT]
    state: StateT
    obs: Observation


def autoreset_step(
    env: Environment[StateT], step_key: PRNGKeyArray, reset_key: PRNGKeyArray, state: StateT, action: Int[Array, ""]
) -> AutoReset[StateT]:
    """Takes one action, and starts a new episode where it ended one. `reset_key` is used for that alone.

    >>> import mccpo
    >>> env = mccpo.make("gate")  # whose episodes have one step
    >>> state, _ = env.reset(jax.random.key(0))
    >>> taken = autoreset_step(env, jax.random.key(1), jax.random.key(2), state, jnp.array(0))
    >>> bool(taken.step.terminated | taken.step.truncated), taken.obs.action_mask.tolist()
    (True, [True, False, True])
    """
    step = env.step(step_key, state, action)
    ended = step.terminated | step.truncated

    def new_where_ended(new: Any, old: Any) -> Any:
        return jnp.where(ended, new, old)

    next_state, obs = jax.tree.map(new_where_ended, env.reset(reset_key), (step.state, step.obs))
    return AutoReset(step, next_state, obs)
