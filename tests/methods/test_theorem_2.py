"""Theorem 2 against the linear program: what converges to its optimum, and what refutes the theorem as published."""

import math

import numpy as np
import pytest

from mccpo.env import make
from mccpo.exact import Infeasible, Optimum, enumerate_model, evaluate, solve
from mccpo.methods import TabularPlan, method_spec, train_tabular
from mccpo.methods.mc_cpo.multipliers import MultiplierRule
from mccpo.methods.mc_cpo.tabular import TabularSettings

pytestmark = pytest.mark.usefixtures("optimised")

BATCH = 20
# Environment, and how far (relatively) a multiplier may lie from that of the program.
SHORT = [("chain", {}, 0.05)]
LONG = [("chain", {}, 0.02), *(("random-finite", {"instance": i}, 0.05) for i in range(6))]


def named(cases):
    return pytest.mark.parametrize(
        ("name", "overrides", "within"), cases, ids=["-".join(map(str, [n, *o.values()])) for n, o, _ in cases]
    )


def train(env, kappa, episodes, seeds=2):
    """The program's optimum under budgets of κ times the unconstrained costs, and what MC-CPO comes to under them."""
    model = enumerate_model(env)
    free = solve(model)
    assert isinstance(free, Optimum)
    budgets = {cost: kappa * free.values.costs[cost] for cost in env.constrained}
    optimum = solve(model, budgets)
    assert not isinstance(optimum, Infeasible)
    runs = train_tabular(
        env, [method_spec("mc-cpo")], budgets, TabularPlan(episodes=episodes, batch=BATCH, seeds=seeds)
    )
    values = [evaluate(model, policy[model.index]) for policy in runs.averaged[0]]
    places = [env.cost_names.index(cost) for cost in env.constrained]
    return budgets, optimum, values, runs.multipliers[0][:, places], runs.multipliers_last[0][:, places]


def converges(env, episodes, within, budget_within, return_share, seeds=2):
    budgets, optimum, values, multipliers, _ = train(env, 0.6, episodes, seeds)
    expected = np.array([optimum.multipliers[cost] for cost in budgets])
    assert (expected > 0.1).all(), "both budgets bind"
    np.testing.assert_allclose(multipliers, np.broadcast_to(expected, multipliers.shape), rtol=within)
    for value in values:
        for cost, budget in budgets.items():
            assert value.costs[cost] == pytest.approx(budget, rel=budget_within)
        assert value.ret >= return_share * optimum.values.ret
        assert value.prerequisite_violation_rate == 0


@named(SHORT)
def test_multipliers_budgets_and_return_converge_to_the_program_s(name, overrides, within):
    converges(make(name, **overrides), 100_000, within, 0.01, 0.98)


@pytest.mark.slow
@named(LONG)
def test_in_a_long_run_they_come_closer(name, overrides, within):
    converges(make(name, **overrides), 1_000_000, within, 0.01, 0.99, seeds=4)


def test_a_slack_budget_s_multiplier_goes_to_zero():
    """Complementary slackness: a budget 2 % above what the unconstrained optimum costs changes nothing in the end."""
    budgets, optimum, values, multipliers, last = train(make("chain"), 1.02, 100_000)
    assert optimum.multipliers["c4"] == pytest.approx(0, abs=1e-6)
    assert multipliers.max() < 0.01
    assert last.max() < 0.01
    for value in values:
        assert value.ret > 0.99 * optimum.values.ret
        assert value.costs["c4"] < budgets["c4"]


def test_theorem_2_fails_where_no_policy_meets_the_budget():
    """The chain satisfies A1 to A8, and no policy brings c4 below 0.98: with a budget of 0.5 nothing converges.

    The published rule has no cap, and its multiplier grows at every point; ours stops it at the cap, without
    feasibility and without complementary slackness.
    """
    env, budget = make("chain"), 0.5
    model = enumerate_model(env)
    infeasible = solve(model, {"c4": budget})
    assert isinstance(infeasible, Infeasible)
    assert infeasible.least["c4"] == pytest.approx(0.9802, abs=1e-4)
    place = env.cost_names.index("c4")
    for cap in (math.inf, 10.0):
        rule = MultiplierRule(proportional=0.0, memory=0.0, cap=cap)  # the published one: it only integrates
        plan = TabularPlan(episodes=8_000, batch=BATCH, seeds=1, settings=TabularSettings(tighten=0.0, rule=rule))
        runs = train_tabular(env, [method_spec("mc-cpo-paper")], {"c4": budget}, plan)
        curve = np.asarray(runs.curves.multipliers)[0, ..., place]
        last = runs.multipliers_last[0][:, place]
        if math.isinf(cap):
            assert (np.diff(curve, axis=-1) > 0).all()
            assert last.min() > 20
        else:
            assert (last == cap).all()
        for policy in runs.last[0]:
            assert evaluate(model, policy[model.index]).costs["c4"] > 0.98
