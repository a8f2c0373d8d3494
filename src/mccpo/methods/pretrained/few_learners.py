"""What few learners say of all learners.

A search plays many policies with few learners each, who may be quicker or slower than others. So the rule random-ready
teaches them too, and it teaches many others. What it costs more with the few than with the many is allowed to every
policy on top of its budgets, as far as the costs of both go together from learner to learner (a control variate).

J_c(k) ≈ mean_few c(k) − β (mean_few c(0) − mean_many c(0)),   β = cov(c(k), c(0)) / var(c(0)), between 0 and 1, where 0
is random-ready.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.episodes import evaluate_policy
from mccpo.methods.gradient.margin import as_long
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.rules import RandomReady

MANY = 2048
"""Episodes of a hundred steps that tell what random-ready costs with many learners."""


class AtRandom(NamedTuple):
    """What random-ready costs: with each of a few learners, and on average with many. Floors are costs below 0."""

    few: Float[Array, "costs episodes"]
    many: Float[Array, " costs"]


def play_at_random(env: Environment[Any], few: PRNGKeyArray, many: PRNGKeyArray, episodes: int) -> AtRandom:
    """Lets random-ready teach the `few` learners that a key draws in so many episodes, and `many` others."""
    costs = evaluate_policy(env, RandomReady(), few, episodes).costs
    return AtRandom(costs, evaluate_policy(env, RandomReady(), many, as_long(env, MANY)).costs.mean(axis=-1))


def moved_budgets(budgets: Budgets, costs: Float[Array, "costs episodes"], at_random: AtRandom) -> Budgets:
    """Budgets for what a policy costs with the few learners: what these cost more than others may be spent on top.

    >>> from mccpo import make
    >>> from mccpo.methods import budgets_of
    >>> asked = budgets_of(make("tutor-15"), {"c3": 5.0})
    >>> few = jnp.array([[0.0, 0.0], [6.0, 8.0], [0.0, 0.0]])
    >>> moved_budgets(asked, few - 2.0, AtRandom(few, few.mean(axis=1) - 1.0)).limit.tolist()
    [0.0, 6.0, 0.0]
    """
    own, known = (values - values.mean(axis=-1, keepdims=True) for values in (costs, at_random.few))
    variance = (known**2).mean(axis=-1)
    beta = (own * known).mean(axis=-1) / jnp.where(variance > 0, variance, 1.0)
    excess = at_random.few.mean(axis=-1) - at_random.many
    return budgets._replace(limit=budgets.limit + jnp.clip(beta, 0.0, 1.0) * excess)
