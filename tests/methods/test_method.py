"""The table of methods, and the filters through which some of them act."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.env import FiniteEnvironment, make, registered
from mccpo.errors import InputError
from mccpo.methods import METHODS, PAPER_METHODS, GradientEntry, MethodSpec, execute, method_arrays, method_spec
from mccpo.methods.mc_cpo.tabular import rollout
from mccpo.policy import FILTERS, masked_softmax

FINITE = [
    name
    for name, entry in registered().items()
    if isinstance(entry.build, type) and issubclass(entry.build, FiniteEnvironment)
]


FAMILY = [name for name, entry in METHODS.items() if isinstance(entry, GradientEntry) and entry.spec is not None]


def player(env):
    theta = jnp.zeros((env.num_states, env.num_actions))
    return jax.jit(lambda method: rollout(env, method, theta, jax.random.key(0), 200))


PLAY = {name: player(make(name)) for name in FINITE}  # one program serves all methods


@pytest.mark.parametrize("on", FINITE)
@pytest.mark.parametrize("name", FAMILY)
def test_every_method_of_the_family_plays_on_every_finite_environment(name, on):
    env, spec = make(on), method_spec(name)
    assert spec.name == name
    method = method_arrays(method_spec(name), env)
    assert method.shaping.shape == (len(env.cost_names),)
    assert list(FILTERS)[int(method.filter)] == (env.filter if spec.filter == "environment" else spec.filter)
    episodes = PLAY[on](method)
    assert np.isfinite(episodes.signals).all()
    assert bool(episodes.unready.any()) == (not spec.masked)
    assert bool(episodes.frontier.any()) == (spec.masked and env.horizon > 1)
    mask = jax.vmap(env.observe)(jax.vmap(env.state)(jnp.arange(env.num_states))).action_mask
    executed = execute(method, episodes.probs[0, 0], mask[episodes.number[0, 0]], jnp.asarray(env.hack))
    assert executed.shape == (env.num_actions + 1,)
    assert float(executed.sum()) == pytest.approx(1, abs=1e-6)


def test_the_paper_s_methods_are_all_there():
    assert set(PAPER_METHODS) <= set(METHODS)
    assert [name for name in PAPER_METHODS if method_spec(name).constrained] == ["mc-cpo", "mc-cpo-no-frontier"]


def test_an_unknown_method_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match="mc-pco") as refused:
        method_spec("mc-pco")
    assert "mc-cpo" in refused.value.fix


def test_shaping_prices_go_to_the_costs_they_name():
    assert np.asarray(method_arrays(method_spec("reward-shaped"), make("chain")).shaping).tolist() == [0.5, 0.0, 1.0]
    assert np.asarray(method_arrays(method_spec("reward-shaped"), make("gate")).shaping).tolist() == [0.5]


SIZE = 6
HACK = jnp.arange(SIZE) == SIZE - 1
BY_FILTER = {rule: method_arrays(MethodSpec(rule, filter=rule), make("chain")) for rule in FILTERS}
through = jax.jit(execute)
numbers = st.one_of(st.floats(-20, 20, width=32), st.sampled_from([-np.inf, 100.0]))
logits = st.lists(numbers, min_size=SIZE, max_size=SIZE).map(lambda row: np.array(row, np.float32))
masks = st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).map(np.array)


def trained(row):
    return masked_softmax(jnp.asarray(row), jnp.ones(SIZE, bool)).probs


@settings(deadline=None)
@given(logits, masks)
def test_no_filter_changes_nothing(row, mask):
    probs = trained(row)
    assert np.array_equal(through(BY_FILTER["none"], probs, mask, HACK), np.append(probs, 0.0))


@settings(deadline=None)
@given(logits, masks)
def test_blocking_turns_what_is_filtered_into_the_no_op(row, mask):
    probs, safe = np.asarray(trained(row)), mask & ~np.asarray(HACK)
    executed = np.asarray(through(BY_FILTER["block"], probs, mask, HACK))
    assert np.array_equal(executed[:-1], np.where(safe, probs, 0.0))
    assert executed[-1] == pytest.approx(probs[~safe].sum(), abs=1e-6)
    assert (executed >= 0).all()
    assert executed.sum() == pytest.approx(1, abs=1e-6)


@settings(deadline=None)
@given(logits, masks)
def test_renormalising_keeps_proportions_and_never_lets_a_filtered_action_through(row, mask):
    probs, safe = np.asarray(trained(row)), mask & ~np.asarray(HACK)
    executed = np.asarray(through(BY_FILTER["renormalise"], probs, mask, HACK))
    assert (executed[:-1][~safe] == 0).all()
    assert executed.sum() == pytest.approx(1, abs=1e-5)
    left = probs[safe].astype(float).sum()
    if not safe.any():
        assert executed[-1] == 1
    elif left > 1e-35:  # below, single precision has no proportions left to keep
        np.testing.assert_allclose(executed[:-1][safe], probs[safe] / left, atol=1e-5)
    elif left == 0:
        np.testing.assert_allclose(executed[:-1][safe], 1 / safe.sum(), rtol=1e-6)


def test_blocking_never_gives_a_negative_probability():
    # Ten shares of 0.1 add up to more than 1 in single precision.
    probs = jnp.full(10, 0.1)
    assert float(probs.sum()) > 1
    executed = execute(BY_FILTER["block"], probs, jnp.ones(10, bool), jnp.zeros(10, bool))
    assert float(executed[-1]) == 0.0


def test_filters_take_batches():
    probs = jnp.array([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    mask, hack = jnp.array([[True, True, True], [True, False, True]]), jnp.array([False, False, True])
    renormalised = np.asarray(execute(BY_FILTER["renormalise"], probs, mask, hack))
    np.testing.assert_allclose(renormalised, [[0.4, 0.6, 0, 0], [1, 0, 0, 0]], rtol=1e-6)
    blocked = np.asarray(execute(BY_FILTER["block"], probs, mask, hack))
    np.testing.assert_allclose(blocked, [[0.2, 0.3, 0, 0.5], [0, 0, 0, 1]], rtol=1e-6)
