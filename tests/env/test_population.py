"""Learners who are not what the tutor believes: drawn, taught and heard by their own numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import Group, Population, PreparedTutor, cut, describe_environment, make, rebuild_environment
from mccpo.errors import InputError

GRAPH = Curriculum.from_edges([("a", "b")])
ALIKE = (Group("alike", share=1.0),)
OTHERS = Population(K0=[[0.9, 0.1], [0.3, 0.1]], eta=[[0.5, 0.0]] * 2, guess=[[0.3, 0.0]] * 2, slip=[[0.2, 0.0]] * 2)
LEARNERS = 8_000


def env(**parameters):
    return make("tutor-15-bkt", curriculum=GRAPH, groups=ALIKE, population=OTHERS, **parameters)


def test_learners_are_drawn_by_their_own_start_and_the_tutor_believes_its_own():
    states = jax.jit(jax.vmap(lambda key: env().reset(key)[0]))(jax.random.split(jax.random.key(0), LEARNERS))
    share = np.asarray(states.latent.mastered).mean(axis=0)
    assert share == pytest.approx([0.6, 0.1], abs=0.02)
    assert np.asarray(states.latent.member).mean() == pytest.approx(0.5, abs=0.02)
    first = np.asarray(states.latent.mastered)[np.asarray(states.latent.member) == 0]
    assert first[:, 0].mean() == pytest.approx(0.9, abs=0.02)
    assert (np.asarray(states.K) == np.float32(0.2)).all()


def test_answers_and_learning_are_theirs_and_the_estimate_the_tutors():
    tutor, alike = env(eta=0.08), make("tutor-15-bkt", curriculum=GRAPH, groups=ALIKE, eta=0.08)
    state = tutor.reset(jax.random.key(1))[0]
    unknown = state._replace(latent=state.latent._replace(mastered=jnp.zeros(2, bool)))
    step = jax.jit(jax.vmap(lambda key: tutor.step(key, unknown, jnp.array(0))))(
        jax.random.split(jax.random.key(2), LEARNERS)
    )
    assert np.asarray(step.state.correct).mean() == pytest.approx(0.3, abs=0.02)
    assert np.asarray(step.state.latent.mastered)[:, 0].mean() == pytest.approx(0.5, abs=0.02)
    assert np.asarray(step.gain) == pytest.approx(0.5)
    believed = alike.reset(jax.random.key(1))[0]
    teach = jax.jit(jax.vmap(lambda key: alike.step(key, believed, jnp.array(0))))
    others = teach(jax.random.split(jax.random.key(3), 200))
    for correct in (True, False):
        seen = np.asarray(step.state.K)[np.asarray(step.state.correct) == correct, 0]
        expected = np.asarray(others.state.K)[np.asarray(others.state.correct) == correct, 0]
        assert np.unique(seen) == pytest.approx(np.unique(expected))


def test_one_member_with_the_tutors_numbers_is_the_tutors_own_world():
    same = Population(*(np.full((1, 2), value) for value in (0.2, 0.08, 0.2, 0.1)))
    plain = make("tutor-15-bkt", curriculum=GRAPH, groups=ALIKE)
    moved = make("tutor-15-bkt", curriculum=GRAPH, groups=ALIKE, population=same)
    state, other = (one.reset(jax.random.key(4))[0] for one in (plain, moved))
    other = other._replace(latent=other.latent._replace(mastered=state.latent.mastered))
    for key in jax.random.split(jax.random.key(5), 5):
        step, twin = plain.step(key, state, jnp.array(0)), moved.step(key, other, jnp.array(0))
        assert (step.state.K == twin.state.K).all()
        assert (step.state.latent.mastered == twin.state.latent.mastered).all()
        state, other = step.state, twin.state


def test_it_is_described_rebuilt_and_cut():
    described = describe_environment(env())
    again = rebuild_environment("tutor-15-bkt", described)
    for name in Population._fields:
        np.testing.assert_array_equal(getattr(again.population, name), np.asarray(getattr(OTHERS, name), np.float32))
    smaller = cut(PreparedTutor(curriculum=GRAPH, population=OTHERS), 1)
    assert smaller.population.K0.tolist() == [[np.float32(0.9)], [np.float32(0.3)]]
    assert "population" not in describe_environment(make("tutor-15-bkt"))
    assert env().gain_bound == 0.5


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Population([[0.1]], [[0.1]], [[0.1]], [[0.1]]), "the K0 of a population has the shape"),
        (Population([[0.1, 2.0]], *[[[0.1, 0.1]]] * 3), "the K0 of a population lies beyond"),
        (Population([[0.1, 0.1], [0.1]], *[[[0.1, 0.1]]] * 3), "no table of numbers"),
        (Population(*[[[0.1, 0.1]]] * 3, [[0.1, 0.1]] * 2), "the slip of a population has the shape"),
        ({"K0": [[0.1, 0.1]]}, "a population has K0"),
    ],
)
def test_what_is_no_population_is_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        make("tutor-15-bkt", curriculum=GRAPH, population=wrong)
