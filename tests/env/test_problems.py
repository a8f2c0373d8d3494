"""Problems that are drawn inside the program: graphs without cycles, padding that nobody is taught, twins of tutors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo import make
from mccpo.curriculum import Curriculum
from mccpo.env import ConceptGraph
from mccpo.env.tutor.problems import (
    LEAST_CONCEPTS,
    LONGEST,
    DrawnNumbers,
    depth_of,
    draw_problem,
    drawn_graph,
    with_numbers,
)

MOST = 12
_draw = eqx.filter_jit(lambda key: draw_problem(key, MOST))


def drawn(seed):
    return _draw(jax.random.key(seed))


@eqx.filter_jit
def walked(problem, key):
    """What is ready in each step of one who is taught ready concepts, whether one was not, and whether it ended."""

    def walk(carry, draw):
        state, obs = carry
        among = obs.action_mask * (0.1 + jax.random.uniform(draw, obs.action_mask.shape))
        step = problem.step(draw, state, jnp.argmax(among))
        return (step.state, step.obs), (step.obs.action_mask, step.unready, step.terminated)

    return jax.lax.scan(walk, problem.reset(key), jax.random.split(key, LONGEST))[1]


@given(st.integers(0, 2**31 - 1))
def test_a_drawn_graph_has_no_cycle_and_its_padding_no_edges(seed):
    graph = drawn(seed).graph
    needs, there = np.asarray(graph.needs), np.asarray(graph.there)
    assert LEAST_CONCEPTS <= there.sum() <= MOST
    assert not np.triu(needs).any()  # nothing needs itself or what comes after it
    assert not needs[~there].any()
    assert not needs[:, ~there].any()
    assert ((graph.demand[there] >= 0) & (graph.demand[there] <= 1)).all()


@given(st.integers(0, 2**31 - 1))
def test_depth_and_what_lies_behind_match_the_curriculum(seed):
    graph = drawn(seed).graph
    needs, size = np.asarray(graph.needs), int(graph.there.sum())
    names = [f"v{at:02}" for at in range(size)]
    edges = [(names[before], names[after]) for after, before in zip(*np.nonzero(needs), strict=True)]
    curriculum = Curriculum.from_edges(edges, concepts=names)
    described = ConceptGraph.of(curriculum)
    order = [curriculum.concepts.index(name) for name in names]
    np.testing.assert_allclose(graph.depth[:size], np.array(described.depth)[order], atol=1e-6)
    behind = np.linalg.matrix_power(np.eye(size) + needs[:size, :size], size) > 0
    np.testing.assert_allclose(graph.unlocks[:size], (behind.sum(axis=0) - 1) / max(size - 1, 1), atol=1e-6)
    np.testing.assert_allclose(graph.ahead[:size], (behind * graph.demand[:size, None]).max(axis=0), atol=1e-6)


@given(st.integers(0, 2**31 - 1))
def test_numbers_are_those_that_a_tutor_accepts(seed):
    problem = drawn(seed)
    assert ((problem.K0 > 0) & (problem.K0 < 1) & (problem.eta > 0) & (problem.eta <= 0.5)).all()
    assert (problem.guess + problem.slip < 1).all()
    assert 20 <= float(problem.length) <= LONGEST
    assert 0 < float(problem.theta) < 1
    assert 0 < float(problem.confidence) < 1


@given(st.integers(0, 2**31 - 1))
def test_padding_is_never_ready_and_something_always_is(seed):
    problem = drawn(seed)
    masks, unready, ended = walked(problem, jax.random.key(seed))
    assert not masks[:, ~problem.graph.there].any()
    assert masks.any(axis=1).all()
    assert not unready.any()
    assert int(np.argmax(ended)) + 1 == int(problem.length)


def of_tutor(env, *, padding, known, length=100.0):
    """The problem that a tutor is, padded."""
    described, size = env.concept_graph, len(env.curriculum)
    most = size + padding
    needs = np.zeros((most, most), bool)
    for before, after in described.edges:
        needs[after, before] = True
    there = np.arange(most) < size

    def padded(values, fill=0.5):
        return jnp.concatenate([jnp.asarray(values, jnp.float32), jnp.full(padding, fill, jnp.float32)])

    eta, K0, guess, slip = np.array(described.learning).T
    needed = jnp.asarray(needs)
    graph = drawn_graph(needed, jnp.asarray(there), padded(described.demand, 1.0), depth_of(needed))
    shared = ("theta", "r_base", "r_difficulty", "r_novelty", "novelty_span", "c2_gain", "c3_demand", "c4_rate")
    numbers = {name: jnp.asarray(getattr(env, name), jnp.float32) for name in shared}
    numbers |= {"K0": padded(K0), "eta": padded(eta), "guess": padded(guess), "slip": padded(slip)}
    numbers |= {"doubt": jnp.zeros(most), "confidence": jnp.asarray(0.9), "spread": jnp.zeros(())}
    numbers |= {"known": jnp.asarray(known), "by_chance": jnp.asarray(False), "length": jnp.asarray(length)}
    return with_numbers(graph, DrawnNumbers(**numbers))


@pytest.mark.parametrize("padding", [0, 3])
def test_a_problem_with_a_tutors_numbers_steps_as_that_tutor_does(padding):
    env = make("tutor-15")
    problem = of_tutor(env, padding=padding, known=True)
    np.testing.assert_allclose(problem.bounds, env.cost_bounds, rtol=1e-5)
    step, twin = eqx.filter_jit(env.step), eqx.filter_jit(problem.step)
    (state, obs), (other, seen) = env.reset(jax.random.key(0)), problem.reset(jax.random.key(0))
    rng = np.random.default_rng(0)
    for at in range(40):
        action = int(rng.choice(15)) if at % 5 == 0 else int(np.flatnonzero(obs.action_mask)[-1])
        one, two = step(jax.random.key(at), state, action), twin(jax.random.key(at), other, action)
        for name in ("reward", "costs", "gain", "unready"):
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-5, atol=1e-6)
        state, obs, other, seen = one.state, one.obs, two.state, two.obs
        np.testing.assert_array_equal(obs.action_mask, seen.action_mask[:15])
        np.testing.assert_allclose(state.K, other.K[:15], rtol=1e-5)


def test_the_gate_by_chance_is_the_curriculums():
    env = make("tutor-15-bkt", confidence=0.9, doubt=0.3)
    problem = of_tutor(env, padding=2, known=False)
    problem = eqx.tree_at(lambda one: (one.by_chance, one.doubt), problem, (jnp.asarray(True), jnp.full(17, 0.3)))
    state, _ = problem.reset(jax.random.key(0))
    for seed in range(20):
        K = np.random.default_rng(seed).uniform(0.8, 1.0, 17).astype(np.float32)
        np.testing.assert_array_equal(
            problem.ready(state._replace(K=jnp.asarray(K)))[:15], env.opens(jnp.asarray(K[:15]))
        )
