"""The compiled learner against the plain NumPy loop, given the same random numbers."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.bench.plain_tabular import PlainLearner
from mccpo.env import FiniteEnvironment, make
from mccpo.exact import enumerate_model
from mccpo.methods import TabularSettings, budgets_of, method_arrays, method_spec
from mccpo.methods.mc_cpo import tabular
from mccpo.methods.mc_cpo.spec import MethodArrays

BATCH, UPDATES = 6, 40
SETTINGS = TabularSettings(warm=5.0)
BUDGETS = {"chain": {"c4": 2.4505}, "gate": {"c": 0.0}, "random-finite": {"c3": 1.8, "c4": 3.5}}


@functools.cache
def compiled(environment: str) -> Callable[[MethodArrays, tabular.TabularState], tabular.TabularState]:
    """One update of the learner, of any method: a program for each environment."""
    env = make(environment)
    assert isinstance(env, FiniteEnvironment)
    budgets = budgets_of(env, BUDGETS[environment])
    return jax.jit(lambda numbers, state: tabular.learn(env, numbers, budgets, SETTINGS, state, BATCH, 0)[0])


@pytest.mark.parametrize("environment", BUDGETS)
@pytest.mark.parametrize("method", ["unconstrained", "reward-shaped", "mc-cpo", "mc-cpo-no-frontier"])
def test_twins_agree(environment: str, method: str) -> None:
    env = make(environment)
    assert isinstance(env, FiniteEnvironment)
    spec, budgets = method_spec(method), budgets_of(env, BUDGETS[environment])
    limit = np.where(np.asarray(budgets.active) > 0, np.asarray(budgets.limit, float), np.nan)
    model = enumerate_model(env)
    scale = np.asarray(budgets.scale, float)
    plain = PlainLearner(model, spec, limit, scale, SETTINGS, env.horizon, env.cost_bounds, env.reward_bound)
    state = tabular.start(env, jax.random.key(3))
    numbers = method_arrays(spec, env)
    for _ in range(UPDATES):
        plain.learn(*map(np.asarray, _uniforms(state.key, env.horizon)))
        state = compiled(environment)(numbers, state)
    reached = model.index
    np.testing.assert_allclose(np.asarray(state.theta)[reached], plain.theta, atol=2e-3)
    np.testing.assert_allclose(np.asarray(state.baseline)[reached], plain.baseline, atol=1e-3)
    np.testing.assert_allclose(state.multipliers.value, plain.multipliers, atol=1e-3)
    assert np.abs(plain.theta).max() > 0.5  # they moved, so that agreeing means something


@functools.partial(jax.jit, static_argnames="horizon")
def _uniforms(key: jax.Array, horizon: int) -> tuple[jax.Array, jax.Array]:
    """The numbers that one update of the compiled learner draws from its key."""
    choose, move, _begin = jax.random.split(jax.random.split(key)[1], 3)
    keys = jax.random.split(move, (horizon, BATCH))
    moves = jax.vmap(jax.vmap(jax.random.uniform))(keys)
    return jax.random.uniform(choose, (horizon, BATCH)), moves


def test_the_key_is_never_used_twice() -> None:
    env = make("chain")
    assert isinstance(env, FiniteEnvironment)
    state = tabular.start(env, jax.random.key(0))
    numbers = method_arrays(method_spec("mc-cpo"), env)
    seen = set()
    for _ in range(5):
        seen.add(tuple(np.asarray(jax.random.key_data(state.key))))
        state = compiled("chain")(numbers, state)
    assert len(seen) == 5
    assert jnp.isfinite(state.theta).all()
