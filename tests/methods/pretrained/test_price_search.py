"""The search for what is to count, on scores whose optimum is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo import make
from mccpo.env import Constraints
from mccpo.methods import budgets_of, evaluate_policies
from mccpo.methods.pretrained import Pretrained, pretrained_parameters, price_search
from mccpo.methods.pretrained.price_search import LEAST, Search, about, everywhere, moved, prices_at, start


def searched(score, seed, generations=40):
    """Where generations about a mean end that a score ranks."""
    search = Search(jnp.zeros(3), jnp.full(3, 1.5))
    for key in jax.random.split(jax.random.key(seed), generations):
        logs = about(key, search)
        search = moved(search, logs, jax.vmap(score)(logs))
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


def test_where_one_looks_everywhere_some_weights_are_nothing():
    first = start(make("tutor-15"), budgets_of(make("tutor-15"), {"c2": 1.0}))
    logs = np.concatenate([everywhere(key, first) for key in jax.random.split(jax.random.key(0), 10)])
    dropped = logs[:, :-1] == np.float32(LEAST)
    assert 0.2 < dropped.mean() < 0.5
    assert first.mean[1] > first.mean[2]  # c2 carries a budget, c3 none


def test_prices_are_of_what_carries_a_budget_in_units_of_the_reward():
    env = Constraints(floors={"learning": 1.0}, reach={"learning": 2.0}).environment(make("tutor-15"))
    budgets = budgets_of(env, {"c3": 5.0, "learning": 1.0})
    logs = jnp.log(jnp.array([1.0, 2.0, 0.5, 3.0, 4.0, 1.0]))
    found = prices_at(env, budgets, logs)
    np.testing.assert_allclose(found, [0.0, 0.5 / 0.3, 0.0, 4.0 / 0.08], rtol=1e-4)


def test_the_policy_of_a_search_learns_more_where_learning_counts_more():
    env, method = make("tutor-15", concepts=6), Pretrained()
    budgets, weights = budgets_of(env, {}), jnp.asarray(pretrained_parameters())
    logs = [[0.0, -9.0, -9.0, -9.0, log, 0.5] for log in (-9.0, 0.0, 3.0)]
    policies = [np.asarray(price_search.policy_at(env, budgets, weights, jnp.array(one))) for one in logs]
    seen = evaluate_policies(
        env, [method.playing(env)], method.network(env), np.stack(policies)[None], episodes=50, seed=0
    )
    gains, returns = seen.gain[0].mean(axis=-1), seen.ret[0].mean(axis=-1)
    assert gains[0] < gains[1] < gains[2]
    assert returns[0] > returns[1] > returns[2]
