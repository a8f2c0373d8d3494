"""What is to count at a problem at hand: found on simulated episodes, without a gradient.

max J(π_w)  over weights w  s.t.  J_ci(π_w) ≤ d_i with a margin for chance, where π_w is the pretrained policy that is
told the weights w of engagement, of the costs and of learning. What carries no budget and no floor may count, too: it
starts from next to nothing. How sharply the policy chooses is searched for along with that.

In each generation several weights are drawn, by their logarithm. All candidates of all generations teach the same
learners, so that the search goes by what candidates do and not by whom they met; see `few_learners` for how far these
learners are like others. The first generations look everywhere, and keep the best. Those after them follow the
cross-entropy method from there: they draw about a mean, and move it and the spread to the best quarter. See
`final_choice` for what becomes of where they end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.episodes import SEEN_AT_ONCE, Episodes, NetworkPolicy, evaluate_policy, evaluation_episodes
from mccpo.methods.gradient.margin import as_long
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.selection import score_of
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.mc_cpo.spec import MethodArrays
from mccpo.methods.pretrained.context import (
    COSTS,
    WEIGHTS,
    context_of,
    numbers_of,
    own_weight,
    weight_places,
    weight_units,
)
from mccpo.methods.pretrained.few_learners import AtRandom, moved_budgets
from mccpo.methods.pretrained.network import fold

CANDIDATES, ELITE = 16, 4
EPISODES = 24  # of a hundred steps, that a candidate is played for
LOOKING = 0.3  # the share of generations that look everywhere
DROPPED = 0.35  # the chance that a weight is nothing, where one looks everywhere
NEAR = 0.5  # the spread about the best that was found so
LEAST, MOST = math.log(0.003), math.log(100.0)
NOTHING = math.log(0.01)  # a weight below which there is none
UNASKED_MEAN = math.log(0.02)  # of what carries no budget
FIRST_MEAN, FIRST_SPREAD, LEAST_SPREAD = math.log(0.3), 1.5, 0.1
SHARPNESS, SHARPEST = math.log(1.5), math.log(8.0)  # at first, and at most
BLUNTEST = math.log(0.03)  # where one looks everywhere: hardly more than chance among what is ready
KEPT = 0.4  # of the old mean and spread, in a generation


class Search(NamedTuple):
    """Where the search stands: the mean and the spread of the logarithms of weights, and of the sharpness."""

    mean: Float[Array, " weights+1"]
    spread: Float[Array, " weights+1"]


class Generation(NamedTuple):
    """What a generation found: its best weights and sharpness by their logarithm, and what their episodes were."""

    logs: Float[Array, " weights+1"]
    seen: Episodes


def start(env: Environment[Any], budgets: Budgets) -> Search:
    """A search that knows only which weights carry a budget or a floor."""
    mean = jnp.where(asked(env, budgets), FIRST_MEAN, UNASKED_MEAN)
    return Search(jnp.append(mean, SHARPNESS), jnp.append(jnp.full(WEIGHTS, FIRST_SPREAD), FIRST_SPREAD / 3))


def asked(env: Environment[Any], budgets: Budgets) -> Bool[Array, " weights"]:
    """Which weights hold something to its budget or its floor."""
    return jnp.zeros(WEIGHTS).at[np.array(weight_places(env))].max(budgets.active) > 0


def weights_at(env: Environment[Any], logs: Float[Array, " weights+1"]) -> Float[Array, " weights"]:
    """Weights by their logarithms, beside the 1 of the environment's own reward; not yet scaled to a sum of 1."""
    raw = jnp.where(logs[:-1] > NOTHING, jnp.exp(logs[:-1]), 0.0)
    return raw.at[own_weight(env)].set(1.0)


def policy_at(
    env: Environment[Any], budgets: Budgets, parameters: Float[Array, " all"], logs: Float[Array, " weights+1"]
) -> Float[Array, " parameters"]:
    """The ordinary parameters of the pretrained policy that is told what counts: see `fold`."""
    return told(env, budgets, parameters, weights_at(env, logs), jnp.exp(jnp.minimum(logs[-1], SHARPEST)))


def told(
    env: Environment[Any],
    budgets: Budgets,
    parameters: Float[Array, " all"],
    weights: Float[Array, " weights"],
    sharpness: Float[Array, ""],
) -> Float[Array, " parameters"]:
    """The same by the weights themselves, of any sum, and by the sharpness."""
    numbers = numbers_of(env)
    return fold(parameters, context_of(numbers, weights / weights.sum()), numbers, env, budgets.bound, sharpness)


def prices_at(env: Environment[Any], budgets: Budgets, logs: Float[Array, " weights+1"]) -> Float[Array, " costs"]:
    """What weights come to as prices: how much of the reward a unit of each cost that carries a budget takes off."""
    costs = np.array([env.cost_names.index(name) for name in COSTS])
    worth = weights_at(env, logs) / weight_units(numbers_of(env), budgets.bound[costs])
    return budgets.active * worth[np.array(weight_places(env))] / worth[own_weight(env)]


def advance(
    env: Environment[Any],
    network: Network,
    method: MethodArrays,
    budgets: Budgets,
    parameters: Float[Array, " all"],
    search: Search,
    drawing: PRNGKeyArray,
    learners: PRNGKeyArray,
    at_random: AtRandom,
    caution: Float[Array, ""] | float,
    share: Float[Array, ""],
) -> tuple[Search, Generation]:
    """One generation, at `share` of the search, whose candidates are drawn by one key and all teach the same learners.

    `at_random` is what random-ready costs with these learners and with others. `caution` is how many standard
    errors of its own few episodes are kept from the budgets.
    """
    looks = share < LOOKING
    logs = jnp.where(looks, everywhere(drawing, start(env, budgets)), about(drawing, search)).at[0].set(search.mean)

    def play(one: Float[Array, " weights+1"]) -> Episodes:
        actor = NetworkPolicy(method, policy_at(env, budgets, parameters, one), network)
        return evaluate_policy(env, actor, learners, as_long(env, EPISODES))

    seen = jax.lax.map(play, logs, batch_size=side_by_side(env, CANDIDATES, as_long(env, EPISODES)))
    later = evaluation_episodes(env)

    def score(one: Episodes) -> Float[Array, ""]:
        held = moved_budgets(budgets, one.costs, at_random)
        return score_of(method, held, caution, one, jnp.zeros(()), later, env.ensemble)

    scores = jax.vmap(score)(seen)
    best = scores.argmax()
    kept, closer = Search(logs[best], jnp.full_like(search.spread, NEAR)), moved(search, logs, scores)
    found = jax.tree.map(lambda one, other: jnp.where(looks, one, other), kept, closer)
    return found, Generation(logs[best], jax.tree.map(lambda leaf: leaf[best], seen))


def side_by_side(env: Environment[Any], candidates: int, episodes: int) -> int:
    """How many candidates are played at once: all of them where what they see stays in a cache."""
    fit = SEEN_AT_ONCE // (env.num_features * episodes)
    return next(many for many in range(candidates, 0, -1) if candidates % many == 0 and many <= max(fit, 1))


def about(key: PRNGKeyArray, search: Search) -> Float[Array, "candidates weights+1"]:
    """Draws about the mean of a search."""
    noise = jax.random.normal(key, (CANDIDATES, len(search.mean)))
    return jnp.clip(search.mean + search.spread * noise, LEAST, MOST)


def everywhere(key: PRNGKeyArray, first: Search) -> Float[Array, "candidates weights+1"]:
    """Draws about where a search starts, in which some weights are nothing; half of them are of any sharpness."""
    drawing, dropping, blunting, halving = jax.random.split(key, 4)
    drops = jax.random.bernoulli(dropping, DROPPED, (CANDIDATES, len(first.mean))).at[:, -1].set(False)
    logs = jnp.where(drops, LEAST, about(drawing, first))
    any_sharpness = jax.random.uniform(blunting, (CANDIDATES,), minval=BLUNTEST, maxval=SHARPEST)
    return logs.at[:, -1].set(jnp.where(jax.random.bernoulli(halving, shape=(CANDIDATES,)), any_sharpness, logs[:, -1]))


def moved(search: Search, logs: Float[Array, "candidates weights+1"], scores: Float[Array, " candidates"]) -> Search:
    """The search after a generation: drawn towards its best quarter."""
    elite = logs[jnp.argsort(-scores)[:ELITE]]
    mean = KEPT * search.mean + (1 - KEPT) * elite.mean(axis=0)
    spread = KEPT * search.spread + (1 - KEPT) * elite.std(axis=0)
    return Search(mean, jnp.maximum(spread, LEAST_SPREAD))
