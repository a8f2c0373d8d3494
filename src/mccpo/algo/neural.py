"""Training of neural learners: all methods and seeds of a table by one compiled program.

On CPU the program holds one run, and one thread per core calls it run after run, which is faster there than a vmapped
one; on an accelerator one vmapped call takes all runs. Because a method is data, both compile once for all methods.

The final policy is chosen by validation episodes of their own: of the policies validated during training, the one of
highest return among those that meet every budget, with a margin, or else the one that misses them least. Episodes by
which a policy is later judged play no part in this.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mccpo.algo import ppo
from mccpo.algo.masked import masked_softmax, sample
from mccpo.algo.method import Method, execute
from mccpo.algo.multipliers import Budgets
from mccpo.algo.ppo import PPOSettings, PPOState, Progress, Sizes
from mccpo.env import Environment


class Episodes(NamedTuple):
    """What a policy did in episodes of its own, one entry an episode. `ret` and `costs` are discounted."""

    ret: Float[Array, " episodes"]
    costs: Float[Array, "costs episodes"]
    engagement: Float[Array, " episodes"]
    gain: Float[Array, " episodes"]
    violates: Bool[Array, " episodes"]
    unready: Float[Array, " episodes"]
    length: Float[Array, " episodes"]


class Best(NamedTuple):
    """The policy that validation likes best so far."""

    score: Float[Array, ""]
    parameters: Float[Array, " parameters"]


class NeuralState(NamedTuple):
    """A run and its best policy so far."""

    run: PPOState
    best: Best
    validating: PRNGKeyArray


def start(env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> NeuralState:
    """A run before its first iteration."""
    training, validating = jax.random.split(key)
    run = ppo.start(env, sizes, training)
    return NeuralState(run, Best(jnp.asarray(-jnp.inf), run.parameters), validating)


def judge(
    env: Environment[Any],
    method: Method,
    parameters: Float[Array, " parameters"],
    key: PRNGKeyArray,
    episodes: int,
) -> Episodes:
    """Plays episodes with the executed policy: no frontier mixing, and the method's filter where it has one."""
    network = ppo.network_of(env)
    hack = jnp.asarray(env.hack)
    beginning, playing = jax.random.split(key)
    state, obs = jax.vmap(env.reset, out_axes=-1)(jax.random.split(beginning, episodes))
    zero = jnp.zeros(episodes)
    nothing = Episodes(zero, jnp.zeros((len(env.cost_names), episodes)), zero, zero, zero > 0, zero, zero)
    which = jnp.array([name in env.constrained for name in env.cost_names])[:, None]

    def act(carry: Any, draw: PRNGKeyArray) -> tuple[Any, None]:
        state, obs, alive, discount, so_far = carry
        choosing, moving = jax.random.split(draw)
        mask = obs.action_mask | ~method.masked
        logits, _ = network.apply(parameters, obs.features)
        probs = masked_softmax(logits, mask, axis=0).probs
        executed = execute(method, probs.T, obs.action_mask.T, hack).T
        action = sample(jax.random.uniform(choosing, (episodes,)), executed, executed > 0, axis=0)
        keys = jax.random.split(moving, episodes)
        step = jax.vmap(env.step, in_axes=(0, -1, -1), out_axes=-1)(keys, state, action)
        counts = jnp.where(alive, 1.0, 0.0)
        after = Episodes(
            ret=so_far.ret + counts * discount * step.reward,
            costs=so_far.costs + counts * discount * step.costs,
            engagement=so_far.engagement + counts * step.reward,
            gain=so_far.gain + counts * step.gain,
            violates=so_far.violates | (((step.costs > 0) & which).any(axis=0) & alive),
            unready=so_far.unready + counts * step.unready,
            length=so_far.length + counts,
        )
        alive = alive & ~(step.terminated | step.truncated)
        return (step.state, step.obs, alive, discount * env.gamma, after), None

    first = (state, obs, jnp.ones(episodes, bool), jnp.ones(()), nothing)
    (*_, found), _ = jax.lax.scan(act, first, jax.random.split(playing, env.horizon))
    return found


def advance(
    env: Environment[Any],
    sizes: Sizes,
    method: Method,
    budgets: Budgets,
    settings: PPOSettings,
    state: NeuralState,
    total: Float[Array, ""],
    iterations: int,
    validation: int,
) -> tuple[NeuralState, Progress]:
    """Some iterations of one run, and one look at the policy they end with."""

    def one(run: PPOState, _: None) -> tuple[PPOState, Progress]:
        return ppo.iterate(env, sizes, method, budgets, settings, run, run.iteration / total)

    run, progress = jax.lax.scan(one, state.run, length=iterations)
    validating, key = jax.random.split(state.validating)
    seen = judge(env, method, run.parameters, key, validation)
    score = _score(method, budgets, settings, seen, run.iteration / total)
    better = score >= state.best.score
    best = Best(jnp.where(better, score, state.best.score), jnp.where(better, run.parameters, state.best.parameters))
    return NeuralState(run, best, validating), jax.tree.map(partial(jnp.nanmean, axis=0), progress)


def _score(
    method: Method, budgets: Budgets, settings: PPOSettings, seen: Episodes, share: Float[Array, ""]
) -> Float[Array, ""]:
    """Return where the budgets are met with a margin, minus the worst excess elsewhere; the newest without budgets."""
    J_c = seen.costs.mean(axis=1)
    excess = jnp.where(budgets.active > 0, (J_c - budgets.limit) / budgets.scale, -jnp.inf).max()
    bounded = jnp.where(excess <= -settings.margin, seen.ret.mean(), -1e3 * (1.0 + jnp.maximum(excess, -1.0)))
    return jnp.where(method.constrained > 0, bounded, share)
