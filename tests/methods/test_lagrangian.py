"""Prices: how the multipliers answer finished episodes, and how a price follows an episode."""

import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.methods import MultiplierRule, Multipliers, budgets_of, method_arrays, method_spec
from mccpo.methods.gradient.gae import value_scale
from mccpo.methods.gradient.rollout import Playing, Rollout, Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.lagrangian import DEAREST, due_of, priced, reprice

ENV = make("tutor-15", K0=0.62, horizon=7)
SIZES = Sizes()
BUDGETS = budgets_of(ENV, {"c2": 0.05, "c4": 1.0})


def rollout_of(time=6, batch=8, **given):
    """A rollout that has these arrays, and no episode that ended."""
    zeros = np.zeros((time, 1 + len(ENV.cost_names), batch), np.float32)
    whole = {"signals": zeros, "values": zeros, "totals": zeros, "ended": np.zeros((time, batch), bool)} | given
    return Rollout(**dict.fromkeys(Rollout._fields, np.zeros(()))) ._replace(**whole)  # fmt: skip


def finished(episodes, costs, spread=1.0):
    """A rollout of which `episodes` ended at these discounted costs on average."""
    found = rollout_of()
    ended, totals = found.ended.copy(), found.totals.copy()
    ended[3, :episodes] = True
    share = 1 + spread * (2 * np.arange(1, episodes + 1) / (episodes + 1) - 1)
    totals[3, 1:, :episodes] = np.asarray(costs)[:, None] * share
    return found._replace(ended=ended, totals=totals)


def price(rollout, name="mc-cpo", settings=None, multipliers=None):
    multipliers = multipliers or Multipliers(*jnp.zeros((3, 3)))
    method = method_arrays(method_spec(name), ENV)
    return reprice(ENV, SIZES, method, BUDGETS, settings or PPOSettings(), multipliers, rollout)


def test_multipliers_stay_without_finished_episodes():
    before = Multipliers(jnp.array([3.0, 0.0, 2.0]), jnp.array([2.0, 0.0, 1.5]), jnp.array([0.3, 0.0, -0.2]))
    after = price(finished(0, [9.0, 9.0, 9.0]), multipliers=before)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_multipliers_rise_over_budget_and_fall_under_it():
    over, under = finished(5, [0.1, 9.0, 2.0]), finished(5, [0.01, 9.0, 0.2])
    first = price(over)
    second = price(over, multipliers=first)
    assert (np.asarray(second.value)[[0, 2]] > np.asarray(first.value)[[0, 2]]).all()
    assert (np.asarray(first.value)[[0, 2]] > 0).all()
    third = price(under, multipliers=second)
    assert (np.asarray(third.value)[[0, 2]] < np.asarray(second.value)[[0, 2]]).all()
    assert (np.asarray(third.integral)[[0, 2]] < np.asarray(second.integral)[[0, 2]]).all()
    for each in (first, second, third):
        assert float(each.value[1]) == 0  # no budget


def test_multipliers_of_a_method_without_budgets_are_zero():
    for name in ("unconstrained", "reward-shaped", "post-hoc"):
        found = price(finished(5, [9.0, 9.0, 9.0]), name)
        assert not found.value.any()
        assert not found.integral.any()


def test_a_unit_of_the_rule_is_a_reward_of_one_in_every_step():
    """At twice the budget the error is 1: a step size of 1 then makes λ·d worth D(T), for any cost."""
    limit = np.asarray(BUDGETS.limit)
    rule = MultiplierRule(proportional=0.0, memory=0.0, cap=20.0)
    settings = PPOSettings(step_size=1.0, tighten=0.0, aside=0.0, rule=rule)
    found = price(finished(4, 2 * limit), settings=settings)
    np.testing.assert_allclose((found.value * limit)[np.array([0, 2])], ENV.discounted_horizon, rtol=1e-4)
    tight = price(finished(4, limit), settings=settings._replace(tighten=0.1))
    np.testing.assert_allclose((tight.value * limit)[np.array([0, 2])], 0.1 * ENV.discounted_horizon, rtol=1e-4)
    far = price(finished(4, 1e4 * limit), settings=settings)
    np.testing.assert_allclose((far.value * limit)[np.array([0, 2])], 20 * ENV.discounted_horizon, rtol=1e-4)


def test_noisy_episodes_move_no_price_at_once_but_still_count():
    """Eight episodes cost 10 % too much on average: less than two standard errors where they differ, else more."""
    rule = MultiplierRule(proportional=3.0, memory=0.5, cap=20.0, doubt=2.0)
    settings = PPOSettings(step_size=0.0, tighten=0.0, aside=0.0, rule=rule)
    costs = 1.1 * np.asarray(BUDGETS.limit)
    assert not price(finished(8, costs), settings=settings).value.any()
    alike = price(finished(8, costs, spread=0.0), settings=settings)
    sure = price(finished(8, costs), settings=settings._replace(rule=rule._replace(doubt=0.0)))
    np.testing.assert_allclose(alike.value, sure.value, rtol=1e-4)
    assert (np.asarray(alike.value)[[0, 2]] > 0).all()
    counted = price(finished(8, costs), settings=settings._replace(step_size=0.1))
    plain = price(finished(8, costs), settings=settings._replace(step_size=0.1, rule=rule._replace(doubt=0.0)))
    np.testing.assert_array_equal(counted.integral, plain.integral)
    np.testing.assert_array_equal(counted.error, plain.error)


# Prices that follow an episode.


def standing(seed=0, time=6, batch=8):
    rng = np.random.default_rng(seed)
    signals = rng.uniform(0, 0.2, (time, 4, batch)).astype(np.float32)
    values = rng.normal(0.0, 0.3, (time, 4, batch)).astype(np.float32)
    before = Playing(**dict.fromkeys(Playing._fields, np.zeros(())))._replace(
        discount=np.ones(batch, np.float32), spent=np.zeros((3, batch), np.float32)
    )
    return before, rollout_of(
        signals=signals, values=values, ended=np.arange(time)[:, None] == np.full(batch, time - 1)
    )


def test_a_price_is_due_in_full_unless_it_follows():
    before, rollout = standing()
    due = due_of(ENV, SIZES, BUDGETS, PPOSettings(), before, rollout)
    np.testing.assert_array_equal(due, 1.0)
    estimates, prices = jnp.asarray(np.random.default_rng(1).normal(size=(6, 4, 8))), jnp.array([3.0, 0.0, 2.0])
    np.testing.assert_array_equal(priced(estimates, prices, due), priced(estimates, prices))


def test_more_is_due_in_an_episode_that_will_exceed_its_budget():
    before, rollout = standing()
    settings = PPOSettings(follow=3.0, tighten=0.0, aside=0.0)
    due = np.asarray(due_of(ENV, SIZES, BUDGETS, settings, before, rollout))
    scale, limit = np.asarray(value_scale(ENV, BUDGETS))[1:], np.asarray(BUDGETS.limit)
    for b in range(8):
        spent, discount = np.zeros(3), 1.0
        for t in range(6):
            expected = spent + discount * rollout.values[t, 1:, b] * scale
            wanted = np.clip(1 + 3.0 * (expected - limit) / np.asarray(BUDGETS.scale), 0.0, DEAREST)
            np.testing.assert_allclose(due[t, [0, 2], b], wanted[[0, 2]], rtol=1e-3, atol=1e-3)
            spent, discount = spent + discount * rollout.signals[t, 1:, b], discount * ENV.gamma
    np.testing.assert_array_equal(due[:, 1], 1.0)  # no budget, and so no price
    assert due.min() == 0.0
    assert due.max() == pytest.approx(DEAREST)


def test_all_of_a_price_is_due_where_no_episode_ended():
    before, rollout = standing()
    going_on = rollout._replace(ended=np.zeros_like(rollout.ended))
    np.testing.assert_array_equal(due_of(ENV, SIZES, BUDGETS, PPOSettings(follow=3.0), before, going_on), 1.0)
