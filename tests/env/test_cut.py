"""Smaller tutors out of larger ones: closed under prerequisites, nested, and parameters go with their concepts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.env import PreparedTutor, cut, make
from mccpo.env.finite.random_finite import random_curriculum
from mccpo.env.tutor import core, profile_curriculum
from mccpo.errors import InputError


@given(seed=st.integers(0, 200), concepts=st.integers(2, 25), data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_core_is_closed_under_prerequisites_and_keeps_the_most_needed_concepts(seed, concepts, data):
    whole = random_curriculum(np.random.default_rng(seed), concepts)
    size = data.draw(st.integers(1, concepts))
    part = core(whole, size)
    assert len(part) == size
    behind = {name: sum(name in whole.ancestors(other) for other in whole.concepts) for name in whole.concepts}
    for name in part.concepts:
        assert part.ancestors(name) == whole.ancestors(name)
        assert part.demand[part.index(name)] == whole.demand[whole.index(name)]
    left = [behind[name] for name in whole.concepts if name not in part.concepts]
    assert min(behind[name] for name in part.concepts) >= max(left, default=0)
    assert set(core(whole, max(size - 1, 1)).concepts) <= set(part.concepts)


def test_parameters_go_with_their_concepts_and_a_lesson_is_the_same():
    draw = np.random.default_rng(0)
    numbers = {name: draw.uniform(0.05, 0.3, 15).astype(np.float32) for name in ("K0", "eta", "guess", "slip")}
    whole = PreparedTutor(curriculum=profile_curriculum(15), r_base=0.7, horizon=30, **numbers)
    part = cut(whole, 6)
    assert (type(part), part.r_base, part.horizon) == (PreparedTutor, 0.7, 30)
    for place, name in enumerate(part.curriculum.concepts):
        old = whole.curriculum.index(name)
        assert part.eta[place] == numbers["eta"][old]
        states = [env.reset(jax.random.key(0))[0] for env in (part, whole)]
        states = [
            state._replace(latent=state.latent._replace(mastered=state.latent.mastered & False)) for state in states
        ]
        steps = [
            env.step(jax.random.key(1), state, jnp.asarray(at))
            for env, state, at in zip((part, whole), states, (place, old), strict=True)
        ]
        np.testing.assert_allclose(steps[0].costs, steps[1].costs, rtol=1e-6)
        np.testing.assert_allclose(steps[0].state.K[place], steps[1].state.K[old], rtol=1e-6)


def test_one_number_for_all_stays_one():
    part = cut(make("tutor-15", eta=0.1), 5)
    assert (part.eta, part.num_actions) == (0.1, 5)


def test_the_whole_is_its_own_largest_core():
    env = make("tutor-15")
    assert cut(env, 15) == env


@pytest.mark.parametrize("size", [0, 16, 2.5])
def test_an_invalid_size_is_refused(size):
    with pytest.raises(InputError):
        cut(make("tutor-15"), size)


def test_random_curricula_are_built_smaller_not_cut():
    with pytest.raises(InputError, match="no curriculum of its own"):
        cut(make("random-curricula", graphs=2), 5)
