"""Whole episodes of whoever teaches: a learnt policy as it is executed, or a rule that a tutor follows.

A learnt policy is executed without frontier mixing, and through the method's filter where it has one.
Arrays are (…, episode): see `mccpo.methods.gradient.network` for why the batch comes last.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env import Environment, FiniteEnvironment, Observation, TimeStep
from mccpo.errors import InputError
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.rollout import network_of
from mccpo.methods.mc_cpo.spec import MethodArrays, execute
from mccpo.policy import Memory, masked_softmax, sample

EVALUATION_EPISODES = 2000
"""By which tables judge a policy that cannot be judged exactly."""
SEEN_AT_ONCE = 2**17
"""Numbers that are seen of all learners of a block of episodes, about, so that what a network makes of them stays in a
cache: 300 learners of 110 concepts are seen by as many, and are played 2.5 times as fast as 4,000 at once."""
AT_ONCE, FEWEST = 2**18, 64
"""Numbers of a network's widest layer that are worked out at once, and the fewest learners that they are of: a policy
on a hundred concepts takes half the time for 500 learners where 62 of them at a time pass through its layers."""
BLOCKS_BESIDE = 32
"""Blocks that an accelerator plays beside each other, since it needs many learners at once to be busy."""


def evaluation_episodes(env: Environment[Any]) -> float:
    """By how many episodes tables judge a policy; in a finite environment exactly, as by all that there can be."""
    return math.inf if isinstance(env.unwrapped, FiniteEnvironment) else EVALUATION_EPISODES


class Moment(NamedTuple):
    """One step of many episodes: what was seen, done and brought about. `alive` is false once an episode has ended.

    `chances` are those that the action was drawn by.
    """

    state: Any
    obs: Observation
    action: Int[Array, " episodes"]
    step: TimeStep[Any]
    alive: Bool[Array, " episodes"]
    chances: Float[Array, "actions+1 episodes"]


class Episodes(NamedTuple):
    """What a policy did in episodes of its own, one entry an episode. `ret`, `costs` and `learning` are discounted.

    `gain` is the mastery gained in truth, where the environment knows it, and `learning` the same with discount;
    `mastered` is the number of concepts that were mastered in truth when the episode ended.
    `unready` counts the steps that taught what was not ready by the environment's account, `untrue` those that taught
    what the learner was in truth not ready for, where K is an estimate. `member` is the one of the environment's
    `members` that each learner was drawn from; None where there is but one.
    """

    ret: Float[Array, " episodes"]
    costs: Float[Array, "costs episodes"]
    engagement: Float[Array, " episodes"]
    gain: Float[Array, " episodes"]
    violates: Bool[Array, " episodes"]
    unready: Float[Array, " episodes"]
    untrue: Float[Array, " episodes"]
    length: Float[Array, " episodes"]
    learning: Float[Array, " episodes"]
    mastered: Float[Array, " episodes"]
    member: Int[Array, " episodes"] | None = None


class Policy(eqx.Module):
    """What chooses the next activity, by what is seen of a learner; it may remember what it saw in the same episode.

    `name` is what commands call a rule.
    """

    name: ClassVar[str] = ""

    def begin(self, env: Environment[Any], episodes: int) -> Any:
        """What is remembered before the first step of so many episodes, the batch last; nothing by default."""
        del env, episodes
        return ()

    @abc.abstractmethod
    def probabilities(self, env: Environment[Any], memory: Any, obs: Observation) -> Float[Array, "actions+1 episodes"]:
        """The chance of every action, the no-op's last; `obs` is of all episodes, the batch last."""

    def remember(self, env: Environment[Any], memory: Any, moment: Moment) -> Any:
        """What is remembered after a step. It may go on what a tutor sees of it, and never on `state.latent`."""
        del env, moment
        return memory


class NetworkPolicy(Policy):
    """A learnt policy, as its method executes it. `told` is the κ that it is told beside what it sees, if it is."""

    method: MethodArrays
    parameters: Float[Array, " parameters"]
    network: Network = eqx.field(static=True)
    told: float | None = eqx.field(static=True, default=None)

    def begin(self, env: Environment[Any], episodes: int) -> Memory:
        del env
        return jax.tree.map(jnp.asarray, self.network.begin(episodes))

    def probabilities(self, env: Environment[Any], memory: Any, obs: Observation) -> Float[Array, "actions+1 episodes"]:
        mask = obs.action_mask | ~self.method.masked
        logits = self._logits(memory, self._seen(obs))
        probs = masked_softmax(logits, mask, axis=0).probs
        return execute(self.method, probs.T, obs.action_mask.T, jnp.asarray(env.hack)).T

    def remember(self, env: Environment[Any], memory: Memory, moment: Moment) -> Memory:
        del env
        return self.network.remember(self.parameters, memory, self._seen(moment.obs))

    def _logits(self, memory: Memory, seen: Float[Array, "features episodes"]) -> Float[Array, "actions episodes"]:
        """The logits, some learners after others where the layers of all of them would leave the cache."""
        features, episodes = seen.shape
        size = learners_at_once(self.network, episodes)
        if size == episodes:
            return self.network.step(self.parameters, memory, seen)[0]
        whole = jnp.pad(seen, ((0, 0), (0, -episodes % size)), mode="edge")
        parts = whole.reshape(features, -1, size).swapaxes(0, 1)
        logits = jax.lax.map(lambda part: self.network.apply(self.parameters, part)[0], parts)
        return logits.swapaxes(0, 1).reshape(logits.shape[1], -1)[:, :episodes]

    def _seen(self, obs: Observation) -> Float[Array, "features episodes"]:
        if self.told is None:
            return obs.features
        told = jnp.full((1, obs.features.shape[-1]), self.told, obs.features.dtype)
        return jnp.concatenate([obs.features, told])


def learners_at_once(network: Network, episodes: int) -> int:
    """How many learners of so many are best seen by a network at once; all of them where it remembers what it saw."""
    if jax.default_backend() != "cpu" or network.remembers:
        return episodes
    parts = episodes // max(AT_ONCE // network.widest, FEWEST)  # what fits nearly twice is left whole
    return -(-episodes // max(parts, 1))


def perform(
    env: Environment[Any], actor: Policy, key: PRNGKeyArray, episodes: int, look: Callable[[Moment], Any]
) -> Any:
    """Plays episodes from start to end, and gives what `look` made of every moment, time first."""
    beginning, playing = jax.random.split(key)
    state, obs = jax.vmap(env.reset, out_axes=-1)(jax.random.split(beginning, episodes))

    def act(carry: Any, draw: PRNGKeyArray) -> tuple[Any, Any]:
        state, obs, alive, memory = carry
        choosing, moving = jax.random.split(draw)
        executed = actor.probabilities(env, memory, obs)
        _check_shape(actor, executed, (len(env.action_names) + 1, episodes))
        action = sample(jax.random.uniform(choosing, (episodes,)), executed, executed > 0, axis=0)
        keys = jax.random.split(moving, episodes)
        step = jax.vmap(env.step, in_axes=(0, -1, -1), out_axes=-1)(keys, state, action)
        moment = Moment(state, obs, action, step, alive, executed)
        after = (step.state, step.obs, alive & ~(step.terminated | step.truncated))
        return (*after, actor.remember(env, memory, moment)), look(moment)

    first = (state, obs, jnp.ones(episodes, bool), actor.begin(env, episodes))
    return jax.lax.scan(act, first, jax.random.split(playing, env.horizon))[1]


def _check_shape(actor: Policy, chances: Any, shape: tuple[int, int]) -> None:
    """Refuses chances without the row for doing nothing: an action that is not there would be taken for the last."""
    if jnp.shape(chances) != shape:
        raise InputError(
            f"{type(actor).__name__}.probabilities gives the shape {jnp.shape(chances)}",
            fix=f"give {shape}: a row for each of the {shape[0] - 1} actions, one for doing nothing, a column for "
            "each episode",
        )


def trace(
    env: Environment[Any],
    method: MethodArrays,
    parameters: Float[Array, " parameters"],
    key: PRNGKeyArray,
    episodes: int,
    look: Callable[[Moment], Any],
) -> Any:
    """What `look` made of every moment of a learnt policy's episodes, time first."""
    return perform(env, NetworkPolicy(method, parameters, network_of(env)), key, episodes, look)


def judge(
    env: Environment[Any],
    method: MethodArrays,
    parameters: Float[Array, " parameters"],
    key: PRNGKeyArray,
    episodes: int,
) -> Episodes:
    """What a learnt policy is worth in episodes played for the purpose."""
    return evaluate_policy(env, NetworkPolicy(method, parameters, network_of(env)), key, episodes)


def evaluate_policy(env: Environment[Any], actor: Policy, key: PRNGKeyArray, episodes: int) -> Episodes:
    """What whoever teaches is worth in episodes played for the purpose.

    Where learners are seen by very many numbers, the episodes are played in blocks, one after the other: the memory
    that they take then grows with the concepts, and not with concepts times episodes. Blocks are the same, and so are
    the random numbers, wherever they are played.

    >>> import jax
    >>> from mccpo import METHODS, make
    >>> played = evaluate_policy(make("gate"), METHODS["random-ready"].build(), jax.random.key(0), episodes=4)
    >>> played.ret.shape
    (4,)
    """
    blocks = max(episodes * env.num_features // SEEN_AT_ONCE, 1)  # what fits nearly twice is left whole
    if blocks == 1:
        return _evaluated(env, actor, key, episodes)
    size = -(-episodes // blocks)
    beside = None if jax.default_backend() == "cpu" else min(BLOCKS_BESIDE, blocks)
    keys = jax.random.split(key, blocks)
    parts = jax.lax.map(lambda block: _evaluated(env, actor, block, size), keys, batch_size=beside)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -2).reshape(*leaf.shape[1:-1], -1)[..., :episodes], parts)


def _evaluated(env: Environment[Any], actor: Policy, key: PRNGKeyArray, episodes: int) -> Episodes:
    return summed(env, perform(env, actor, key, episodes, lambda moment: account(env, moment)))


def account(env: Environment[Any], moment: Moment) -> Episodes:
    """What one step adds to its episodes, undiscounted; nothing once they have ended."""
    step, counts = moment.step, moment.alive.astype(jnp.float32)
    which = jnp.array([name in env.constrained for name in env.cost_names])[:, None]
    ready = jnp.vstack([jax.vmap(env.truly_ready, in_axes=-1, out_axes=-1)(moment.state), jnp.ones_like(moment.alive)])
    return Episodes(
        ret=counts * step.reward,
        costs=counts * step.costs,
        engagement=counts * step.reward,
        gain=counts * step.gain,
        violates=((step.costs > 0) & which).any(axis=0) & moment.alive,
        unready=counts * step.unready,
        untrue=counts * ~jnp.take_along_axis(ready, moment.action[None], axis=0)[0],
        length=counts,
        learning=counts * step.gain,
        mastered=jnp.where(moment.alive & (step.terminated | step.truncated), _mastered(env, step.state), 0.0),
        member=None if env.members == 1 else jax.vmap(env.member, in_axes=-1)(moment.state),
    )


def _mastered(env: Environment[Any], state: Any) -> Float[Array, " episodes"] | float:
    """How many concepts each learner has mastered; 0 where the environment does not count them."""
    known = jax.vmap(env.mastered, in_axes=-1)(state)
    return 0.0 if known is None else known


def summed(env: Environment[Any], steps: Episodes) -> Episodes:
    """Episodes from the account of their steps, time first."""
    discount = env.gamma ** jnp.arange(steps.length.shape[0])
    return Episodes(
        ret=jnp.tensordot(discount, steps.ret, axes=1),
        costs=jnp.tensordot(discount, steps.costs, axes=1),
        engagement=steps.engagement.sum(axis=0),
        gain=steps.gain.sum(axis=0),
        violates=steps.violates.any(axis=0),
        unready=steps.unready.sum(axis=0),
        untrue=steps.untrue.sum(axis=0),
        length=steps.length.sum(axis=0),
        learning=jnp.tensordot(discount, steps.learning, axes=1),
        mastered=steps.mastered.sum(axis=0),
        member=None if steps.member is None else steps.member[0],
    )
