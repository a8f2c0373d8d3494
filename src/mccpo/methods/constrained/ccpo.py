"""CCPO: one policy for all budgets, which is told the budgets and asked for some that it has not been trained at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.env import Conditioned, Environment, at_kappa
from mccpo.errors import InputError
from mccpo.methods.constrained.on_policy import Context, Evidence, OnPolicy
from mccpo.methods.episodes import Moment, NetworkPolicy, account, evaluation_episodes, perform, summed
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Fitted
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.registry import register_method

LOWEST, HIGHEST = 0.4, 1.0
KNOTS = tuple(round(LOWEST + 0.1 * step, 1) for step in range(7))
"""The κ that it is trained and selected at, and at which multipliers are kept. Those between them it has not seen."""
HEADS = (LOWEST, (LOWEST + HIGHEST) / 2, HIGHEST)
"""The κ that the network has heads for."""


@dataclass(frozen=True)
class KnotNetwork(Network):
    """A network whose last feature is κ: it has heads for a low, a middle and a high κ, and mixes what they say.

    A trunk that sees κ as one feature among many hardly minds it; heads of their own make another κ another policy.
    More of them would fit each its own κ, and the policy change by leaps from one to the next.
    """

    kind: ClassVar[str] = "knots"

    @property
    def _flat(self) -> Network:
        """The network that all heads together are: κ comes as the weights of the knots."""
        heads = len(HEADS) * (self.actions + self.signals)
        return Network(self.features - 1 + len(HEADS), heads - self.signals, self.signals, self.hidden)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return self._flat.shapes

    def init(self, key: PRNGKeyArray) -> Float[Array, " parameters"]:
        """As of a plain network, all heads so small that the first policy is near uniform."""
        return self._flat.init(key)

    def apply(
        self, parameters: Float[Array, " parameters"], features: Float[Array, "features batch"]
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"]]:
        near = nearness(features[-1], HEADS)
        said = jnp.concatenate(self._flat.apply(parameters, jnp.concatenate([features[:-1], near])))
        heads = jnp.einsum("jhb,jb->hb", said.reshape(len(HEADS), self.actions + self.signals, -1), near)
        return heads[: self.actions], heads[self.actions :]


class KnotPrices(NamedTuple):
    """The multipliers as a function of κ.

    **Fields:**

    - `value`: the multipliers in force at each knot; `integral`: their integral part.
    - `missed`, `weight`: how far the episodes near a knot missed what is aimed at, summed, and how many they were;
      both fade, so that their ratio is a running mean.
    """

    value: Float[Array, "knots costs"]
    integral: Float[Array, "knots costs"]
    missed: Float[Array, "knots costs"]
    weight: Float[Array, " knots"]


@register_method(label="CCPO")
class CCPO(OnPolicy):
    """One policy conditioned on the budgets.

    **Problem:** max_π J(π | κ) s.t. J_ci(π | κ) ≤ κ·d_i for all κ in [0.4, 1] at once. The policy and its critics see
    κ. Each learner draws it from the knots 0.4, 0.5 … 1 at the start of an episode, so training never sees a κ between
    two of them. The multipliers are a function of κ, linear between the knots κ_j. Finished episodes move each knot in
    proportion to how near their κ is:

        w_j(κ) = max(0, 1 - |κ - κ_j| / 0.1)
        e_ij   = Σ_n w_j(κ_n)·(C_in/κ_n - d_i)/d_i  /  Σ_n w_j(κ_n)        C_in the cost of episode n
        I_ij   ← max(0, I_ij + β e_ij),   λ_ij = max(0, I_ij + g ē_ij),   λ_i(κ) = Σ_j w_j(κ) λ_ij
        A      = (A_r - Σ λ_i(κ) A_ci) / √(1 + Σ λ_i(κ))

    **Source:** Y. Yao, Z. Liu, Z. Cen, J. Zhu, W. Yu, T. Zhang, D. Zhao, Constraint-Conditioned Policy Optimization for
    Versatile Safe Reinforcement Learning, NeurIPS 2023.

    **Departures:** the published method is off-policy. It estimates cost values by successor features over thresholds,
    solves the dual at each threshold, and fits the policy to the solutions. Here data is on policy and plentiful. So
    the values are fitted as they are, seen at κ, and a proportional-integral rule at the knots follows the dual. There
    are three constraints, all scaled by the one κ. The costs are learnt in units of κ, so that every learner has the
    same budgets and one step size serves all κ. The network mixes heads for a low, a middle and a high κ. Its final
    policy is selected by how it does at each κ, not on average over them. Actions are discrete and masked.

    **When to use it:** where budgets are set after training, or differ from learner to learner.
    """

    name: ClassVar[str] = "ccpo"
    conditioned: ClassVar[bool] = True
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"proportional": 3.0},
        {"dual_rate": 0.1},
        {"settings.tighten": 0.03},
        {"settings.learning_rate": 1e-3},
        {"settings.entropy": 0.02},
    )
    dual_rate: float = 0.03
    proportional: float = 1.0
    memory: float = 0.8
    cap: float = 5.0
    # How episodes of many κ differ says nothing of how those of one do: it sets nothing aside, and aims lower instead.
    settings: PPOSettings = PPOSettings(learning_rate=2e-3, tighten=0.06, aside=0.0)

    def training_environment(self, env: Environment[Any]) -> Conditioned:
        """Where it is trained, under the budgets of κ = 1: learners of every κ, their costs in units of κ."""
        return Conditioned(env, KNOTS, relative=True)

    def environment_at(self, env: Environment[Any], kappa: float) -> Conditioned:
        """Where it is judged at one κ, in the costs as they are."""
        if not LOWEST <= kappa <= HIGHEST:
            raise InputError(f"kappa is {kappa}", fix=f"ask for one from {LOWEST} to {HIGHEST}")
        return at_kappa(env, kappa)

    def network(self, env: Environment[Any]) -> KnotNetwork:
        return KnotNetwork(env.num_features, env.num_actions, 1 + len(env.cost_names))

    def own(self, env: Environment[Any], key: PRNGKeyArray) -> KnotPrices:
        del key
        zero = jnp.zeros((len(KNOTS), len(env.cost_names)))
        return KnotPrices(zero, zero, zero, jnp.zeros(len(KNOTS)))

    def own_prices(self, own: KnotPrices) -> Float[Array, "*runs costs"]:
        """The multipliers of the middle of the range, to be looked at."""
        return own.value[..., len(KNOTS) // 2, :]

    def improve(self, context: Context) -> tuple[Fitted, KnotPrices]:
        env, budgets, state, evidence = context.env, context.budgets, context.state, context.evidence
        unit = price_unit(env, budgets)
        near = nearness(env.view(evidence.rollout.features, "kappa", axis=1))
        own = self.moved(state.own, self.aim(context), unit, near, evidence)
        prices = jnp.einsum("jtb,jc->tcb", near, own.value)
        estimates = evidence.appraisal.advantages
        advantage = estimates[:, 0] - (prices * estimates[:, 1:]).sum(axis=1)
        # By the root, and not by all of it: undivided, learners of the smallest κ, whose prices are
        # highest, are most of what is learnt from; fully divided, they are too little to learn their harder task.
        advantage = advantage / jnp.sqrt(1.0 + (prices / unit[:, None]).sum(axis=1))
        return self.ascend(context, advantage), own

    def own_score(
        self,
        env: Environment[Any],
        budgets: Budgets,
        caution: Float[Array, ""] | float,
        actor: NetworkPolicy,
        key: PRNGKeyArray,
        episodes: int,
    ) -> Float[Array, ""]:
        """The mean, over κ, of the return where the budgets are met, and of what is lost where they are missed.

        Budgets that are met on average, by some κ for others, are not met. A κ that misses them earns nothing, and
        loses the largest return there is times the worst excess.
        """

        def look(moment: Moment) -> Any:
            return account(env, moment), env.view(moment.obs.features, "kappa")

        steps, kappa = perform(env, actor, key, episodes, look)
        seen = summed(env, steps)
        near = nearness(kappa[0])
        count = jnp.maximum(near.sum(axis=1), 1e-3)
        ret, costs, squares = (
            jnp.einsum("je,...e->j...", near, one) / count.reshape(-1, *(1,) * (one.ndim - 1))
            for one in (seen.ret, seen.costs, seen.costs**2)
        )
        spread = jnp.sqrt(jnp.maximum(squares - costs**2, 0.0))
        high = costs + caution * spread * jnp.sqrt(1 / count + 1 / evaluation_episodes(env))[:, None]
        excess = jnp.where(budgets.active > 0, (high - budgets.limit) / budgets.scale, -jnp.inf).max(axis=1)
        return jnp.where(excess <= 0, ret, -budgets.reward_bound * env.discounted_horizon * excess).mean()

    def moved(
        self,
        old: KnotPrices,
        aim: Budgets,
        unit: Float[Array, " costs"],
        near: Float[Array, "knots time batch"],
        evidence: Evidence,
    ) -> KnotPrices:
        """The multipliers after the finished episodes; a knot that none was near keeps its own."""
        ended = near * evidence.rollout.ended
        count = ended.sum(axis=(1, 2))
        spent = jnp.einsum("jtb,tcb->jc", ended, evidence.rollout.totals[:, 1:])
        missed = aim.active * (spent - count[:, None] * aim.limit) / aim.scale
        recent = self.memory * old.missed + missed
        weight = self.memory * old.weight + count
        error = missed / jnp.maximum(count, 1.0)[:, None]
        integral = jnp.clip(old.integral + self.dual_rate * error * unit, 0.0, self.cap * unit)
        averaged = recent / jnp.maximum(weight, 1e-3)[:, None]
        value = jnp.clip(integral + self.proportional * averaged * unit, 0.0, self.cap * unit) * aim.active
        return KnotPrices(value, integral, recent, weight)


def nearness(kappa: Float[Array, "*any"], knots: tuple[float, ...] = KNOTS) -> Float[Array, "knots ..."]:
    """How much each knot counts at a κ: the weights of linear interpolation, which sum to 1 between the outer knots."""
    at = jnp.asarray(knots).reshape(-1, *(1,) * kappa.ndim)
    return jnp.maximum(0.0, 1.0 - jnp.abs(kappa - at) / (knots[1] - knots[0]))
