"""CPO's parts: the step against a general solver, conjugate gradients, the line search, the Fisher matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

from mccpo import make
from mccpo.methods.constrained import cpo
from mccpo.methods.constrained.trust_region import best_step, conjugate_gradients
from mccpo.methods.gradient.graph_network import shared_network_of
from mccpo.methods.gradient.network import Network
from mccpo.policy import masked_softmax

RADIUS = 0.05
solve_step = jax.jit(best_step)


def problem(seed, costs, tightness):
    """A gain, costs and a metric; `tightness` is how far the budgets are missed, in lengths of the region."""
    rng = np.random.default_rng(seed)
    size = 6
    root = rng.normal(size=(size, size))
    H = root @ root.T + 0.3 * np.eye(size)
    g, B = rng.normal(size=size), rng.normal(size=(costs, size)) * 10.0 ** rng.uniform(-1, 1, size=(costs, 1))
    reach = np.sqrt(2 * RADIUS * np.einsum("ij,jk,ik->i", B, np.linalg.inv(H), B))
    return g, B, H, (tightness + rng.uniform(-1, 1, size=costs)) * reach


def stepped(g, B, H, c, active=None):
    gain, costs = np.linalg.solve(H, g), np.linalg.solve(H, B.T)
    active = np.ones(len(c)) if active is None else active
    step = solve_step(*map(jnp.asarray, (g @ gain, B @ gain, B @ costs, c, active, RADIUS)))
    return step, float(step.gain) * gain - costs @ np.asarray(step.costs)


def by_slsqp(g, B, H, c):
    """The best of several starts, or None where the nearest that comes to the budgets still misses one."""
    rules = [{"type": "ineq", "fun": lambda x: RADIUS - 0.5 * x @ H @ x, "jac": lambda x: -H @ x}]
    unit = np.sqrt(np.einsum("ij,jk,ik->i", B, np.linalg.inv(H), B))
    for b, limit, length in zip(B, c, unit, strict=True):
        rules.append({"type": "ineq", "fun": lambda x, b=b, d=limit, n=length: -(b @ x + d) / n})
    rng = np.random.default_rng(0)
    found = [
        scipy.optimize.minimize(lambda x: -g @ x, 0.1 * rng.normal(size=len(g)), jac=lambda _: -g, constraints=rules)
        for _ in range(6)
    ]
    met = [one for one in found if min(rule["fun"](one.x) for rule in rules) > -1e-5]
    return max((g @ one.x for one in met), default=None)


@pytest.mark.parametrize("costs", [0, 1, 2, 3])
def test_the_step_matches_a_general_solver(costs):
    seen = set()
    for seed in range(12):
        g, B, H, c = problem(seed, costs, tightness=(-0.5, 0.0, 0.6)[seed % 3])
        step, x = stepped(g, B, H, c)
        best = by_slsqp(g, B, H, c)
        seen.add(bool(step.feasible))
        assert 0.5 * x @ H @ x <= RADIUS * (1 + 1e-3)
        assert bool(step.feasible) == (best is not None), seed
        if best is not None:
            assert g @ x == pytest.approx(best, abs=3e-3 * np.sqrt(2 * RADIUS * g @ np.linalg.solve(H, g)))
            reach = np.sqrt(2 * RADIUS * np.einsum("ij,jk,ik->i", B, np.linalg.inv(H), B))
            assert ((B @ x + c) / reach <= 2e-3).all()
    assert seen == ({True} if costs == 0 else {True, False})


def test_the_multipliers_are_what_a_unit_of_budget_is_worth():
    g, B, H, c = problem(3, 3, tightness=-0.5)
    step, x = stepped(g, B, H, c)
    assert step.feasible
    assert (np.asarray(step.multipliers) > 1e-3).any()
    for i in range(3):
        eased = c.copy()
        by = 1e-2 * np.sqrt(2 * RADIUS * B[i] @ np.linalg.solve(H, B[i]))
        eased[i] -= by
        _, further = stepped(g, B, H, eased)
        assert g @ (further - x) / by == pytest.approx(float(step.multipliers[i]), rel=0.1, abs=0.02)


def test_recovery_goes_to_the_edge_of_the_region_and_lessens_what_is_missed():
    for seed in range(20):
        g, B, H, c = problem(seed, 3, tightness=1.5)
        step, x = stepped(g, B, H, c)
        if not step.feasible:
            assert step.gain == 0.0
            assert 0.5 * x @ H @ x == pytest.approx(RADIUS, rel=1e-3)
            assert np.maximum(B @ x + c, 0).max() < np.maximum(c, 0).max()
            again, _ = stepped(-g, B, H, c)
            np.testing.assert_allclose(again.costs, step.costs)


def test_recovery_from_one_missed_budget_is_the_published_one():
    _, B, H, _ = problem(5, 1, 0.0)
    s = B[0] @ np.linalg.solve(H, B[0])
    _, x = stepped(-B[0], B, H, np.array([2.0 * np.sqrt(2 * RADIUS * s)]))
    np.testing.assert_allclose(x, -np.sqrt(2 * RADIUS / s) * np.linalg.solve(H, B[0]), rtol=1e-4)


@pytest.mark.parametrize(
    ("B", "c"),
    [
        (np.array([[1.0, 2.0, 0.0]]), np.array([0.0])),  # the gain lies along the cost
        (np.array([[1.0, 2.0, 0.0], [-1.0, -2.0, 0.0]]), np.array([0.5, 0.5])),  # two costs that contradict each other
        (np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]), np.array([-0.1, 0.1])),  # two that are the same
        (np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([1.0, 0.0])),  # one that no step changes
    ],
)
def test_degenerate_problems_give_a_step_of_finite_length(B, c):
    g, H = np.array([1.0, 2.0, 0.0]), np.eye(3)
    _, x = stepped(g, B, H, c)
    assert np.isfinite(x).all()
    assert 0.5 * x @ H @ x <= RADIUS * (1 + 1e-3)
    if len(B) == 1:
        np.testing.assert_allclose(x, 0.0, atol=1e-3)


def test_a_cost_without_a_budget_plays_no_part():
    g, B, H, c = problem(1, 3, tightness=0.3)
    _, masked = stepped(g, B, H, c, active=np.array([1.0, 0.0, 0.0]))
    _, alone = stepped(g, B[:1], H, c[:1])
    np.testing.assert_allclose(masked, alone, rtol=1e-4, atol=1e-6)


def test_conjugate_gradients_solve():
    _, _, H, _ = problem(0, 0, 0.0)
    wanted = np.arange(6.0) - 2.0
    found = jax.jit(lambda b: conjugate_gradients(lambda v: jnp.asarray(H) @ v, b, 12))(jnp.asarray(wanted))
    np.testing.assert_allclose(H @ np.asarray(found), wanted, atol=1e-3)


def test_the_line_search_takes_the_longest_step_that_is_accepted():
    theta, direction = jnp.zeros(3), jnp.ones(3)
    found = cpo.line_search(theta, direction, lambda x: x[0] <= 0.5)
    np.testing.assert_allclose(found, cpo.BACKTRACK**2, rtol=1e-6)
    np.testing.assert_array_equal(cpo.line_search(theta, direction, lambda x: x[0] < 0), theta)


def test_fisher_products_match_the_divergences_second_derivative():
    network = Network(3, 4, 2, hidden=(3, 3))
    key = jax.random.key(0)
    theta = jax.random.normal(key, (network.size,))
    rng = np.random.default_rng(0)
    features = jnp.asarray(rng.uniform(size=(cpo.FISHER_ROWS, 3, 2)), jnp.float32)
    mask = jnp.asarray(rng.uniform(size=(cpo.FISHER_ROWS, 4, 2)) < 0.7).at[:, 0].set(True)

    class Played:
        action = jnp.zeros((cpo.FISHER_ROWS, 2), jnp.int32)

    Played.features, Played.mask = features, mask
    flat, allowed = (jnp.moveaxis(array, 0, -2).reshape(array.shape[1], -1) for array in (features, mask))

    def divergence(parameters):
        old = masked_softmax(network.apply(theta, flat)[0], allowed, axis=0)
        new = masked_softmax(network.apply(parameters, flat)[0], allowed, axis=0)
        return (old.probs * jnp.where(allowed, old.log_probs - new.log_probs, 0.0)).sum(axis=0).mean()

    vector = jnp.asarray(rng.normal(size=network.size), jnp.float32)
    expected = jax.jit(lambda v: jax.jvp(jax.grad(divergence), (theta,), (v,))[1] + 0.5 * v)(vector)
    found = jax.jit(lambda v: cpo._fisher(network, theta, Played, key, 0.5)(v))(vector)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_fisher_products_of_a_shared_network_match_its_jacobian():
    # Its layers have backward derivatives of their own, and no forward ones.
    network, rng = shared_network_of(make("tutor-15", concepts=4)), np.random.default_rng(0)
    theta = jnp.asarray(rng.normal(size=network.size), jnp.float32)

    class Played:
        action = jnp.zeros((cpo.FISHER_ROWS, 2), jnp.int32)
        features = jnp.asarray(rng.uniform(size=(cpo.FISHER_ROWS, network.features, 2)), jnp.float32)
        mask = jnp.ones((cpo.FISHER_ROWS, 4, 2), bool)

    flat = jnp.moveaxis(Played.features, 0, -2).reshape(network.features, -1)
    logits = lambda parameters: network.apply(parameters, flat)[0]  # noqa: E731
    slopes = np.asarray(jax.jacrev(logits)(theta), np.float64)
    probs = np.asarray(jax.nn.softmax(logits(theta), axis=0), np.float64)
    vector = rng.normal(size=network.size)
    moved = slopes @ vector
    spread = probs * (moved - (probs * moved).sum(axis=0)) / flat.shape[1]
    expected = np.einsum("abp,ab->p", slopes, spread) + 0.5 * vector
    found = cpo._fisher(network, theta, Played, jax.random.key(0), 0.5)(jnp.asarray(vector, jnp.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
