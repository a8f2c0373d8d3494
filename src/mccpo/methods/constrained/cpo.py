"""CPO: the best step that a trust region and the linearised budgets allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.constrained.on_policy import Context, Evidence, OnPolicy
from mccpo.methods.constrained.trust_region import best_step, conjugate_gradients
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.gae import Appraisal, appraise
from mccpo.methods.gradient.ledger import ledger_of
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch, Fitted
from mccpo.methods.gradient.rollout import Rollout, Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.registry import register_method
from mccpo.policy import masked_softmax

CONJUGATE = 10  # products with the Fisher matrix a step
FISHER_ROWS = 16  # of the rollout's time, from which that matrix is estimated
TRIALS = 10  # of the line search
BACKTRACK = 0.7


class CPOOwn(NamedTuple):
    """What is kept beside the policy: its critic, what a unit of each budget was worth, averages of what was played.

    `J_c` is an average of the latest finished episodes' costs, and `rate` one of the episodes finished a step.
    """

    critic: Fitted
    prices: Float[Array, " costs"]
    J_c: Float[Array, " costs"]
    rate: Float[Array, ""]
    seen: Float[Array, ""]


@register_method(label="CPO", also_shared=True)
class CPO(OnPolicy):
    """Constrained policy optimisation: a natural-gradient step within a trust region, every budget linearised.

    **Problem:** from π_k with parameters θ_k, with g the gradient of J, b_i of J_ci, c_i = J_ci(π_k) - d_i and H the
    Fisher matrix of the policy,

        maximise gᵀx   s.t.   b_iᵀx + c_i ≤ 0,   ½ xᵀHx ≤ δ,   θ_{k+1} = θ_k + x

    The dual has as many variables as there are budgets. It is solved exactly: every set of budgets that may bind has a
    closed form, and the best feasible one is the optimum. Where no step is feasible, x goes to the edge of the region,
    towards the nearest feasible step. The gain plays no part then. The step is shortened until the divergence is within
    1.5 δ, no budget's estimate rises beyond it, and, where all are met, the gain's estimate rises.

    **Source:** J. Achiam, D. Held, A. Tamar, P. Abbeel, Constrained Policy Optimization, ICML 2017.

    **Departures:** there are three constraints instead of one. Actions are discrete and masked. Products with the
    Fisher matrix are over part of the rollout. Gradients weigh a step by γ^t, so J_ci and its gradient are in the unit
    of the budget. c_i is an average over recent iterations, since few episodes end in one. There is an entropy bonus
    early on, as all learners here have. The measured divergence may exceed δ by half, since ½ xᵀHx only estimates it. δ
    shrinks as training goes on, as others' learning rate does. The critic is a second network, fitted by Adam after
    each step. Value heads on the policy's trunk would move the policy outside the trust region.

    **When to use it:** where every single update should respect the budgets, not only their average over training.
    """

    name: ClassVar[str] = "cpo"
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"radius": 0.02},
        {"radius": 0.1},
        {"memory": 0.8},
        {"damping": 0.1},
        {"settings.tighten": 0.03},
    )
    radius: float = 0.05
    radius_end: float = 0.1
    damping: float = 0.01
    memory: float = 0.5

    def own(self, env: Environment[Any], key: PRNGKeyArray) -> CPOOwn:
        network = self.network(env)
        weights = network.init(key)  # of the critic
        zero, costs = jnp.zeros_like(weights), jnp.zeros(len(env.cost_names))
        rate = jnp.asarray(1.0 / env.horizon, jnp.float32)
        return CPOOwn(Fitted(weights, zero, zero), costs, costs, rate, jnp.zeros((), jnp.float32))

    def own_prices(self, own: CPOOwn) -> Float[Array, "*runs costs"]:
        return own.prices

    def improve(self, context: Context) -> tuple[Fitted, CPOOwn]:
        env, sizes, budgets = context.env, context.sizes, context.budgets
        state, evidence, key, share = context.state, context.evidence, context.key, context.share
        rows_key, critic_key = jax.random.split(key)
        network, own = self.network(env), self._observe(state.own, sizes, evidence)
        found = _appraised(self, env, budgets, own, evidence, share)
        surrogate = self._surrogates(env, network, budgets, own, state.parameters, evidence, found, share)
        theta = state.parameters
        gradients = jax.jacrev(surrogate)(theta)
        product = _fisher(network, theta, evidence.rollout, rows_key, self.damping)
        natural = jax.vmap(lambda one: conjugate_gradients(product, one, CONJUGATE))(gradients)
        inner = gradients @ natural.T
        inner = 0.5 * (inner + inner.T)
        off = (own.J_c - self.aim(context).limit) / budgets.scale
        active = jnp.where(own.seen > 0, budgets.active, 0.0)
        radius = self.radius * jnp.maximum(1.0 - share, self.radius_end)
        step = best_step(inner[0, 0], inner[0, 1:], inner[1:, 1:], off, active, radius)
        direction = step.gain * natural[0] - step.costs @ natural[1:]
        divergence = _divergence(network, theta, evidence.rollout)

        def accepts(moved: Float[Array, " parameters"]) -> Bool[Array, ""]:
            change = surrogate(moved)
            gains = (change[0] >= 0.0) | ~step.feasible | ((off > 0) & (active > 0)).any()
            meets = (active * (change[1:] + off) <= jnp.maximum(active * off, 0.0)).all()
            return (divergence(moved) <= 1.5 * radius) & gains & meets

        parameters = line_search(theta, direction, accepts)
        batch = ppo.batch_of(evidence.rollout, found.advantages[:, 0], found.targets)
        critic = ppo.learn(
            network, sizes, self.settings, own.critic, state.iteration, batch, critic_key, share, loss=value_loss
        )
        prices = step.multipliers * active / budgets.scale
        return Fitted(parameters, *state.fitted[1:]), own._replace(critic=critic, prices=prices)

    def _observe(self, own: CPOOwn, sizes: Sizes, evidence: Evidence) -> CPOOwn:
        """The averages after this iteration's finished episodes."""
        memory = jnp.where(own.seen > 0, self.memory, 0.0)
        averaged = jnp.where(evidence.episodes > 0, memory * own.J_c + (1 - memory) * evidence.seen.J_c, own.J_c)
        rate = 0.9 * own.rate + 0.1 * evidence.episodes / sizes.steps
        return own._replace(J_c=averaged, rate=rate, seen=own.seen + evidence.episodes)

    def _surrogates(
        self,
        env: Environment[Any],
        network: Network,
        budgets: Budgets,
        own: CPOOwn,
        theta: Float[Array, " parameters"],
        evidence: Evidence,
        found: Appraisal,
        share: Float[Array, ""],
    ) -> Callable[[Float[Array, " parameters"]], Float[Array, " signals"]]:
        """Estimates of how J and the costs, each in units of its budget, change with the parameters."""
        discount = ledger_of(env, evidence.before, evidence.rollout).discount
        batch = ppo.wide(ppo.batch_of(evidence.rollout, discount, found.advantages))
        centred = batch.targets - batch.targets.mean(axis=1, keepdims=True)
        weights = (
            batch.advantage * batch.weight / own.rate
        )  # a step's share of its episode, as often as an episode ends
        scales = jnp.concatenate([jnp.ones(1), budgets.scale])
        bonus = self.settings.entropy * jnp.maximum(1.0 - share / self.settings.entropy_end, 0.0) * centred[0].std()

        def change(parameters: Float[Array, " parameters"]) -> Float[Array, " signals"]:
            seen = ppo.look(network, parameters, batch.features, batch.mask, batch.action)
            ratio = jnp.exp(jnp.minimum(seen.log_prob - batch.log_prob, ppo.LARGEST_CHANGE))
            found = (weights * (ratio - 1.0) * centred).mean(axis=1) / scales
            return found.at[0].add(bonus * (weights * seen.entropy).mean())

        start = jax.lax.stop_gradient(change(theta))
        return lambda parameters: change(parameters) - start


def line_search(
    theta: Float[Array, " parameters"],
    direction: Float[Array, " parameters"],
    accepts: Callable[[Float[Array, " parameters"]], Bool[Array, ""]],
) -> Float[Array, " parameters"]:
    """The longest of ever shorter steps that is accepted; where none is, no step."""

    def goes_on(carry: tuple[Any, Any]) -> Bool[Array, ""]:
        trial, length = carry
        return (trial < TRIALS) & ~accepts(theta + length * direction)

    first = (jnp.zeros((), jnp.int32), jnp.ones((), jnp.float32))
    trial, length = jax.lax.while_loop(goes_on, lambda carry: (carry[0] + 1, carry[1] * BACKTRACK), first)
    return jnp.where(trial < TRIALS, theta + length * direction, theta)


def value_loss(
    network: Network,
    settings: PPOSettings,
    entropy_weight: Float[Array, ""],
    parameters: Float[Array, " parameters"],
    batch: Batch,
) -> Float[Array, ""]:
    """The squared error of the value heads alone."""
    del entropy_weight
    batch = ppo.wide(batch)
    values = network.apply(parameters, batch.features)[1]
    return settings.value_weight * 0.5 * ((values - batch.targets) ** 2).mean(axis=1).sum()


def _appraised(
    learner: CPO, env: Environment[Any], budgets: Budgets, own: CPOOwn, evidence: Evidence, share: Float[Array, ""]
) -> Appraisal:
    """Advantages and targets by the critic's own network."""
    network, rollout, critic = learner.network(env), evidence.rollout, own.critic.parameters
    values = jax.vmap(lambda features: network.apply(critic, features)[1])(rollout.features)
    rollout = rollout._replace(values=values)
    return appraise(env, network, budgets, learner.settings, critic, evidence.after, rollout, share)


def _fisher(
    network: Network, theta: Float[Array, " parameters"], rollout: Rollout, key: PRNGKeyArray, damping: float
) -> Callable[[Float[Array, " parameters"]], Float[Array, " parameters"]]:
    """Products with the Fisher matrix of the policy, over some rows of the rollout, and a damping of its diagonal."""
    rows = jax.random.permutation(key, rollout.action.shape[0])[:FISHER_ROWS]
    features, mask = ppo.wide((rollout.features[rows], rollout.mask[rows]))
    logits, pull = jax.vjp(lambda parameters: network.apply(parameters, features)[0], theta)
    # Forward derivatives by turning the backward ones round: networks that share weights have their own backward ones.
    push = jax.linear_transpose(pull, logits)
    probs = masked_softmax(logits, mask, axis=0).probs

    def product(vector: Float[Array, " parameters"]) -> Float[Array, " parameters"]:
        (moved,) = push((vector,))
        spread = probs * (moved - (probs * moved).sum(axis=0)) / features.shape[1]
        return pull(spread)[0] + damping * vector

    return product


def _divergence(
    network: Network, theta: Float[Array, " parameters"], rollout: Rollout
) -> Callable[[Float[Array, " parameters"]], Float[Array, ""]]:
    """The mean divergence of a policy from the one that played."""
    features, mask, action = ppo.wide((rollout.features, rollout.mask, rollout.action))
    old = ppo.look(network, theta, features, mask, action)

    def divergence(parameters: Float[Array, " parameters"]) -> Float[Array, ""]:
        new = ppo.look(network, parameters, features, mask, action)
        return (old.probs * (old.log_probs - new.log_probs)).sum(axis=0).mean()

    return divergence
