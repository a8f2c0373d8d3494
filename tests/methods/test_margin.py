"""The margin below budgets: against plain NumPy, and at its limits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.env import make
from mccpo.methods.episodes import EVALUATION_EPISODES
from mccpo.methods.gradient.margin import as_long, error_of, final_error, finished
from mccpo.methods.gradient.rollout import Rollout, Sizes
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.lagrangian import aim_of
from mccpo.methods.mc_cpo.multipliers import budgets_of

ENV = make("tutor-15")
SIZES = Sizes()
BUDGETS = budgets_of(ENV, {"c2": 0.5, "c4": 20.0})


def rollout(totals):
    """A rollout of whose episodes some ended, with these discounted costs."""
    totals = np.asarray(totals, np.float32)
    shape = (7, 1 + len(ENV.cost_names), len(totals) + 3)
    whole, ended = np.zeros(shape, np.float32), np.zeros((7, shape[2]), bool)
    for place, costs in enumerate(totals):
        ended[place % 7, place], whole[place % 7, 1:, place] = True, costs
    return Rollout(**dict.fromkeys(Rollout._fields, jnp.zeros(()))) ._replace(
        ended=jnp.asarray(ended), totals=jnp.asarray(whole)
    )  # fmt: skip


COSTS = np.random.default_rng(5).normal([0.5, 12.0, 20.0], [0.05, 1.0, 2.0], (9, 3))


def test_the_error_matches_the_difference_of_two_means():
    drawn = jax.random.normal(jax.random.key(0), (2000, 350)) * 3.0
    difference = np.asarray(drawn[:, :100].mean(axis=1) - drawn[:, 100:].mean(axis=1))
    assert difference.std() == pytest.approx(float(error_of(jnp.asarray(3.0), 100, 250)), rel=0.05)


@pytest.mark.parametrize("episodes", [0, 1, 9])
def test_finished_episodes_are_summed_up(episodes):
    seen = finished(rollout(COSTS[:episodes].reshape(-1, 3)))
    assert seen.episodes == max(episodes, 1)
    np.testing.assert_allclose(seen.J_c, COSTS[:episodes].mean(axis=0) if episodes else 0.0, rtol=1e-5)


def test_it_goes_by_how_finished_episodes_differ():
    expected = COSTS.std(axis=0) * np.sqrt(1 / SIZES.final + 1 / EVALUATION_EPISODES)
    np.testing.assert_allclose(final_error(ENV, SIZES, finished(rollout(COSTS))), expected, rtol=1e-3)


@pytest.mark.parametrize("episodes", [0, 1])
def test_one_episode_or_none_says_nothing_of_it(episodes):
    np.testing.assert_array_equal(final_error(ENV, SIZES, finished(rollout(COSTS[:episodes]))), 0.0)


def test_what_is_judged_exactly_needs_a_margin_for_the_choice_alone():
    gate = make("gate")
    found = rollout(COSTS)
    error = final_error(gate, SIZES, finished(found._replace(totals=found.totals[:, :2])))
    np.testing.assert_allclose(error, COSTS[:, 0].std() / np.sqrt(as_long(gate, SIZES.final)), rtol=1e-3)


def test_training_aims_below_the_budgets_by_its_share_of_the_margin():
    error = final_error(ENV, SIZES, finished(rollout(COSTS)))
    plain = aim_of(BUDGETS, PPOSettings(tighten=0.1, aside=0.0), error)
    np.testing.assert_allclose(plain.limit, 0.9 * np.asarray(BUDGETS.limit), rtol=1e-6)
    for share in (0.5, 1.0):
        aim = aim_of(BUDGETS, PPOSettings(tighten=0.0, aside=share), error)
        wanted = np.asarray(BUDGETS.limit) - share * PPOSettings().caution * np.asarray(error)
        np.testing.assert_allclose(np.asarray(aim.limit)[[0, 2]], wanted[[0, 2]], rtol=1e-5)


def test_it_never_aims_below_nothing():
    tight = BUDGETS._replace(limit=jnp.array([1e-4, 0.0, 1e-4]))
    assert (
        np.asarray(aim_of(tight, PPOSettings(), final_error(ENV, SIZES, finished(rollout(COSTS)))).limit) >= 0
    ).all()
