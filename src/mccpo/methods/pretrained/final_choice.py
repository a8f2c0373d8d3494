"""The policy that a search ends with, chosen by many more episodes than a generation has.

A search knows which weights matter beside one another. How much they count against the reward, and how sharply the
policy chooses, decides by how much budgets and floors are met, and few episodes cannot tell. So candidates on a grid
about where the search ended are played, then those on two finer grids, each about the best so far, then the best of the
last by many episodes. Where what is engaging and what teaches trade at one rate, a policy turns from one to the other
within a few hundredths of a weight, which is what the finest grid is for. Some candidates of a grid differ at random.
Another is the policy of sharpness 0, which chooses by chance among what is ready, as the rule random-ready does: where
it meets everything with the margin, nothing that returns less is chosen.

max J(π_k)  over candidates k  s.t.  J_ci(π_k) ≤ d_i with the margin that every final choice keeps.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.episodes import Episodes, NetworkPolicy, evaluate_policy, evaluation_episodes
from mccpo.methods.gradient.margin import as_long, error_of
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.selection import score_of, unready_excess
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.mc_cpo.spec import MethodArrays
from mccpo.methods.pretrained.few_learners import AtRandom, moved_budgets
from mccpo.methods.pretrained.price_search import side_by_side
from mccpo.methods.pretrained.weighting import LEVELS, POINT, SHARPNESS, asked, policy_at

BLUNT = -30.0  # the logarithm of a sharpness of nothing
STEPS = ((0, 0), (-1, 0), (-0.5, 0), (-0.25, 0), (0.25, 0), (0.5, 0), (1, 0), (0, -1), (0, 1.5), (0.5, -1))
"""How far candidates are from the middle of a grid: by what is asked for, and by sharpness, both as logarithms."""
WIDTHS = (0.8, 0.3, 0.08)  # of the grids
FINALISTS, COPIES, ROUNDS = 6, 3, 5
"""A finalist is played for so many batches of episodes, in so many rounds."""
CANDIDATES = FINALISTS * COPIES
AT_RANDOM = CANDIDATES - 1 - len(STEPS)
"""Candidates that differ from the middle at random: in the weights of what is asked for, in all turns, in sharpness."""
WIDER = 2.0  # how much more turns and sharpness differ there than weights
DOUBTS = (0.0, 0.3, 0.7, 1.2, 2.0)
"""How many more standard errors of the last grid's few episodes each finalist keeps: all may have been lucky there."""


def final_point(
    env: Environment[Any],
    network: Network,
    method: MethodArrays,
    budgets: Budgets,
    parameters: Float[Array, " all"],
    mean: Float[Array, " point"],
    many: Float[Array, " costs"],
    key: PRNGKeyArray,
    caution: Float[Array, ""] | float,
    episodes: int,
) -> Float[Array, " point"]:
    """The point that is chosen about the `mean` of a search.

    Each finalist is played for `episodes`. All candidates of a round teach the same learners. `many` is what
    random-ready costs with many learners, by which grids are corrected for the few that they have.
    """
    batch = as_long(env, max(episodes // (COPIES * ROUNDS), 1))
    later, one = evaluation_episodes(env), jnp.ones(())
    # The margin of the final choice, in the larger standard errors of a grid's fewer episodes.
    margin = caution * error_of(one, batch * COPIES * ROUNDS, later) / error_of(one, batch, later)
    at_once = side_by_side(env, CANDIDATES, batch)
    moves = jnp.asarray(asked(env, budgets), jnp.float32)

    def play(candidate: tuple[Float[Array, " point"], PRNGKeyArray]) -> Episodes:
        point, own = candidate
        actor = NetworkPolicy(method, policy_at(env, budgets, parameters, point), network)
        return evaluate_policy(env, actor, own, batch)

    def score(held: Budgets, seen: Episodes, by: Float[Array, ""] | float) -> Float[Array, ""]:
        unready = unready_excess(env, by, seen)
        return score_of(method, held, by, seen, jnp.zeros(()), later, env.ensemble, unready)

    def one_round(
        points: Any, now: tuple[Int[Array, ""], PRNGKeyArray, PRNGKeyArray]
    ) -> tuple[Any, tuple[Any, Episodes]]:
        at, own, drawn = now
        copy = jnp.where(at < len(WIDTHS), 0, jnp.arange(CANDIDATES) % COPIES)
        seen = jax.lax.map(play, (points, jax.random.split(own, COPIES)[copy]), batch_size=at_once)
        held = jax.vmap(lambda one: moved_budgets(budgets, one, AtRandom(seen.costs[0], many)))(seen.costs)
        scores = jnp.stack([jax.vmap(partial(score, by=margin + doubt))(held, seen) for doubt in DOUBTS])
        best = scores.at[:, 0].set(-jnp.inf).argmax(axis=1)
        among = jnp.append(best, 0)  # the policy of sharpness 0 is a finalist in any case
        finer = grid(points[best[0]], moves, widths[jnp.minimum(at + 1, last)], drawn)
        longer = jnp.repeat(points[among], COPIES, axis=0)
        return jnp.where(at < last, finer, jnp.where(at == last, longer, points)), (points, seen)

    widths, last, rounds = jnp.asarray(WIDTHS), len(WIDTHS) - 1, len(WIDTHS) + ROUNDS
    playing, drawing, first = jax.random.split(key, 3)
    keys = (jax.random.split(playing, rounds), jax.random.split(drawing, rounds))
    _, (points, seen) = jax.lax.scan(one_round, grid(mean, moves, WIDTHS[0], first), (jnp.arange(rounds), *keys))
    longest = jax.tree.map(lambda leaf: _by_finalist(leaf[len(WIDTHS) :]), seen)
    return points[-1, ::COPIES][jax.vmap(lambda episodes: score(budgets, episodes, caution))(longest).argmax()]


def grid(
    middle: Float[Array, " point"],
    moves: Float[Array, " weights"],
    width: Float[Array, ""] | float,
    key: PRNGKeyArray,
) -> Float[Array, "candidates point"]:
    """The policy of sharpness 0, a middle, and candidates about it; `moves` is 1 for what is asked for, else 0."""
    steps = width * jnp.asarray(STEPS)
    by = jnp.zeros((len(STEPS), POINT)).at[:, LEVELS].set(steps[:, :1] * moves).at[:, SHARPNESS].set(steps[:, 1])
    sizes = width * jnp.full(POINT, WIDER).at[LEVELS].set(moves)
    others = sizes * jax.random.normal(key, (AT_RANDOM, POINT))
    return jnp.concatenate([middle.at[SHARPNESS].set(BLUNT)[None], middle + by, middle + others])


def _by_finalist(leaf: Array) -> Array:
    """Episodes of rounds and copies, one after the other, for each finalist: [rounds, candidates, …, episodes]."""
    apart = leaf.reshape(leaf.shape[0], FINALISTS, COPIES, *leaf.shape[2:])
    first = jnp.moveaxis(apart, (1, 0, 2), (0, -3, -2))  # [finalists, …, rounds, copies, episodes]
    return first.reshape(*first.shape[:-3], -1)
