"""What is to count at a problem at hand: found on simulated episodes, without a gradient.

max J(π_w)  over weights w  s.t.  J_ci(π_w) ≤ d_i with a margin for chance, where π_w is the pretrained policy that is
told the weights w of engagement, of the costs and of learning. The share of lessons that are unready in truth is held
to what the gate allows as a budget is, but has no price.

In each generation several candidates play, and all candidates of all generations teach the same learners, so that the
search goes by what candidates do and not by whom they met; see `few_learners` for how far these learners are like
others. Three things go on beside one another:

- **Dual ascent** of every candidate: what exceeds its budget counts more in the next generation, what stays below it
  less, by steps that get smaller.
- **Variation** of what dual ascent leaves alone: how sharply the policy chooses, whether what carries no budget and no
  floor counts too, and how what counts turns in the course of an episode. After some generations the worse half of the
  candidates gives way to variations of the better half.
- **Closing**, the last quarter: the cross-entropy method about the best that was seen. Generations draw about a mean,
  and move it and the spread to the best quarter.

See `final_choice` for what becomes of where they end.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.episodes import SEEN_AT_ONCE, Episodes, NetworkPolicy, evaluate_policy, evaluation_episodes
from mccpo.methods.gradient.margin import as_long
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.selection import excess_of, score_of, unready_excess
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
    asked,
    policy_at,
)

CANDIDATES, ELITE = 16, 4
EPISODES = 24  # of a hundred steps, that a candidate is played for
LOWEST, HIGHEST = math.log(0.05), math.log(3.0)  # the weights that dual ascent starts from
RATE, LAST_RATE, LONGEST_STEP = 8.0, 1.0, 0.8
"""How far dual ascent moves the logarithm of a weight for an excess of all that is asked for, first and last; and the
most that it moves it by."""
BESIDES = 0.4  # the chance that what carries no budget counts in a candidate at first
STEADY = 4  # candidates in which what counts does not turn at first
TURNS_AT_FIRST = np.array([0.0, -3.0, 3.0, 1.5, -3.0])
"""How far weights turn in the others: mostly c2 and learning count more at first, c3 and c4 more later."""
BLUNTEST = math.log(0.5)
LAP = 3  # generations until the worse half gives way
VARIED, VARIED_ASKED = 0.6, 0.15  # by how much variations differ, and in the weights that dual ascent moves
CLOSING = 0.75  # the share of generations after which the search closes in
NEAR, LEAST_SPREAD = 0.15, 0.03  # its spread at first, and at least
KEPT = 0.4  # of the old mean and spread, in a generation that closes in


UNSEEN = np.full(CANDIDATES, -np.inf, np.float32)
"""Of a type that stays as it is: a weak one would turn strong in the first generation, and all be compiled again."""


class Search(NamedTuple):
    """Where the search stands.

    **Fields:**

    - `points`: where dual ascent has brought each candidate; `best`, `scores`: the best that was seen of each.
    - `mean`, `spread`: what the closing generations draw about; until then the best of all.
    """

    points: Float[Array, "candidates point"]
    best: Float[Array, "candidates point"]
    scores: Float[Array, " candidates"]
    mean: Float[Array, " point"]
    spread: Float[Array, " point"]


def start(env: Environment[Any], budgets: Budgets, key: PRNGKeyArray) -> Search:
    """A search that has seen nothing: candidates that differ in all that dual ascent does not decide."""
    prices, counting, beside, turning, sharp = jax.random.split(key, 5)
    shape, held = (CANDIDATES, WEIGHTS), asked(env, budgets)
    level = jax.random.uniform(prices, shape, minval=LOWEST, maxval=HIGHEST)
    besides = jnp.where(
        jax.random.bernoulli(counting, BESIDES, shape),
        jax.random.uniform(beside, shape, minval=LOWEST, maxval=0.0),
        LEAST,
    )
    turn = jnp.asarray(TURNS_AT_FIRST) * jax.random.uniform(turning, shape, minval=-0.25, maxval=1.5)
    turn = jnp.where(jnp.arange(CANDIDATES)[:, None] < STEADY, 0.0, turn).at[:, own_weight(env)].set(0.0)
    sharpness = jax.random.uniform(sharp, (CANDIDATES, 1), minval=BLUNTEST, maxval=SHARPEST)
    points = jnp.concatenate([jnp.where(held, level, besides), turn, sharpness], axis=1)
    return Search(points, points, jnp.asarray(UNSEEN), points[0], jnp.full(POINT, NEAR, jnp.float32))


def nowhere() -> Search:
    """A search before its first generation, which alone knows the budgets."""
    nothing, points = jnp.zeros(POINT), jnp.zeros((CANDIDATES, POINT))
    return Search(points, points, jnp.asarray(UNSEEN), nothing, nothing)


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
    generation: Int[Array, ""],
    share: Float[Array, ""],
) -> tuple[Search, Episodes]:
    """One generation, at `share` of the search, whose candidates are drawn by one key and all teach the same learners.

    It gives the episodes of its best candidate. `at_random` is what random-ready costs with these learners and with
    others. `caution` is how many standard errors of its own few episodes are kept from the budgets.
    """
    varying, drawing = jax.random.split(drawing)
    closes, later = share >= CLOSING, evaluation_episodes(env)
    points = jnp.where(closes, about(drawing, search), search.points)

    def play(one: Float[Array, " point"]) -> Episodes:
        actor = NetworkPolicy(method, policy_at(env, budgets, parameters, one), network)
        return evaluate_policy(env, actor, learners, as_long(env, EPISODES))

    def judged(one: Episodes) -> tuple[Float[Array, ""], Float[Array, " costs"]]:
        held = moved_budgets(budgets, one.costs, at_random)
        unready = unready_excess(env, caution, one)
        score = score_of(method, held, caution, one, jnp.zeros(()), later, env.ensemble, unready)
        return score, excess_of(held, caution, one, later, env.ensemble)

    seen = jax.lax.map(play, points, batch_size=side_by_side(env, CANDIDATES, as_long(env, EPISODES)))
    scores, excess = jax.vmap(judged)(seen)
    better = (scores > search.scores) & ~closes
    best, own = jnp.where(better[:, None], points, search.best), jnp.where(better, scores, search.scores)
    rate = LAST_RATE + (RATE - LAST_RATE) * jnp.maximum(1.0 - share / CLOSING, 0.0)
    as_it_is = (ascended(env, points, excess, rate), best, own)
    lap = (generation % LAP == LAP - 1) & ~closes
    race = jax.tree.map(partial(jnp.where, lap), varied(varying, asked(env, budgets), *as_it_is), as_it_is)
    mean, spread = moved(search.mean, search.spread, points, scores)
    leader, at = best[own.argmax()], scores.argmax()
    next_mean, next_spread = jnp.where(closes, mean, leader), jnp.where(closes, spread, search.spread)
    found = Search(race[0], race[1], race[2], next_mean, next_spread)
    return found, jax.tree.map(lambda leaf: leaf[at], seen)


def varied(
    key: PRNGKeyArray,
    held: Bool[Array, " weights"],
    points: Float[Array, "candidates point"],
    best: Float[Array, "candidates point"],
    scores: Float[Array, " candidates"],
) -> tuple[Float[Array, "candidates point"], Float[Array, "candidates point"], Float[Array, " candidates"]]:
    """The candidates after a lap: the worse half gives way to variations of the best that was seen of the better half.

    About half of the numbers of a variation are as they were.
    """
    which, how_far = jax.random.split(key)
    half, order = CANDIDATES // 2, jnp.argsort(-scores)
    sizes = jnp.full(POINT, VARIED).at[LEVELS].set(jnp.where(held, VARIED_ASKED, VARIED))
    noise = sizes * jax.random.normal(how_far, (half, POINT)) * jax.random.bernoulli(which, shape=(half, POINT))
    new, places = best[order[:half]] + noise, order[half:]
    return points.at[places].set(new), best.at[places].set(new), scores.at[places].set(-jnp.inf)


def ascended(
    env: Environment[Any],
    points: Float[Array, "candidates point"],
    excess: Float[Array, "candidates costs"],
    rate: Float[Array, ""] | float,
) -> Float[Array, "candidates point"]:
    """Points after a step of dual ascent: what exceeds its budget counts more, what stays below it less.

    `excess` is −∞ of a cost that carries no budget. A weight that holds several things follows the one that is missed
    by most. Where the reward itself has a floor, all else counts less.
    """
    places = np.array(weight_places(env))
    most = jnp.full((len(points), WEIGHTS), -jnp.inf).at[:, places].max(excess)
    moves = jnp.where(jnp.isfinite(most), jnp.clip(rate * most, -LONGEST_STEP, LONGEST_STEP), 0.0)
    moves -= moves[:, own_weight(env)][:, None]
    return points.at[:, LEVELS].set(jnp.clip(points[:, LEVELS] + moves, LEAST, MOST))


def side_by_side(env: Environment[Any], candidates: int, episodes: int) -> int:
    """How many candidates are played at once: all of them where what they see stays in a cache."""
    fit = SEEN_AT_ONCE // (env.num_features * episodes)
    return next(many for many in range(candidates, 0, -1) if candidates % many == 0 and many <= max(fit, 1))


def about(key: PRNGKeyArray, search: Search) -> Float[Array, "candidates point"]:
    """The mean of a search, and draws about it."""
    noise = jax.random.normal(key, (CANDIDATES, len(search.mean))).at[0].set(0.0)
    return search.mean + search.spread * noise


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
