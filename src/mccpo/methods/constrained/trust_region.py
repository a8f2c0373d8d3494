"""The step of constrained policy optimisation: a linear gain and linear costs within a quadratic trust region.

    maximise gᵀx   subject to   b_iᵀx + c_i ≤ 0 for every i,   ½ xᵀHx ≤ δ

Only products with H⁻¹ enter: q = gᵀH⁻¹g, r_i = b_iᵀH⁻¹g, S_ij = b_iᵀH⁻¹b_j. The answer is x = H⁻¹(α g - Σ β_i b_i).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

# Relative to what single precision leaves of a sum of squares: below it, a length is taken for 0.
ROUNDING = 1e-5


class Step(NamedTuple):
    """How much of the gain's direction and of each cost's is taken, what a unit of each cost is worth, whether it fits.

    `feasible` is false where no step within the region meets the linearised budgets. The step then recovers: it goes as
    far as it may towards the nearest one that would.
    """

    gain: Float[Array, ""]
    costs: Float[Array, " costs"]
    multipliers: Float[Array, " costs"]
    feasible: Bool[Array, ""]


def best_step(
    q: Float[Array, ""],
    r: Float[Array, " costs"],
    S: Float[Array, "costs costs"],
    c: Float[Array, " costs"],
    active: Float[Array, " costs"],
    radius: Float[Array, ""] | float,
) -> Step:
    """The best step, found by trying every set of budgets that may bind; `radius` is δ, `active` says which i count.

    In each set A the costs stand at their budgets and the rest of the radius goes to the gain's part that leaves them
    there. The optimum is among these, so it is the best of those that hold the other budgets.
    """
    length = jnp.sqrt(jnp.maximum(jnp.diagonal(S), 0.0))
    counts = (active > 0) & (length > 1e-12)  # a cost that no step changes can be neither met nor missed by one
    unit = jnp.where(counts, length, 1.0)
    r, c, S = jnp.where(counts, r / unit, 0.0), jnp.where(counts, c / unit, -jnp.inf), S / jnp.outer(unit, unit)
    sets = jnp.asarray(np.array(list(product([False, True], repeat=len(r))), bool).reshape(2 ** len(r), len(r)))
    tried = jax.vmap(lambda binding: _try(q, r, S, c, binding, radius))(sets)
    possible = tried.holds & (sets <= counts).all(axis=1)
    best = jnp.where(possible & tried.within, tried.value, -jnp.inf).argmax()
    feasible = (possible & tried.within).any()
    nearest = jnp.where(possible & tried.nearest, tried.reach, jnp.inf).argmin()
    # Where even without a region nothing meets all of them, each violated one pulls by how far it is missed.
    missed = jnp.maximum(jnp.where(counts, c, 0.0), 0.0)
    towards = jnp.where((possible & tried.nearest).any(), tried.base[nearest], missed)
    reach = jnp.sqrt(jnp.maximum(towards @ S @ towards, 1e-12))
    recovery = towards * jnp.sqrt(2.0 * radius) / reach
    return Step(
        gain=jnp.where(feasible, tried.gain[best], 0.0),
        costs=jnp.where(feasible, tried.costs[best], recovery) / unit,
        multipliers=jnp.where(feasible, jnp.maximum(tried.multipliers[best], 0.0), 0.0) / unit,
        feasible=feasible,
    )


class _Tried(NamedTuple):
    """The step that a set of binding budgets gives, in units in which every cost's direction has length 1.

    `base` alone puts the binding costs at their budgets by the shortest way, of squared length `reach`. `holds`: the
    numbers are sound; `within`: the step is in the region and meets the others; `nearest`: so does `base`, wherever.
    """

    gain: Float[Array, ""]
    costs: Float[Array, " costs"]
    multipliers: Float[Array, " costs"]
    value: Float[Array, ""]
    base: Float[Array, " costs"]
    reach: Float[Array, ""]
    holds: Bool[Array, ""]
    within: Bool[Array, ""]
    nearest: Bool[Array, ""]


def _try(
    q: Float[Array, ""],
    r: Float[Array, " costs"],
    S: Float[Array, "costs costs"],
    c: Float[Array, " costs"],
    binding: Bool[Array, " costs"],
    radius: Float[Array, ""] | float,
) -> _Tried:
    among = jnp.outer(binding, binding)
    matrix = jnp.where(among, S, jnp.eye(len(r)))
    inverse = jnp.where(among, jnp.linalg.inv(matrix), 0.0)
    missed = jnp.where(binding, c, 0.0)
    base = inverse @ missed
    reach = missed @ base
    left = 2.0 * radius - reach
    kept = jnp.where(binding, r, 0.0)
    rest = q - kept @ inverse @ kept
    # Where the gain lies in the span of the binding costs, no direction is left to it, and rounding must not be one.
    lies = rest > ROUNDING * q
    price = jnp.where(lies, jnp.sqrt(jnp.maximum(rest, 0.0) / jnp.maximum(left, 1e-20)), 0.0)
    gain = jnp.where(lies, 1.0 / jnp.maximum(price, 1e-20), 0.0)
    costs = base + gain * (inverse @ kept)
    slack = 1e-3 * jnp.sqrt(2.0 * radius)
    change, shortest = gain * r - S @ costs, -S @ base
    nearest = jnp.where(binding, True, shortest + c <= slack).all()
    return _Tried(
        gain=gain,
        costs=costs,
        multipliers=inverse @ (kept + price * missed),
        value=gain * q - costs @ r,
        base=base,
        reach=reach,
        holds=(jnp.linalg.det(matrix) > ROUNDING) & (reach >= 0.0),
        within=(left >= 0.0) & jnp.where(binding, True, change + c <= slack).all(),
        nearest=nearest & (base >= -ROUNDING).all(),
    )


def conjugate_gradients(
    product: Callable[[Float[Array, " parameters"]], Float[Array, " parameters"]],
    wanted: Float[Array, " parameters"],
    iterations: int,
) -> Float[Array, " parameters"]:
    """x with H x near `wanted`, by as many products with H as there are iterations."""

    def step(_: int, carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        x, residual, direction, square = carry
        image = product(direction)
        length = square / jnp.maximum(direction @ image, 1e-30)
        x, residual = x + length * direction, residual - length * image
        new = residual @ residual
        return x, residual, residual + new / jnp.maximum(square, 1e-30) * direction, new

    first = (jnp.zeros_like(wanted), wanted, wanted, wanted @ wanted)
    return jax.lax.fori_loop(0, iterations, step, first)[0]
