"""FPI's feasibility function and its two aims against plain sums over each episode's steps."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.methods import budgets_of
from mccpo.methods.constrained.fpi import FPI
from mccpo.methods.constrained.on_policy import Context, Seen
from mccpo.methods.gradient.gae import value_scale
from mccpo.methods.gradient.ledger import ledger_of

ENV = make("chain")
BUDGETS = budgets_of(ENV, {"c4": 2.0})


def evidence_of(seed=0, time=9, batch=3):
    """Episodes under way when the rollout begins, and some that end in it."""
    rng = np.random.default_rng(seed)
    rollout = SimpleNamespace(
        signals=jnp.asarray(rng.uniform(size=(time, 4, batch)), jnp.float32),
        values=jnp.asarray(rng.uniform(size=(time, 4, batch)), jnp.float32),
        ended=jnp.asarray(rng.uniform(size=(time, batch)) < 0.3),
    )
    before = SimpleNamespace(
        discount=jnp.asarray(ENV.gamma ** rng.integers(0, 3, size=batch), jnp.float32),
        spent=jnp.asarray(rng.uniform(size=(3, batch)), jnp.float32),
    )
    advantages = jnp.asarray(rng.normal(size=(time, 4, batch)), jnp.float32)
    seen = Seen(jnp.array([0.1, 0.0, 2.5]), jnp.zeros(3), jnp.ones(()))  # without an error, there is no margin
    appraisal = SimpleNamespace(advantages=advantages)
    return SimpleNamespace(rollout=rollout, before=before, appraisal=appraisal, seen=seen, episodes=jnp.asarray(4.0))


def context_of(method, evidence, budgets=BUDGETS):
    """What an improvement goes by, before the first."""
    state = SimpleNamespace(own=method.own(ENV, jax.random.key(0)), fitted=None)
    return Context(ENV, None, budgets, state, evidence, None, None)


def plain_ledger(evidence):
    time, _, batch = evidence.rollout.signals.shape
    discount, spent = np.zeros((time, batch)), np.zeros((time, 3, batch))
    for b in range(batch):
        now, cost = float(evidence.before.discount[b]), np.array(evidence.before.spent[:, b])
        for t in range(time):
            discount[t, b], spent[t, :, b] = now, cost
            cost = cost + now * np.asarray(evidence.rollout.signals[t, 1:, b])
            now *= ENV.gamma
            if evidence.rollout.ended[t, b]:
                now, cost = 1.0, np.zeros(3)
    return discount, spent


def test_the_ledger_matches_a_plain_loop():
    evidence = evidence_of()
    discount, spent = plain_ledger(evidence)
    found = ledger_of(ENV, evidence.before, evidence.rollout)
    np.testing.assert_allclose(found.discount, discount, rtol=1e-5)
    np.testing.assert_allclose(found.spent, spent, rtol=1e-4, atol=1e-6)


def test_feasibility_is_what_is_expected_to_be_left_of_the_budget():
    evidence, method = evidence_of(1), FPI()
    discount, spent = plain_ledger(evidence)
    scale = np.asarray(value_scale(ENV, BUDGETS))[1:]
    expected = spent + discount[:, None] * np.asarray(evidence.rollout.values[:, 1:]) * scale[:, None]
    found = method.feasibility(context_of(method, evidence))
    np.testing.assert_allclose(
        found[:, 2], (2.0 * (1 - FPI().settings.tighten) - expected[:, 2]) / 2.0, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("limit", [2.0, 1e-6, 50.0])
def test_feasible_states_seek_reward_behind_a_barrier_and_others_less_cost(limit):
    evidence, method = evidence_of(2), FPI(calibration=0.0, response=0.0)
    budgets = budgets_of(ENV, {"c4": limit})
    seen = {}

    class Spy(FPI):
        def ascend(self, context, advantage):
            seen["advantage"] = advantage
            return context.state.fitted

    spy = Spy(calibration=0.0, response=0.0)
    spy.improve(context_of(spy, evidence, budgets))
    left = np.asarray(method.feasibility(context_of(method, evidence, budgets)))[:, 2]
    A = np.asarray(evidence.appraisal.advantages)
    price = method.barrier / np.maximum(left, method.floor) * float(ENV.discounted_horizon / budgets.scale[2])
    wanted = np.where(left > 0, A[:, 0] - price * A[:, 3], -price * A[:, 3])
    np.testing.assert_allclose(seen["advantage"], wanted, rtol=1e-4, atol=1e-5)
    assert {1e-6: (left <= 0).all(), 2.0: 0 < (left > 0).mean() < 1, 50.0: (left > 0).all()}[limit]


def test_the_border_follows_the_budget_that_is_missed():
    class Still(FPI):
        def ascend(self, context, advantage):
            return context.state.fitted

    method = Still(calibration=0.1)
    evidence = evidence_of(3)
    _, own = method.improve(context_of(method, evidence))
    missed = (2.5 - 2.0 * (1 - FPI().settings.tighten)) / 2.0
    np.testing.assert_allclose(own[1], [0.0, 0.0, -0.1 * missed], rtol=1e-4, atol=1e-7)
