"""The ranges that learners and engagement are drawn from: what fits to public logs span, rounded outwards.

The fits are of Bayesian knowledge tracing to ASSISTments 2009 and Junyi 2015, as `mccpo prepare` makes them. They give
each concept a K₀ from 0.02 to 0.98, an η from 0.014 to 0.5, a guess from 0.02 to 0.49 and a slip from 0.06 to 0.42.
Base engagement is 0.6 to 0.85, and episodes have 35 to 150 lessons. Within the ranges everything is drawn anew for each
problem. Nothing of a data set's graph, or of the parameters of its concepts, is used.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

LONGEST = 200
"""Lessons of the longest episode."""
MOST_DOUBT = 4.6  # the logarithm of the factor by which a gate may hold back odds: a hundredth of them then counts


class DrawnNumbers(NamedTuple):
    """What is drawn of a problem beside its graph: the parameters of `Tutoring` by name, and what learners are like.

    **Fields:**

    - `known`: whether mastery is known, and not estimated; `by_chance`: whether the gate asks for a joint chance.
    - `spread`: how far the pace and the start of single learners are from what the tutor believes, as a factor.
    - `length`: the lessons of an episode.
    """

    K0: Float[Array, " concepts"]
    eta: Float[Array, " concepts"]
    guess: Float[Array, " concepts"]
    slip: Float[Array, " concepts"]
    doubt: Float[Array, " concepts"]
    theta: Float[Array, ""]
    confidence: Float[Array, ""]
    r_base: Float[Array, ""]
    r_difficulty: Float[Array, ""]
    r_novelty: Float[Array, ""]
    novelty_span: Float[Array, ""]
    c2_gain: Float[Array, ""]
    c3_demand: Float[Array, ""]
    c4_rate: Float[Array, ""]
    known: Bool[Array, ""]
    by_chance: Bool[Array, ""]
    spread: Float[Array, ""]
    length: Float[Array, ""]


def draw_numbers(key: PRNGKeyArray, demand: Float[Array, " concepts"], there: Bool[Array, " concepts"]) -> DrawnNumbers:
    """The numbers of one problem, on concepts of these demands."""
    learning, engaging, gating = jax.random.split(key, 3)
    K0, eta, guess, slip = _learners(learning, demand)
    draws = iter(jax.random.split(engaging, 13))

    def uniform(low: float, high: float) -> Float[Array, ""]:
        return jax.random.uniform(next(draws), minval=low, maxval=high)

    pace = jnp.where(there, eta, 0.0).sum() / there.sum()
    lowest, highest = demand.min(), jnp.where(there, demand, 0.0).max()
    known = jax.random.bernoulli(next(draws), 0.4)
    by_chance, doubtful = jax.random.bernoulli(gating, 0.5, (2,))
    return DrawnNumbers(
        K0=K0,
        eta=eta,
        guess=guess,
        slip=slip,
        doubt=jnp.full_like(K0, jnp.where(doubtful, 1.0 - jnp.exp(-uniform(0.0, MOST_DOUBT)), 0.0)),
        theta=uniform(0.5, 0.95),
        confidence=1.0 - jnp.exp(-uniform(1.2, 4.7)),
        r_base=uniform(0.4, 0.95),
        r_difficulty=uniform(0.3, 1.8),
        r_novelty=uniform(0.0, 0.15),
        novelty_span=jnp.exp(uniform(math.log(2.0), math.log(12.0))),
        c2_gain=pace * uniform(0.1, 0.6),
        c3_demand=lowest + (highest - lowest) * uniform(0.1, 1.0),
        c4_rate=uniform(0.4, 1.6) / pace,
        known=known,
        by_chance=by_chance & ~known,
        spread=uniform(0.0, 0.5),
        length=jnp.floor(jnp.exp(uniform(math.log(20.0), math.log(LONGEST + 1.0)))),
    )


def _learners(
    key: PRNGKeyArray, demand: Float[Array, " concepts"]
) -> tuple[Float[Array, " concepts"], Float[Array, " concepts"], Float[Array, " concepts"], Float[Array, " concepts"]]:
    """K₀, η, guess and slip of each concept: the same for all, or each its own about a mean; harder ones known less."""
    bases, own, mixing = jax.random.split(key, 3)
    base = jax.random.uniform(bases, (4,))
    noise = jax.random.normal(own, (4, *demand.shape))
    apart, ease = jax.random.uniform(mixing, (2,)) * jnp.array([1.2, 2.0])
    apart = jnp.where(apart < 0.3, 0.0, apart)  # a quarter of problems have concepts that are all alike
    start = jax.scipy.special.logit(0.05 + 0.8 * base[0]) + apart * noise[0] - ease * (apart > 0) * (demand - 0.4)
    K0 = jnp.clip(jax.nn.sigmoid(start), 0.02, 0.98)
    eta = jnp.clip(jnp.exp(jnp.log(0.02) + jnp.log(15.0) * base[1] + 0.6 * apart * noise[1]), 0.01, 0.5)
    guess = jnp.clip(0.05 + 0.35 * base[2] + 0.08 * apart * noise[2], 0.02, 0.49)
    slip = jnp.clip(0.04 + 0.26 * base[3] + 0.08 * apart * noise[3], 0.02, 0.42)
    return K0, eta, guess, slip
