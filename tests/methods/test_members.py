"""Learners of several models: every one of them has to meet the budgets, and has prices of its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import ONE_MODEL, Ensemble, Floored, Population, PreparedTutor, Privileged, make
from mccpo.methods import Multipliers, NeuralPlan, budgets_of, method_arrays, method_spec, train_neural
from mccpo.methods.episodes import EVALUATION_EPISODES, Episodes
from mccpo.methods.gradient.margin import finished
from mccpo.methods.gradient.members import differences, standing, training_error
from mccpo.methods.gradient.rollout import Rollout, Sizes
from mccpo.methods.gradient.selection import score_of
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.lagrangian import priced, prices_in, reprice

ENV = make("tutor-15", horizon=5)
LIMITS = budgets_of(ENV, {"c2": 1.0, "c4": 10.0})
COSTS = np.array([0.9, 3.0, 9.0])
TWO = Population(
    *(np.tile(np.array([[low], [high]]), 2) for low, high in ((0.1, 0.5), (0.05, 0.2), (0.1, 0.2), (0.1, 0.1)))
)


def alike(members):
    return Ensemble((0,) * members, (1 / members,) * members)


def drawn(apart, episodes=240, spread=0.5, seed=0):
    """Episodes of as many members as there are entries; c4 of each is so far from 9."""
    member = np.arange(episodes) % len(apart)
    costs = np.tile(COSTS[:, None], episodes)
    costs[2] += np.asarray(apart)[member] + spread * np.random.default_rng(seed).normal(size=episodes)
    return member, costs.astype(np.float32)


def episodes_of(apart, **how):
    member, costs = drawn(apart, **how)
    one = jnp.ones(len(member))
    return Episodes(30 * one, jnp.asarray(costs), one, one, one > 0, one, one, one, one, one, jnp.asarray(member))


def rollout_of(apart, **how):
    """A rollout in which all of the episodes ended, in its only row of time."""
    member, costs = drawn(apart, **how)
    totals = np.concatenate([np.zeros((1, len(member))), costs]).astype(np.float32)[None]
    blank = Rollout(**dict.fromkeys(Rollout._fields, jnp.zeros(())))
    return blank._replace(ended=np.ones((1, len(member)), bool), totals=totals, member=member[None])


def test_a_single_member_keeps_its_mean_and_error():
    seen = episodes_of([0.0])
    found = standing(seen._replace(member=None), ONE_MODEL, EVALUATION_EPISODES)
    np.testing.assert_array_equal(found.J_c, seen.costs.mean(axis=1))
    expected = seen.costs.std(axis=1) * (1 / 240 + 1 / EVALUATION_EPISODES) ** 0.5
    np.testing.assert_allclose(found.error, expected, rtol=1e-5)
    zero = jnp.zeros((1, 3))
    assert differences(zero, rollout_of([0.0]), finished(rollout_of([0.0]))) is zero


def test_members_that_are_alike_cost_no_margin():
    found = standing(episodes_of([0.0] * 8), alike(8), EVALUATION_EPISODES)
    alone = standing(episodes_of([0.0]), ONE_MODEL, EVALUATION_EPISODES)
    np.testing.assert_allclose(found.J_c, np.broadcast_to(alone.J_c, (8, 3)), atol=0.08)
    assert float(found.error[:, 2].max()) < 1.6 * float(alone.error[2])  # by their own episodes: 2.7 times


def test_members_that_differ_are_told_by_their_own_episodes():
    apart = np.array([-2.0, 0.0, 0.0, 2.0])
    found = standing(episodes_of(apart), alike(4), EVALUATION_EPISODES)
    np.testing.assert_allclose(found.J_c[:, 2], 9 + apart, atol=0.3)


def test_a_policy_that_breaks_budgets_for_one_member_is_not_taken():
    plain = method_arrays(method_spec("mc-cpo"), ENV)

    def score(apart, members):
        return float(score_of(plain, LIMITS, 2.0, episodes_of(apart, spread=0.05), jnp.zeros(()), 2000, alike(members)))

    uneven = [2.0, -1.0, -1.0, 0.0]  # c4 is 9 on average and 11 with the first, of 10
    assert score(uneven, 1) > 29
    assert score(uneven, 4) < 0
    assert score([0.5, -0.5, 0.0, 0.0], 4) > 29


def test_how_far_members_are_apart_is_remembered_over_iterations():
    apart, found = np.array([1.0, -1.0]), jnp.zeros((2, 3))
    for seed in range(30):
        rollout = rollout_of(apart, episodes=20, seed=seed)
        found = differences(found, rollout, finished(rollout))
    np.testing.assert_allclose(found[:, 2], apart, atol=0.15)
    np.testing.assert_allclose(found[:, :2], 0.0, atol=1e-5)
    seen = finished(rollout)
    near, far = (training_error(seen, alike(2), one, 1000, 2000)[:, 2].max() for one in (jnp.zeros((2, 3)), found))
    assert float(near) < float(far)
    two_kinds = Ensemble((0, 1), (0.5, 0.5))  # each has no other member to be told by
    np.testing.assert_allclose(
        training_error(seen, two_kinds, found, 1000, 2000)[:, 2],
        seen.spread[2] * (1 / 500 + 1 / 2000) ** 0.5,
        rtol=1e-5,
    )


def test_members_are_told_by_others_of_their_kind_alone():
    """Two kinds far apart, of two members each that are alike: a member is as its kind, with a kind's error."""
    ensemble = Ensemble((0, 0, 1, 1), (0.25,) * 4)
    found = standing(episodes_of([-2.0, -2.0, 2.0, 2.0]), ensemble, EVALUATION_EPISODES)
    np.testing.assert_allclose(found.J_c[:, 2], [7, 7, 11, 11], atol=0.2)
    as_one = standing(episodes_of([-2.0, -2.0, 2.0, 2.0]), alike(4), EVALUATION_EPISODES)
    assert float(found.error[:, 2].max()) < 0.9 * float(as_one.error[:, 2].max())


def test_the_member_over_its_budget_pays_and_the_other_does_not():
    apart = jnp.asarray([[0.0, 0.0, 3.0], [0.0, 0.0, -3.0]])
    rollout, zero = rollout_of([3.0, -3.0], spread=0.05), Multipliers(*jnp.zeros((3, 2, 3)))
    method = method_arrays(method_spec("mc-cpo"), ENV)
    found = reprice(
        PreparedTutor(concepts=2, population=TWO), Sizes(), method, LIMITS, PPOSettings(), zero, rollout, apart
    )
    assert float(found.value[0, 2]) > 0
    assert float(found.value[1, 2]) == 0.0
    prices = prices_in(found.value, rollout)
    assert prices.shape == (1, 3, 240)
    np.testing.assert_array_equal(prices[0, :, 1], found.value[1])
    estimates = jnp.asarray(np.random.default_rng(1).normal(size=(1, 4, 240)), jnp.float32)
    same = prices_in(found.value[:1], rollout)
    whole = jnp.broadcast_to(same[:, None], (1, 3, 240))
    np.testing.assert_allclose(priced(estimates, same), priced(estimates, whole), atol=1e-5)


def test_environments_say_which_member_a_learner_is_drawn_from():
    env = PreparedTutor(concepts=2, population=TWO, horizon=6)
    for one in (env, Floored(env, {"learning": 1.0}), Privileged(env)):
        members = jax.vmap(lambda key, one=one: one.member(one.reset(key)[0]))(jax.random.split(jax.random.key(0), 50))
        assert one.members == 2
        assert set(np.asarray(members).tolist()) == {0, 1}
    assert make("tutor-15").members == 1


@pytest.mark.slow
def test_training_has_multipliers_for_every_member():
    env = PreparedTutor(concepts=2, population=TWO, horizon=6)
    plan = NeuralPlan(steps=600, seeds=1, sizes=Sizes(8, 16, 32, 1, 8), validation=8)
    runs = train_neural(env, [method_spec("mc-cpo")], {"c3": 0.5}, plan)
    assert runs.multipliers.shape == (1, 1, 3)
    assert np.isfinite(runs.selected).all()
