"""What a tutor sees of its learners, by the names of the observation's fields; never what is latent.

Arrays are (…, episode), as in `mccpo.methods.episodes`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from mccpo.env import BinaryMastery, Environment, Observation, Tutoring
from mccpo.errors import DoesNotApply
from mccpo.methods.episodes import Moment
from mccpo.policy import Activity, nearest_to_practice, offered

Taught: TypeAlias = BinaryMastery | Tutoring[Any]
"""Environments in which concepts of a curriculum are taught, at whatever grain mastery comes."""

NOTHING = -1


def taught_in(env: Environment[Any]) -> Taught:
    """The environment in which concepts are taught, whatever is wrapped around it."""
    inner = env.unwrapped
    if not isinstance(inner, BinaryMastery | Tutoring):
        raise DoesNotApply(f"{env.name} teaches no concepts of a curriculum", fix="leave the tutor's rule out there")
    return inner


def activities_of(env: Environment[Any]) -> tuple[Activity, ...]:
    """What can be done with each concept, in the order of the actions."""
    inner = taught_in(env)
    return offered(inner.activities if isinstance(inner, Tutoring) else ())


def concept_of(env: Environment[Any]) -> Int[np.ndarray, " actions"]:
    """The position of the concept that each action teaches, `NOTHING` where it teaches none."""
    lessons = np.repeat(np.arange(len(taught_in(env).curriculum)), len(activities_of(env)))
    return np.pad(lessons, (0, env.num_actions - len(lessons)), constant_values=NOTHING)


def plain(env: Environment[Any]) -> Bool[np.ndarray, " actions"]:
    """One action for each concept: the activity nearest to plain practice, by its gain."""
    lessons = np.tile(nearest_to_practice(activities_of(env)), len(taught_in(env).curriculum))
    return np.pad(lessons, (0, env.num_actions - len(lessons)))


def mastery(env: Environment[Any], obs: Observation) -> Float[Array, "concepts episodes"]:
    """K as the tutor sees it."""
    taught_in(env)  # refuses an environment without concepts in words of its own
    if "mastery" not in env.observation_fields:
        raise DoesNotApply(f"{env.name} shows no mastery to go by", fix="leave the tutor's rule out there")
    return env.view(obs.features, "mastery")


def enough(env: Environment[Any]) -> Float[Array, "concepts 1"]:
    """The K of each concept that opens what needs it: below it there is more to teach."""
    inner = taught_in(env)
    if isinstance(inner, Tutoring):
        return inner.enough[:, None]
    return jnp.full((len(inner.curriculum), 1), inner.theta)


def over_actions(env: Environment[Any], K: Float[Array, "concepts episodes"]) -> Float[Array, "actions episodes"]:
    """The mastery of the concept that each action teaches; 1 where it teaches none."""
    return jnp.pad(K, ((0, 1), (0, 0)), constant_values=1.0)[concept_of(env)]


def steps_taken(env: Environment[Any], obs: Observation) -> Int[Array, " episodes"]:
    """The steps of the episode so far."""
    return jnp.round(env.view(obs.features, "time") * env.horizon).astype(jnp.int32)


def succeeded(env: Environment[Any], moment: Moment) -> Bool[Array, " episodes"]:
    """Whether the learner's answer was right, by its record; without one, whether mastery was seen to rise."""
    answer = env.last_answer(moment.step.state)
    if answer is not None:
        return answer
    before, after = mastery(env, moment.obs), mastery(env, moment.step.obs)
    return (after > before).any(axis=0)


def evenly(chosen: Bool[Array, "actions episodes"]) -> Float[Array, "actions+1 episodes"]:
    """The same chance for every chosen action, and none for the no-op."""
    weights = chosen.astype(jnp.float32)
    return jnp.pad(weights / weights.sum(axis=0), ((0, 1), (0, 0)))
