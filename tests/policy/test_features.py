"""What a policy sees: the parts come back from the vector, whichever kind of array and however many learners."""

import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.policy import Features, Layout

CASES = {
    "plain": Layout(3, 3),
    "activities": Layout(3, 6),
    "case": Layout(3, 3, ("target", "demand")),
}


def seen(layout, batch, xp):
    rng = np.random.default_rng(0)

    def part(size):
        return xp.asarray(rng.uniform(size=(*batch, size)).astype(np.float32))

    def flags(size):
        return xp.asarray(rng.uniform(size=(*batch, size)) < 0.5)

    concepts = layout.concepts
    case = tuple(part(concepts) for _ in layout.case)
    return Features(part(concepts), part(concepts), flags(layout.actions), flags(concepts), case, part(1))


@pytest.mark.parametrize("layout", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("batch", [(), (4,)], ids=["one learner", "four"])
@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_parts_come_back_from_the_vector(layout, batch, xp):
    features = seen(layout, batch, xp)
    vector = layout.flatten(features, xp.float32)
    assert isinstance(vector, np.ndarray) == (xp is np)
    assert vector.dtype == xp.float32
    assert vector.shape == (*batch, layout.size)
    before, after, turned = map(one_by_one, (features, layout.split(vector), layout.split(vector.T, axis=0)))
    for given, back, feature_major in zip(before, after, turned, strict=True):
        np.testing.assert_array_equal(back, given)
        np.testing.assert_array_equal(feature_major.T, given)


def one_by_one(features):
    *parts, case, time = features
    return [*parts, *case, time]


def test_parts_of_a_numpy_vector_are_views():
    layout = Layout(2, 2)
    vector = np.zeros((3, layout.size), np.float32)
    layout.split(vector).ready[:] = 1.0
    assert vector.sum() == 6
    assert vector[:, 6:8].all()


@pytest.mark.parametrize("name", ["tutor-15", "tutor-15-activities", "tutor-15-goal", "random-curricula"])
def test_layout_matches_the_environment(name):
    env = make(name)
    assert env.num_features == env.layout.size
    assert len(env.layout.parts) == 5 + len(env.case_names)
    assert sum(part.size for part in env.layout.of_concepts) == env.num_features - 1
