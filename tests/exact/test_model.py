"""A finite environment written out: every reachable state, with the environment's own numbers and signals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Chain, make
from mccpo.errors import InputError
from mccpo.exact import enumerate_model

NAMES = ["chain", "gate", "random"]


def reachable_in_plain_python(horizon, concepts):
    """What a chain can reach: after t steps any number of concepts up to t, always the first ones."""
    return {(t, known) for t in range(horizon) for known in range(min(t, concepts) + 1)}


def test_the_states_are_those_that_can_be_reached(finite):
    case = finite("chain")
    states = jax.vmap(case.env.state)(jnp.asarray(case.model.index))
    found = {(int(t), int(K.sum())) for K, t in zip(*states, strict=True)}
    assert found == reachable_in_plain_python(5, 5)
    assert case.model.num_states == len(found)
    for K in np.asarray(states.K):
        assert (np.sort(K)[::-1] == K).all()


def test_a_concept_that_is_never_learnt_opens_nothing():
    assert enumerate_model(Chain(p_learn=0.0)).num_states == 5


@pytest.mark.parametrize("name", NAMES)
def test_states_keep_the_environments_numbers_and_masks(finite, name):
    env, model = finite(name).env, finite(name).model
    states = jax.vmap(env.state)(jnp.asarray(model.index))
    np.testing.assert_array_equal(jax.jit(jax.vmap(env.observe))(states).action_mask, model.mask)
    first = int(env.index(env.reset(jax.random.key(0))[0]))
    assert model.index[model.start == 1].tolist() == [first]
    assert model.start.sum() == 1


@pytest.mark.parametrize("name", NAMES)
def test_the_arrays_are_the_expectations_of_the_outcomes(finite, name):
    env, model = finite(name).env, finite(name).model
    states = jax.vmap(env.state)(jnp.asarray(model.index))
    over_actions = jax.vmap(env.outcomes, in_axes=(None, 0))
    outcomes = jax.jit(jax.vmap(over_actions, in_axes=(0, None)))(states, jnp.arange(env.num_actions + 1))
    chances, steps = jax.device_get(outcomes)
    np.testing.assert_allclose(model.probability, chances, atol=1e-6)
    np.testing.assert_allclose(model.reward, (chances * steps.reward).sum(axis=-1), atol=1e-6)
    np.testing.assert_allclose(model.gain, (chances * steps.gain).sum(axis=-1), atol=1e-6)
    np.testing.assert_allclose(model.costs, (chances[..., None] * steps.costs).sum(axis=-2), atol=1e-6)
    np.testing.assert_array_equal(model.unready, ~model.mask)
    ended = model.successor < 0
    np.testing.assert_array_equal(ended[chances > 0], (steps.terminated | steps.truncated)[chances > 0])
    after = jax.device_get(jax.jit(jax.vmap(jax.vmap(jax.vmap(env.index))))(steps.state))
    goes_on = ~ended & (chances > 0)
    np.testing.assert_array_equal(model.index[model.successor[goes_on]], after[goes_on])


def test_flow_holds_what_goes_on(finite):
    model = finite("small").model
    totals = np.where(model.successor >= 0, model.probability, 0).sum(axis=-1).ravel()
    np.testing.assert_allclose(model.flow.sum(axis=1), totals)


def test_chances_are_in_double_precision(finite):
    assert np.unique(finite("chain").model.probability).tolist() == pytest.approx([0, 0.2, 0.8, 1], abs=1e-15)


def test_an_unknown_cost_is_refused_with_those_there_are(finite):
    with pytest.raises(InputError, match="unknown cost 'c1'; choose from c2, c3, c4"):
        finite("chain").model.cost_index("c1")


def test_what_is_not_finite_is_refused():
    with pytest.raises(InputError, match="tutor-15 is not finite"):
        enumerate_model(make("tutor-15"))
