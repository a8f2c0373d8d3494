"""The gate is the paper's: one decision between hack, prog and a concept that is not ready."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import Gate, make
from mccpo.errors import InputError


@pytest.mark.parametrize(
    ("action", "reward", "cost", "gain", "unready"),
    [("hack", 1.0, 1.0, 0.0, False), ("prog", 0.6, 0.0, 1.0, False), ("next", 0.0, 0.0, 0.0, True)],
)
def test_what_each_choice_brings(action, reward, cost, gain, unready):
    env = Gate()
    state, obs = env.reset(jax.random.key(0))
    chances, steps = jax.device_get(jax.jit(env.outcomes)(state, jnp.array(env.action_names.index(action))))
    (certain,) = np.flatnonzero(chances)
    assert chances[certain] == 1
    step = jax.tree.map(lambda leaf: leaf[certain], steps)
    assert (float(step.reward), step.costs.tolist()) == (pytest.approx(reward), [cost])
    assert (float(step.gain), bool(step.unready), bool(step.terminated)) == (gain, unready, True)
    assert bool(obs.action_mask[env.action_names.index(action)]) is not unready


def test_progress_opens_the_gate():
    env = Gate()
    step = jax.jit(env.step)(jax.random.key(0), env.reset(jax.random.key(1))[0], env.action_names.index("prog"))
    assert step.state.K.tolist() == [True, False]
    assert step.obs.action_mask.tolist() == [True, True, True]


def test_the_reward_gap_is_a_parameter_and_the_budget_is_nothing():
    env = make("gate", R=0.7)
    step = jax.jit(env.step)(jax.random.key(0), env.reset(jax.random.key(1))[0], 0)
    assert float(step.reward) == pytest.approx(0.7)
    assert env.fixed_budgets == {"c": 0.0}
    assert env.filter == "block"


@pytest.mark.parametrize("R", [0.0, 1.0, -0.3, 1.2, float("nan")])
def test_a_reward_that_leaves_no_gap_is_refused(R):
    with pytest.raises(InputError, match=rf"R is {R}; give a reward between 0 and 1"):
        make("gate", R=R)


@pytest.mark.parametrize(("parameter", "value"), [("theta", 0.0), ("theta", 1.5), ("gamma", 0.0), ("gamma", 2.0)])
def test_impossible_parameters_are_refused(parameter, value):
    with pytest.raises(InputError, match=rf"{parameter} is {value}; give"):
        make("gate", **{parameter: value})
