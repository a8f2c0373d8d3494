"""FOCOPS: the best policy near the old one in closed form, and first-order steps of the network towards it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.methods.constrained.on_policy import Context, OnPolicy, penalised, ratio_of, upkeep
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.gae import standard
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Batch, Fitted
from mccpo.methods.gradient.rollout import Rollout
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.registry import register_method
from mccpo.policy import masked_softmax


class Known(NamedTuple):
    """A batch, and what the old policy said of every action in it."""

    batch: Batch
    old: Float[Array, "rows actions batch"]


@register_method(label="FOCOPS", also_shared=True)
class FOCOPS(OnPolicy):
    """First-order constrained optimisation in policy space.

    **Problem:** max_π J(π) s.t. J_ci(π) ≤ d_i and KL(π‖π_k) ≤ δ. Over all policies, its solution from advantages is

        π*(a|s) = π_k(a|s)·exp( (A_r - Σ ν_i A_ci)/τ ) / Z(s)

    towards which the network takes gradient steps of KL(π_θ‖π*), in the states where it is still near π_k; the
    multipliers take projected steps:

        ∇ E_s[ 1{KL(π_θ‖π_k) ≤ δ}·( KL(π_θ‖π_k) - E_{a~π_k}[ π_θ/π_k·(A_r - Σ ν_i A_ci) ]/τ ) ]
        ν_i ← clip(ν_i + β·(J_ci - d_i)/d_i, 0, ν_max)

    **Source:** Y. Zhang, Q. Vuong, K. W. Ross, First Order Constrained Optimization in Policy Space, NeurIPS 2020,
    whose λ is τ here.

    **Departures:** there are three multipliers instead of one. Their errors are relative to the budgets. Their steps
    and bound are in the unit in which a cost at its budget weighs as much as the reward. Actions are discrete and
    masked, so the divergence is summed over the ready actions. All epochs are taken. The source stops early once the
    mean divergence exceeds δ, but by then the indicator has stopped the states that matter. The entropy bonus of all
    methods here is kept. Its multipliers only integrate, so it swings around the budgets as PPO-Lagrangian does.

    **When to use it:** where PPO's clip, which looks at the action taken only, is too blunt a trust region.
    """

    name: ClassVar[str] = "focops"
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"dual_rate": 0.03},
        {"temperature": 0.5},
        {"radius": 0.05},
        {"settings.entropy_end": 1.0},
        {"dual_rate": 0.3, "settings.tighten": 0.04},
    )
    temperature: float = 1.0
    radius: float = 0.02
    dual_rate: float = 0.1
    cap: float = 20.0

    def improve(self, context: Context) -> tuple[Fitted, Float[Array, " costs"]]:
        env, budgets, state, evidence = context.env, context.budgets, context.state, context.evidence
        unit = price_unit(env, budgets)
        prices = jnp.clip(state.own + self.dual_rate * self.new_excess(context) * unit, 0.0, self.cap * unit)
        advantage = standard(penalised(evidence.appraisal.advantages, prices))
        network = self.network(env)
        batch = ppo.batch_of(evidence.rollout, advantage, evidence.appraisal.targets)
        known = Known(batch, policy_of(network, state.parameters, evidence.rollout))
        fitted = self.learn(context, known, self.loss)
        return fitted, prices

    def loss(
        self,
        network: Network,
        settings: PPOSettings,
        entropy_weight: Float[Array, ""],
        parameters: Float[Array, " parameters"],
        known: Known,
    ) -> Float[Array, ""]:
        """KL(π_θ‖π*) up to what does not depend on θ, in states near π_k, and the rest of every loss."""
        batch, old = ppo.wide(known)
        seen = ppo.look(network, parameters, batch.features, batch.mask, batch.action)
        divergence = (seen.probs * (seen.log_probs - old)).sum(axis=0)
        near = jax.lax.stop_gradient(divergence <= self.radius)
        pull = ratio_of(seen, batch) * batch.advantage / self.temperature
        towards = jnp.where(near, divergence - pull, 0.0)
        return towards.mean() + upkeep(settings, entropy_weight, seen, batch.targets)


def policy_of(
    network: Network, parameters: Float[Array, " parameters"], rollout: Rollout
) -> Float[Array, "time actions batch"]:
    """What a policy says of every action of a rollout: log-probabilities, 0 outside the mask."""

    def one(features: Float[Array, "features batch"], mask: Any) -> Float[Array, "actions batch"]:
        logits, _ = network.apply(parameters, features)
        return jnp.where(mask, masked_softmax(logits, mask, axis=0).log_probs, 0.0)

    return jax.vmap(one)(rollout.features, rollout.mask)
