"""Safe policy iteration against what it promises: budgets held on the way, returns that rise, the program's optimum."""

import numpy as np
import pytest

from mccpo.errors import InputError
from mccpo.exact import Optimum, evaluate, safe_policy_iteration, safest, solve

CASES = ["gate", "chain", "random", "small", "tiny"]


def budgets_at(model, kappa):
    return {name: kappa * solve(model).values.costs[name] for name in model.constrained}


@pytest.mark.parametrize("kappa", [0.9, 0.6])
@pytest.mark.parametrize("name", CASES)
def test_each_policy_meets_the_budgets_and_is_at_least_as_good_as_the_one_before(finite, name, kappa):
    model = finite(name).model
    budgets = budgets_at(model, kappa)
    optimum = solve(model, budgets)
    assert isinstance(optimum, Optimum)
    policy, history = safe_policy_iteration(model, budgets)
    for step in history:
        assert all(step.values.costs[c] <= d * (1 + 1e-7) + 1e-9 for c, d in budgets.items())
        assert all(left >= 0 for left in step.auxiliary.values())
    returns = [step.values.ret for step in history]
    assert (np.diff(returns) > 0).all()
    assert returns[-1] <= optimum.values.ret * (1 + 1e-6)
    assert returns[-1] >= 0.9 * optimum.values.ret  # not all of it: see the module on why
    assert evaluate(model, policy) == history[-1].values
    assert (policy[~model.mask] == 0).all()


@pytest.mark.parametrize("kappa", [0.9, 0.5, 0.0])
@pytest.mark.parametrize("name", ["gate", "chain"])
def test_on_gate_and_chain_it_reaches_the_optimum(finite, name, kappa):
    model = finite(name).model
    least = {c: max(d, evaluate(model, safest(model, {c: 1e9})).costs[c]) for c, d in budgets_at(model, kappa).items()}
    _, history = safe_policy_iteration(model, least)
    assert history[-1].values.ret == pytest.approx(solve(model, least).values.ret, rel=1e-5)


def test_without_budgets_it_is_policy_iteration(finite):
    model = finite("random").model
    uniform = model.mask / model.mask.sum(axis=1, keepdims=True)
    policy, _ = safe_policy_iteration(model, {}, baseline=uniform)
    assert evaluate(model, policy).ret == pytest.approx(solve(model).values.ret)


def test_a_given_baseline_is_where_it_begins(finite):
    model = finite("random").model
    budgets = budgets_at(model, 0.7)
    baseline = solve(model, budgets).policy
    _, history = safe_policy_iteration(model, budgets, baseline=baseline)
    assert history[0].values == evaluate(model, baseline)
    assert history[-1].values.ret == pytest.approx(history[0].values.ret, rel=1e-5)  # optimal already, but for rounding


def test_the_next_policy_keeps_the_lyapunov_bound_in_every_state(finite):
    model = finite("random").model
    budgets = budgets_at(model, 0.7)
    first, history = safe_policy_iteration(model, budgets, iterations=0)
    second, after = safe_policy_iteration(model, budgets, iterations=1)
    assert len(history) == 1
    # By backward sweeps and not by a linear system: L of the first policy, then what the second makes of it.
    for name, epsilon in after[1].auxiliary.items():
        cost = model.costs[..., model.cost_index(name)][:, :-1]
        L = swept(model, first, cost + epsilon)
        drift = (second * (cost + expected(model, L))).sum(axis=1)
        assert (drift <= L + 1e-7).all()
        assert model.start @ L == pytest.approx(budgets[name], rel=1e-6)


def expected(model, value):
    padded = np.append(value, 0.0)
    return model.gamma * (model.probability * padded[model.successor])[:, :-1].sum(axis=-1)


def swept(model, policy, signal):
    value = np.zeros(model.num_states)
    for _ in range(50):
        value = (policy * (signal + expected(model, value))).sum(axis=1)
    return value


def test_the_safest_policy_costs_least(finite):
    model = finite("chain").model
    found = evaluate(model, safest(model, {"c4": 3.0})).costs["c4"]
    assert found == pytest.approx(evaluate(model, safest(model, {"c4": 10.0})).costs["c4"])
    with pytest.raises(InputError, match="no policy meets c4"):
        safe_policy_iteration(model, {"c4": 0.9 * found})


def test_a_baseline_that_misses_a_budget_is_refused(finite):
    model = finite("chain").model
    with pytest.raises(InputError, match=r"the baseline's c4 is 4\.9"):
        safe_policy_iteration(model, {"c4": 2.0}, baseline=solve(model).policy)
