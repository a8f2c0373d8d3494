"""Tabular primal–dual REINFORCE: one table of logits, one multiplier per budget, on two timescales.

Ascends the Lagrangian  L(θ, λ) = J(π_θ) - Σ λ_i (J_ci(π_θ) - d_i)  in θ by REINFORCE with step sizes α_k and follows it
in λ by the rule of `mccpo.methods.mc_cpo.multipliers` with step sizes β_k, where

    α_k = α (1 + k/k₀)^-a,  β_k = β (1 + k/k₀)^-b,  1/2 < a < b ≤ 1,

so that Σα = Σβ = ∞, Σα² and Σβ² are finite and β_k/α_k → 0 (Borkar, Stochastic Approximation, 2008, chapter 6). Over
its first updates α_k is held back until the baseline has formed, which leaves these conditions as they are.

Two policies come out. The *averaged* policy, which is the one that is reported, has the mean discounted occupancy of
the iterates of the second half of training, as far as the training episodes show it: since returns and costs are linear
in the occupancy, it is worth their mean value, which is what the convergence of primal–dual averages is about. The
*last* iterate is kept beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env import FiniteEnvironment
from mccpo.methods.mc_cpo import multipliers as duals
from mccpo.methods.mc_cpo.multipliers import Budgets, MultiplierRule, Multipliers
from mccpo.methods.mc_cpo.spec import MethodArrays
from mccpo.policy import masked_softmax, mix, sample

StateT = TypeVar("StateT")


class TabularSettings(NamedTuple):
    """Step sizes and gains of the learner: numbers, so that another setting is not another program.

    `alpha`, `beta`: the first step sizes of policy and multipliers; `*_decay`: the exponents a and b; `warm`: k₀, in
    updates. `entropy` is the weight of an entropy bonus that keeps early steps from settling on one action, and is gone
    (with exponent `entropy_decay`) long before averaging begins. Training aims at budgets `tighten` below those that
    are asked for, so that sampling error leaves the policy on the right side of them. The multipliers of floors move
    `floor_pace` times as fast: their errors are shares of all that can be reached, of which little is left to gain.
    """

    alpha: float | Float[Array, ""] = 8.0
    alpha_decay: float | Float[Array, ""] = 0.6
    beta: float | Float[Array, ""] = 1.0
    beta_decay: float | Float[Array, ""] = 0.9
    warm: float | Float[Array, ""] = 250.0
    entropy: float | Float[Array, ""] = 1.0
    entropy_decay: float | Float[Array, ""] = 2.5
    baseline_rate: float | Float[Array, ""] = 0.1
    tighten: float | Float[Array, ""] = 0.003
    floor_pace: float | Float[Array, ""] = 6.0
    rule: MultiplierRule = MultiplierRule(proportional=0.5, memory=0.9, cap=10.0)


class Average(NamedTuple):
    """Sums over the second half of training: occupancy of each state and action, multipliers, number of updates."""

    occupancy: Float[Array, "states actions"]
    multipliers: Float[Array, " costs"]
    updates: Float[Array, ""]


class TabularState(NamedTuple):
    """Everything that a run needs to go on: with it, a resumed run is the same as an unbroken one."""

    key: PRNGKeyArray
    update: Int[Array, ""]
    theta: Float[Array, "states actions"]
    baseline: Float[Array, "states signals"]
    multipliers: Multipliers
    average: Average


class Progress(NamedTuple):
    """What the training episodes of some updates looked like, on average; `frontier_events` counts per update."""

    ret: Float[Array, ""]
    costs: Float[Array, " costs"]
    gain: Float[Array, ""]
    pi_hack: Float[Array, ""]
    violation_rate: Float[Array, ""]
    prerequisite_violation_rate: Float[Array, ""]
    multipliers: Float[Array, " costs"]
    frontier_events: Float[Array, ""]


class Episodes(NamedTuple):
    """A batch of episodes, time first. `signals` holds the reward that is learnt from, then the costs."""

    number: Int[Array, "time batch"]
    score: Float[Array, "time batch actions"]
    probs: Float[Array, "time batch actions"]
    ratio: Float[Array, "time batch"]
    signals: Float[Array, "time batch signals"]
    gain: Float[Array, "time batch"]
    hacks: Bool[Array, "time batch"]
    unready: Bool[Array, "time batch"]
    frontier: Bool[Array, "time batch"]
    alive: Bool[Array, "time batch"]


def start(env: FiniteEnvironment[Any], key: PRNGKeyArray) -> TabularState:
    """A run before its first update: the uniform policy, multipliers at zero."""
    table = jnp.zeros((env.num_states, env.num_actions))
    costs = len(env.cost_names)
    return TabularState(
        key=key,
        update=jnp.zeros((), jnp.int32),
        theta=table,
        baseline=jnp.zeros((env.num_states, 1 + costs)),
        multipliers=duals.start(costs),
        average=Average(table, jnp.zeros(costs), jnp.zeros(())),
    )


def rollout(
    env: FiniteEnvironment[Any],
    method: MethodArrays,
    theta: Float[Array, "states actions"],
    key: PRNGKeyArray,
    batch: int,
) -> Episodes:
    """Plays a batch of episodes with the executed policy π̃ of the table."""
    choose, move, begin = jax.random.split(key, 3)
    uniforms = jax.random.uniform(choose, (env.horizon, batch))
    keys = jax.random.split(move, (env.horizon, batch))
    state, obs = jax.vmap(env.reset)(jax.random.split(begin, batch))
    previous = obs.action_mask | ~method.masked
    hack = jnp.append(jnp.asarray(env.hack), False)

    def act(carry: Any, inputs: Any) -> tuple[Any, Episodes]:
        state, obs, previous, alive = carry
        uniform, keys = inputs
        number = jax.vmap(env.index)(state)
        mask = obs.action_mask | ~method.masked
        frontier = mask & ~previous
        probs = masked_softmax(theta[number], mask).probs
        executed = mix(probs, frontier, method.frontier_rate)
        action = sample(uniform, executed, mask)
        step = jax.vmap(env.step)(keys, state, action)
        chosen = jax.nn.one_hot(action, env.num_actions)
        ratio = (chosen * probs).sum(-1) / (chosen * executed).sum(-1)
        learnt = method.engagement * step.reward + method.progress * step.gain
        signals = jnp.concatenate([learnt[:, None], step.costs], axis=-1)
        episode = Episodes(
            number=number,
            score=chosen - probs,
            probs=probs,
            ratio=ratio,
            signals=jnp.where(alive[:, None], signals, 0.0),
            gain=jnp.where(alive, step.gain, 0.0),
            hacks=hack[action] & alive,
            unready=step.unready & alive,
            frontier=frontier.any(-1) & alive,
            alive=alive,
        )
        return (step.state, step.obs, mask, alive & ~(step.terminated | step.truncated)), episode

    first = (state, obs, previous, jnp.ones(batch, bool))
    return jax.lax.scan(act, first, (uniforms, keys))[1]


class Estimate(NamedTuple):
    """What a batch says.

    `gradient` is that of the Lagrangian, `entropy_gradient` that of the policy's entropy in the visited states,
    `totals` the discounted signals of an episode, `occupancy` the visits that the average is made of.
    """

    gradient: Float[Array, "states actions"]
    entropy_gradient: Float[Array, "states actions"]
    baseline: Float[Array, "states signals"]
    totals: Float[Array, " signals"]
    occupancy: Float[Array, "states actions"]


def estimate(
    episodes: Episodes,
    baseline: Float[Array, "states signals"],
    prices: Float[Array, " costs"],
    gamma: float,
    baseline_rate: Float[Array, ""] | float,
) -> Estimate:
    """The REINFORCE estimate of ∇L, with the reward of step k weighted by the product of π/π̃ over the steps up to k.

    `prices` is what a unit of each cost takes off the reward. The baseline of a state is subtracted with the weight of
    its own step, which leaves the estimate unbiased.
    """
    horizon, batch = episodes.number.shape
    discount = gamma ** jnp.arange(horizon)[:, None]
    reach = jnp.cumprod(episodes.ratio, axis=0)  # Π_{k ≤ t} π/π̃
    before = jnp.concatenate([jnp.ones_like(reach[:1]), reach[:-1]])  # Π_{k < t} π/π̃
    to_go = jax.lax.cumsum((discount * reach)[..., None] * episodes.signals, axis=0, reverse=True)
    values = baseline[episodes.number]
    centred = to_go - (discount * reach)[..., None] * values
    advantage = centred[..., 0] - centred[..., 1:] @ prices
    weight = jnp.where(episodes.alive, 1.0, 0.0)
    met = jnp.where(before > 0, weight, 0.0)  # after an action that π rules out, π has no part in the episode any more

    def by_state(rows: Float[Array, "time batch width"]) -> Float[Array, "states width"]:
        flat = rows.reshape(horizon * batch, -1)
        return jnp.zeros((baseline.shape[0], flat.shape[1])).at[episodes.number.ravel()].add(flat)

    lived = (weight * before * discount)[..., None]
    surprise = jnp.log(jnp.maximum(episodes.probs, 1e-30))
    entropy = -(episodes.probs * surprise).sum(axis=-1, keepdims=True)
    columns = [
        (weight * advantage)[..., None] * episodes.score / batch,
        lived * -episodes.probs * (surprise + entropy) / batch,
        lived * episodes.probs,
        met[..., None] * (to_go / jnp.where(met > 0, discount * before, 1.0)[..., None] - values),
        met[..., None],
    ]
    actions, signals = episodes.score.shape[-1], baseline.shape[-1]
    sums = by_state(jnp.concatenate(columns, axis=-1))
    ends = [actions, 2 * actions, 3 * actions, 3 * actions + signals]
    gradient, entropy_gradient, visits, errors, counts = jnp.split(sums, ends, axis=-1)
    return Estimate(
        gradient=gradient,
        entropy_gradient=entropy_gradient,
        baseline=baseline + baseline_rate * errors / jnp.maximum(counts, 1.0),
        totals=to_go[0].mean(axis=0),
        occupancy=visits,
    )


def learn(
    env: FiniteEnvironment[Any],
    method: MethodArrays,
    budgets: Budgets,
    settings: TabularSettings,
    state: TabularState,
    batch: int,
    average_from: Int[Array, ""] | int,
) -> tuple[TabularState, Progress]:
    """One update: a batch of episodes, one step of the policy, one step of the multipliers."""
    key, draw = jax.random.split(state.key)
    episodes = rollout(env, method, state.theta, draw, batch)
    prices = method.shaping + state.multipliers.value
    found = estimate(episodes, state.baseline, prices, env.gamma, settings.baseline_rate)
    elapsed = 1.0 + state.update / settings.warm
    # The policy waits for its baseline: full steps without one can saturate a state for good.
    ramp = jnp.minimum(1.0, state.update * settings.baseline_rate / 10.0)
    alpha = settings.alpha * ramp * elapsed**-settings.alpha_decay
    pace = jnp.where(budgets.limit < 0, settings.floor_pace, 1.0) * method.constrained
    beta = settings.beta * elapsed**-settings.beta_decay * pace
    rule = settings.rule._replace(proportional=settings.rule.proportional * pace)
    aim = budgets._replace(limit=budgets.tightened(settings.tighten))
    averaging = jnp.where(state.update >= average_from, 1.0, 0.0)
    # Divided by the total price, a growing multiplier turns the direction of the step rather than lengthening it.
    direction = found.gradient / (budgets.reward_bound + (state.multipliers.value * budgets.bound).sum())
    bonus = settings.entropy * elapsed**-settings.entropy_decay * found.entropy_gradient
    after = TabularState(
        key=key,
        update=state.update + 1,
        theta=state.theta + alpha * (direction + bonus),
        baseline=found.baseline,
        multipliers=duals.update(rule, state.multipliers, aim, found.totals[1:], beta, budgets.unit),
        average=Average(
            occupancy=state.average.occupancy + averaging * found.occupancy,
            multipliers=state.average.multipliers + averaging * state.multipliers.value,
            updates=state.average.updates + averaging,
        ),
    )
    return after, _progress(episodes, found, budgets, state.multipliers.value)


def _progress(episodes: Episodes, found: Estimate, budgets: Budgets, value: Float[Array, " costs"]) -> Progress:
    steps = episodes.alive.sum()
    violates = ((episodes.signals[..., 1:] > 0) & (budgets.active > 0)).any(axis=(0, 2))
    return Progress(
        ret=found.totals[0],
        costs=found.totals[1:],
        gain=episodes.gain.sum(axis=0).mean(),
        pi_hack=episodes.hacks.sum() / steps,
        violation_rate=violates.mean(),
        prerequisite_violation_rate=episodes.unready.sum() / steps,
        multipliers=value,
        frontier_events=episodes.frontier.sum().astype(jnp.float32),
    )


def policies(
    env: FiniteEnvironment[Any], method: MethodArrays, state: TabularState
) -> tuple[Float[Array, "states actions"], Float[Array, "states actions"]]:
    """The averaged and the last policy, over all state numbers; the last stands in where the average saw no visit."""
    states = jax.vmap(env.state)(jnp.arange(env.num_states))
    mask = jax.vmap(env.observe)(states).action_mask | ~method.masked
    last = masked_softmax(state.theta, mask).probs
    visits = state.average.occupancy.sum(axis=-1, keepdims=True)
    averaged = jnp.where(visits > 0, state.average.occupancy / jnp.where(visits > 0, visits, 1.0), last)
    return averaged, last
