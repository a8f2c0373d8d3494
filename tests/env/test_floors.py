"""Floors as costs: what they sum to over an episode, and that nothing else of an environment changes."""

import math
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.env import (
    FLOORS,
    Chain,
    Conditioned,
    Constraints,
    Environment,
    Estimated,
    FiniteEnvironment,
    Floored,
    check_floors,
    make,
    with_floors,
)
from mccpo.env.floors import FlooredFinite
from mccpo.errors import InputError

REACH = dict.fromkeys(FLOORS, 2.0)
ENVIRONMENTS = {
    "chain": lambda: make("chain"),
    "tutor-15": lambda: make("tutor-15", horizon=12, eta=0.4),
    "tutor-15 that knows all": lambda: make("tutor-15", horizon=12, K0=0.8),
    "tutor-15-bkt": lambda: make("tutor-15-bkt", horizon=12, eta=0.3),
    "tutor-15-bkt that knows much": lambda: make("tutor-15-bkt", horizon=12, eta=0.3, K0=0.5),
    "tutor-15-activities": lambda: make("tutor-15-activities", horizon=12, eta=0.3),
}
NAMES = list(ENVIRONMENTS)


@eqx.filter_jit
def taught(env, key, actions):
    """The state that an episode starts from, and its steps."""
    keys = jax.random.split(key, len(actions) + 1)
    first, _ = env.reset(keys[0])

    def advance(state, chosen):
        step = env.step(chosen[0], state, chosen[1])
        return step.state, step

    return first, jax.lax.scan(advance, first, (keys[1:], actions))[1]


_made = {}


def case(name):
    """An environment and the same with every floor, made once so that each is compiled once."""
    if name not in _made:
        env = ENVIRONMENTS[name]()
        _made[name] = SimpleNamespace(env=env, floored=with_floors(env, REACH))
    return _made[name]


def episodes(name, seed):
    """An episode of any actions, the no-op among them, in the environment and in the same with floors."""
    found = case(name)
    actions = jnp.asarray(np.random.default_rng(seed).integers(0, found.env.num_actions + 1, found.env.horizon))
    key = jax.random.key(seed)
    return found, *(jax.device_get(taught(env, key, actions)) for env in (found.env, found.floored))


def known_in_truth(env, state):
    """How many concepts a learner has mastered, by what each environment's own state says."""
    if isinstance(env, Chain):
        return state.K.sum(axis=-1)
    return state.latent.mastered.sum(axis=-1) if env.name == "tutor-15-bkt" else (env.theta <= state.K).sum(axis=-1)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**31 - 1))
def test_what_a_floor_costs_is_minus_what_it_is_about(name, seed):
    found, (first, plain), (_, floored) = episodes(name, seed)
    env, discount = found.env, found.env.gamma ** np.arange(found.env.horizon)
    assert plain.terminated.tolist() == [False] * (env.horizon - 1) + [True]
    J = dict(zip(found.floored.cost_names, discount @ floored.costs, strict=True))
    last = jax.tree.map(lambda leaf: leaf[-1], plain.state)
    assert -J["learning"] == pytest.approx(discount @ plain.gain, abs=1e-4)
    assert -J["learning-total"] == pytest.approx(plain.gain.sum(), abs=1e-4)
    assert -J["mastered"] == pytest.approx(known_in_truth(env, last), abs=1e-4)
    assert -J["engagement"] == pytest.approx(discount @ plain.reward, abs=1e-4)
    if name.startswith("tutor-15-bkt"):  # where a gain is a chance, and mastery is what came of it
        assert plain.gain.sum() >= 0
    else:
        assert plain.gain.sum() == pytest.approx((last.K.astype(float) - first.K).sum(), abs=1e-4)


def test_what_is_known_at_the_start_counts_as_mastered():
    for name in ("tutor-15 that knows all", "tutor-15-bkt that knows much"):
        found, (first, _), (_, floored) = episodes(name, 0)
        known = known_in_truth(found.env, first)
        assert known > 3
        paid = -(found.env.gamma ** np.arange(found.env.horizon)) @ floored.costs[:, -2]
        assert found.floored.cost_names[-2] == "mastered"
        assert paid >= known - 1e-4


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**31 - 1))
def test_floors_change_nothing_else(name, seed):
    found, (first, plain), (same_first, floored) = episodes(name, seed)
    own = len(found.env.cost_names)
    np.testing.assert_array_equal(plain.costs, floored.costs[:, :own])
    alike = [(first, same_first), (plain._replace(costs=0), floored._replace(costs=0))]
    for one, other in alike:
        jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("name", NAMES)
def test_a_floored_environment_is_seen_as_the_one_inside(name):
    env, floored = case(name).env, case(name).floored
    assert isinstance(floored, FiniteEnvironment) == isinstance(env, FiniteEnvironment)
    assert (floored.name, floored.action_names, floored.horizon) == (env.name, env.action_names, env.horizon)
    assert floored.cost_names == (*env.cost_names, *FLOORS)
    assert floored.constrained == (*env.constrained, *FLOORS)
    assert floored.floors == REACH
    assert floored.unwrapped is env.unwrapped
    assert (floored.filter, floored.fixed_budgets) == (env.filter, env.fixed_budgets)
    assert floored.concept_graph == env.concept_graph
    assert floored.observation_fields == env.observation_fields
    np.testing.assert_array_equal(floored.hack, env.hack)
    np.testing.assert_array_equal(floored.cost_bounds[: -len(FLOORS)], env.cost_bounds)


def test_learning_can_take_the_place_of_the_reward():
    env = make("tutor-15", horizon=12)
    actions = jnp.arange(12) % 3
    plain, other = (
        jax.device_get(taught(one, jax.random.key(0), actions)[1]) for one in (env, with_floors(env, {}, "learning"))
    )
    np.testing.assert_array_equal(other.reward, plain.gain)
    np.testing.assert_array_equal(other.costs, plain.costs)
    assert with_floors(env, {}, "learning").reward_bound == env.gain_bound == pytest.approx(env.eta)
    assert with_floors(env, {}) is env


@pytest.mark.parametrize("name", ["tutor-15", "tutor-15-bkt", "tutor-15-activities"])
def test_no_step_gains_or_loses_more_than_the_bounds_say(name):
    found = case(name)
    for seed in range(5):
        _, (_, plain), _ = episodes(name, seed)
        assert -found.env.loss_bound - 1e-6 <= plain.gain.min()
        assert plain.gain.max() <= found.env.gain_bound + 1e-6


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda env: Estimated(env, sigma=0.1),
        lambda env: Conditioned(env, (0.4, 1.0), relative=True),
        lambda env: Floored(env, {}),
    ],
    ids=["estimated", "conditioned", "floored"],
)
def test_wrappers_tell_what_the_environment_inside_tells(wrapped):
    env = make("tutor-15-bkt", horizon=12)
    outer = wrapped(env)
    state, _ = outer.reset(jax.random.key(0))
    inner = getattr(state, "learner", state)
    assert float(outer.mastered(state)) == float(env.mastered(inner))
    assert int(outer.elapsed(state)) == 0
    assert int(outer.elapsed(outer.step(jax.random.key(1), state, jnp.array(0)).state)) == 1
    assert (outer.gain_bound, outer.loss_bound) == (env.gain_bound, env.loss_bound)
    check_floors(outer, REACH)


# What cannot be asked for.


class Silent(Chain):
    """An environment of somebody who knows of no floors."""

    mastered = Environment.mastered
    elapsed = Environment.elapsed


class Timeless(Chain):
    elapsed = Environment.elapsed


@pytest.mark.parametrize(
    ("env", "floors", "what"),
    [
        (Chain, {"mastery": 1.0}, "unknown floor 'mastery'"),
        (Chain, {"learning": 0.0}, "the floor of learning is 0.0"),
        (Chain, {"learning": -1.0}, "the floor of learning is -1.0"),
        (Chain, {"engagement": math.nan}, "the floor of engagement is nan"),
        (Chain, {"engagement": math.inf}, "the floor of engagement is inf"),
        (Silent, {"mastered": 1.0}, "does not count mastered concepts"),
        (Silent, {"learning-total": 1.0}, "does not tell the steps of an episode"),
        (Timeless, {"mastered": 1.0}, "does not tell the steps of an episode"),
    ],
)
def test_what_an_environment_cannot_be_held_to_is_refused(env, floors, what):
    for refusing in (check_floors, with_floors, lambda env, floors: Constraints(floors=floors).check(env)):
        with pytest.raises(InputError) as refused:
            refusing(env(), floors)
        assert what in refused.value.what
        assert "\n" not in str(refused.value)


def test_floors_that_need_no_count_are_open_to_every_environment():
    check_floors(Silent(), {"learning": 0.5, "engagement": 1.0})


def test_constraints_measure_a_floor_by_what_can_be_reached():
    held = Constraints({"c4": 1.0}, {"learning": 2.0, "engagement": 3.0}, {"learning": 2.5})
    assert held.amounts == {"c4": 1.0, "learning": 2.0, "engagement": 3.0}
    env = held.environment(make("chain"))
    assert isinstance(env, FlooredFinite)
    assert env.floors == {
        "learning": 2.5,
        "engagement": 3.0,
    }  # a floor above what is known to be reached is all there is
    chain = make("chain")
    assert Constraints({"c4": 1.0}).environment(chain) is chain
    with pytest.raises(InputError, match="unknown cost 'c9'"):
        Constraints({"c9": 1.0}).check(chain)
