"""How the weights of a network start, and its optimiser, against plain NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.methods.gradient.network import Network, adam

NETWORK = Network(features=7, actions=5, signals=3, hidden=(16, 12))


@pytest.fixture(scope="module")
def fresh():
    return NETWORK.init(jax.random.key(3))


def test_initial_weights_keep_the_size_of_signals_and_biases_are_zero(fresh):
    w1, b1, w2, b2, w3, b3 = (np.asarray(part) for part in NETWORK.unpack(fresh))
    assert fresh.shape == (NETWORK.size,)
    assert fresh.dtype == jnp.float32
    many = jax.vmap(NETWORK.init)(jax.random.split(jax.random.key(0), 400))
    first, second, heads = (np.asarray(jax.vmap(lambda one, at=at: NETWORK.unpack(one)[at])(many)) for at in (0, 2, 4))
    assert first.std() == pytest.approx(np.sqrt(2 / w1.shape[1]), rel=0.05)
    assert second.std() == pytest.approx(np.sqrt(2 / w2.shape[1]), rel=0.05)
    assert heads[:, :5].std() == pytest.approx(0.01 * np.sqrt(2 / w3.shape[1]), rel=0.05)
    for bias in (b1, b2, b3):
        assert not bias.any()


def test_the_first_policy_is_near_uniform_and_the_first_values_are_zero(fresh):
    features = jax.random.uniform(jax.random.key(0), (7, 200))
    logits, values = NETWORK.apply(fresh, features)
    np.testing.assert_allclose(jax.nn.softmax(logits, axis=0), 0.2, atol=0.02)
    assert float(jnp.abs(logits).max()) > 0
    assert not values.any()


def test_another_key_gives_another_network(fresh):
    np.testing.assert_array_equal(fresh, NETWORK.init(jax.random.key(3)))
    assert (np.asarray(fresh) != np.asarray(NETWORK.init(jax.random.key(4)))).mean() > 0.5


def test_adam_matches_plain_numpy():
    rng = np.random.default_rng(1)
    ours = plain = rng.normal(size=6)
    mean = square = jnp.zeros(6)
    m = v = np.zeros(6)
    for step in range(1, 21):
        gradient, rate = rng.normal(size=6) * 10.0 ** np.arange(-3, 3), 0.01 / step
        m = 0.9 * m + (1 - 0.9) * gradient
        v = 0.999 * v + (1 - 0.999) * gradient**2
        plain = plain - rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-5)
        change, mean, square = adam(jnp.asarray(gradient), mean, square, jnp.asarray(float(step)), jnp.asarray(rate))
        ours = ours + np.asarray(change)
        np.testing.assert_allclose(mean, m, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(square, v, rtol=1e-4, atol=1e-10)
    np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-5)
