"""Lagrange multipliers under a proportional–integral rule on the normalised constraint error.

Minimises the dual function of  max_π J(π)  s.t.  J_ci(π) ≤ d_i  by projected ascent on
e_i = (J_ci - d_i) / max(d_i, 0.01·c_max·D(T)):

    I_i ← clip(I_i + β_k e_i, 0, cap)           the integral part: the theorem's slow iterate
    λ_i = clip(I_i + g·ē_i, 0, cap)             with ē_i the error averaged over recent updates, less what chance
                                                explains of it

in units of a price at which cost and reward weigh alike, so that a reward of another scale asks for no other gains.

Clipping I itself, not only λ, is the anti-windup: an unreachable budget does not build up a debt that would outlast it.
The proportional part damps the oscillation of the two and vanishes with the error, so that λ and I share their limit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mccpo.env import Environment, check_budgets


class MultiplierRule(NamedTuple):
    """The gains of the rule: `proportional` g, `memory` (the share of the old average kept in ē), the `cap` on λ.

    Of ē, the proportional part leaves aside what is within `doubt` of its standard errors: episodes that differ much
    from one another would else move the prices by chance. The integral part counts all of it, and chance evens out.
    The cap keeps an unreachable budget from drowning the reward; where λ stands at it, the budget was not met.
    """

    proportional: Float[Array, "*costs"] | float
    memory: Float[Array, ""] | float
    cap: Float[Array, ""] | float
    doubt: Float[Array, ""] | float = 0.0


class Multipliers(NamedTuple):
    """The state of the rule: the multipliers in force, their integral part and the averaged error."""

    value: Float[Array, "*members costs"]
    integral: Float[Array, "*members costs"]
    error: Float[Array, "*members costs"]


class Budgets(NamedTuple):
    """Budgets as arrays over all costs; where a cost carries none, `active` is 0. A floor is a budget below 0.

    `scale` is what its errors are relative to, `bound` the largest value of a cost in one step.
    """

    limit: Float[Array, " costs"]
    scale: Float[Array, " costs"]
    active: Float[Array, " costs"]
    bound: Float[Array, " costs"]
    reward_bound: Float[Array, ""]

    @property
    def least(self) -> Float[Array, " costs"]:
        """The least that may be asked for: nothing of a cost, of a floor as much as can be reached."""
        return jnp.where(self.limit < 0, -self.scale, 0.0)

    def tightened(self, share: Float[Array, ""] | float) -> Float[Array, " costs"]:
        """Limits that ask for so much more: a budget is lower by this share of it, a floor higher."""
        return self.limit * (1.0 - jnp.sign(self.limit) * share)

    @property
    def unit(self) -> Float[Array, " costs"]:
        """The price at which the largest cost of a step weighs as much as the largest reward."""
        return self.reward_bound / jnp.where(self.bound > 0, self.bound, 1.0)  # a cost that is always 0 has any price


def budgets_of(env: Environment[Any], budgets: dict[str, float]) -> Budgets:
    """Budgets and floors by name as arrays in the order of the environment's costs, where a floor is one below 0.

    A budget's errors are relative to itself, a floor's to what can be reached: that is the range a policy can move in.
    """
    check_budgets(env.cost_names, budgets)
    limit = np.array([budgets.get(name, np.inf) for name in env.cost_names])
    active = np.isfinite(limit)
    slight = 0.01 * env.cost_bounds * env.discounted_horizon
    reach = np.array([env.floors.get(name, 0.0) for name in env.cost_names])
    most = np.maximum(np.where(active, limit, 0.0), np.where(reach > 0, reach, slight))
    limit = np.where(reach > 0, -limit, limit)
    scale = np.where(active & (most > 0), most, 1.0)
    arrays = (np.where(active, limit, 0.0), scale, active, env.cost_bounds, env.reward_bound)
    return Budgets(*(jnp.asarray(array, jnp.float32) for array in arrays))


def start(*shape: int) -> Multipliers:
    """Multipliers at zero: of every cost, or of every member and cost."""
    zero = jnp.zeros(shape)
    return Multipliers(zero, zero, zero)


def update(
    rule: MultiplierRule,
    multipliers: Multipliers,
    budgets: Budgets,
    J_c: Float[Array, "*members costs"],
    step_size: Float[Array, "*costs"],
    unit: Float[Array, " costs"] | float = 1.0,
    chance: Float[Array, " costs"] | float = 0.0,
) -> Multipliers:
    """One step of the rule, in units of `unit`, on an estimate of the discounted costs of finished episodes.

    `chance` is the standard error of that estimate.
    """
    error = budgets.active * (J_c - budgets.limit) / budgets.scale
    averaged = rule.memory * multipliers.error + (1 - rule.memory) * error
    cap = rule.cap * unit
    integral = jnp.clip(multipliers.integral + step_size * error * unit, 0.0, cap)
    doubtful = rule.doubt * chance / budgets.scale * jnp.sqrt((1 - rule.memory) / (1 + rule.memory))
    certain = jnp.sign(averaged) * jnp.maximum(jnp.abs(averaged) - doubtful, 0.0)
    value = jnp.clip(integral + rule.proportional * certain * unit, 0.0, cap) * budgets.active
    return Multipliers(value, integral * budgets.active, averaged)
