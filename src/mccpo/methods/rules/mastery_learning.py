"""Mastery learning: the weakest skill first, until all are known well."""

from __future__ import annotations

from typing import Any, ClassVar

from jaxtyping import Array, Float

from mccpo.env import Environment, Observation
from mccpo.methods.episodes import Policy
from mccpo.methods.registry import register_method
from mccpo.methods.rules.observed import enough, evenly, mastery, over_actions, plain
from mccpo.policy import MASTERED, mastery_learning


@register_method(label="Mastery learning")
class MasteryLearning(Policy):
    """A tutor that practises the weakest skill until its estimate reaches 0.95: the rule of cognitive tutors.

    **Problem:** none. Among the ready concepts,

        v = arg min { K_v : K_v < 0.95 };   where there is none, a ready concept at random

    **Source:** A. T. Corbett, J. R. Anderson, Knowledge Tracing: Modeling the Acquisition of Procedural Knowledge, User
    Modeling and User-Adapted Interaction, 1995, for the threshold; Z. A. Pardos, M. Tang, I. Anastasopoulos, S. K.
    Sheel, E. Zhang, OATutor: An Open-source Adaptive Tutoring System and Curated Content Library for Learning Sciences
    Research, CHI, 2023, for the weakest first.

    **Departures:** it keeps to the gate. Such tutors end the lesson once all is mastered; our episodes go on, so it
    then reviews at random. Of equally weak concepts it takes any, as its source does. Where there are activities it
    gives plain practice, or what is nearest to it in gain. It never hacks.

    **When to use it:** as what deployed tutors do, and the rule that a new tutor would replace.
    """

    name: ClassVar[str] = "mastery-learning"
    mastered: float = MASTERED

    def probabilities(self, env: Environment[Any], memory: Any, obs: Observation) -> Float[Array, "actions+1 episodes"]:
        del memory
        K = over_actions(env, mastery(env, obs))
        lessons = obs.action_mask & plain(env)[:, None]
        return evenly(mastery_learning(K, over_actions(env, enough(env)), lessons, self.mastered))
