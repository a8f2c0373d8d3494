"""Random finite environments: decided by their instance, and open to a curriculum of one's own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.env import RandomFinite, make
from mccpo.env.finite.binary import BinaryState
from mccpo.errors import InputError

OWN = Curriculum.from_edges([("add", "multiply")], demand={"add": 0.2, "multiply": 0.75})


@eqx.filter_jit
def outcomes(env, K, action):
    return env.outcomes(BinaryState(K=K, t=jnp.array(1)), action)


def test_the_same_instance_is_the_same_environment():
    assert bool(eqx.tree_equal(RandomFinite(instance=3), RandomFinite(instance=3)))


def test_different_instances_differ_in_curriculum_and_numbers():
    envs = [RandomFinite(instance=i) for i in range(6)]
    assert len({env.curriculum.edges for env in envs}) > 1
    for name in ("p_learn", "r_new", "r_known", "demand"):
        assert len({tuple(getattr(env, name).tolist()) for env in envs}) == len(envs)


def test_instances_are_valid_and_have_the_shape_their_docstring_promises():
    for instance in range(20):
        env = RandomFinite(instance=instance)
        assert env.curriculum.edges
        assert ((env.p_learn > 0) & (env.p_learn < 1)).all()
        assert ((env.r_new > 0) & (env.r_new < env.r_known) & (env.r_known <= env.r_hack)).all()


def test_a_users_curriculum_is_taken_with_its_demand():
    env = make("random-finite", curriculum=OWN, horizon=3)
    assert env.curriculum is OWN
    assert env.action_names == ("add", "multiply", "hack")
    np.testing.assert_allclose(env.demand, [0.2, 0.75], rtol=1e-6)
    assert env.num_states == 3 * 4


def test_the_signals_of_each_kind_of_choice():
    env = RandomFinite(curriculum=OWN)
    p, new, known = (np.asarray(values, float) for values in (env.p_learn, env.r_new, env.r_known))
    cases = [
        # mastered, action: for each possible outcome its chance, reward and costs c2 (no gain), c3 (demand), c4 (idle)
        ([False, False], 0, [(1 - p[0], new[0], [1, 0.3, new[0]]), (p[0], new[0], [0, 0.3, 0])]),
        ([True, False], 1, [(1 - p[1], new[1], [1, 0, new[1]]), (p[1], new[1], [0, 0, 0])]),
        ([True, False], 0, [(1.0, known[0], [1, 0.3, known[0]])]),
        ([False, False], 1, [(1.0, 0.0, [0, 0, 0])]),
        ([False, False], 2, [(1.0, 1.0, [0, 0.5, 1.0])]),
    ]
    for K, action, expected in cases:
        chances, steps = jax.device_get(outcomes(env, jnp.array(K), jnp.array(action)))
        possible = np.flatnonzero(chances)
        np.testing.assert_allclose(chances[possible], [chance for chance, _, _ in expected], rtol=1e-5)
        np.testing.assert_allclose(steps.reward[possible], [reward for _, reward, _ in expected], rtol=1e-5)
        np.testing.assert_allclose(steps.costs[possible], [costs for _, _, costs in expected], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("parameters", "what", "fix"),
    [
        ({"instance": -1}, "instance is -1", "whole number from 0 on"),
        ({"instance": 1.5}, "instance is 1.5", "whole number"),
        ({"concepts": 1}, "concepts is 1", "between 2 and 12"),
        ({"concepts": 13}, "concepts is 13", "between 2 and 12"),
        ({"horizon": -2}, "horizon is -2", "at least 1"),
        ({"concepts": 12, "horizon": 60}, "245760 states", "fewer concepts or a shorter horizon"),
        ({"theta": 1.0}, "theta is 1.0", "strictly between 0 and 1"),
        ({"curriculum": Curriculum.from_edges([("add", "hack")])}, "a concept is called 'hack'", "rename"),
    ],
)
def test_impossible_parameters_are_refused_with_a_way_out(parameters, what, fix):
    with pytest.raises(InputError) as refused:
        make("random-finite", **parameters)
    assert what in refused.value.what
    assert fix in refused.value.fix
