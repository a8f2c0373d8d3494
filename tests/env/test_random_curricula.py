"""Learners on random curricula: families by seed, every learner on its own graph, and the policy told what it needs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.env.tutor.families import family_of
from mccpo.errors import InputError

GRAPHS = 12


@pytest.fixture(scope="module")
def env():
    return make("random-curricula", graphs=GRAPHS, concepts=6)


@pytest.fixture(scope="module")
def step(env):
    return jax.jit(env.step)


def learner(env, graph, K=None):
    state, _ = env.reset(jax.random.key(0))
    state = state._replace(case=jnp.asarray(graph, jnp.int32))
    return state if K is None else state._replace(K=jnp.asarray(K, jnp.float32))


def test_families_share_no_graph_and_a_larger_one_begins_with_a_smaller():
    trained, tested = family_of(0, 256, 15), family_of(1, 256, 15)
    assert len(set(trained)) == len(set(tested)) == 256
    assert not set(trained) & set(tested)
    assert family_of(0, 64, 15) == trained[:64]
    assert {graph.concepts for graph in trained + tested} == {trained[0].concepts}


def test_every_graph_is_drawn_as_often_as_another(env):
    states, _ = jax.vmap(env.reset)(jax.random.split(jax.random.key(1), 2400))
    counts = np.bincount(states.case, minlength=GRAPHS)
    np.testing.assert_allclose(counts, 200, atol=60)


@pytest.mark.parametrize("graph", [0, 3, 11])
def test_the_gate_matches_the_learners_own_graph(env, step, graph):
    curriculum = env.curricula[graph]
    for draw in range(5):
        K = np.random.default_rng(draw).random(6).astype(np.float32)
        state = learner(env, graph, K)
        expected = curriculum.ready(K, env.theta)
        np.testing.assert_array_equal(env.observe(state).action_mask, expected)
        np.testing.assert_array_equal(env.truly_ready(state), expected)
        for action in range(6):
            found = step(jax.random.key(0), state, jnp.asarray(action))
            assert bool(found.unready) == (not expected[action])
            rate = 0.08 * (1.0 if expected[action] else 0.1)
            assert float(found.gain) == pytest.approx(rate * (1 - K[action]), abs=1e-6)


@pytest.mark.parametrize("graph", [0, 7])
def test_a_lesson_matches_a_tutor_with_this_curriculum(env, step, graph):
    alone = make("tutor-15", curriculum=env.curricula[graph])
    state, _ = alone.reset(jax.random.key(0))
    for action in (0, 0, 1, 5, 2, 6):
        expected = alone.step(jax.random.key(2), state, jnp.asarray(action))
        found = step(jax.random.key(2), learner(env, graph)._replace(**_but_case(state)), jnp.asarray(action))
        np.testing.assert_allclose(found.reward, expected.reward, atol=1e-6)
        np.testing.assert_allclose(found.costs, expected.costs, atol=1e-6)
        np.testing.assert_allclose(found.state.K, expected.state.K, atol=1e-6)
        state = expected.state


def _but_case(state):
    return {name: value for name, value in state._asdict().items() if name != "case"}


@pytest.mark.parametrize("graph", [2, 9])
def test_the_policy_sees_demand_and_what_lies_behind_each_concept(env, graph):
    curriculum = env.curricula[graph]
    seen = np.asarray(env.observe(learner(env, graph)).features)
    np.testing.assert_allclose(seen[24:30], curriculum.demand, atol=1e-6)
    behind = [sum(name in curriculum.ancestors(other) for other in curriculum.concepts) for name in curriculum.concepts]
    np.testing.assert_allclose(seen[30:36], np.array(behind) / 5, atol=1e-6)


def test_a_learner_keeps_its_graph(env, step):
    assert int(step(jax.random.key(0), learner(env, 5), jnp.asarray(0)).state.case) == 5


def test_the_bounds_hold_for_the_easiest_graph(env):
    least = min(curriculum.demand.min() for curriculum in env.curricula)
    assert env.cost_bounds[1] == pytest.approx(0.5 - least)


@pytest.mark.parametrize("wrong", [{"graphs": 0}, {"family": -1}, {"concepts": 1}, {"curriculum_seed": 3}], ids=str)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        make("random-curricula", **wrong)
