"""The PID multiplier against its published update, written out in NumPy, on a recorded sequence of costs."""

import jax.numpy as jnp
import numpy as np
import pytest

from mccpo.methods.constrained.pid_lagrangian import Gains, PIDState, pid_update

# Costs as a run showed them: far above the budget, a descent, a swing back, long below.
RECORDED = np.array(
    [3.1, 3.0, 2.6, 2.7, 1.9, 1.2, 0.7, 0.4, 0.6, 1.1, 1.5, 1.3, 0.9, 0.5, 0.2, 0.1, 0.1, 1.6, 1.0, 1.0]
)
LIMIT = 1.0


def published(costs, limit, proportional, integral, derivative, memory):
    """Algorithm 2 of Stooke, Achiam and Abbeel (2020), with the averages of P and D of its authors' code."""
    cost_average, cost_previous, delta_average, total = limit, limit, 0.0, 0.0
    found = []
    for cost in costs:
        delta = cost - limit
        total = max(0.0, total + delta)
        delta_average = memory * delta_average + (1 - memory) * delta
        cost_average = memory * cost_average + (1 - memory) * cost
        rise = max(0.0, cost_average - cost_previous)
        found.append(max(0.0, proportional * delta_average + integral * total + derivative * rise))
        cost_previous = cost_average
    return np.array(found)


def followed(costs, limit, gains):
    zero = jnp.zeros(1)
    state, found = PIDState(zero, zero, zero), []
    for cost in costs:
        state = pid_update(gains, state, jnp.array([cost - limit]))
        found.append(float(state.value[0]))
    return np.array(found)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("gains", [(1.0, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 2.0), (0.7, 0.2, 1.5)])
def test_the_multiplier_follows_the_published_update(gains, memory):
    expected = published(RECORDED, LIMIT, *gains, memory)
    assert expected.any()
    np.testing.assert_allclose(followed(RECORDED, LIMIT, Gains(*gains, memory)), expected, rtol=1e-5, atol=1e-6)


def test_the_integral_part_owes_nothing_for_time_below_the_budget():
    """A long stay below does not delay the answer to a cost above: the sum is clamped at each step, not at the end."""
    costs = np.array([0.0] * 30 + [2.0])
    assert followed(costs, LIMIT, Gains(0.0, 0.5, 0.0, 0.0))[-1] == pytest.approx(0.5)


def test_the_derivative_part_answers_to_a_rise_and_not_to_a_fall():
    found = followed(np.array([1.0, 3.0, 1.0, 0.0]), LIMIT, Gains(0.0, 0.0, 2.0, 0.0))
    np.testing.assert_allclose(found, [0.0, 4.0, 0.0, 0.0])


def test_the_controllers_of_several_costs_do_not_touch():
    gains, zero = Gains(0.7, 0.2, 1.5, 0.5), jnp.zeros(2)
    state = pid_update(gains, PIDState(zero, zero, zero), jnp.array([2.0, 0.0]))
    assert state.value[0] > 0
    assert state.value[1] == 0
