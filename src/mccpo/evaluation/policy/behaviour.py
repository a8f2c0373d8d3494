"""What a tutor does: which concepts it teaches when, what opens up meanwhile, and for whom.

Time to unlock is the mean over concepts of the step at which a concept first becomes ready, the horizon where it never
does. The restriction rate is the share of actions that the gate withholds, meant over steps. Both are worked out for
every group of learners where the environment tells groups apart: a gate that holds some learners back longer than
others should be seen to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.tutor import Tutoring
from mccpo.methods import Episodes, Moment, Policy, PolicySet, account, among_quick, as_arrays, perform, summed

STREAM = 2**31 - 2  # folded into the root key, so that these episodes are none of those that evaluate or validate
EVERYONE = "all"


class Observed(NamedTuple):
    """What a policy does, step by step, as means over episodes, and how each episode went.

    **Fields:**

    - `mastery`: K of every concept, at the start and after every step.
    - `ready`, `chosen`: the share of episodes in which a concept is ready, or taught, in a step.
    - `group`: the group of each episode's learner; 0 where there are none.
    - `unlock`, `restriction`: of each episode, see above.
    """

    mastery: Float[Array, "time+1 concepts"]
    ready: Float[Array, "time concepts"]
    chosen: Float[Array, "time concepts"]
    group: Int[Array, " episodes"]
    unlock: Float[Array, " episodes"]
    restriction: Float[Array, " episodes"]
    episodes: Episodes


def observe(env: Tutoring[Any], policies: PolicySet, policy: int, *, episodes: int, seed: int) -> Observed:
    """Plays episodes of their own with the policy of one seed, and tells what it does in them."""
    env = as_arrays(env)
    key = jax.random.fold_in(jax.random.key(seed), STREAM)
    return jax.tree.map(np.asarray, _play(env, among_quick(env, policies.policy(env, policy)), key, episodes))


def by_group(env: Tutoring[Any], observed: Observed) -> dict[str, dict[str, float]]:
    """How each group of learners fared, and all of them; a group that no episode met is left out."""
    names = env.group_names
    members = {EVERYONE: np.ones(len(observed.group), bool)}
    if len(names) > 1:
        members |= {name: np.asarray(observed.group) == place for place, name in enumerate(names)}
    return {name: _fared(observed, which) for name, which in members.items() if which.any()}


def _fared(observed: Observed, which: Bool[np.ndarray, " episodes"]) -> dict[str, float]:
    episodes = observed.episodes
    steps = float(episodes.length[which].sum())
    return {
        "time_to_unlock": float(observed.unlock[which].mean()),
        "restriction_rate": float(observed.restriction[which].mean()),
        "prerequisite_violation_rate": float(episodes.unready[which].sum()) / steps,
        "true_violation_rate": float(episodes.untrue[which].sum()) / steps,
        "dK": float(episodes.gain[which].mean()),
        "return": float(episodes.ret[which].mean()),
    }


@eqx.filter_jit
def _play(env: Tutoring[Any], policy: Policy, key: PRNGKeyArray, episodes: int) -> Observed:
    per_concept = env.num_actions // len(env.curriculum)

    def look(moment: Moment) -> Any:
        ready = moment.obs.action_mask[::per_concept]
        taught = jnp.arange(len(env.curriculum))[:, None] == moment.action // per_concept
        group = env.group(moment.state)
        means = (moment.state.K.mean(-1), moment.step.state.K.mean(-1), ready.mean(-1), taught.mean(-1))
        return means, ready, group, account(env, moment)

    means, ready, group, steps = perform(env, policy, key, episodes, look)
    before, after, open_to, chosen = means
    first = jnp.where(ready.any(axis=0), ready.argmax(axis=0), env.horizon)
    return Observed(
        mastery=jnp.concatenate([before[:1], after]),
        ready=open_to,
        chosen=chosen,
        group=group[0],
        unlock=first.mean(axis=0),
        restriction=1.0 - ready.mean(axis=(0, 1)),
        episodes=summed(env, steps),
    )
