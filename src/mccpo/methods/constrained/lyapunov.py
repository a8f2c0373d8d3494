"""Lyapunov policies distilled: at every state a small program over the ready actions, and a network that learns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.constrained.on_policy import Context, Evidence, OnPolicy
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Fitted
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.registry import register_method
from mccpo.policy import masked_softmax

SWEEPS = 2  # over the budgets, in each of which one multiplier a state is found with the others fixed
HALVINGS = 9  # of the interval in which it lies


class LyapunovOwn(NamedTuple):
    """The critic of advantages by action, their sizes, the averaged costs of episodes, and the states' mean prices."""

    critic: Fitted
    size: Float[Array, " signals"]
    J_c: Float[Array, " costs"]
    seen: Float[Array, ""]
    prices: Float[Array, " costs"]


class Distilled(NamedTuple):
    """What the policy learns from: the states, what their programs say, the value heads' targets."""

    features: Float[Array, "rows features batch"]
    mask: Bool[Array, "rows actions batch"]
    action: Int[Array, "rows batch"]
    wanted: Float[Array, "rows actions batch"]
    targets: Float[Array, "rows signals batch"]


@register_method(label="Distilled Lyapunov")
class Lyapunov(OnPolicy):
    """Lyapunov-based safe policy iteration, distilled into a network.

    **Problem:** L_i is the Lyapunov function of budget i. It is the cost-to-go of the policy so far, plus an auxiliary
    cost ε_i = (d_i - J_ci)/D in each of an episode's D (discounted) steps. At every state the next policy solves

        max_π' Σ_a π'(a|s) A_r(s, a) - τ KL(π' ‖ π)   s.t.   Σ_a π'(a|s) A_ci(s, a) ≤ ε_i

    which is c_i + γ E L_i(s') ≤ L_i(s) in terms of advantages. Its solution is π' ∝ π exp((A_r - Σ λ_i A_ci)/τ), with
    multipliers λ_i(s) of that state alone. The network is fitted to π' by cross-entropy.

    **Source:** Y. Chow, O. Nachum, E. Duéñez-Guzmán, M. Ghavamzadeh, A Lyapunov-based Approach to Safe Reinforcement
    Learning, NeurIPS 2018 (safe policy iteration with distillation).

    **Departures:** a network of their own estimates advantages by action from the rollout, not Q-learning from a
    buffer. The divergence to the last policy makes the linear program's corners smooth, and keeps to where the critic
    has seen data. Multipliers are held below a cap. A policy that misses its budgets, as the first may, has ε_i < 0 and
    so must lessen the cost everywhere. Each state has to keep its bound, so at ε_i = 0 cost cannot be saved in one
    state and spent in another. The optimum is approached from below, and not always reached (see `exact.lyapunov`).
    Under several tight budgets it can end with one of them missed.

    **When to use it:** where a safe policy is at hand to begin with and none on the way should be worse.
    """

    name: ClassVar[str] = "lyapunov"
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"temperature": 0.3},
        {"temperature": 3.0},
        {"cap": 0.2},
        {"memory": 0.8},
        {"settings.tighten": 0.03},
    )
    temperature: float = 1.0
    cap: float = 2.0
    memory: float = 0.5

    def critic(self, env: Environment[Any]) -> Network:
        """The network of advantages: one output for every signal and action."""
        return Network(env.num_features, env.num_actions * (1 + len(env.cost_names)), 1)

    def own(self, env: Environment[Any], key: PRNGKeyArray) -> LyapunovOwn:
        weights = self.critic(env).init(key)
        zero, costs = jnp.zeros_like(weights), jnp.zeros(len(env.cost_names))
        size = jnp.zeros(1 + len(env.cost_names))
        return LyapunovOwn(Fitted(weights, zero, zero), size, costs, jnp.zeros((), jnp.float32), costs)

    def own_prices(self, own: LyapunovOwn) -> Float[Array, "*runs costs"]:
        return own.prices

    def improve(self, context: Context) -> tuple[Fitted, LyapunovOwn]:
        env, sizes, budgets = context.env, context.sizes, context.budgets
        state, evidence, key, share = context.state, context.evidence, context.key, context.share
        fitting, distilling = jax.random.split(key)
        rollout, found = evidence.rollout, evidence.appraisal
        own = self._observe(state.own, evidence)
        batch = ppo.batch_of(rollout, found.advantages[:, 0], found.advantages / own.size[:, None])
        critic = ppo.learn(
            self.critic(env), sizes, self.settings, own.critic, state.iteration, batch, fitting, share, loss=_miss
        )
        features, mask = ppo.wide((rollout.features, rollout.mask))
        policy = masked_softmax(self.network(env).apply(state.parameters, features)[0], mask, axis=0)
        estimates = advantages_of(self.critic(env), critic.parameters, features, policy.probs) * own.size[:, None, None]
        left = jnp.where(own.seen > 0, self.aim(context).limit - own.J_c, 0.0) / env.discounted_horizon
        unit = price_unit(env, budgets) * budgets.active
        solved = state_programs(
            policy.log_probs, mask, estimates[0], estimates[1:], left, self.cap * unit, self.temperature * own.size[0]
        )
        wanted = jnp.moveaxis(solved.probs.reshape(-1, sizes.rollout, sizes.environments), 1, 0)
        lesson = Distilled(rollout.features, rollout.mask, rollout.action, wanted, found.targets)
        fitted = ppo.learn(
            self.network(env),
            sizes,
            self.settings,
            state.fitted,
            state.iteration,
            lesson,
            distilling,
            share,
            loss=distil,
        )
        return fitted, own._replace(critic=critic, prices=solved.prices.mean(axis=1))

    def _observe(self, own: LyapunovOwn, evidence: Evidence) -> LyapunovOwn:
        """The averages after this iteration."""
        memory = jnp.where(own.seen > 0, self.memory, 0.0)
        averaged = jnp.where(evidence.episodes > 0, memory * own.J_c + (1 - memory) * evidence.seen.J_c, own.J_c)
        size = jnp.sqrt((evidence.appraisal.advantages**2).mean(axis=(0, 2)) + 1e-12)
        size = jnp.where(own.size > 0, 0.9 * own.size + 0.1 * size, size)
        return own._replace(J_c=averaged, size=size, seen=own.seen + evidence.episodes)


class Programs(NamedTuple):
    """The solutions of many states' programs, and what a unit of each cost is worth there."""

    probs: Float[Array, "actions batch"]
    prices: Float[Array, "costs batch"]


def state_programs(
    log_probs: Float[Array, "actions batch"],
    mask: Bool[Array, "actions batch"],
    gains: Float[Array, "actions batch"],
    costs: Float[Array, "costs actions batch"],
    limits: Float[Array, " costs"],
    caps: Float[Array, " costs"],
    temperature: Float[Array, ""],
) -> Programs:
    """max Σ π'·gains - τ KL(π' ‖ π) s.t. Σ π'·costs_i ≤ limits_i at every state, at prices of at most `caps`.

    The dual is convex and smooth, and each of its derivatives, limits_i minus the expected cost, rises with its own
    price: one price after the other is found by halving, and the sweeps repeated.
    """

    def policy(prices: Float[Array, "costs batch"]) -> Float[Array, "actions batch"]:
        priced = gains - jnp.einsum("cab,cb->ab", costs, prices)
        return masked_softmax(log_probs + priced / temperature, mask, axis=0).probs

    def one(place: Int[Array, ""], prices: Float[Array, "costs batch"]) -> Float[Array, "costs batch"]:
        low, high = jnp.zeros_like(prices[0]), jnp.broadcast_to(caps[place], prices[0].shape)

        def halve(_: int, interval: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = interval
            middle = 0.5 * (low + high)
            dear = (policy(prices.at[place].set(middle)) * costs[place]).sum(axis=0) > limits[place]
            return jnp.where(dear, middle, low), jnp.where(dear, high, middle)

        low, high = jax.lax.fori_loop(0, HALVINGS, halve, (low, high))
        free = (policy(prices.at[place].set(0.0)) * costs[place]).sum(axis=0) <= limits[place]
        return prices.at[place].set(jnp.where(free, 0.0, high))

    count = len(limits)
    prices = jnp.zeros((count, gains.shape[1]))
    prices = jax.lax.fori_loop(0, SWEEPS * count, lambda turn, prices: one(turn % count, prices), prices)
    return Programs(policy(prices), prices)


def advantages_of(
    network: Network,
    parameters: Float[Array, " parameters"],
    features: Float[Array, "features batch"],
    probs: Float[Array, "actions batch"],
) -> Float[Array, "signals actions batch"]:
    """What a critic says of every action, less the policy's mean of it."""
    said = network.apply(parameters, features)[0].reshape(-1, *probs.shape)
    return said - (said * probs).sum(axis=1, keepdims=True)


def _miss(
    network: Network,
    settings: PPOSettings,
    entropy_weight: Float[Array, ""],
    parameters: Float[Array, " parameters"],
    batch: Any,
) -> Float[Array, ""]:
    """The squared error of the critic on the actions taken."""
    del settings, entropy_weight
    batch = ppo.wide(batch)
    actions = batch.mask.shape[0]
    said = network.apply(parameters, batch.features)[0].reshape(-1, actions, batch.mask.shape[1])
    taken = jnp.where(jnp.arange(actions)[:, None] == batch.action, said, 0.0).sum(axis=1)
    return 0.5 * ((taken - batch.targets) ** 2).mean(axis=1).sum()


def distil(
    network: Network,
    settings: PPOSettings,
    entropy_weight: Float[Array, ""],
    parameters: Float[Array, " parameters"],
    batch: Any,
) -> Float[Array, ""]:
    """The cross-entropy to what the states' programs say, the value heads' error, the entropy bonus."""
    batch = ppo.wide(batch)
    seen = ppo.look(network, parameters, batch.features, batch.mask, batch.action)
    crossed = -(batch.wanted * seen.log_probs).sum(axis=0).mean()
    misses = 0.5 * ((seen.values - batch.targets) ** 2).mean(axis=1).sum()
    return crossed + settings.value_weight * misses - entropy_weight * seen.entropy.mean()
