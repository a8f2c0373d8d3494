"""The learner as a tutor assumes it to be: what a lesson is expected to bring, by the parameters that a tutor knows.

A learner's group, what it has mastered in truth, and how a judge's learners answer are not among them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from mccpo.env import BinaryMastery, BinaryState, Environment, Tutor, posterior
from mccpo.methods.rules.observed import activities_of, concept_of, over_actions, taught_in


class Outcomes(NamedTuple):
    """What may become of a lesson: the chance of each outcome, and the concept's mastery after it."""

    chance: Float[Array, " outcomes *lessons"]
    K: Float[Array, " outcomes *lessons"]


def rates(
    env: Environment[Any], K: Float[Array, "concepts episodes"], t: Int[Array, " episodes"]
) -> Float[Array, "actions episodes"]:
    """The share of the mastery still missing that a lesson is expected to bring to a ready learner; 0 if none."""
    inner = taught_in(env)
    if isinstance(inner, BinaryMastery):
        state = BinaryState(inner.theta <= K, t)
        concepts = jnp.arange(len(inner.curriculum))
        chance = jax.vmap(jax.vmap(inner.learn_probability, (None, 0)), (-1, None), -1)(state, concepts)
    else:
        gains = jnp.array([activity.gain for activity in activities_of(env)])
        chance = jnp.outer(inner.each(inner.eta), gains).ravel()[:, None] * jnp.ones(t.shape)
    return jnp.pad(chance, ((0, env.num_actions - chance.shape[0]), (0, 0)))


def expected_gain(
    env: Environment[Any], K: Float[Array, "concepts episodes"], t: Int[Array, " episodes"]
) -> Float[Array, "actions episodes"]:
    """The mastery that every action is expected to add, were it ready.

    An answer moves the estimate of mastery up or down and leaves it where it was on average, so it has no part in this.
    """
    return rates(env, K, t) * (1 - over_actions(env, K))


def outcomes(
    env: Environment[Any],
    concept: Int[Array, "*lessons"],
    K: Float[Array, "*lessons"],
    rate: Float[Array, "*lessons"],
) -> Outcomes:
    """What may become of lessons on ready concepts of mastery K: learnt or not, answered right or wrong."""
    inner = taught_in(env)
    if isinstance(inner, BinaryMastery):
        learns = rate * (1 - K)
        return Outcomes(jnp.stack([learns, 1 - learns]), jnp.stack([jnp.ones_like(K), K]))
    if isinstance(inner, Tutor):  # whose answers say nothing that K does not
        return Outcomes(jnp.ones_like(K)[None], (K + rate * (1 - K))[None])
    guess, slip = inner.each(inner.guess)[concept], inner.each(inner.slip)[concept]
    right = K * (1 - slip) + (1 - K) * guess
    seen = jnp.stack([posterior(K, correct, guess, slip) for correct in (True, False)])
    return Outcomes(jnp.stack([right, 1 - right]), seen + rate * (1 - seen))


def lessons(env: Environment[Any]) -> Int[np.ndarray, " lessons"]:
    """The concept of every action that teaches one; these come first among the actions."""
    concepts = concept_of(env)
    return concepts[concepts >= 0]
