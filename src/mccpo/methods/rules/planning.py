"""Planning: look ahead over the lessons and answers to come, from what the tutor believes of the learner."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from mccpo.env import Environment, Observation, RandomCurricula, Tutoring
from mccpo.errors import DoesNotApply
from mccpo.methods.episodes import Policy
from mccpo.methods.registry import register_method
from mccpo.methods.rules.assumed import expected_gain, lessons, outcomes, rates
from mccpo.methods.rules.observed import enough, evenly, mastery, steps_taken, taught_in

MOST_CONCEPTS = 30
"""Beyond this, a look a few lessons ahead sees too little of a curriculum to be worth its time."""


@register_method(label="Planning")
class Planning(Policy):
    """A tutor that thinks a few lessons ahead, through right and wrong answers, before it gives the next one.

    **Problem:** the largest discounted mastery gained, max E Σ γ^t ΔK_t, by expectimax from the belief K to depth d:

        V_k(K) = max_a { E[ΔK | K, a] + γ Σ_o P(o | K, a) V_{k-1}(K after a and o) },   V_0 the leaves' worth

    o is a right or a wrong answer, or whether a concept is mastered where that shows. Of every belief, the lessons that
    are followed up are the `candidates` ready ones of which most is expected. A leaf is worth what the better of two
    plain tutors would gain from it in the next `reach` lessons, if every lesson brought just what is expected of it.
    One tutor takes the lesson of the largest gain. The other takes the first in the curriculum's order that is not yet
    mastered. The leaves see concepts unlocked that the tree itself is too shallow to see.

    **Source:** A. N. Rafferty, E. Brunskill, T. L. Griffiths, P. Shafto, Faster Teaching via POMDP Planning, Cognitive
    Science, 2016.

    **Departures:** it gains mastery instead of saving time, since our episodes have a fixed length. The belief is the
    tutor's K, concept by concept, instead of a distribution over concepts' meanings. Lessons are bounded by their
    expected gain, not sampled. Curricula of more than 30 concepts are refused, and those that the tutor is not told. It
    knows the learner's parameters, as its source does, and nothing latent. Where there are activities, these are
    lessons like any other. It never hacks.

    **When to use it:** on small curricula, to see what the best use of the learner model gains for mastery alone.
    """

    name: ClassVar[str] = "planning"
    depth: int = eqx.field(static=True, default=2)
    candidates: int = eqx.field(static=True, default=3)
    reach: int = eqx.field(static=True, default=20)

    def probabilities(self, env: Environment[Any], memory: Any, obs: Observation) -> Float[Array, "actions+1 episodes"]:
        del memory
        check_plannable(env)
        K, t = mastery(env, obs), steps_taken(env, obs)
        chosen, worth = self._follow(env, K, t, obs.action_mask[: len(lessons(env))], self.depth)
        best = jnp.take_along_axis(chosen, worth.argmax(axis=0)[None], axis=0)
        return evenly(jnp.arange(env.num_actions)[:, None] == best)

    def _value(
        self, env: Environment[Any], K: Float[Array, "concepts beliefs"], t: Int[Array, " beliefs"], depth: int
    ) -> Float[Array, " beliefs"]:
        """What can be gained from beliefs, looking so many lessons ahead."""
        if not depth:
            return jnp.maximum(*(self._rollout(env, K, t, in_order=each) for each in (False, True)))
        return self._follow(env, K, t, open_concepts(env, K)[lessons(env)], depth)[1].max(axis=0)

    def _follow(
        self,
        env: Environment[Any],
        K: Float[Array, "concepts beliefs"],
        t: Int[Array, " beliefs"],
        ready: Bool[Array, "lessons beliefs"],
        depth: int,
    ) -> tuple[Int[Array, "candidates beliefs"], Float[Array, "candidates beliefs"]]:
        """The lessons worth a look, and what each is worth with what follows it; -∞ for one that is not ready."""
        known = lessons(env)
        held = jnp.where(ready, expected_gain(env, K, t)[: len(known)], -jnp.inf)
        gain, chosen = (found.T for found in jax.lax.top_k(held.T, min(self.candidates, len(known))))
        concept = jnp.asarray(known)[chosen]
        found = outcomes(
            env, concept, jnp.take_along_axis(K, concept, axis=0), jnp.take_along_axis(rates(env, K, t), chosen, axis=0)
        )
        taught = jnp.arange(K.shape[0])[:, None, None, None] == concept
        after = jnp.where(taught, found.K, K[:, None, None, :])
        later = jnp.broadcast_to(t + 1, found.K.shape).ravel()
        value = self._value(env, after.reshape(len(K), -1), later, depth - 1).reshape(found.K.shape)
        worth = gain + env.gamma * (found.chance * value).sum(axis=0)
        return chosen, jnp.where(t < env.horizon, worth, jnp.where(gain > -jnp.inf, 0.0, -jnp.inf))

    def _rollout(
        self, env: Environment[Any], K: Float[Array, "concepts beliefs"], t: Int[Array, " beliefs"], *, in_order: bool
    ) -> Float[Array, " beliefs"]:
        """What a plain tutor gains from beliefs on, every lesson bringing what is expected of it."""
        mastered, places = enough(env), jnp.arange(len(K))[:, None]

        def teach(K: Float[Array, "concepts beliefs"], passed: Int[Array, ""]) -> tuple[Any, Any]:
            every = expected_gain(env, K, t + passed)[: len(lessons(env))]
            gain = every.reshape(len(K), -1, len(t)).max(axis=1)  # by the activity that teaches most
            # Of a mastery below 1, no gain outweighs a place in the order.
            urgency = jnp.where(mastered > K, len(K) - places, 0.0) if in_order else 0.0
            taught = places == jnp.where(open_concepts(env, K), gain + urgency, -jnp.inf).argmax(axis=0)
            gained = jnp.where(taught, gain, 0.0)
            return K + gained, jnp.where(t + passed < env.horizon, env.gamma**passed * gained.sum(axis=0), 0.0)

        return jax.lax.scan(teach, K, jnp.arange(self.reach))[1].sum(axis=0)


def open_concepts(env: Environment[Any], K: Float[Array, "concepts beliefs"]) -> Bool[Array, "concepts beliefs"]:
    """The concepts whose prerequisites are mastered by a belief."""
    inner = taught_in(env)
    if isinstance(inner, Tutoring) and inner.confidence is not None:
        return inner.opens(K.T).T
    opened: Bool[Array, "concepts beliefs"] = inner.curriculum.ready(K.T, inner.theta).T
    return opened


def check_plannable(env: Environment[Any]) -> None:
    """Refuses a curriculum that is too large to plan on, or that the tutor does not know."""
    inner = taught_in(env)
    if isinstance(inner, RandomCurricula):
        raise DoesNotApply(
            f"planning has to know the learner's curriculum, which {env.name} does not show", fix="take greedy-gain"
        )
    if len(inner.curriculum) > MOST_CONCEPTS:
        raise DoesNotApply(
            f"planning looks ahead on at most {MOST_CONCEPTS} concepts, and {env.name} has {len(inner.curriculum)}",
            fix="cut the curriculum, or take greedy-gain",
        )
