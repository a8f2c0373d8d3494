"""What is to count at a problem, as the numbers that a search varies, and the policy that is told it.

A point of the search has eleven numbers, all of them logarithms: of each of the five weights half-way through an
episode, of what each grows by from its first lesson to its last, and of how sharply the policy chooses. So a policy can
be told to teach first, and to take what is demanding later. The policy is told what counts at both ends, and in between
what lies on the straight line: its network adds up what it is told, so that this is the network of MC-CPO again, whose
biases and whose weights of the time hold all of it.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from mccpo.env import Environment
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.pretrained.context import (
    COSTS,
    WEIGHTS,
    context_of,
    numbers_of,
    own_weight,
    weight_places,
    weight_units,
)
from mccpo.methods.pretrained.network import fold

LEVELS, TURNS, SHARPNESS = slice(0, WEIGHTS), slice(WEIGHTS, 2 * WEIGHTS), 2 * WEIGHTS
"""Where a point has the weights half-way, what they grow by, and the sharpness."""
POINT = 2 * WEIGHTS + 1
LEAST, MOST = math.log(0.003), math.log(100.0)
NOTHING = math.log(0.01)  # a weight below which there is none
SHARPEST = math.log(8.0)


def asked(env: Environment[Any], budgets: Budgets) -> Bool[Array, " weights"]:
    """Which weights hold something to its budget or its floor."""
    return jnp.zeros(WEIGHTS).at[np.array(weight_places(env))].max(budgets.active) > 0


def weights_at(env: Environment[Any], point: Float[Array, " point"], time: float = 0.5) -> Float[Array, " weights"]:
    """The weights at a time of the episode, beside the 1 of the environment's own reward; not yet of the sum 1."""
    logs = point[LEVELS] + (time - 0.5) * point[TURNS]
    raw = jnp.where(logs > NOTHING, jnp.exp(jnp.minimum(logs, MOST)), 0.0)
    return raw.at[own_weight(env)].set(1.0)


def policy_at(
    env: Environment[Any], budgets: Budgets, parameters: Float[Array, " all"], point: Float[Array, " point"]
) -> Float[Array, " parameters"]:
    """The ordinary parameters of the pretrained policy that is told what counts at a point: see `fold`."""
    early, late = (weights_at(env, point, time) for time in (0.0, 1.0))
    return told(env, budgets, parameters, early, late, jnp.exp(jnp.minimum(point[SHARPNESS], SHARPEST)))


def told(
    env: Environment[Any],
    budgets: Budgets,
    parameters: Float[Array, " all"],
    early: Float[Array, " weights"],
    late: Float[Array, " weights"],
    sharpness: Float[Array, ""],
) -> Float[Array, " parameters"]:
    """The same by the weights of the first and the last lesson, of any sum, and by the sharpness."""
    numbers = numbers_of(env)
    first, last = (context_of(numbers, weights / weights.sum()) for weights in (early, late))
    return fold(parameters, first, last - first, numbers, env, budgets.bound, sharpness)


def prices_at(env: Environment[Any], budgets: Budgets, point: Float[Array, " point"]) -> Float[Array, " costs"]:
    """What weights half-way come to as prices: how much of the reward a unit of each budgeted cost takes off."""
    costs = np.array([env.cost_names.index(name) for name in COSTS])
    worth = weights_at(env, point) / weight_units(numbers_of(env), budgets.bound[costs])
    return budgets.active * worth[np.array(weight_places(env))] / worth[own_weight(env)]
