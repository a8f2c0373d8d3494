"""Random-ready: any action that the learner is ready for, at random."""

from __future__ import annotations

from typing import Any, ClassVar

from jaxtyping import Array, Float

from mccpo.env import Environment, Observation
from mccpo.methods.episodes import Policy
from mccpo.methods.registry import register_method
from mccpo.methods.rules.observed import evenly


@register_method(label="Random ready")
class RandomReady(Policy):
    """A tutor without a plan: it picks at random among the actions that the gate lets through.

    **Problem:** none. With M the ready actions,

        π(a) = 1/|M| for a in M, else 0

    **Source:** the usual control of studies of instructional sequencing; S. Doroudi, V. Aleven, E. Brunskill, Where's
    the Reward? A Review of Reinforcement Learning for Instructional Sequencing, International Journal of Artificial
    Intelligence in Education, 2019.

    **Departures:** it keeps to the gate, which a random tutor usually does not know. Every ready action counts alike:
    each activity of a concept, and `hack` where the environment has it.

    **When to use it:** as the floor of a table. What does not beat it has learnt nothing.
    """

    name: ClassVar[str] = "random-ready"

    def probabilities(self, env: Environment[Any], memory: Any, obs: Observation) -> Float[Array, "actions+1 episodes"]:
        del env, memory
        return evenly(obs.action_mask)
