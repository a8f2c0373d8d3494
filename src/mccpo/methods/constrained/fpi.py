"""FPI: reward where the budget will do for the rest of the episode, less cost where it will not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.constrained.on_policy import Context, OnPolicy
from mccpo.methods.gradient.ledger import expected_costs
from mccpo.methods.gradient.ppo import Fitted
from mccpo.methods.mc_cpo.lagrangian import price_unit
from mccpo.methods.registry import register_method

FURTHEST = 1.0  # that the border of the feasible region may be moved, in budgets


@register_method(label="FPI", also_shared=True)
class FPI(OnPolicy):
    """Feasible policy iteration: a feasibility function parts the states in two, and each region has its own aim.

    **Problem:** S_i,t is the discounted cost of the episode so far. The feasibility function at its t-th state is what
    would be left of each budget at its end, F_i(s_t) = (d_i - S_i,t - γ^t V_ci(s_t)) / d_i. Where every F_i > 0 the
    state is feasible and the reward is maximised behind a barrier; elsewhere costs that are too high are lessened:

        feasible:    A = A_r - μ Σ_i A_ci / max(F_i, ϕ)        (the slope of μ Σ log F_i)
        infeasible:  A = - (μ/ϕ) Σ_{i: F_i ≤ 0} A_ci

    with costs in units at which one at its budget weighs as much as a reward of its bound in every step.

    **Source:** Y. Yang, Z. Zheng, S. E. Li, J. Duan, J. Liu, X. Zhan, Y.-Q. Zhang, Feasible Policy Iteration, 2023.

    **Departures:** the published constraint holds in every state and for ever, ours for the expected discounted sum
    from the start. Its feasibility function decays to the first violation; ours is the budget's expected remainder,
    from the cost critics. An episode of average cost is then often infeasible part of the way though the policy is not.
    That keeps costs well below their budgets. So the border F_i > 0 is moved by ρ·e_i, and by ζ·e_i more with every
    iteration, with e_i = (d_i - J_ci)/d_i. This goes on until the budgets are met on average (`response`,
    `calibration`). The policy does not see S, so that states which look alike share what both regions ask of them. A
    price that differs by state is not the optimum of a constraint on the mean, which has one price for all. The policy
    step is PPO's clipped one.

    **When to use it:** where a budget is meant for every learner, and not only for their mean.
    """

    name: ClassVar[str] = "fpi"
    search: ClassVar[tuple[Mapping[str, float], ...]] = (
        {},
        {"barrier": 0.005},
        {"barrier": 0.03},
        {"calibration": 0.0, "response": 0.0},
        {"response": 4.0},
        {"floor": 0.3},
    )
    barrier: float = 0.01
    floor: float = 0.1
    calibration: float = 0.05
    response: float = 2.0

    def own(self, env: Environment[Any], key: PRNGKeyArray) -> Float[Array, "2 costs"]:
        del key
        return jnp.zeros((2, len(env.cost_names)))

    def own_prices(self, own: Float[Array, "*runs 2 costs"]) -> Float[Array, "*runs costs"]:
        return own[..., 0, :]

    def improve(self, context: Context) -> tuple[Fitted, Float[Array, "2 costs"]]:
        env, budgets, state, evidence = context.env, context.budgets, context.state, context.evidence
        missed = self.excess(context)
        border = jnp.clip(state.own[1] - self.calibration * self.new_excess(context), -FURTHEST, FURTHEST)
        left = self.feasibility(context) + (border - self.response * missed)[:, None]
        exceeds = (left <= 0) & (budgets.active[:, None] > 0)
        feasible = ~exceeds.any(axis=1)
        prices = self.barrier / jnp.maximum(left, self.floor) * (price_unit(env, budgets) * budgets.active)[:, None]
        estimates = evidence.appraisal.advantages
        gained = estimates[:, 0] - (prices * estimates[:, 1:]).sum(axis=1)
        lessened = -(jnp.where(exceeds, prices, 0.0) * estimates[:, 1:]).sum(axis=1)
        advantage = jnp.where(feasible, gained, lessened)
        fitted = self.ascend(context, advantage)
        return fitted, jnp.stack([prices.mean(axis=(0, 2)), border])

    def feasibility(self, context: Context) -> Float[Array, "time costs batch"]:
        """What is expected to be left of every budget at the end of the episode, relative to it."""
        evidence, budgets = context.evidence, context.budgets
        expected = expected_costs(context.env, budgets, evidence.before, evidence.rollout)
        return (self.aim(context).limit[:, None] - expected) / budgets.scale[:, None]
