"""RCPO: the costs are taken off the reward, one critic learns what is left, and the prices move slowest of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.methods.constrained.on_policy import Context, OnPolicy
from mccpo.methods.gradient.gae import appraise
from mccpo.methods.gradient.ppo import Fitted
from mccpo.methods.gradient.rollout import Rollout
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.registry import register_method


@register_method(label="RCPO", also_shared=True)
class RCPO(OnPolicy):
    """Reward-constrained policy optimisation: an actor–critic of the penalised reward under slowly moving prices.

    **Problem:** max_π J(π) s.t. J_ci(π) ≤ d_i, by three timescales: the critic V̂ fastest, the policy on its
    advantage, and the multipliers by projected steps that decay with the iteration k:

        r̂ = r - Σ λ_i c_i,   Â by GAE of r̂ and V̂,   λ_i ← max(0, λ_i + β/(1 + k/h)·(J_ci - d_i)/d_i)

    **Source:** C. Tessler, D. J. Mankowitz, S. Mannor, Reward Constrained Policy Optimization, ICLR 2019.

    **Departures:** there are three multipliers instead of one. Their errors are relative to the budgets, and their
    steps are in the unit in which a cost at its budget weighs as much as the reward. The policy's steps are PPO's
    clipped ones, as in its authors' continuous tasks, on discrete masked actions. The constraints are the costs
    themselves, so no separate penalty signal has to be chosen. Where the best policy has to be a random one, the policy
    swings between two certain ones while the prices settle. Its result is the one that validation selects on the way.

    **When to use it:** where one critic is all that can be afforded. It pays in lag: what the critic has learnt is out
    of date whenever a price moves.
    """

    name: ClassVar[str] = "rcpo"
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"dual_rate": 0.1, "half_life": 60.0},
        {"dual_rate": 0.04, "half_life": 60.0},
        {"dual_rate": 1.0, "half_life": 5.0},
        {"settings.entropy_end": 1.0},
        {"settings.tighten": 0.04},
    )
    dual_rate: float = 0.3
    half_life: float = 20.0

    def improve(self, context: Context) -> tuple[Fitted, Float[Array, " costs"]]:
        env, budgets = context.env, context.budgets
        state, evidence, share = context.state, context.evidence, context.share
        network = self.network(env)
        rollout = penalise(evidence.rollout, state.own)
        found = appraise(env, network, budgets, self.settings, state.parameters, evidence.after, rollout, share)
        single = evidence._replace(appraisal=found)
        fitted = self.ascend(context._replace(evidence=single), found.advantages[:, 0])
        rate = self.dual_rate / (1.0 + state.iteration / self.half_life)
        step = rate * self.new_excess(context) * price_unit(env, budgets)
        return fitted, jnp.maximum(0.0, state.own + step)


def penalise(rollout: Rollout, prices: Float[Array, " costs"]) -> Rollout:
    """The rollout of the penalised reward alone.

    Its costs are 0 for the heads that would value them: these begin at 0, and so stay there and idle.
    """
    reward = rollout.signals[:, 0] - jnp.einsum("tcb,c->tb", rollout.signals[:, 1:], prices)
    return rollout._replace(signals=jnp.zeros_like(rollout.signals).at[:, 0].set(reward))
