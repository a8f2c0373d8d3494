"""The states' programs of the distilled Lyapunov method against a general solver, and what its losses learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

from mccpo.methods.constrained.lyapunov import advantages_of, state_programs
from mccpo.methods.gradient.network import Network

solve_states = jax.jit(state_programs)
TAU = 0.5
ACTIONS, STATES = 5, 12


def problem(seed, costs, limit):
    rng = np.random.default_rng(seed)
    mask = rng.uniform(size=(ACTIONS, STATES)) < 0.7
    mask[0] = True
    probs = rng.exponential(size=(ACTIONS, STATES)) * mask
    probs /= probs.sum(axis=0)
    gains = rng.normal(size=(ACTIONS, STATES))
    drift = rng.normal(size=(costs, ACTIONS, STATES))
    drift -= (drift * probs).sum(axis=1, keepdims=True)
    return mask, probs, gains, drift, np.full(costs, limit)


def solved(mask, probs, gains, drift, limits, cap=10.0):
    with np.errstate(divide="ignore"):
        logs = np.log(probs)
    arrays = (logs, mask, gains, drift, limits, np.full(len(limits), cap), TAU)
    return solve_states(*map(jnp.asarray, arrays))


def by_slsqp(probs, gains, drift, limits):
    """The program of one state over its ready actions."""

    def loss(x):
        return -(x @ gains) + TAU * (x * np.log(np.maximum(x, 1e-12) / probs)).sum()

    rules = [{"type": "eq", "fun": lambda x: x.sum() - 1}]
    rules += [{"type": "ineq", "fun": lambda x, d=d, m=m: m - x @ d} for d, m in zip(drift, limits, strict=True)]
    return scipy.optimize.minimize(loss, probs, bounds=[(0, 1)] * len(probs), constraints=rules, tol=1e-10)


@pytest.mark.parametrize("costs", [1, 2])
def test_the_programs_match_a_general_solver(costs):
    mask, probs, gains, drift, limits = problem(costs, costs, limit=0.05)
    found = solved(mask, probs, gains, drift, limits)
    for s in range(STATES):
        ready = mask[:, s]
        other = by_slsqp(probs[ready, s], gains[ready, s], drift[:, ready, s], limits)
        assert other.success
        np.testing.assert_allclose(np.asarray(found.probs)[ready, s], other.x, atol=0.05)
    assert (np.asarray(found.prices) > 0).any()
    assert (np.asarray(found.prices) == 0).any()


def test_bounds_hold_and_nothing_unready_is_chosen():
    mask, probs, gains, drift, limits = problem(5, 3, limit=0.1)
    found = solved(mask, probs, gains, drift, limits)
    np.testing.assert_allclose(np.asarray(found.probs).sum(axis=0), 1.0, rtol=1e-5)
    assert (np.asarray(found.probs)[~mask] == 0).all()
    expected = np.einsum("cas,as->cs", drift, np.asarray(found.probs))
    assert (expected <= 0.1 + 0.05).all()


def test_an_unreachable_bound_lowers_the_cost_as_far_as_the_cap_allows():
    mask, probs, gains, drift, _ = problem(6, 1, limit=0.0)
    found = solved(mask, probs, gains, drift, np.array([-100.0]), cap=3.0)
    np.testing.assert_allclose(found.prices, 3.0, rtol=1e-5)
    assert (np.einsum("cas,as->cs", drift, np.asarray(found.probs)) <= 0.3).all()


def test_a_cost_without_a_budget_has_no_price():
    mask, probs, gains, drift, _ = problem(7, 2, limit=0.0)
    arrays = (np.log(np.maximum(probs, 1e-30)), mask, gains, drift, np.array([0.0, -9.0]), np.array([9.0, 0.0]), TAU)
    assert (np.asarray(solve_states(*map(jnp.asarray, arrays)).prices[1]) == 0).all()


def test_the_critic_s_advantages_have_mean_0_under_the_policy():
    network = Network(2, 3 * 4, 1)
    probs = jnp.array([[0.2, 0.5], [0.8, 0.0], [0.0, 0.5]])
    found = advantages_of(network, network.init(jax.random.key(0)), jnp.ones((2, 2)), probs)
    assert found.shape == (4, 3, 2)
    np.testing.assert_allclose((found * probs).sum(axis=1), 0.0, atol=1e-6)
