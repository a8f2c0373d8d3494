"""The proportional–integral rule of the multipliers, against closed forms and a plain loop."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.env import make
from mccpo.methods import Budgets, MultiplierRule, budgets_of
from mccpo.methods.mc_cpo.multipliers import start, update

RULE = MultiplierRule(proportional=0.5, memory=0.9, cap=10.0)


def budgets(*limits):
    ones = jnp.ones(len(limits))
    return Budgets(jnp.array(limits), jnp.array(limits), ones, ones, jnp.ones(()))


def follow(rule, limits, costs, step_size=0.1):
    """The states of the rule after each of a sequence of cost estimates."""
    states, state = [], start(len(limits.limit))
    for J_c in costs:
        state = update(rule, state, limits, jnp.asarray(J_c), jnp.asarray(step_size))
        states.append(state)
    return states


def plain_loop(rule, limit, scale, costs, step_sizes):
    integral = average = 0.0
    values = []
    for J_c, step_size in zip(costs, step_sizes, strict=True):
        error = (J_c - limit) / scale
        average = rule.memory * average + (1 - rule.memory) * error
        integral = min(max(integral + step_size * error, 0.0), rule.cap)
        values.append((min(max(integral + rule.proportional * average, 0.0), rule.cap), integral))
    return values


@settings(deadline=None, max_examples=50)
@given(
    costs=st.lists(st.floats(0, 50, width=32), min_size=1, max_size=40),
    limit=st.floats(0, 20, width=32),
    proportional=st.floats(0, 5, width=32),
    memory=st.floats(0, 0.9990234375, width=32),
    cap=st.floats(0.125, 20, width=32),
    first=st.floats(0, 2, width=32),
)
def test_the_rule_is_its_plain_loop(costs, limit, proportional, memory, cap, first):
    rule = MultiplierRule(proportional, memory, cap)
    scale = max(limit, 0.5)
    limits = Budgets(jnp.array([limit]), jnp.array([scale]), jnp.ones(1), jnp.ones(1), jnp.ones(()))
    steps = [first / (1 + k) for k in range(len(costs))]
    state = start(1)
    for J_c, step, (value, integral) in zip(costs, steps, plain_loop(rule, limit, scale, costs, steps), strict=True):
        state = update(rule, state, limits, jnp.array([J_c]), jnp.asarray(step))
        assert float(state.value[0]) == pytest.approx(value, rel=1e-3, abs=1e-3)
        assert float(state.integral[0]) == pytest.approx(integral, rel=1e-3, abs=1e-3)
        assert 0 <= float(state.value[0]) <= cap


def test_a_slack_budget_leaves_the_multiplier_at_zero():
    for state in follow(RULE, budgets(2.0), [[1.0]] * 50):
        assert float(state.value[0]) == 0
        assert float(state.integral[0]) == 0


def test_a_constant_error_integrates_to_its_closed_form():
    """With e = 1 throughout: I_n = nβ and ē_n = 1 - m^n."""
    for n, state in enumerate(follow(RULE, budgets(2.0), [[4.0]] * 30, step_size=0.1), start=1):
        assert float(state.integral[0]) == pytest.approx(0.1 * n, rel=1e-4)
        assert float(state.error[0]) == pytest.approx(1 - 0.9**n, rel=1e-4)
        assert float(state.value[0]) == pytest.approx(0.1 * n + 0.5 * (1 - 0.9**n), rel=1e-4)


def test_the_integral_leaves_the_cap_at_once_after_a_long_infeasible_stretch():
    states = follow(RULE, budgets(1.0), [[100.0]] * 1000 + [[0.0]], step_size=0.1)
    assert float(states[-2].integral[0]) == 10
    assert float(states[-2].value[0]) == 10
    assert float(states[-1].integral[0]) == pytest.approx(9.9)


def test_the_integral_leaves_zero_at_once_after_a_long_slack_stretch():
    states = follow(RULE, budgets(1.0), [[0.0]] * 1000 + [[3.0]], step_size=0.1)
    assert float(states[-2].integral[0]) == 0
    assert float(states[-1].integral[0]) == pytest.approx(0.2)


def test_the_proportional_part_vanishes_with_the_error():
    states = follow(RULE, budgets(1.0), [[5.0]] * 10 + [[1.0]] * 300, step_size=0.1)
    assert float(states[9].value[0]) > float(states[9].integral[0]) + 0.5
    assert float(states[-1].integral[0]) == pytest.approx(4.0, rel=1e-4)
    assert float(states[-1].value[0]) == pytest.approx(float(states[-1].integral[0]), abs=1e-6)


def test_a_cost_without_a_budget_keeps_a_multiplier_of_zero():
    limits = budgets_of(make("chain"), {"c4": 1.0})
    assert np.asarray(limits.active).tolist() == [0, 0, 1]
    for state in follow(RULE, limits, [[100.0, 100.0, 100.0]] * 5):
        assert np.asarray(state.value)[:2].tolist() == [0, 0]
        assert np.asarray(state.integral)[:2].tolist() == [0, 0]
        assert float(state.value[2]) > 0


def test_the_error_is_relative_to_the_budget_with_a_floor():
    env = make("random-finite")  # c_max of c3 is 0.5
    D = (1 - 0.99**6) / 0.01
    limits = budgets_of(env, {"c3": 0.0, "c4": 2.5})
    np.testing.assert_allclose(limits.limit, [0, 0, 2.5])
    np.testing.assert_allclose(limits.scale, [1, 0.01 * 0.5 * D, 2.5], rtol=1e-6)
    state = follow(RULE, limits, [[0.0, 0.02, 5.0]], step_size=0.1)[0]
    np.testing.assert_allclose(state.integral, [0, 0.1 * 0.02 / (0.005 * D), 0.1], rtol=1e-5)


def test_a_budget_below_the_floor_is_normalised_by_the_floor():
    limits = budgets_of(make("gate"), {"c": 0.001})
    np.testing.assert_allclose(limits.scale, [0.01], rtol=1e-6)
