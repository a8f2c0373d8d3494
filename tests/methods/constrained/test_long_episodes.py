"""Episodes that are longer than an iteration: what the last ones showed stands until another ends, and counts once."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.methods.constrained.crpo import CRPO
from mccpo.methods.constrained.ppo_lagrangian import PPOLagrangian
from mccpo.methods.engine import as_arrays
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.mc_cpo.multipliers import budgets_of

ENV = make("tutor-15", horizon=20)
BUDGETS = budgets_of(ENV, {"c4": 0.05})
SIZES = Sizes(environments=4, rollout=8, minibatch=32, epochs=1)
ENDING = [False, False, True, False, True, False, False, True]  # whether an episode of 20 steps ends in 8 of them


class Spying(CRPO):
    """Keeps what each iteration goes by: the excess that stands, the new one, and whether an episode ended."""

    def own(self, env, key):
        return jnp.zeros((3, len(env.cost_names)))

    def improve(self, context):
        told = [self.excess(context), self.new_excess(context), jnp.full(3, context.evidence.episodes)]
        return context.state.fitted, jnp.stack(told)

    def own_prices(self, own):
        return own[..., 0, :]


@eqx.filter_jit
def iterated(learner, state):
    return learner.iterate(as_arrays(ENV), SIZES, BUDGETS, state, state.iteration / 10)


def played(learner):
    learner = as_arrays(learner)
    state, states = learner.start(as_arrays(ENV), SIZES, jax.random.key(0)), []
    for _ in ENDING:
        state, _ = iterated(learner, state)
        states.append(state)
    return states


@pytest.fixture(scope="module")
def told():
    return np.stack([state.own for state in played(Spying())])


def test_some_iterations_end_no_episode(told):
    assert (told[:, 2, 0] > 0).tolist() == ENDING


def test_the_excess_stands_until_another_episode_ends(told):
    standing = told[:, 0, 2]
    assert standing[:2].tolist() == [0.0, 0.0]  # before any
    assert (standing[2:] > 0).all()
    assert standing[3] == standing[2] != standing[4]
    assert standing[6] == standing[5] == standing[4] != standing[7]


def test_a_new_excess_counts_once(told):
    # The two are reckoned apart in one program, which may round them apart.
    np.testing.assert_allclose(told[:, 1], np.where(told[:, 2] > 0, told[:, 0], 0.0), rtol=1e-6, atol=0)


def test_the_margin_stands_too():
    errors = np.stack([state.seen.error for state in played(Spying())])[:, 2]
    assert errors[2] > 0
    assert errors[3] == errors[2]
    assert errors[6] == errors[5] == errors[4] > 0


def test_multipliers_stay_where_no_episode_ends():
    prices = np.stack([state.own for state in played(PPOLagrangian())])[:, 2]
    assert prices[:2].tolist() == [0.0, 0.0]
    assert prices[3] == prices[2] > 0
    assert prices[4] > prices[3]
