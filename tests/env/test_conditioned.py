"""Environments at a share κ of the budgets: κ is seen, costs come in its units, and nothing else changes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Conditioned, FiniteEnvironment, at_kappa, make
from mccpo.errors import InputError

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def inner():
    return make("chain")


def test_kappa_is_drawn_evenly_and_stays_with_its_learner(inner):
    env = Conditioned(inner, (0.4, 0.5, 1.0), relative=True)
    states, obs = jax.vmap(env.reset)(jax.random.split(KEY, 2000))
    levels, counts = np.unique(states.kappa, return_counts=True)
    np.testing.assert_allclose(levels, [0.4, 0.5, 1.0])
    np.testing.assert_allclose(counts / 2000, 1 / 3, atol=0.04)
    np.testing.assert_array_equal(obs.features[:, -1], states.kappa)
    steps = jax.vmap(env.step, in_axes=(0, 0, None))(jax.random.split(KEY, 2000), states, jnp.asarray(5))
    np.testing.assert_array_equal(steps.state.kappa, states.kappa)
    np.testing.assert_array_equal(steps.obs.features[:, -1], states.kappa)


@pytest.mark.parametrize("name", ["chain", "tutor-15", "tutor-15-goal"])
@pytest.mark.parametrize("relative", [True, False])
def test_a_step_is_the_inner_ones_but_for_the_unit_of_its_costs(name, relative):
    inner = make(name)
    env = Conditioned(inner, (0.5,), relative=relative)
    state, _ = env.reset(KEY)
    found, expected = env.step(KEY, state, jnp.asarray(0)), inner.step(KEY, state.learner, jnp.asarray(0))
    np.testing.assert_allclose(found.costs, expected.costs * (2.0 if relative else 1.0), rtol=1e-6)
    for one, other in ((found.reward, expected.reward), (found.gain, expected.gain)):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found.obs.features[:-1], expected.obs.features)
    np.testing.assert_array_equal(found.obs.action_mask, expected.obs.action_mask)
    np.testing.assert_array_equal(env.truly_ready(state), inner.truly_ready(state.learner))


def test_the_wrapper_keeps_declarations_and_takes_bounds_at_the_smallest_kappa(inner):
    env = Conditioned(inner, (1.0, 0.4), relative=True)
    for name in ("name", "cost_names", "constrained", "filter", "action_names", "horizon", "gamma", "reward_bound"):
        assert getattr(env, name) == getattr(inner, name)
    assert env.num_features == inner.num_features + 1
    np.testing.assert_allclose(env.cost_bounds, inner.cost_bounds / 0.4)
    np.testing.assert_allclose(at_kappa(inner, 0.4).cost_bounds, inner.cost_bounds)


def test_a_finite_environment_at_one_kappa_has_the_same_states(inner):
    env = at_kappa(inner, 0.7)
    assert isinstance(env, FiniteEnvironment)
    assert env.num_states == inner.num_states
    numbers = jnp.arange(env.num_states)
    states = jax.vmap(env.state)(numbers)
    np.testing.assert_array_equal(jax.vmap(env.index)(states), numbers)
    np.testing.assert_allclose(states.kappa, 0.7)
    chances, steps = env.outcomes(env.state(jnp.asarray(0)), jnp.asarray(0))
    expected, inner_steps = inner.outcomes(inner.state(jnp.asarray(0)), jnp.asarray(0))
    np.testing.assert_array_equal(chances, expected)
    np.testing.assert_array_equal(steps.costs, inner_steps.costs)
    np.testing.assert_allclose(steps.obs.features[:, -1], 0.7)


def test_other_environments_at_one_kappa_are_as_they_are():
    assert not isinstance(at_kappa(make("tutor-15"), 0.7), FiniteEnvironment)


@pytest.mark.parametrize("levels", [(), (0.0, 1.0), (0.5, 1.2)])
def test_invalid_levels_are_refused(inner, levels):
    with pytest.raises(InputError, match="kappa is one of"):
        Conditioned(inner, levels, relative=True)
