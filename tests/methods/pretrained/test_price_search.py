"""The search for what is to count, on scores whose optimum is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo import make
from mccpo.env import Constraints
from mccpo.methods import budgets_of, evaluate_policies
from mccpo.methods.pretrained import Pretrained, pretrained_parameters
from mccpo.methods.pretrained.price_search import CANDIDATES, Search, about, ascended, moved, start, varied
from mccpo.methods.pretrained.weighting import LEAST, LEVELS, POINT, SHARPNESS, TURNS, policy_at, prices_at, weights_at


def searched(score, seed, generations=40):
    """Where generations about a mean end that a score ranks."""
    nothing = jnp.zeros((CANDIDATES, 3))
    search = Search(nothing, nothing, jnp.zeros(CANDIDATES), jnp.zeros(3), jnp.full(3, 1.5))
    for key in jax.random.split(jax.random.key(seed), generations):
        points = about(key, search)
        mean, spread = moved(search.mean, search.spread, points, jax.vmap(score)(points))
        search = search._replace(mean=mean, spread=spread)
    return np.asarray(search.mean)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_search_ends_where_costs_that_fall_with_prices_just_meet_their_budgets(seed):
    # The return falls, and each cost e^(-price) falls, with each price: best is where the costs are at 0.3 and 0.1.
    budgets = jnp.array([0.3, 0.1])

    def score(logs):
        prices = jnp.exp(logs[:2])
        excess = (jnp.exp(-prices) / budgets - 1).max()
        return jnp.where(excess <= 0, -prices.sum(), -1e3 * (1 + excess)) - (logs[2] - 1.0) ** 2

    found = searched(score, seed)
    np.testing.assert_allclose(np.exp(found[:2]), -np.log(budgets), rtol=0.2)
    assert (np.exp(found[:2]) > 0.97 * -np.log(budgets)).all()
    assert found[2] == pytest.approx(1.0, abs=0.3)


def test_dual_ascent_ends_where_a_cost_that_falls_with_its_weight_is_at_its_budget():
    env = make("tutor-15")
    points = start(env, budgets_of(env, {"c3": 1.0}), jax.random.key(0)).points
    for step in np.linspace(8.0, 1.0, 40):
        weight = jnp.exp(points[:, 2])
        excess = jnp.full((CANDIDATES, 3), -jnp.inf).at[:, 1].set(jnp.exp(-weight) / 0.3 - 1.0)
        after = ascended(env, points, excess, step)
        assert (after[:, 3:] == points[:, 3:]).all()
        assert (after[:, :2] == points[:, :2]).all()
        points = after
    np.testing.assert_allclose(np.exp(points[:, 2]), -np.log(0.3), rtol=0.05)


def test_the_weight_of_a_budget_with_room_falls_to_the_least():
    env = make("tutor-15")
    points = start(env, budgets_of(env, {"c2": 1.0}), jax.random.key(0)).points
    for _ in range(20):
        points = ascended(env, points, jnp.array([[-0.5, -jnp.inf, -jnp.inf]] * CANDIDATES), 8.0)
    np.testing.assert_allclose(points[:, 1], LEAST)


def test_a_search_starts_with_what_is_asked_for_and_with_some_candidates_whose_weights_do_not_turn():
    env = make("tutor-15")
    points = np.asarray(start(env, budgets_of(env, {"c2": 1.0, "c3": 1.0}), jax.random.key(1)).points)
    assert points.shape == (CANDIDATES, POINT)
    assert (points[:, [1, 2]] > LEAST).all()
    besides = points[:, [3, 4]] == np.float32(LEAST)
    assert besides.any()
    assert not besides.all()
    turns = points[:, TURNS]
    assert (turns[:, 0] == 0).all()
    assert 0 < (turns == 0).all(axis=1).sum() < CANDIDATES


def test_the_better_half_stays_and_its_best_points_are_varied():
    points = jax.random.normal(jax.random.key(0), (CANDIDATES, POINT))
    scores = jnp.arange(CANDIDATES, dtype=jnp.float32)
    after, best, kept = varied(jax.random.key(1), jnp.ones(5, bool), points, points + 100.0, scores)
    half = CANDIDATES // 2
    np.testing.assert_array_equal(after[half:], points[half:])
    np.testing.assert_array_equal(kept[half:], scores[half:])
    assert (np.asarray(kept[:half]) == -np.inf).all()
    np.testing.assert_array_equal(after[:half], best[:half])
    apart = np.abs(np.asarray(after[:half]) - np.asarray(points[half:] + 100.0))
    assert 0.2 < (apart < 1e-6).mean() < 0.8
    assert apart.max() < 5.0


def test_weights_turn_in_the_course_of_an_episode():
    env, point = make("tutor-15"), jnp.zeros(POINT).at[LEVELS].set(jnp.log(jnp.array([7.0, 1.0, 1.0, 1.0, 0.5])))
    point = point.at[TURNS].set(jnp.log(jnp.array([7.0, 4.0, 1.0, 0.25, 1.0])))
    np.testing.assert_allclose(weights_at(env, point, 0.0), [1.0, 0.5, 1.0, 2.0, 0.5], rtol=1e-5)
    np.testing.assert_allclose(weights_at(env, point), [1.0, 1.0, 1.0, 1.0, 0.5], rtol=1e-5)
    np.testing.assert_allclose(weights_at(env, point, 1.0), [1.0, 2.0, 1.0, 0.5, 0.5], rtol=1e-5)


def test_prices_are_of_what_carries_a_budget_in_units_of_the_reward():
    env = Constraints(floors={"learning": 1.0}, reach={"learning": 2.0}).environment(make("tutor-15"))
    budgets = budgets_of(env, {"c3": 5.0, "learning": 1.0})
    point = jnp.zeros(POINT).at[LEVELS].set(jnp.log(jnp.array([1.0, 2.0, 0.5, 3.0, 4.0])))
    np.testing.assert_allclose(prices_at(env, budgets, point), [0.0, 0.5 / 0.3, 0.0, 4.0 / 0.08], rtol=1e-4)


def played(points):
    env, method = make("tutor-15", concepts=6), Pretrained()
    budgets, weights = budgets_of(env, {}), jnp.asarray(pretrained_parameters())
    policies = [np.asarray(policy_at(env, budgets, weights, point)) for point in points]
    return evaluate_policies(
        env, [method.playing(env)], method.network(env), np.stack(policies)[None], episodes=50, seed=0
    )


NOTHING = jnp.full(POINT, -9.0).at[TURNS].set(0.0).at[SHARPNESS].set(0.5)


def test_the_policy_of_a_search_learns_more_where_learning_counts_more():
    seen = played([NOTHING.at[4].set(log) for log in (-9.0, 0.0, 3.0)])
    gains, returns = seen.gain[0].mean(axis=-1), seen.ret[0].mean(axis=-1)
    assert gains[0] < gains[1] < gains[2]
    assert returns[0] > returns[1] > returns[2]


def test_where_learning_counts_early_more_of_it_comes_early():
    # Of two policies whose learning counts as much half-way, the one that turns away from it gains earlier: its
    # learning with discount is a larger part of all that it gains.
    seen = played([NOTHING.at[4].set(0.0).at[9].set(turn) for turn in (-5.0, 5.0)])
    early, late = (np.asarray(seen.learning) / np.asarray(seen.gain)).mean(axis=-1)[0]
    assert early > late + 0.05
