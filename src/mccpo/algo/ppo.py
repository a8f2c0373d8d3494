"""MC-CPO on a PPO backbone: advantages per reward and cost, multipliers, clipped updates.

Ascends the Lagrangian  J(π) - Σ λ_i (J_ci(π) - d_i)  over a masked neural policy. One iteration plays `rollout` steps
in each of `environments` environments, estimates an advantage for the reward and for every cost (GAE, one value head
each), moves the multipliers by the discounted costs of the episodes that ended, combines the advantages at the prices
that the multipliers set, and takes `epochs` passes of clipped policy-gradient steps over the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.algo import multipliers as duals
from mccpo.algo.margin import final_error
from mccpo.algo.masked import masked_softmax
from mccpo.algo.method import Method
from mccpo.algo.multipliers import Budgets, MultiplierRule, Multipliers
from mccpo.algo.network import Network, adam
from mccpo.algo.rollout import Playing, Rollout, Sizes, begin, network_of, play
from mccpo.env import Environment

# The largest change of a log-probability: far beyond any clip, and e^20 times a weight of 0 is 0, where e^100 is NaN.
LARGEST_CHANGE = 20.0


class PPOSettings(NamedTuple):
    """Step sizes and weights of the learner: numbers, so that another setting is not another program.

    The learning rate falls linearly to a twentieth; the entropy bonus falls to zero at `entropy_end` of training. The
    discount rises from 0 to the environment's over the share `foresight` of training: see `_batch`.
    Training aims at budgets `tighten` below those asked for. `step_size` and `rule` move the multipliers in units in
    which 1 makes a cost at its budget weigh as much as a reward of 1 in every step. `averaging` is the share of the old
    average kept, an iteration, in the averaged parameters, from which the final policy is chosen; that choice asks for
    costs `caution` standard errors below their budgets, and the looks before it for `look_caution` of their own.
    `aside` is the share of the choice's margin that training sets aside, too, and aims below the budgets by.
    """

    learning_rate: float | Float[Array, ""] = 1e-3
    clip: float | Float[Array, ""] = 0.2
    gae: float | Float[Array, ""] = 0.99
    foresight: float | Float[Array, ""] = 0.1
    entropy: float | Float[Array, ""] = 0.05
    entropy_end: float | Float[Array, ""] = 0.4
    value_weight: float | Float[Array, ""] = 5.0
    gradient_norm: float | Float[Array, ""] = 0.5
    step_size: float | Float[Array, ""] = 0.1
    tighten: float | Float[Array, ""] = 0.015
    averaging: float | Float[Array, ""] = 0.8
    caution: float | Float[Array, ""] = 1.75
    look_caution: float | Float[Array, ""] = 1.0
    aside: float | Float[Array, ""] = 0.0
    rule: MultiplierRule = MultiplierRule(proportional=3.0, memory=0.5, cap=20.0)


CAREFUL = PPOSettings(tighten=0.005, caution=2.5, look_caution=1.7, aside=1.0)
"""Settings for budgets that must not be missed, on environments of any kind: the benchmark's, for every learner."""


class PPOState(NamedTuple):
    """Everything that a run needs to go on: with it, a resumed run is the same as an unbroken one."""

    key: PRNGKeyArray
    iteration: Int[Array, ""]
    parameters: Float[Array, " parameters"]
    mean: Float[Array, " parameters"]
    square: Float[Array, " parameters"]
    multipliers: Multipliers
    playing: Playing


class Progress(NamedTuple):
    """What an iteration looked like: means over the episodes that ended in it (NaN when none did)."""

    ret: Float[Array, ""]
    costs: Float[Array, " costs"]
    gain: Float[Array, ""]
    prerequisite_violation_rate: Float[Array, ""]
    multipliers: Float[Array, " costs"]
    frontier_events: Float[Array, ""]
    violation_steps: Int[Array, ""]


def start(env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> PPOState:
    """A run before its first iteration."""
    key, weights, learners = jax.random.split(key, 3)
    parameters = network_of(env).init(weights)
    zero = jnp.zeros_like(parameters)
    multipliers = duals.start(len(env.cost_names))
    return PPOState(key, jnp.zeros((), jnp.int32), parameters, zero, zero, multipliers, begin(env, sizes, learners))


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
    seen = look(network, parameters, batch.features, batch.mask, batch.action)
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
    logits, values = network.apply(parameters, features)
    policy = masked_softmax(logits, mask, axis=0)
    log_probs = jnp.where(mask, policy.log_probs, 0.0)  # not -inf, which times a gradient of 0 would be NaN
    pick = jnp.arange(network.actions)[:, None] == action
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
    method: Method,
    budgets: Budgets,
    settings: PPOSettings,
    state: PPOState,
    share: Float[Array, ""],
) -> tuple[PPOState, Progress]:
    """One iteration at `share` of training: play, price, learn."""
    key, playing_key, shuffling = jax.random.split(state.key, 3)
    network = network_of(env)
    playing, rollout = play(env, sizes, method, network, state.parameters, state.playing, playing_key)
    multipliers = _price(env, method, budgets, settings, state.multipliers, rollout)
    prices = method.shaping + multipliers.value
    found = appraise(env, network, budgets, settings, state.parameters, playing, rollout, share)
    batch = batch_of(rollout, priced(found.advantages, prices), found.targets)
    fitted = Fitted(state.parameters, state.mean, state.square)
    fitted = learn(network, sizes, settings, fitted, state.iteration, batch, shuffling, share)
    after = PPOState(key, state.iteration + 1, *fitted, multipliers, playing)
    return after, progress_of(rollout, multipliers.value)


def _price(
    env: Environment[Any],
    method: Method,
    budgets: Budgets,
    settings: PPOSettings,
    multipliers: Multipliers,
    rollout: Rollout,
) -> Multipliers:
    """The multipliers after this iteration's finished episodes; without any they stay as they are."""
    episodes = rollout.ended.sum()
    J_c = rollout.totals.sum(axis=(0, 2))[1:] / jnp.maximum(episodes, 1)
    aim = aim_of(budgets, settings, final_error(env, rollout))
    # A unit of the rule is a reward of one in every step over the budget, so that costs of any scale take like steps.
    unit = budgets.reward_bound * env.discounted_horizon / budgets.scale
    rule = settings.rule._replace(proportional=settings.rule.proportional * method.constrained)
    moved = duals.update(rule, multipliers, aim, J_c, settings.step_size * method.constrained, unit)
    return jax.tree.map(lambda new, old: jnp.where(episodes > 0, new, old), moved, multipliers)


def aim_of(budgets: Budgets, settings: PPOSettings, error: Float[Array, " costs"]) -> Budgets:
    """The budgets that training aims at: below those asked for, so that chance does not show its policy above them.

    `error` is the standard error by which its policy will be judged (`mccpo.algo.margin`).
    """
    margin = settings.aside * settings.caution * error
    return budgets._replace(limit=jnp.maximum(0.0, budgets.limit * (1.0 - settings.tighten) - margin))


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
    gamma = env.gamma * jnp.minimum(1.0, share / settings.foresight)
    scale = value_scale(env, budgets)[:, None]
    last = network.apply(parameters, playing.obs.features)[1] * scale
    values = rollout.values * scale
    found = advantages(rollout.signals, values, rollout.ended, last, gamma, settings.gae)
    return Appraisal(found, (found + values) / scale)


def priced(estimates: Float[Array, "time signals batch"], prices: Float[Array, " costs"]) -> Float[Array, "time batch"]:
    """Advantages at the multipliers' prices, standardised after: a price then means the same for every cost."""
    return standard(estimates[:, 0] - jnp.einsum("tcb,c->tb", estimates[:, 1:], prices))


def standard(advantage: Float[Array, "time batch"]) -> Float[Array, "time batch"]:
    """Advantages of mean 0 and standard deviation 1."""
    return (advantage - advantage.mean()) / (advantage.std() + 1e-8)


def batch_of(
    rollout: Rollout, advantage: Float[Array, "time batch"], targets: Float[Array, "time signals batch"]
) -> Batch:
    """What the clipped update learns from."""
    return Batch(
        rollout.features, rollout.mask, rollout.action, rollout.log_prob, rollout.weight, advantage, targets
    )  # fmt: skip


def value_scale(env: Environment[Any], budgets: Budgets) -> Float[Array, " signals"]:
    """What a value head's output of 1 stands for: half of the most that its signal can add up to."""
    bound = jnp.where(budgets.bound > 0, budgets.bound, 1.0)  # a cost that is always 0 has any scale
    bounds = jnp.concatenate([budgets.reward_bound[None], bound])
    return 0.5 * bounds * env.discounted_horizon


class Fitted(NamedTuple):
    """Parameters and Adam's moments of them."""

    parameters: Float[Array, " parameters"]
    mean: Float[Array, " parameters"]
    square: Float[Array, " parameters"]


# A loss of parameters on some rows of a batch; the batch is any tree of arrays with time first, environments last.
Objective = Callable[[Network, PPOSettings, Float[Array, ""], Float[Array, " parameters"], Any], Float[Array, ""]]


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
        gradient = jax.grad(loss, argnums=3)(network, settings, entropy_weight, parameters, part)
        length = jnp.sqrt((gradient**2).sum())
        gradient = gradient * jnp.minimum(1.0, settings.gradient_norm / (length + 1e-8))
        change, mean, square = adam(gradient, mean, square, step + 1.0, rate)
        return (parameters + change, mean, square, step + 1.0), None

    done = (iteration * sizes.epochs * minibatches).astype(jnp.float32)
    (*after, _), _ = jax.lax.scan(update, (*fitted, done), orders.reshape(-1, sizes.rows))
    return Fitted(*after)


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
