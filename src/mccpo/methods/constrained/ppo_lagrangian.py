"""PPO-Lagrangian: PPO on a penalised advantage, a multiplier per budget by plain ascent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from mccpo.methods.constrained.on_policy import Context, OnPolicy, penalised
from mccpo.methods.gradient.ppo import Fitted
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.registry import register_method


@register_method(label="PPO-Lagrangian", also_shared=True)
class PPOLagrangian(OnPolicy):
    """PPO-Lagrangian as it is commonly implemented.

    **Problem:** max_π J(π) s.t. J_ci(π) ≤ d_i, by descent of the Lagrangian in λ ≥ 0 and ascent in π:

        λ_i ← max(0, λ_i + β·(J_ci - d_i)/d_i),   A = (A_r - Σ λ_i A_ci) / (1 + Σ λ_i)

    **Source:** A. Ray, J. Achiam, D. Amodei, Benchmarking Safe Exploration in Deep Reinforcement Learning, 2019.

    **Departures:** there are three multipliers instead of one. Their errors are relative to the budgets, so one step
    size serves costs of any scale. Actions are discrete and masked. λ takes plain steps instead of Adam's, whose size
    would not depend on how far a budget is missed.

    **When to use it:** as the first thing to try, and to see what a proportional part and a frontier add.
    """

    name: ClassVar[str] = "ppo-lagrangian"
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"dual_rate": 0.03},
        {"dual_rate": 0.3},
        {"settings.entropy_end": 1.0},
        {"dual_rate": 0.3, "settings.tighten": 0.04},
        {"dual_rate": 0.3, "settings.learning_rate": 5e-4},
    )
    dual_rate: float = 0.1

    def improve(self, context: Context) -> tuple[Fitted, Float[Array, " costs"]]:
        env, budgets, state, evidence = context.env, context.budgets, context.state, context.evidence
        unit = price_unit(env, budgets)
        prices = jnp.maximum(0.0, state.own + self.dual_rate * self.new_excess(context) * unit)
        advantage = penalised(evidence.appraisal.advantages, prices)
        # Standardising what is ascended takes the place of the division by 1 + Σ λ.
        return self.ascend(context, advantage), prices
