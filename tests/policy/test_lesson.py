"""Engagement and costs: as the formulas say, and the same on numbers, NumPy arrays and JAX arrays."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.policy import ACTIVITIES, Prices, costs_of, demand_of, engagement_of, learning_rate, novelty_of

PRICES = Prices(r_base=0.581, r_difficulty=1.23, r_novelty=0.03, c2_gain=0.022, c3_demand=0.5, c4_rate=10.5)
unit = st.floats(0, 1)


@given(unit, unit, unit, st.floats(-1, 1), st.floats(-1, 1))
def test_lesson_is_worth_what_the_formulas_say(demand, K, novelty, own, gain):
    engagement = engagement_of(PRICES, demand, K, novelty, own)
    expected = min(max(0.581 - 1.23 * demand * (1 - K) + 0.03 * novelty + own, 0.0), 1.0)
    assert float(engagement) == expected
    found = [float(cost) for cost in costs_of(PRICES, expected, demand, gain)]
    assert found == [max(0.0, 0.022 - gain), max(0.0, 0.5 - demand), max(0.0, expected - 10.5 * gain)]


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_arrays_of_either_kind_give_the_same(xp):
    rng = np.random.default_rng(0)
    demand, K, novelty, gain = (xp.asarray(rng.uniform(size=20).astype(np.float32)) for _ in range(4))
    engagement = engagement_of(PRICES, demand, K, novelty, 0.02)
    costs = costs_of(PRICES, engagement, demand, gain)
    for at in range(20):
        numbers = (float(value[at]) for value in (demand, K, novelty))
        one = float(engagement_of(PRICES, *numbers, 0.02))
        assert float(engagement[at]) == pytest.approx(one, abs=1e-6)
        alone = costs_of(PRICES, one, float(demand[at]), float(gain[at]))
        assert [float(cost[at]) for cost in costs] == pytest.approx(list(map(float, alone)), abs=1e-5)
    rate = learning_rate(K, demand > 0.5, 0.1)
    np.testing.assert_allclose(rate, np.where(np.asarray(demand) > 0.5, K, 0.1 * np.asarray(K)), rtol=1e-6)
    np.testing.assert_allclose(novelty_of(xp.arange(3), 2.0), np.exp([0, -0.5, -1]), rtol=1e-6)


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_demand_goes_over_activities_within_concepts_and_stops_at_1(xp):
    activities = [ACTIVITIES["hint"], ACTIVITIES["challenge"]]
    demand = demand_of(xp.asarray([0.5, 0.9]), activities)
    np.testing.assert_allclose(demand, [0.3, 0.65, 0.54, 1.0], rtol=1e-6)
