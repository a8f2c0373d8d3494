"""Greedy gain: the lesson of which most is expected now."""

from __future__ import annotations

from typing import Any, ClassVar

from jaxtyping import Array, Float

from mccpo.env import Environment, Observation
from mccpo.methods.episodes import Policy
from mccpo.methods.registry import register_method
from mccpo.methods.rules.assumed import rates
from mccpo.methods.rules.observed import concept_of, evenly, mastery, over_actions, steps_taken
from mccpo.policy import greedy_gain


@register_method(label="Greedy gain")
class GreedyGain(Policy):
    """A tutor that gives the lesson of which it expects the largest gain of mastery, and looks no further.

    **Problem:** max_a E[ΔK_t | K_t, a] in every step, over the ready actions:

        a = arg max η_v·gain_a·(1 - K_v);   where concepts are mastered in one go, the chance that v is, now

    **Source:** after R. C. Atkinson, Optimizing the Learning of a Second-Language Vocabulary, Journal
    of Experimental Psychology, 1972.

    **Departures:** it keeps to the gate. It knows the parameters of the learner whom the environment's estimate of
    mastery assumes, and nothing latent. An answer leaves that estimate where it was on average, so only what the lesson
    teaches counts. Of equally good lessons it takes any. Among activities the one that teaches most wins. It never
    hacks.

    **When to use it:** to see what the learner model alone is worth, without planning and without constraints.
    """

    name: ClassVar[str] = "greedy-gain"

    def probabilities(self, env: Environment[Any], memory: Any, obs: Observation) -> Float[Array, "actions+1 episodes"]:
        del memory
        K = mastery(env, obs)
        rate = rates(env, K, steps_taken(env, obs))
        teaches = concept_of(env)[:, None] >= 0
        return evenly(greedy_gain(rate, over_actions(env, K), obs.action_mask & teaches))
