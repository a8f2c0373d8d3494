"""Playing: many environments side by side with the executed policy, an ended episode followed by a new one.

Arrays are (time, feature, environment): see `mccpo.methods.gradient.network` for why the batch comes last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env import Environment, Observation
from mccpo.errors import InputError
from mccpo.methods.gradient.network import Network
from mccpo.methods.mc_cpo.spec import MethodArrays
from mccpo.policy import Memory, masked_softmax, mix, sample


@dataclass(frozen=True)
class Sizes:
    """What fixes the compiled program: how much is played and how it is cut up.

    `final` is how many episodes, of a hundred steps each, choose a run's policy among its finalists.

    >>> Sizes(environments=64).rollout
    128
    """

    environments: int = 32
    rollout: int = 128
    minibatch: int = 128
    epochs: int = 4
    final: int = 4096

    def __post_init__(self) -> None:
        if min(self.environments, self.rollout, self.minibatch, self.epochs, self.final) < 1:
            raise InputError(f"a size of {self} is below 1", fix="give whole numbers of at least 1")
        if self.minibatch % self.environments or self.rollout % self.rows:
            raise InputError(
                f"{self} cannot be cut into minibatches",
                fix="let `minibatch` be a multiple of `environments`, and divide `environments` times `rollout`",
            )

    @property
    def steps(self) -> int:
        """Environment steps of one iteration."""
        return self.environments * self.rollout

    @property
    def rows(self) -> int:
        """Time steps, each with all environments, in a minibatch."""
        return self.minibatch // self.environments


class Rollout(NamedTuple):
    """What was played, time first and environments last. `signals` holds the reward to learn from, then the costs.

    `weight` is π/π̃ of the action taken; `totals` and `gain` are the discounted engagement and costs and the mastery
    gained of an episode where it ended, else 0. `member` is the one of the environment's `members` that a learner was
    drawn from.
    """

    features: Float[Array, "time features batch"]
    mask: Bool[Array, "time actions batch"]
    action: Int[Array, "time batch"]
    log_prob: Float[Array, "time batch"]
    weight: Float[Array, "time batch"]
    signals: Float[Array, "time signals batch"]
    values: Float[Array, "time signals batch"]
    ended: Bool[Array, "time batch"]
    totals: Float[Array, "time signals batch"]
    gain: Float[Array, "time batch"]
    unready: Bool[Array, "time batch"]
    frontier: Bool[Array, "time batch"]
    member: Int[Array, "time batch"]


class Playing(NamedTuple):
    """Where the environments stand between two iterations.

    `totals` are weighted by how likely the policy was to come here, `weight`; `spent` is what was in truth spent.
    `memory` is what the network remembers of the episodes.
    """

    state: Any
    obs: Observation
    previous: Bool[Array, "actions batch"]
    discount: Float[Array, " batch"]
    totals: Float[Array, "signals batch"]
    spent: Float[Array, "costs batch"]
    gain: Float[Array, " batch"]
    weight: Float[Array, " batch"]
    memory: Memory = ()


def network_of(env: Environment[Any]) -> Network:
    """The network for an environment."""
    return Network(env.num_features, env.num_actions, 1 + len(env.cost_names))


def begin(env: Environment[Any], sizes: Sizes, key: PRNGKeyArray, network: Network | None = None) -> Playing:
    """Every environment at the start of an episode."""
    state, obs = jax.vmap(env.reset, out_axes=-1)(jax.random.split(key, sizes.environments))
    return Playing(
        state=state,
        obs=obs,
        previous=jnp.ones((env.num_actions, sizes.environments), bool),
        discount=jnp.ones(sizes.environments),
        totals=jnp.zeros((1 + len(env.cost_names), sizes.environments)),
        spent=jnp.zeros((len(env.cost_names), sizes.environments)),
        gain=jnp.zeros(sizes.environments),
        weight=jnp.ones(sizes.environments),
        memory=() if network is None else jax.tree.map(jnp.asarray, network.begin(sizes.environments)),
    )


class Choice(NamedTuple):
    """Actions drawn from the executed policy π̃, with log π and π/π̃ of them."""

    action: Int[Array, " batch"]
    log_prob: Float[Array, " batch"]
    weight: Float[Array, " batch"]


def choose(
    logits: Float[Array, "actions batch"],
    mask: Bool[Array, "actions batch"],
    frontier: Bool[Array, "actions batch"],
    rate: Float[Array, ""] | float,
    uniform: Float[Array, " batch"],
) -> Choice:
    """Draws actions from the policy of the logits, mixed with the frontier at `rate`."""
    policy = masked_softmax(logits, mask, axis=0)
    executed = mix(policy.probs, frontier, rate, axis=0)
    action = sample(uniform, executed, mask, axis=0)
    pick = jnp.arange(logits.shape[0])[:, None] == action
    log_prob = jnp.where(pick, policy.log_probs, 0.0).sum(axis=0)
    weight = jnp.where(pick, policy.probs, 0.0).sum(axis=0) / jnp.where(pick, executed, 0.0).sum(axis=0)
    return Choice(action, log_prob, weight)


def play(
    env: Environment[Any],
    sizes: Sizes,
    method: MethodArrays,
    network: Network,
    parameters: Float[Array, " parameters"],
    playing: Playing,
    key: PRNGKeyArray,
) -> tuple[Playing, Rollout]:
    """Plays on for one iteration; an episode that ends is followed by a new one."""
    choosing, moving, beginning = jax.random.split(key, 3)
    shape = (sizes.rollout, sizes.environments)
    draws = (
        jax.random.uniform(choosing, shape),
        jax.random.split(moving, shape),
        jax.random.split(beginning, shape),
    )

    def act(now: Playing, draw: Any) -> tuple[Playing, Rollout]:
        uniform, move, begin = draw
        mask = now.obs.action_mask | ~method.masked
        frontier = mask & ~now.previous
        logits, values, memory = network.step(parameters, now.memory, now.obs.features)
        choice = choose(logits, mask, frontier, method.frontier_rate, uniform)
        step = jax.vmap(env.step, in_axes=(0, -1, -1), out_axes=-1)(move, now.state, choice.action)
        ended = step.terminated | step.truncated
        learnt = method.engagement * step.reward + method.progress * step.gain
        reach = now.weight * choice.weight
        totals = now.totals + now.discount * reach * jnp.concatenate([step.reward[None], step.costs])
        gain = now.gain + reach * step.gain
        fresh = jax.vmap(env.reset, out_axes=-1)(begin)
        state, obs = jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, (step.state, step.obs))
        after = Playing(
            state=state,
            obs=obs,
            previous=mask | ended,  # nothing is new to a learner who has just begun
            discount=jnp.where(ended, 1.0, now.discount * env.gamma),
            totals=jnp.where(ended, 0.0, totals),
            spent=jnp.where(ended, 0.0, now.spent + now.discount * step.costs),
            gain=jnp.where(ended, 0.0, gain),
            weight=jnp.where(ended, 1.0, reach),
            memory=jax.tree.map(lambda held: jnp.where(ended, 0.0, held), memory),
        )
        return after, Rollout(
            features=now.obs.features,
            mask=mask,
            action=choice.action,
            log_prob=choice.log_prob,
            weight=choice.weight,
            signals=jnp.concatenate([learnt[None], step.costs]),
            values=values,
            ended=ended,
            totals=jnp.where(ended, totals, 0.0),
            gain=jnp.where(ended, gain, 0.0),
            unready=step.unready,
            frontier=frontier.any(axis=0),
            member=jax.vmap(env.member, in_axes=-1)(now.state),
        )

    return jax.lax.scan(act, playing, draws)
