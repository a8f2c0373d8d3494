"""MC-CPO on a PPO backbone: advantages per reward and cost, multipliers, clipped updates.

Ascends the Lagrangian  J(π) - Σ λ_i (J_ci(π) - d_i)  over a masked neural policy. One iteration plays `rollout` steps
in each of `environments` environments, estimates an advantage for the reward and for every cost (GAE, one value head
each), moves the multipliers by the discounted costs of the episodes that ended, combines the advantages at the prices
that the multipliers set, and takes `epochs` passes of clipped policy-gradient steps over the data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.gradient.gae import appraise
from mccpo.methods.gradient.margin import finished
from mccpo.methods.gradient.members import differences
from mccpo.methods.gradient.network import Network, adam
from mccpo.methods.gradient.rollout import Playing, Rollout, Sizes, begin, play
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo import multipliers as duals
from mccpo.methods.mc_cpo.lagrangian import due_of, priced, prices_in, reprice
from mccpo.methods.mc_cpo.multipliers import Budgets, Multipliers
from mccpo.methods.mc_cpo.spec import MethodArrays
from mccpo.policy import masked_softmax

# The largest change of a log-probability: far beyond any clip, and e^20 times a weight of 0 is 0, where e^100 is NaN.
LARGEST_CHANGE = 20.0
CACHED = 2**20
"""The most numbers of one layer that a minibatch may have and still be learnt from whole: 4 MiB. A program holds about
a dozen such arrays, and beyond that they no longer fit a CPU's cache."""


class PPOState(NamedTuple):
    """Everything that a run needs to go on: with it, a resumed run is the same as an unbroken one.

    There are multipliers for every member that learners are drawn from; `apart` is how far its costs are from the mean.
    """

    key: PRNGKeyArray
    iteration: Int[Array, ""]
    parameters: Float[Array, " parameters"]
    mean: Float[Array, " parameters"]
    square: Float[Array, " parameters"]
    multipliers: Multipliers
    apart: Float[Array, "members costs"]
    playing: Playing

    @property
    def prices(self) -> Float[Array, "*runs costs"]:
        """The multipliers, their mean over members."""
        return self.multipliers.value.mean(axis=-2)


class Progress(NamedTuple):
    """What an iteration looked like: means over the episodes that ended in it (NaN when none did)."""

    ret: Float[Array, ""]
    costs: Float[Array, " costs"]
    gain: Float[Array, ""]
    prerequisite_violation_rate: Float[Array, ""]
    multipliers: Float[Array, " costs"]
    frontier_events: Float[Array, ""]
    violation_steps: Int[Array, ""]


def start(env: Environment[Any], sizes: Sizes, network: Network, key: PRNGKeyArray) -> PPOState:
    """A run before its first iteration."""
    key, weights, learners = jax.random.split(key, 3)
    parameters = network.init(weights)
    zero = jnp.zeros_like(parameters)
    multipliers = duals.start(env.members, len(env.cost_names))
    playing = begin(env, sizes, learners, network)
    return PPOState(key, jnp.zeros((), jnp.int32), parameters, zero, zero, multipliers, multipliers.error, playing)


class Batch(NamedTuple):
    """What the clipped update learns from: rows of time, all environments in each."""

    features: Float[Array, "rows features batch"]
    mask: Bool[Array, "rows actions batch"]
    action: Int[Array, "rows batch"]
    log_prob: Float[Array, "rows batch"]
    weight: Float[Array, "rows batch"]
    advantage: Float[Array, "rows batch"]
    targets: Float[Array, "rows signals batch"]


def objective(
    network: Network,
    settings: PPOSettings,
    entropy_weight: Float[Array, ""],
    parameters: Float[Array, " parameters"],
    batch: Batch,
) -> Float[Array, ""]:
    """The loss: clipped surrogate weighted by π_old/π̃, squared error of the value heads, entropy bonus."""
    batch = wide(batch)
    return loss_of(settings, entropy_weight, look(network, parameters, batch.features, batch.mask, batch.action), batch)


def loss_of(settings: PPOSettings, entropy_weight: Float[Array, ""], seen: Look, batch: Batch) -> Float[Array, ""]:
    """The loss of what a network makes of a batch that is `wide`."""
    ratio = jnp.exp(jnp.minimum(seen.log_prob - batch.log_prob, LARGEST_CHANGE))
    surrogate = batch.weight * clipped(ratio, batch.advantage, settings.clip)
    misses = 0.5 * ((seen.values - batch.targets) ** 2).mean(axis=1).sum()
    return -surrogate.mean() + settings.value_weight * misses - entropy_weight * seen.entropy.mean()


def wide(batch: Any) -> Any:
    """A batch whose rows of time and environments are one long axis, the last."""
    return jax.tree.map(lambda rows: jnp.moveaxis(rows, 0, -2).reshape(*rows.shape[1:-1], -1), batch)


class Look(NamedTuple):
    """What a network makes of a batch: its policy, what it says of the actions taken, its values."""

    log_probs: Float[Array, "actions batch"]
    probs: Float[Array, "actions batch"]
    log_prob: Float[Array, " batch"]
    entropy: Float[Array, " batch"]
    values: Float[Array, "signals batch"]


def look(
    network: Network,
    parameters: Float[Array, " parameters"],
    features: Float[Array, "features batch"],
    mask: Bool[Array, "actions batch"],
    action: Int[Array, " batch"],
) -> Look:
    """A network's policy and values on a batch; `log_probs` are 0 outside the mask."""
    return look_at(*network.apply(parameters, features), mask, action)


def look_at(
    logits: Float[Array, "actions batch"],
    values: Float[Array, "signals batch"],
    mask: Bool[Array, "actions batch"],
    action: Int[Array, " batch"],
) -> Look:
    """The same of logits and values."""
    policy = masked_softmax(logits, mask, axis=0)
    log_probs = jnp.where(mask, policy.log_probs, 0.0)  # not -inf, which times a gradient of 0 would be NaN
    pick = jnp.arange(len(logits))[:, None] == action
    log_prob = jnp.where(pick, log_probs, 0.0).sum(axis=0)
    return Look(log_probs, policy.probs, log_prob, -(policy.probs * log_probs).sum(axis=0), values)


def clipped(
    ratio: Float[Array, " batch"], advantage: Float[Array, " batch"], clip: Float[Array, ""] | float
) -> Float[Array, " batch"]:
    """PPO's surrogate: no reward for moving a probability further than `clip`."""
    return jnp.minimum(ratio * advantage, jnp.clip(ratio, 1.0 - clip, 1.0 + clip) * advantage)


def iterate(
    env: Environment[Any],
    sizes: Sizes,
    method: MethodArrays,
    budgets: Budgets,
    settings: PPOSettings,
    network: Network,
    state: PPOState,
    share: Float[Array, ""],
    cut: Callable[[Sizes, Playing, Rollout, Batch], Cut] | None = None,
) -> tuple[PPOState, Progress]:
    """One iteration at `share` of training: play, price, learn. `cut` makes minibatches, by default of rows of time."""
    key, playing_key, shuffling = jax.random.split(state.key, 3)
    now = exploring(method, settings, share)
    playing, rollout = play(env, sizes, now, network, state.parameters, state.playing, playing_key)
    apart = differences(state.apart, rollout, finished(rollout))
    multipliers = reprice(env, sizes, method, budgets, settings, state.multipliers, rollout, apart)
    prices = prices_in(method.shaping + multipliers.value, rollout)
    due = due_of(env, sizes, budgets, settings, state.playing, rollout)
    found = appraise(env, network, budgets, settings, state.parameters, playing, rollout, share)
    batch = batch_of(rollout, priced(found.advantages, prices, due), found.targets)
    fitted = Fitted(state.parameters, state.mean, state.square)
    part = Cut(sizes, batch, objective) if cut is None else cut(sizes, state.playing, rollout, batch)
    fitted = learn(network, part.sizes, settings, fitted, state.iteration, part.batch, shuffling, share, part.loss)
    after = PPOState(key, state.iteration + 1, *fitted, multipliers, apart, playing)
    return after, progress_of(rollout, after.prices)


def exploring(method: MethodArrays, settings: PPOSettings, share: Float[Array, ""]) -> MethodArrays:
    """The method as it plays at this share of training: its frontier rate falls to zero at `frontier_end`.

    With 0, the default, nothing is mixed in. The surrogate is weighted by the ratio of the single step, which leaves
    a bias: it corrects neither how a state was reached nor what follows it, as the tabular method's product does.
    """
    left = jnp.where(share < settings.frontier_end, 1.0 - share / settings.frontier_end, 0.0)
    rate = method.frontier_rate * left
    return eqx.tree_at(lambda one: one.frontier_rate, method, rate)


def batch_of(
    rollout: Rollout, advantage: Float[Array, "time batch"], targets: Float[Array, "time signals batch"]
) -> Batch:
    """What the clipped update learns from."""
    return Batch(
        rollout.features, rollout.mask, rollout.action, rollout.log_prob, rollout.weight, advantage, targets
    )  # fmt: skip


class Fitted(NamedTuple):
    """Parameters and Adam's moments of them."""

    parameters: Float[Array, " parameters"]
    mean: Float[Array, " parameters"]
    square: Float[Array, " parameters"]


# A loss of parameters on some rows of a batch; the batch is any tree of arrays with time first, environments last.
Objective = Callable[[Network, PPOSettings, Float[Array, ""], Float[Array, " parameters"], Any], Float[Array, ""]]


class Cut(NamedTuple):
    """What is learnt from, as `learn` cuts it into minibatches along its first axis, and the loss of these."""

    sizes: Sizes
    batch: Any
    loss: Objective


def learn(
    network: Network,
    sizes: Sizes,
    settings: PPOSettings,
    fitted: Fitted,
    iteration: Int[Array, ""],
    batch: Any,
    key: PRNGKeyArray,
    share: Float[Array, ""],
    loss: Objective = objective,
) -> Fitted:
    """Steps of Adam down a loss, over shuffled minibatches of all epochs."""
    rate = settings.learning_rate * jnp.maximum(1.0 - share, 0.05)
    entropy_weight = settings.entropy * jnp.maximum(1.0 - share / settings.entropy_end, 0.0)
    minibatches = sizes.rollout // sizes.rows
    orders = jax.vmap(lambda one: jax.random.permutation(one, sizes.rollout))(jax.random.split(key, sizes.epochs))

    def update(carry: Any, rows: Int[Array, " rows"]) -> tuple[Any, None]:
        parameters, mean, square, step = carry
        part = jax.tree.map(lambda leaf: leaf[rows], batch)
        gradient = gradient_of(loss, network, settings, entropy_weight, parameters, part)
        length = jnp.sqrt((gradient**2).sum())
        gradient = gradient * jnp.minimum(1.0, settings.gradient_norm / (length + 1e-8))
        change, mean, square = adam(gradient, mean, square, step + 1.0, rate)
        return (parameters + change, mean, square, step + 1.0), None

    done = (iteration * sizes.epochs * minibatches).astype(jnp.float32)
    (*after, _), _ = jax.lax.scan(update, (*fitted, done), orders.reshape(-1, sizes.rows))
    return Fitted(*after)


def gradient_of(
    loss: Objective,
    network: Network,
    settings: PPOSettings,
    entropy_weight: Float[Array, ""],
    parameters: Float[Array, " parameters"],
    part: Any,
) -> Float[Array, " parameters"]:
    """The gradient of a loss on a minibatch. Of a large one it is the mean over parts, which are kinder to the cache.

    Only PPO's own loss is known to be a mean over the minibatch; with another, the minibatch stays whole.
    """
    slope = partial(jax.grad(loss, argnums=3), network, settings, entropy_weight, parameters)
    pieces = pieces_of(network, part) if loss is objective else 1
    if pieces == 1:
        return slope(part)
    cut = jax.tree.map(lambda leaf: leaf.reshape(pieces, -1, *leaf.shape[1:]), part)
    total, _ = jax.lax.scan(lambda so_far, piece: (so_far + slope(piece), None), jnp.zeros_like(parameters), cut)
    return total / pieces


def pieces_of(network: Network, part: Batch) -> int:
    """Into how many parts a minibatch is cut, each of whole rows of time."""
    rows, learners = part.action.shape
    divisors = [pieces for pieces in range(1, rows + 1) if rows % pieces == 0]
    small = [pieces for pieces in divisors if network.widest * rows * learners <= pieces * CACHED]
    return min(small, default=rows)


def progress_of(rollout: Rollout, prices: Float[Array, " costs"]) -> Progress:
    """What an iteration looked like, at the prices of the costs that were in force."""
    episodes = rollout.ended.sum()
    totals = rollout.totals.sum(axis=(0, 2)) / episodes
    return Progress(
        ret=totals[0],
        costs=totals[1:],
        gain=rollout.gain.sum() / episodes,
        prerequisite_violation_rate=rollout.unready.mean(),
        multipliers=prices,
        frontier_events=rollout.frontier.sum().astype(jnp.float32),
        violation_steps=rollout.unready.sum(),
    )
