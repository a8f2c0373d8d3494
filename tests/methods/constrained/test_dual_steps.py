"""The multipliers of the rivals that step them: what they become follows from the costs that were seen."""

import equinox as eqx
import jax
import numpy as np
import pytest

from mccpo.env import make
from mccpo.methods.constrained.focops import FOCOPS
from mccpo.methods.constrained.ppo_lagrangian import PPOLagrangian
from mccpo.methods.constrained.rcpo import RCPO
from mccpo.methods.engine import as_arrays
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.multipliers import budgets_of

ENV = make("gate")
SIZES = Sizes(environments=4, rollout=8, minibatch=32, epochs=1)
ITERATIONS = 6
LIMIT = 0.2
PLAIN = PPOSettings(aside=0.0)
"""Settings without a margin for chance below the budgets."""


@eqx.filter_jit
def started(learner):
    return learner.start(as_arrays(ENV), SIZES, jax.random.key(0))


@eqx.filter_jit
def iterated(learner, state):
    return learner.iterate(as_arrays(ENV), SIZES, budgets_of(ENV, {"c": LIMIT}), state, state.iteration / 10)


def played(learner):
    """A run's states and what each of its iterations looked like."""
    learner = as_arrays(learner)  # another setting is then another input of the same program
    state = started(learner)
    states, seen = [], []
    for _ in range(ITERATIONS):
        state, progress = iterated(learner, state)
        states.append(state)
        seen.append(progress)
    return states, seen


@pytest.mark.parametrize(
    ("learner", "rates", "cap"),
    [
        (PPOLagrangian(dual_rate=0.4, settings=PLAIN), [0.4] * ITERATIONS, np.inf),
        (RCPO(dual_rate=0.4, half_life=2.0, settings=PLAIN), 0.4 / (1 + np.arange(ITERATIONS) / 2), np.inf),
        (FOCOPS(dual_rate=0.4, cap=0.3, settings=PLAIN), [0.4] * ITERATIONS, 0.3),
    ],
    ids=["ppo-lagrangian", "rcpo", "focops"],
)
def test_multipliers_take_projected_steps_along_the_relative_excess(learner, rates, cap):
    _, seen = played(learner)
    unit = 1.0 / LIMIT  # an episode of the gate is one step, and its reward at most 1
    aim = LIMIT * (1 - learner.settings.tighten)
    price = 0.0
    for rate, progress in zip(rates, seen, strict=True):
        price = min(max(0.0, price + rate * (float(progress.costs[0]) - aim) / LIMIT * unit), cap * unit)
        assert float(progress.multipliers[0]) == pytest.approx(price, abs=1e-4)
    assert price > 0


def test_rcpo_has_one_critic():
    """The heads of the costs stay at the zero at which they begin, that of the penalised reward does not."""
    states, _ = played(RCPO())
    network: Network = RCPO().network(ENV)
    *_, weights, biases = network.unpack(states[-1].parameters)
    assert not weights[network.actions + 1 :].any()
    assert not biases[network.actions + 1 :].any()
    assert weights[network.actions].any()
