"""ZPDES: a bandit over the activities on the edge of what the learner can do, paid by recent progress."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from mccpo.env import Environment, Observation
from mccpo.errors import InputError
from mccpo.methods.episodes import Moment, Policy
from mccpo.methods.registry import register_method
from mccpo.methods.rules.observed import concept_of, enough, mastery, over_actions, succeeded


class Tried(NamedTuple):
    """What each activity has shown in the episode: its last answers, newest first, and the bandit's weight of it."""

    right: Bool[Array, "window actions episodes"]
    weight: Float[Array, "actions episodes"]


@register_method(label="ZPDES")
class ZPDES(Policy):
    """A bandit that gives more of what the learner has lately been getting better at.

    **Problem:** the largest progress in success, by a bandit over the zone of proximal development Z. With C_1 … C_d
    the last d answers to an activity a, the newest first, and ξ the exploration rate,

        r = 2/d·(C_1 + … + C_{d/2}) - 2/d·(C_{d/2+1} + … + C_d),   w_a ← max(w_min, β·w_a + η·r)
        π(a) = (1 - ξ)·w_a / Σ_{b in Z} w_b + ξ / |Z|   for a in Z, else 0

    An activity enters Z when its prerequisites are mastered and leaves it when it is mastered itself.

    **Source:** B. Clement, D. Roy, P.-Y. Oudeyer, M. Lopes, Multi-Armed Bandits for Intelligent Tutoring Systems,
    Journal of Educational Data Mining, 2015.

    **Departures:** what opens and closes an activity is the tutor's K at θ, not a success rate, since the gate goes by
    K. Answers not yet given count as wrong. Weights do not fall below w_min, so that no activity in Z is lost for good.
    An arm is a concept, or a concept with an activity where there are any: one bandit, not one for every parameter of
    an exercise. Where the environment has no answers, success is a rise of K. Once all is mastered, Z is all that is
    ready. It never hacks.

    **When to use it:** where there is a graph of prerequisites and no learner model worth trusting.
    """

    name: ClassVar[str] = "zpdes"
    explore: float = 0.2
    keep: float = 0.8
    step: float = 0.2
    start: float = 0.1
    least: float = 0.01
    window: int = eqx.field(static=True, default=8)

    def __check_init__(self) -> None:
        if self.window < 2 or self.window % 2:
            raise InputError(f"the window is {self.window}", fix="give an even number of answers, to halve")

    def begin(self, env: Environment[Any], episodes: int) -> Tried:
        arms = (env.num_actions, episodes)
        return Tried(jnp.zeros((self.window, *arms), bool), jnp.full(arms, self.start))

    def probabilities(
        self, env: Environment[Any], memory: Tried, obs: Observation
    ) -> Float[Array, "actions+1 episodes"]:
        zone = proximal(env, obs)
        weight = jnp.where(zone, memory.weight, 0.0)
        exploited, explored = weight / weight.sum(axis=0), zone / zone.sum(axis=0)
        return jnp.pad((1 - self.explore) * exploited + self.explore * explored, ((0, 1), (0, 0)))

    def remember(self, env: Environment[Any], memory: Tried, moment: Moment) -> Tried:
        tried = jnp.arange(env.num_actions)[:, None] == moment.action
        answer = jnp.broadcast_to(succeeded(env, moment), tried.shape)[None]
        right = jnp.where(tried, jnp.concatenate([answer, memory.right[:-1]]), memory.right)
        half = self.window // 2
        progress = right[:half].mean(axis=0) - right[half:].mean(axis=0)
        moved = jnp.maximum(self.least, self.keep * memory.weight + self.step * progress)
        return Tried(right, jnp.where(tried, moved, memory.weight))


def proximal(env: Environment[Any], obs: Observation) -> Bool[Array, "actions episodes"]:
    """The zone of proximal development: lessons that are ready and not yet mastered; all that are ready if none is."""
    ready = obs.action_mask & (concept_of(env)[:, None] >= 0)
    new = ready & (over_actions(env, mastery(env, obs)) < over_actions(env, enough(env)))
    return jnp.where(new.any(axis=0), new, ready)
