"""Curriculum order: one concept after the other, as the book has them."""

from __future__ import annotations

from typing import Any, ClassVar

from jaxtyping import Array, Float

from mccpo.env import Environment, Observation
from mccpo.methods.episodes import Policy
from mccpo.methods.registry import register_method
from mccpo.methods.rules.observed import enough, evenly, mastery, over_actions, plain
from mccpo.policy import curriculum_order


@register_method(label="Curriculum order")
class CurriculumOrder(Policy):
    """A tutor that follows the book: each concept until it is mastered, then the next.

    **Problem:** none. In the curriculum's order, in which prerequisites come first,

        v = the first ready concept with K_v < θ;   where there is none, review: the first ready v of least K_v

    **Source:** none in particular: a fixed sequence with a mastery criterion, as textbooks and most course platforms
    have.

    **Departures:** none. Where there are activities it gives plain practice, or what is nearest to it in gain. It never
    hacks.

    **When to use it:** to see what a course that adapts its pace, and nothing else, already achieves.
    """

    name: ClassVar[str] = "curriculum-order"

    def probabilities(self, env: Environment[Any], memory: Any, obs: Observation) -> Float[Array, "actions+1 episodes"]:
        del memory
        K = over_actions(env, mastery(env, obs))
        lessons = obs.action_mask & plain(env)[:, None]
        return evenly(curriculum_order(K, over_actions(env, enough(env)), lessons))
