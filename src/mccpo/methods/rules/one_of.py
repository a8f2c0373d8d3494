"""The rules that think little, as one program: compiling them one by one takes longer than playing them."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from mccpo.env import Environment, Observation
from mccpo.errors import DoesNotApply
from mccpo.methods.episodes import Moment, Policy
from mccpo.methods.rules.curriculum_order import CurriculumOrder
from mccpo.methods.rules.greedy_gain import GreedyGain
from mccpo.methods.rules.mastery_learning import MasteryLearning
from mccpo.methods.rules.random_ready import RandomReady
from mccpo.methods.rules.zpdes import ZPDES

QUICK: tuple[Policy, ...] = (RandomReady(), CurriculumOrder(), MasteryLearning(), ZPDES(), GreedyGain())
"""The rules that anchors, tables and judges ask for, in their own numbers; one that plans is a program by itself."""

MOST_ACTIONS = 200
"""Beyond this, playing takes longer than compiling, and a rule had better not keep what the others remember."""


class OneOf(Policy):
    """Several rules, of which a number says which one teaches."""

    rules: tuple[Policy, ...]
    which: Int[Array, ""]

    def begin(self, env: Environment[Any], episodes: int) -> tuple[Any, ...]:
        return tuple(rule.begin(env, episodes) for rule in self.rules)

    def probabilities(
        self, env: Environment[Any], memory: tuple[Any, ...], obs: Observation
    ) -> Float[Array, "actions+1 episodes"]:
        ways = [partial(rule.probabilities, env) for rule in self.rules]
        acts = [lambda memory, obs, act=act, at=at: act(memory[at], obs) for at, act in enumerate(ways)]
        chances: Float[Array, "actions+1 episodes"] = jax.lax.switch(self.which, acts, memory, obs)
        return chances

    def remember(self, env: Environment[Any], memory: tuple[Any, ...], moment: Moment) -> tuple[Any, ...]:
        return tuple(rule.remember(env, own, moment) for rule, own in zip(self.rules, memory, strict=True))


def among_quick(env: Environment[Any], rule: Policy) -> Policy:
    """A quick rule as one of those that have an answer in an environment; any other rule as it is."""
    if rule not in QUICK or env.num_actions > MOST_ACTIONS:
        return rule
    rules = _with_an_answer(env)
    return OneOf(rules, jnp.asarray(rules.index(rule))) if rule in rules else rule


def _with_an_answer(env: Environment[Any]) -> tuple[Policy, ...]:
    """The quick rules that apply to an environment."""
    found: list[Policy] = []

    def look(key: Any) -> None:
        _, obs = jax.vmap(env.reset, out_axes=-1)(key[None])
        for rule in QUICK:
            try:
                rule.probabilities(env, rule.begin(env, 1), obs)
            except DoesNotApply:
                continue
            found.append(rule)

    jax.eval_shape(look, jax.random.key(0))
    return tuple(found)
