"""Lagrange multipliers under a proportional–integral rule on the normalised constraint error.

Minimises the dual function of  max_π J(π)  s.t.  J_ci(π) ≤ d_i  by projected ascent on
e_i = (J_ci - d_i) / max(d_i, 0.01·c_max·D(T)):

    I_i ← clip(I_i + β_k e_i, 0, cap)           the integral part: the theorem's slow iterate
    λ_i = clip(I_i + g·ē_i, 0, cap)             with ē_i the error averaged over recent updates

Clipping I itself, not only λ, is the anti-windup: an unreachable budget does not build up a debt that would outlast it.
The proportional part damps the oscillation of the two and vanishes with the error, so that λ and I share their limit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mccpo.env import Environment


class MultiplierRule(NamedTuple):
    """The gains of the rule: `proportional` g, `memory` (the share of the old average kept in ē), the `cap` on λ."""

    proportional: Float[Array, ""] | float
    memory: Float[Array, ""] | float
    cap: Float[Array, ""] | float


class Multipliers(NamedTuple):
    """The state of the rule: the multipliers in force, their integral part and the averaged error."""

    value: Float[Array, " costs"]
    integral: Float[Array, " costs"]
    error: Float[Array, " costs"]


class Budgets(NamedTuple):
    """Budgets as arrays over all costs; where a cost carries none, `active` is 0.

    `scale` is what its errors are relative to, `bound` the largest value of a cost in one step.
    """

    limit: Float[Array, " costs"]
    scale: Float[Array, " costs"]
    active: Float[Array, " costs"]
    bound: Float[Array, " costs"]


def budgets_of(env: Environment[Any], budgets: dict[str, float]) -> Budgets:
    """Budgets by name as arrays in the order of the environment's costs."""
    limit = np.array([budgets.get(name, np.inf) for name in env.cost_names])
    active = np.isfinite(limit)
    floor = 0.01 * env.cost_bounds * env.discounted_horizon
    scale = np.where(active, np.maximum(limit, floor), 1.0)
    arrays = (np.where(active, limit, 0.0), scale, active, env.cost_bounds)
    return Budgets(*(jnp.asarray(array, jnp.float32) for array in arrays))


def start(costs: int) -> Multipliers:
    """Multipliers at zero."""
    zero = jnp.zeros(costs)
    return Multipliers(zero, zero, zero)


def update(
    rule: MultiplierRule,
    multipliers: Multipliers,
    budgets: Budgets,
    J_c: Float[Array, " costs"],
    step_size: Float[Array, ""],
) -> Multipliers:
    """One step of the rule on an estimate of the discounted costs of finished episodes."""
    error = budgets.active * (J_c - budgets.limit) / budgets.scale
    averaged = rule.memory * multipliers.error + (1 - rule.memory) * error
    integral = jnp.clip(multipliers.integral + step_size * error, 0.0, rule.cap)
    value = jnp.clip(integral + rule.proportional * averaged, 0.0, rule.cap) * budgets.active
    return Multipliers(value, integral * budgets.active, averaged)
