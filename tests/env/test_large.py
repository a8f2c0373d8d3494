"""Curricula of well over a thousand concepts: nothing that is built or compiled has an entry for each pair of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import make
from mccpo.methods import NetworkPolicy, evaluate_policy, method_arrays, method_spec
from mccpo.methods import episodes as playing
from mccpo.methods.gradient.graph_network import shared_network_of

CONCEPTS = 1500


@pytest.fixture(scope="module")
def env():
    """Chains of three, and one concept that needs two hundred others."""
    names = [f"c{at}" for at in range(CONCEPTS)]
    chains = [(names[at - 1], names[at]) for at in range(1, CONCEPTS) if at % 3]
    hub = [(names[at], names[-1]) for at in range(0, 600, 3)]
    return make("tutor-15", curriculum=Curriculum.from_edges(chains + hub, concepts=names))


def largest(jaxpr):
    """The size of the largest array that a program holds, those of loops and branches within it included."""
    arrays = [variable.aval for equation in jaxpr.eqns for variable in (*equation.outvars, *equation.invars)]
    sizes = [int(np.prod(array.shape)) for array in arrays if hasattr(array, "shape")]
    sizes += [np.size(constant) for constant in getattr(jaxpr, "consts", ())]
    inner = [leaf for equation in jaxpr.eqns for leaf in jax.tree.leaves(equation.params, is_leaf=_program)]
    return max([*sizes, *(largest(leaf) for leaf in inner if _program(leaf))], default=0)


def _program(leaf):
    return hasattr(leaf, "eqns")


def test_no_program_has_an_array_of_all_pairs(env):
    net = shared_network_of(env)
    state, obs = jax.jit(lambda key: env.reset(key))(jax.random.key(0))

    def loss(parameters, features):
        logits, values = net.apply(parameters, features)
        return (logits**2).sum() + values.sum()

    step = jax.make_jaxpr(lambda key, state: env.step(key, state, jnp.asarray(3)))(jax.random.key(1), state)
    learn = jax.make_jaxpr(jax.grad(loss))(jnp.zeros(net.size), obs.features[:, None])
    assert CONCEPTS < largest(step) < 12 * CONCEPTS
    assert CONCEPTS < largest(learn) < 400 * CONCEPTS  # the same weights for each concept: 16 × 24 at most
    assert "dense" not in vars(env.curriculum.prerequisites)
    assert largest(jax.make_jaxpr(lambda values: values[:, None] * values)(jnp.ones(CONCEPTS))) == CONCEPTS**2


def test_a_concept_that_needs_two_hundred_opens_with_the_last_of_them(env):
    curriculum, hub = env.curriculum, CONCEPTS - 1
    needs = curriculum.prerequisites.lists[hub]
    assert len(needs) > 200
    K = np.zeros(CONCEPTS, np.float32)
    K[list(needs)] = 0.9
    missing = K.copy()
    missing[needs[77]] = 0.6
    for mastery, opened in ((K, True), (missing, False)):
        for array in (mastery, jnp.asarray(mastery)):
            assert bool(curriculum.ready(array, 0.7)[hub]) is opened
            assert bool(curriculum.prerequisites_hold(array >= 0.7, hub)) is opened
    expected = np.prod(np.full(len(needs), 0.9))
    np.testing.assert_allclose(curriculum.joint_chance(K)[hub], expected, rtol=1e-3)
    np.testing.assert_allclose(curriculum.concept_chance(jnp.asarray(K), 0.0, hub), expected, rtol=1e-3)


def test_episodes_in_blocks_are_as_many_and_of_one_kind(monkeypatch):
    small = make("tutor-15", horizon=10)
    spec = method_spec("mc-cpo")
    net = shared_network_of(small)
    policy = NetworkPolicy(method_arrays(spec, small), net.init(jax.random.key(0)), net)
    whole = evaluate_policy(small, policy, jax.random.key(1), 300)
    monkeypatch.setattr(playing, "SEEN_AT_ONCE", 61 * 70)
    parts = evaluate_policy(small, policy, jax.random.key(1), 300)
    assert jax.tree.map(jnp.shape, parts) == jax.tree.map(jnp.shape, whole)
    assert (np.asarray(parts.length) == 10).all()
    error = np.std(whole.ret) / np.sqrt(300)
    assert abs(np.mean(parts.ret) - np.mean(whole.ret)) < 6 * error
    assert len(np.unique(parts.ret)) > 200  # no block is another's copy
