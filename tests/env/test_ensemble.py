"""Learners of several kinds in one environment: each is as its kind has it, in units that all kinds share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import (
    Population,
    PracticeWeights,
    PreparedBestLR,
    PreparedEnsemble,
    PreparedJudge,
    PreparedTutor,
    cut,
    describe_environment,
    make,
    rebuild_environment,
)
from mccpo.errors import InputError

GRAPH = Curriculum.from_edges([("a", "b")], demand={"a": 0.3, "b": 0.6})
OWN = Population(
    *(np.tile(np.array([[low], [high]]), 2) for low, high in ((0.1, 0.5), (0.1, 0.3), (0.1, 0.2), (0.1, 0.1)))
)
TRACED = PreparedTutor(curriculum=GRAPH, population=OWN)
FACTORS = PreparedJudge(curriculum=GRAPH, ease=0.4, success=0.3, r_base=0.7, c4_rate=3.0)
LR = PreparedBestLR(curriculum=GRAPH, weights=PracticeWeights.example(2))
SHARED = {"curriculum": GRAPH, "horizon": 6, "theta": 0.6}
ENV = PreparedEnsemble(**SHARED, kinds=(TRACED, FACTORS, LR), shares=(0.5, 0.25, 0.25))


def learner_of(kind, env=ENV):
    """A state at the start whose learner is of this kind."""
    state = env.reset(jax.random.key(3))[0]
    return state._replace(latent=state.latent._replace(kind=jnp.asarray(kind)))


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_learner_is_as_its_kind_has_it(kind):
    state, key = learner_of(kind), jax.random.key(5)
    alone = state._replace(latent=state.latent.learners[kind])
    here, there = ENV.step(key, state, jnp.asarray(0)), ENV.kinds[kind].step(key, alone, jnp.asarray(0))
    for name in ("reward", "costs", "gain", "unready"):
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), rtol=1e-6, err_msg=name)
    np.testing.assert_array_equal(here.obs.features, there.obs.features)
    after, own = here.state, there.state
    jax.tree.map(np.testing.assert_array_equal, after.latent.learners[kind], own.latent)
    np.testing.assert_array_equal(ENV.truly_ready(after), ENV.kinds[kind].truly_ready(own))
    np.testing.assert_array_equal(ENV.right_chances(after), ENV.kinds[kind].right_chances(own))
    assert float(ENV.mastered(after)) == float(ENV.kinds[kind].mastered(own))


def test_learners_are_drawn_by_the_shares_of_kinds():
    state, _ = jax.vmap(ENV.reset)(jax.random.split(jax.random.key(0), 4000))
    np.testing.assert_allclose(np.bincount(state.latent.kind) / 4000, ENV.shares, atol=0.03)
    members = jax.vmap(ENV.member)(state)
    np.testing.assert_allclose(np.bincount(members) / 4000, [0.25, 0.25, 0.25, 0.25], atol=0.03)
    assert ENV.members == 4
    assert ENV.ensemble == ((0, 0, 1, 2), (0.25, 0.25, 0.25, 0.25))
    np.testing.assert_array_equal(np.array(ENV.ensemble.kinds)[members], state.latent.kind)


def test_costs_and_learning_are_relative_to_those_of_the_kind():
    relative = np.ones((3, 4))
    relative[1] = [2.0, 4.0, 5.0, 10.0]
    env, key = ENV.relative_to(relative), jax.random.key(5)
    for kind, by in enumerate(relative):
        plain, divided = (one.step(key, learner_of(kind, one), jnp.asarray(0)) for one in (ENV, env))
        np.testing.assert_allclose(divided.costs, plain.costs / by[:3], rtol=1e-6)
        np.testing.assert_allclose(divided.gain, plain.gain / by[3], rtol=1e-6)
        assert (np.asarray(divided.costs) <= env.cost_bounds * (1 + 1e-5)).all()


def test_kinds_share_what_the_tutor_believes_and_may_teach():
    for kind in ENV.kinds:
        assert (kind.horizon, kind.theta) == (6, 0.6)
    other = rebuild_environment(ENV.name, describe_environment(ENV) | {"horizon": 9})
    assert [kind.horizon for kind in other.kinds] == [9, 9, 9]
    assert [len(kind.curriculum) for kind in cut(ENV, 1).kinds] == [1, 1, 1]


def test_an_ensemble_is_kept_and_built_again():
    described = describe_environment(ENV.relative_to(np.full((3, 4), 0.5)))
    assert [kind["environment"] for kind in described["kinds"]] == [
        "prepared", "prepared-judge", "prepared-best-lr"
    ]  # fmt: skip
    assert not any("curriculum" in kind or "horizon" in kind for kind in described["kinds"])
    again = rebuild_environment(ENV.name, described)
    assert describe_environment(again) == described
    np.testing.assert_array_equal(again.relative, 0.5)
    assert type(again.kinds[0]) is PreparedTutor
    assert again.kinds[0].groups == TRACED.groups


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"shares": (0.5, 0.6)}, "shares is"),
        ({"shares": (1.0,)}, "shares is"),
        ({"relative": np.zeros((2, 4))}, "relative fits no kinds"),
        ({"kinds": (make("tutor-15", curriculum=GRAPH),)}, "is no kind of learners"),
    ],
)
def test_what_is_no_ensemble_is_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        PreparedEnsemble(curriculum=GRAPH, **wrong)
