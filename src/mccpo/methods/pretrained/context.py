"""What a pretrained policy is told of a problem beside what it sees of the learner: what counts, and the numbers of it.

What counts are five weights: of engagement, of the costs c2, c3 and c4, and of learning. Their sum is 1, and each is in
a unit in which its signal is about 1 in a step, so that a policy need not know the scale of anything. Prices of any
height, and learning as the objective, are then points of one simplex. While a policy is trained, all
of this is constant in an episode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.env import Environment
from mccpo.env.tutor import Tutoring
from mccpo.env.tutor.problems import DrawnProblem

COSTS = ("c2", "c3", "c4")
LEARNING = ("learning", "learning-total", "mastered")
"""Floors that are about learning: a lesson that teaches serves each of them."""
WEIGHTS = 2 + len(COSTS)
SLIGHT = 0.01  # the weight below which weights hardly differ


class Numbers(NamedTuple):
    """The numbers of a problem: those of engagement, costs, gate and length, and means over its concepts.

    `confidence` is 0 where the gate asks for θ; `known` is 1 where mastery is known, else 0; `pace` is the mean η,
    `start` the mean K₀, `room` the lessons there are for each concept.
    """

    r_base: Float[Array, ""]
    r_difficulty: Float[Array, ""]
    r_novelty: Float[Array, ""]
    novelty_span: Float[Array, ""]
    c2_gain: Float[Array, ""]
    c3_demand: Float[Array, ""]
    c4_rate: Float[Array, ""]
    theta: Float[Array, ""]
    confidence: Float[Array, ""]
    doubt: Float[Array, ""]
    known: Float[Array, ""]
    length: Float[Array, ""]
    room: Float[Array, ""]
    pace: Float[Array, ""]
    start: Float[Array, ""]


SHARED = Numbers._fields[:8]
"""Those that a tutor has under these names."""


def numbers_of(env: Environment[Any]) -> Numbers:
    """The numbers of a tutor at hand."""
    tutor = env.unwrapped
    assert isinstance(tutor, Tutoring)  # as `check_applies` has seen
    by_chance = tutor.confidence is not None
    own = {
        "confidence": tutor.confidence if by_chance else 0.0,
        "doubt": jnp.mean(tutor.each(tutor.doubt)) * by_chance,
        "known": 0.0 if tutor.estimates else 1.0,
        "length": env.horizon,
        "room": env.horizon / len(tutor.curriculum),
        "pace": jnp.mean(tutor.each(tutor.eta)),
        "start": jnp.mean(tutor.each(tutor.K0)),
    }
    return _numbers(tutor, own)


def drawn_numbers_of(problem: DrawnProblem) -> Numbers:
    """The numbers of a drawn problem, whose means leave padding out."""
    there = problem.graph.there

    def mean(values: Float[Array, " concepts"]) -> Float[Array, ""]:
        return jnp.where(there, values, 0.0).sum() / there.sum()

    own = {
        "confidence": jnp.where(problem.by_chance, jnp.asarray(problem.confidence), 0.0),
        "doubt": jnp.where(problem.by_chance, mean(jnp.asarray(problem.doubt)), 0.0),
        "known": problem.known,
        "length": problem.length,
        "room": problem.length / there.sum(),
        "pace": mean(jnp.asarray(problem.eta)),
        "start": mean(jnp.asarray(problem.K0)),
    }
    return _numbers(problem, own)


def context_of(numbers: Numbers, weights: Float[Array, " weights"]) -> Float[Array, " context"]:
    """What a policy is told: the weights, also by their order of magnitude, and the numbers; most lie in [−1, 1]."""
    n = numbers
    by_chance = n.confidence > 0
    magnitude = 1.0 + jnp.log(jnp.maximum(weights, SLIGHT)) / -math.log(SLIGHT)
    scaled = [
        2 * n.r_base - 1,
        n.r_difficulty - 1,
        10 * n.r_novelty - 0.5,
        jnp.log(n.novelty_span / 5),
        jnp.clip(4 * n.c2_gain / n.pace, 0.0, 3.0) - 1,
        2 * n.c3_demand - 1,
        jnp.clip(n.c4_rate * n.pace, 0.0, 3.0) - 1,
        jnp.where(by_chance, 0.0, 2 * n.theta - 1),
        jnp.where(by_chance, -jnp.log1p(-n.confidence) / 2, 0.0),
        -jnp.log1p(-n.doubt) / 2,
        n.known,
        jnp.log(n.length / 60),
        jnp.log(jnp.clip(n.room, 0.8, 60.0) / 6) / 2,
        jnp.log(n.pace / 0.08),
        2 * n.start - 1,
    ]
    return jnp.concatenate([weights, magnitude, jnp.stack(scaled)])


def own_weight(env: Environment[Any]) -> int:
    """The place of the weight of an environment's reward: engagement, or learning where that is the objective."""
    return WEIGHTS - 1 if getattr(env, "objective", "engagement") == "learning" else 0


def weight_places(env: Environment[Any]) -> list[int]:
    """For each cost of an environment, the place of the weight that holds it down; a cost may stand for a floor."""
    places = {
        "engagement": 0,
        **{name: 1 + at for at, name in enumerate(COSTS)},
        **dict.fromkeys(LEARNING, WEIGHTS - 1),
    }
    return [places[name] for name in env.cost_names]


def weight_units(numbers: Numbers, bound: Float[Array, " 3"]) -> Float[Array, " weights"]:
    """What the signal of each weight is counted in: the bounds of costs, the mean η of learning."""
    return jnp.concatenate([jnp.ones(1), jnp.maximum(bound, 1e-6), numbers.pace[None]])


def draw_weights(key: PRNGKeyArray) -> Float[Array, " weights"]:
    """What counts in an episode of training: each price is 0 or anything from a twentieth to twenty of the reward."""
    which, how_much = jax.random.split(key)
    counts = jax.random.uniform(which, (WEIGHTS,)) < jnp.array([0.95, 0.5, 0.5, 0.5, 0.7])
    low, high = jnp.log(jnp.array([1.0, 0.05, 0.05, 0.05, 0.05])), jnp.log(jnp.array([1.0, 10.0, 10.0, 10.0, 20.0]))
    u = jax.random.uniform(how_much, (WEIGHTS,))
    raw = jnp.where(counts, jnp.exp(low + (high - low) * u), 0.0)
    raw = raw.at[-1].add(jnp.where(raw.sum() > 0, 0.0, 1.0))
    return raw / raw.sum()


CONTEXT = 2 * WEIGHTS + len(Numbers._fields)
"""How many numbers a policy is told."""


def _numbers(tutor: Tutoring[Any], own: Mapping[str, Any]) -> Numbers:
    """Those that a tutor has under their names, and those that had to be worked out."""
    values = {name: getattr(tutor, name) for name in SHARED} | dict(own)
    return Numbers(*(jnp.asarray(values[name], jnp.float32) for name in Numbers._fields))
