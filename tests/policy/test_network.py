"""The networks: what the flat vector means, and a forward pass that NumPy and JAX agree on."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.policy import GraphPolicyNetwork, PolicyNetwork
from mccpo.policy import graph_network as graph_module

NETWORK = PolicyNetwork(features=7, actions=5, signals=3, hidden=(16, 12))


def plain_forward(network, parameters, features):
    """One observation at a time, one layer after another."""
    first, second = network.hidden
    at, parts = 0, []
    for shape in [(first, network.features), (first,), (second, first), (second,)]:
        size = int(np.prod(shape))
        parts.append(parameters[at : at + size].reshape(shape))
        at += size
    heads = network.actions + network.signals
    w3 = parameters[at : at + heads * second].reshape(heads, second)
    b3 = parameters[at + heads * second :]
    w1, b1, w2, b2 = parts
    outputs = [w3 @ np.tanh(w2 @ np.tanh(w1 @ row + b1) + b2) + b3 for row in features.T]
    return np.stack(outputs, axis=1)


def test_flat_vector_holds_every_weight_once():
    parts = NETWORK.unpack(jnp.arange(NETWORK.size, dtype=jnp.float32))
    assert tuple(part.shape for part in parts) == NETWORK.shapes
    assert NETWORK.shapes == ((16, 7), (16,), (12, 16), (12,), (8, 12), (8,))
    assert NETWORK.size == 16 * 7 + 16 + 12 * 16 + 12 + 8 * 12 + 8
    np.testing.assert_array_equal(jnp.concatenate([part.ravel() for part in parts]), np.arange(NETWORK.size))


def test_forward_pass_matches_plain_numpy():
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=NETWORK.size).astype(np.float32)
    features = rng.uniform(size=(7, 20)).astype(np.float32)
    logits, values = NETWORK.apply(jnp.asarray(parameters), jnp.asarray(features))
    expected = plain_forward(NETWORK, parameters, features)
    assert logits.shape == (5, 20)
    assert values.shape == (3, 20)
    np.testing.assert_allclose(logits, expected[:5], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values, expected[5:], rtol=1e-4, atol=1e-4)


def graph_network(concepts, **other):
    chain = tuple((concept, concept + 1) for concept in range(concepts - 1))
    return GraphPolicyNetwork(
        2 * concepts + 1,
        concepts + 1,
        3,
        concepts=concepts,
        edges=(*chain, (0, concepts - 1)),
        blocks=((0, 1), (concepts, 1)),
        fixed=((0.5,),) * concepts,
        **other,
    )


def shared_network(concepts):
    """As concepts share weights: no rounds, but a look at what is seen of the neighbours."""
    return graph_network(concepts, rounds=0, sees_neighbours=True)


@pytest.mark.parametrize("network", [NETWORK, graph_network(6), shared_network(6)], ids=["plain", "graph", "shared"])
def test_numpy_and_jax_agree(network):
    rng = np.random.default_rng(1)
    parameters = rng.normal(scale=0.5, size=network.size).astype(np.float32)
    features = rng.uniform(size=(network.features, 4)).astype(np.float32)
    ours = network.apply(parameters, features)
    for found, expected in zip(ours, jax.jit(network.apply)(parameters, features), strict=True):
        assert isinstance(found, np.ndarray)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rounds", [0, 2])
def test_numpy_and_jax_agree_on_many_concepts(rounds):
    """Concepts of many neighbours (one has a hundred), of one and of none, and edges in no order."""
    concepts = 130
    rng = np.random.default_rng(2)
    pairs = {tuple(sorted(map(int, rng.choice(concepts - 3, 2, replace=False)))) for _ in range(3 * concepts)}
    pairs |= {(of, concepts - 1) for of in range(100)}
    edges = tuple((int(of), int(to)) for of, to in rng.permutation(sorted(pairs)))
    network = replace(graph_network(concepts, rounds=rounds, sees_neighbours=True), edges=edges)
    parameters = rng.normal(scale=0.5, size=network.size).astype(np.float32)
    features = rng.uniform(size=(network.features, 3)).astype(np.float32)
    ours, theirs = network.apply(parameters, features), jax.jit(network.apply)(parameters, features)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    plain = plain_neighbours(network, features)
    for direction in (graph_module.BEFORE, graph_module.AFTER):
        means = network.of_neighbours(features[:concepts, None], direction)[:, 0]
        np.testing.assert_allclose(means, plain[direction], rtol=1e-5, atol=1e-6)


def plain_neighbours(network, features):
    """The mean first feature of each concept's prerequisites and of what needs it, one concept at a time."""
    before, after = np.zeros((2, network.concepts, features.shape[1]))
    for concept in range(network.concepts):
        needs = [of for of, to in network.edges if to == concept]
        opens = [to for of, to in network.edges if of == concept]
        before[concept] = features[needs].mean(axis=0) if needs else 0.0
        after[concept] = features[opens].mean(axis=0) if opens else 0.0
    return before, after


@pytest.mark.parametrize("signals", [1, 2, 3])
@pytest.mark.parametrize("network", [NETWORK, graph_network(6), shared_network(6)], ids=["plain", "graph", "shared"])
def test_dropping_values_changes_no_action_probability(network, signals):
    rng = np.random.default_rng(3)
    runs = rng.normal(scale=0.5, size=(2, 3, network.size)).astype(np.float32)
    features = rng.uniform(size=(network.features, 4)).astype(np.float32)
    smaller, fewer = replace(network, signals=signals), network.without_values(runs, signals)
    assert fewer.shape == (2, 3, smaller.size)
    for at in np.ndindex(2, 3):
        (logits, values), (same, rest) = network.apply(runs[at], features), smaller.apply(fewer[at], features)
        np.testing.assert_array_equal(same, logits)
        np.testing.assert_array_equal(rest, values[:signals])
    if signals == network.signals:
        np.testing.assert_array_equal(fewer, runs)


def test_weights_that_are_no_numbers_are_not_hidden():
    network = graph_network(4)
    logits, values = network.apply(np.full(network.size, np.nan), np.ones((network.features, 2)))
    assert np.isnan(logits).all()
    assert np.isnan(values).all()
