"""The constrained optimum against what uses no linear program: closed forms, dynamic programming, enumeration."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.env import check_budgets
from mccpo.errors import InputError
from mccpo.exact import Infeasible, Optimum, evaluate, front, solve

shares = st.just(0.0) | st.floats(1e-6, 1.3)


def best(model, value, masked=True):
    """The highest discounted sum of `value`, [states, actions], over all policies, by backward induction."""
    allowed = model.mask if masked else np.ones_like(model.mask)
    V = np.zeros(model.num_states + 1)  # the last entry is the end of the episode, worth nothing
    while True:
        later = (model.probability * V[model.successor])[:, :-1].sum(axis=-1)
        new = np.append(np.where(allowed, value[:, :-1] + model.gamma * later, -np.inf).max(axis=1), 0.0)
        if np.array_equal(new, V):
            return float(model.start @ V[:-1])
        V = new


def least(model, cost):
    return -best(model, -model.costs[..., model.cost_index(cost)])


def penalised(model, multipliers):
    return model.reward - sum(price * model.costs[..., model.cost_index(c)] for c, price in multipliers.items())


def unconstrained(model):
    found = solve(model)
    assert isinstance(found, Optimum)
    return found


def scaled(budgets, factor):
    return {name: factor * d for name, d in budgets.items()}


# Closed forms


def test_the_unconstrained_chain_is_hacked_throughout(finite):
    found = unconstrained(finite("chain").model)
    assert found.values.ret == pytest.approx(4.90099501)
    assert found.values.costs == pytest.approx({"c2": 0, "c3": 0, "c4": 4.90099501})
    assert found.multipliers == {}


@pytest.mark.parametrize(("budget", "value"), [(2.4505, 3.6757), (2.592, 3.7465)])
def test_the_chain_under_a_budget(finite, budget, value):
    found = solve(finite("chain").model, {"c4": budget})
    assert found.values.ret == pytest.approx(value, abs=5e-5)
    assert found.values.costs["c4"] == pytest.approx(budget)
    assert found.multipliers == pytest.approx({"c4": 0.5})


def test_a_budget_that_does_not_bind_has_no_price(finite):
    model = finite("chain").model
    found = solve(model, {"c4": 6.0})
    assert found.multipliers == pytest.approx({"c4": 0.0}, abs=1e-9)
    assert found.values.ret == pytest.approx(unconstrained(model).values.ret)


def test_the_least_engagement_without_gain_on_the_chain(finite):
    found = solve(finite("chain").model, {"c4": 0.5})
    # The next concept every time, failing one time in five.
    assert found == Infeasible(("c4",), {"c4": pytest.approx(0.2 * 4.90099501)}, pytest.approx(0.4 * 4.90099501))


def test_the_gate_is_worth_its_reward_and_its_price_covers_the_gap(finite):
    found = solve(finite("gate").model, {"c": 0.0})
    assert found.values.ret == pytest.approx(0.6)
    assert found.policy.tolist() == [[1.0, 0.0, 0.0]]
    assert found.multipliers["c"] >= 1 - 0.6 - 1e-9


# Independent oracles


@pytest.mark.parametrize("name", ["random", "small", "tiny", "chain"])
def test_the_unconstrained_optimum_matches_backward_induction(finite, name):
    model = finite(name).model
    assert unconstrained(model).values.ret == pytest.approx(best(model, model.reward))
    assert solve(model, masked=False).values.ret == pytest.approx(best(model, model.reward, masked=False))


@pytest.mark.parametrize("name", ["random", "small"])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(share=st.tuples(shares, shares, shares))
def test_the_optimum_has_no_duality_gap_and_keeps_its_promises(finite, name, share):
    """Strong duality, Slater's slackness, and a policy that is worth what the program says, for any budgets."""
    model = finite(name).model
    hacking = unconstrained(model).values.costs
    budgets = {c: s * max(hacking[c], 1.0) for c, s in zip(model.cost_names, share, strict=True)}
    found = solve(model, budgets)
    if isinstance(found, Infeasible):
        assert_explained(model, budgets, found)
        return
    value, costs, prices = found.values.ret, found.values.costs, found.multipliers
    dual = best(model, penalised(model, prices)) + sum(prices[c] * d for c, d in budgets.items())
    assert value == pytest.approx(dual, abs=1e-6)
    for c, d in budgets.items():
        assert costs[c] <= d + 1e-6
        assert prices[c] >= 0
        assert prices[c] * (d - costs[c]) == pytest.approx(0, abs=1e-6)
    assert (found.policy[~model.mask] == 0).all()
    np.testing.assert_allclose(found.policy.sum(axis=1), 1)
    assert evaluate(model, found.policy) == found.values


def assert_explained(model, budgets, found):
    """The conflict is real and minimal, `least` is by backward induction, and `scaling` is the edge of feasibility."""
    assert found.conflict
    assert isinstance(solve(model, {c: budgets[c] for c in found.conflict}), Infeasible)
    for c in found.conflict:
        others = {other: budgets[other] for other in found.conflict if other != c}
        assert isinstance(solve(model, others), Optimum)
    assert found.least == pytest.approx({c: least(model, c) for c in budgets}, abs=1e-7)
    if found.scaling is None:
        assert 0 in budgets.values()
    else:
        assert found.scaling > 1 - 1e-6
        assert isinstance(solve(model, scaled(budgets, 1.000001 * found.scaling)), Optimum)
        assert isinstance(solve(model, scaled(budgets, 0.999 * found.scaling)), Infeasible)


def deterministic_policies(model):
    choices = [np.flatnonzero(row) for row in model.mask]
    for picks in product(*choices):
        yield np.eye(model.num_actions)[list(picks)]


@pytest.mark.parametrize("kappa", [0.55, 0.7, 0.9])
def test_one_budget_is_best_met_by_a_mix_of_two_deterministic_policies(finite, kappa):
    """The values of all policies are the convex hull of those of the deterministic ones (Altman 1999)."""
    model = finite("tiny").model
    points = [evaluate(model, policy) for policy in deterministic_policies(model)]
    pairs = sorted({(p.costs["c4"], p.ret) for p in points})
    budget = kappa * unconstrained(model).values.costs["c4"]
    under = [(c, r) for c, r in pairs if c <= budget]
    over = [(c, r) for c, r in pairs if c > budget]
    assert under
    assert over
    mixes = [r1 + (r2 - r1) * (budget - c1) / (c2 - c1) for (c1, r1), (c2, r2) in product(under, over)]
    expected = max([r for _, r in under] + mixes)
    assert solve(model, {"c4": budget}).values.ret == pytest.approx(expected, abs=1e-7)


def test_two_budgets_bind_at_once_on_a_random_environment(finite):
    model = finite("random").model
    hacking = unconstrained(model).values.costs
    found = solve(model, {c: 0.6 * hacking[c] for c in ("c3", "c4")})
    for c in ("c3", "c4"):
        assert found.multipliers[c] > 0.01
        assert found.values.costs[c] == pytest.approx(0.6 * hacking[c])


def test_a_price_is_what_a_unit_of_budget_buys(finite):
    model = finite("random").model
    budgets = {c: 0.6 * unconstrained(model).values.costs[c] for c in ("c3", "c4")}
    prices = solve(model, budgets).multipliers
    for c, price in prices.items():
        more, less = (solve(model, {**budgets, c: budgets[c] + step}).values.ret for step in (1e-4, -1e-4))
        assert (more - less) / 2e-4 == pytest.approx(price, rel=1e-3)


# The policy


@pytest.mark.parametrize("budgets", [{}, {"c4": 1.5}])
def test_states_that_the_optimum_never_visits_have_a_policy_all_the_same(finite, budgets):
    model = finite("chain").model
    policy = solve(model, budgets).policy
    np.testing.assert_allclose(policy.sum(axis=1), 1)
    assert (policy[~model.mask] == 0).all()
    assert np.isfinite(policy).all()


def test_without_the_mask_unready_actions_are_open(finite):
    # On the chain an unready concept costs no c4, so an unmasked policy can go where no masked one can.
    model = finite("chain").model
    assert isinstance(solve(model, {"c4": 0.0}), Infeasible)
    found = solve(model, {"c4": 0.0}, masked=False)
    assert found.values.costs["c4"] == pytest.approx(0, abs=1e-9)
    assert found.values.prerequisite_violation_rate > 0


# Why there is none


def test_a_conflict_of_two_names_both_and_only_them(finite):
    model = finite("random").model
    edge = {c: least(model, c) for c in ("c3", "c4")}
    budgets = {"c2": 100.0, "c3": edge["c3"] + 0.01, "c4": edge["c4"] + 0.01}
    found = solve(model, budgets)
    assert isinstance(found, Infeasible)
    assert found.conflict == ("c3", "c4")
    assert_explained(model, budgets, found)


def test_one_budget_that_cannot_be_met_is_named_alone(finite):
    model = finite("random").model
    found = solve(model, {"c2": 100.0, "c4": 0.9 * least(model, "c4"), "c3": 100.0})
    assert found.conflict == ("c4",)
    assert found.scaling == pytest.approx(1 / 0.9)


def test_no_factor_helps_a_budget_of_0_that_cannot_be_reached(finite):
    found = solve(finite("chain").model, {"c4": 0.0})
    assert (found.conflict, found.scaling) == (("c4",), None)
    found = solve(finite("chain").model, {"c3": 2.0, "c4": 0.0})
    assert (found.conflict, found.scaling) == (("c4",), None)


@pytest.mark.parametrize("budget", [1e-3, 1e-9, 1e-12])
def test_a_tiny_budget_has_a_factor_all_the_same(finite, budget):
    assert solve(finite("chain").model, {"c4": budget}).scaling == pytest.approx(0.2 * 4.90099501 / budget)


@pytest.mark.parametrize("budgets", [{"c2": 1e-6, "c3": 3e-6, "c4": 5.0}, {"c2": 1e-9, "c3": 1.0, "c4": 1.0}])
def test_budgets_of_very_different_size_have_a_factor_all_the_same(finite, budgets):
    found = solve(finite("random").model, budgets)
    assert found.scaling is not None
    assert_explained(finite("random").model, budgets, found)


# The front


@pytest.mark.parametrize(("name", "cost"), [("chain", "c4"), ("random", "c3"), ("random", "c4")])
def test_the_front_rises_and_is_concave_from_the_least_cost_to_the_unconstrained_optimum(finite, name, cost):
    model = finite(name).model
    points = front(model, cost, points=9)
    levels, values = np.array([level for level, _ in points]), np.array([found.values.ret for _, found in points])
    assert len(points) == 9
    assert levels[0] == pytest.approx(least(model, cost), abs=1e-6)
    assert values[-1] == pytest.approx(unconstrained(model).values.ret)
    slopes = np.diff(values) / np.diff(levels)
    assert (slopes >= -1e-7).all()
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(slopes))
    for level, found in points:
        assert found.values.costs[cost] <= level + 1e-6


def test_the_front_of_a_random_environment_is_curved(finite):
    prices = [found.multipliers["c3"] for _, found in front(finite("random").model, "c3", points=9)]
    assert len({round(price, 3) for price in prices}) >= 4


def test_the_front_keeps_the_other_budgets(finite):
    model = finite("random").model
    c4 = 0.7 * unconstrained(model).values.costs["c4"]
    points = front(model, "c3", budgets={"c3": 0.0, "c4": c4}, points=4)
    assert len(points) == 4
    assert all(found.values.costs["c4"] <= c4 + 1e-6 for _, found in points)
    with pytest.raises(InputError, match=r"the other budgets \(c4\) cannot be met"):
        front(model, "c3", budgets={"c4": 0.0})


# What is no budget


@pytest.mark.parametrize("budget", [-0.1, float("nan"), float("inf"), float("-inf")])
def test_a_budget_that_is_no_amount_is_refused(finite, budget):
    model = finite("chain").model
    message = rf"the budget of c4 is {budget}; give a finite number of at least 0"
    with pytest.raises(InputError, match=message):
        check_budgets(model.cost_names, {"c4": budget})
    with pytest.raises(InputError, match=message):
        solve(model, {"c4": budget})


def test_a_budget_on_an_unknown_cost_is_refused(finite):
    with pytest.raises(InputError, match="unknown cost 'c7'; choose from c2, c3, c4"):
        check_budgets(finite("chain").model.cost_names, {"c7": 1.0})


def test_budgets_that_are_amounts_pass(finite):
    check_budgets(finite("chain").model.cost_names, {"c2": 0.0, "c4": 1e6})
