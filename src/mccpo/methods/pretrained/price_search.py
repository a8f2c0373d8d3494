"""What is to count at a problem at hand: found on simulated episodes, without a gradient.

max J(π_w)  over weights w  s.t.  J_ci(π_w) ≤ d_i with a margin for chance, where π_w is the pretrained policy that is
told the weights w of engagement, of the costs and of learning.

In each generation several candidates play, and all candidates of all generations teach the same learners, so that the
search goes by what candidates do and not by whom they met; see `few_learners` for how far these learners are like
others. The first generations are dual ascent, of all candidates beside one another: where a candidate exceeds a budget,
that cost counts more in the next generation, elsewhere less, by steps that get smaller. Candidates differ by what dual
ascent leaves alone: by how sharply they choose, by whether what carries no budget and no floor counts too, and by how
what counts changes in the course of an episode (first learn, say, and then take what is demanding). The generations
after that follow the cross-entropy method from the best that was seen: they draw about a mean, and move it and the
spread to the best quarter. See `final_choice` for what becomes of where they end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.episodes import SEEN_AT_ONCE, Episodes, NetworkPolicy, evaluate_policy, evaluation_episodes
from mccpo.methods.gradient.margin import as_long
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.selection import excess_of, score_of
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.mc_cpo.spec import MethodArrays
from mccpo.methods.pretrained.context import WEIGHTS, own_weight, weight_places
from mccpo.methods.pretrained.few_learners import AtRandom, moved_budgets
from mccpo.methods.pretrained.weighting import (
    LEAST,
    LEVELS,
    MOST,
    POINT,
    SHARPEST,
    SHARPNESS,
    TURNS,
    asked,
    policy_at,
)

CANDIDATES, ELITE = 16, 4
EPISODES = 24  # of a hundred steps, that a candidate is played for
ASCENT = 0.5  # the share of generations that are dual ascent
LOWEST, HIGHEST = math.log(0.05), math.log(3.0)  # the prices that dual ascent starts from
STEP, LEAST_STEP, LONGEST_STEP = 8.0, 1.0, 0.8  # of a price's logarithm for an excess of all that is asked for
BESIDES = 0.3  # the chance that what carries no budget counts in a candidate
TURNING, TURNED = 0.5, 1.5  # the chance that what counts changes with time, and by how much
BLUNTEST = math.log(0.5)
NEAR = 0.5  # the spread about the best that dual ascent found, at first
LEAST_SPREAD = 0.05
KEPT = 0.4  # of the old mean and spread, in a generation


class Search(NamedTuple):
    """Where the search stands: where dual ascent has brought each candidate, the best point so far and its score, and

    the mean and the spread of what later generations draw.
    """

    ascending: Float[Array, "candidates point"]
    best: Float[Array, " point"]
    score: Float[Array, ""]
    mean: Float[Array, " point"]
    spread: Float[Array, " point"]


class Generation(NamedTuple):
    """What a generation found: its best point, and what the episodes there were."""

    point: Float[Array, " point"]
    seen: Episodes


def start(env: Environment[Any], budgets: Budgets, key: PRNGKeyArray) -> Search:
    """A search that has seen nothing: candidates that differ in all that dual ascent does not decide."""
    prices, counting, beside, turning, turns, sharp = jax.random.split(key, 6)
    shape, held = (CANDIDATES, WEIGHTS), asked(env, budgets)
    level = jax.random.uniform(prices, shape, minval=LOWEST, maxval=HIGHEST)
    besides = jnp.where(jax.random.bernoulli(counting, BESIDES, shape), jax.random.uniform(beside, shape, minval=LOWEST, maxval=0.0), LEAST)
    turn = TURNED * jax.random.normal(turns, shape) * jax.random.bernoulli(turning, TURNING, (CANDIDATES, 1))
    sharpness = jax.random.uniform(sharp, (CANDIDATES, 1), minval=BLUNTEST, maxval=SHARPEST)
    points = jnp.concatenate([jnp.where(held, level, besides), turn.at[:, own_weight(env)].set(0.0), sharpness], axis=1)
    return Search(points, points[0], jnp.asarray(-jnp.inf), points[0], jnp.full(POINT, NEAR))


def nowhere() -> Search:
    """A search before its first generation, which alone knows the budgets."""
    nothing = jnp.zeros(POINT)
    return Search(jnp.zeros((CANDIDATES, POINT)), nothing, jnp.asarray(-jnp.inf), nothing, nothing)


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
    ascends = share < ASCENT
    points = jnp.where(ascends, search.ascending, about(drawing, search).at[0].set(search.mean))

    def play(one: Float[Array, " point"]) -> Episodes:
        actor = NetworkPolicy(method, policy_at(env, budgets, parameters, one), network)
        return evaluate_policy(env, actor, learners, as_long(env, EPISODES))

    seen = jax.lax.map(play, points, batch_size=side_by_side(env, CANDIDATES, as_long(env, EPISODES)))
    later = evaluation_episodes(env)

    def judged(one: Episodes) -> tuple[Float[Array, ""], Float[Array, " costs"]]:
        held = moved_budgets(budgets, one.costs, at_random)
        score = score_of(method, held, caution, one, jnp.zeros(()), later, env.ensemble)
        return score, excess_of(held, caution, one, later, env.ensemble)

    scores, excess = jax.vmap(judged)(seen)
    at = scores.argmax()
    better = scores[at] > search.score
    best, score = jnp.where(better, points[at], search.best), jnp.maximum(scores[at], search.score)
    step = LEAST_STEP + (STEP - LEAST_STEP) * jnp.maximum(1.0 - share / ASCENT, 0.0)
    mean, spread = moved(search.mean, search.spread, points, scores)
    found = Search(
        ascending=ascended(env, search.ascending, excess, step),
        best=best,
        score=score,
        mean=jnp.where(ascends, best, mean),
        spread=jnp.where(ascends, search.spread, spread),
    )
    return found, Generation(points[at], jax.tree.map(lambda leaf: leaf[at], seen))


def ascended(
    env: Environment[Any],
    points: Float[Array, "candidates point"],
    excess: Float[Array, "candidates costs"],
    step: Float[Array, ""] | float,
) -> Float[Array, "candidates point"]:
    """Points after a step of dual ascent: what exceeds its budget counts more, what stays below it less.

    `excess` is −∞ of a cost that carries no budget. A weight that holds several things follows the one that is missed
    by most.
    """
    places = np.array(weight_places(env))
    most = jnp.full((len(points), WEIGHTS), -jnp.inf).at[:, places].max(excess)
    moves = jnp.where(jnp.isfinite(most), jnp.clip(step * most, -LONGEST_STEP, LONGEST_STEP), 0.0)
    return points.at[:, LEVELS].set(jnp.clip(points[:, LEVELS] + moves, LEAST, MOST))


def side_by_side(env: Environment[Any], candidates: int, episodes: int) -> int:
    """How many candidates are played at once: all of them where what they see stays in a cache."""
    fit = SEEN_AT_ONCE // (env.num_features * episodes)
    return next(many for many in range(candidates, 0, -1) if candidates % many == 0 and many <= max(fit, 1))


def about(key: PRNGKeyArray, search: Search) -> Float[Array, "candidates point"]:
    """Draws about the mean of a search."""
    noise = jax.random.normal(key, (CANDIDATES, len(search.mean)))
    return jnp.clip(search.mean + search.spread * noise, LEAST, MOST)


def moved(
    mean: Float[Array, " point"],
    spread: Float[Array, " point"],
    points: Float[Array, "candidates point"],
    scores: Float[Array, " candidates"],
) -> tuple[Float[Array, " point"], Float[Array, " point"]]:
    """A mean and a spread after a generation: drawn towards its best quarter."""
    elite = points[jnp.argsort(-scores)[:ELITE]]
    mean = KEPT * mean + (1 - KEPT) * elite.mean(axis=0)
    spread = KEPT * spread + (1 - KEPT) * elite.std(axis=0)
    return mean, jnp.maximum(spread, LEAST_SPREAD)
