"""The optimum under floors against every policy of a tiny chain, written out in plain Python without its model."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.env import FLOORS, Chain, with_floors
from mccpo.errors import InputError
from mccpo.exact import Infeasible, Optimum, enumerate_model, evaluate, most, solve

TINY = {"concepts": 2, "horizon": 3, "p_learn": 0.7, "r_concept": 0.4, "gamma": 0.8}
HACK = 2
# What each state lets through, by the time and the number of concepts mastered: they are mastered in their order.
STATES = [(t, known) for t in range(3) for known in range(min(t, 2) + 1)]
OPEN = {state: [*range(min(state[1] + 1, 2)), HACK] for state in STATES}


def worth(policy, t=0, known=0):
    """Engagement and learning with discount, learning without, mastered concepts at the end, c4: of what is to come."""
    if t == 3:
        return np.array([0.0, 0.0, 0.0, known, 0.0])
    action, weight = policy[t, known], 0.8**t
    if action == HACK:
        return np.array([weight, 0, 0, 0, weight]) + worth(policy, t + 1, known)
    if action < known:  # it is taught again for nothing
        return np.array([0.4 * weight, 0, 0, 0, weight]) + worth(policy, t + 1, known)
    learns = np.array([0.4 * weight, weight, 1, 0, 0]) + worth(policy, t + 1, known + 1)
    fails = np.array([0.4 * weight, 0, 0, 0, weight]) + worth(policy, t + 1, known)
    return 0.7 * learns + 0.3 * fails


EVERY = np.array([worth(dict(zip(STATES, chosen, strict=True))) for chosen in product(*OPEN.values())])
AT = {"engagement": 0, "learning": 1, "learning-total": 2, "mastered": 3}
REACHED = {name: float(EVERY[:, at].max()) for name, at in AT.items()}


def best_mixture(budgets, floors, objective="engagement"):
    """The best of all mixtures of deterministic policies, which is the best of all policies; None where none will do.

    A floor stands here as what may be missing of the most there is.
    """
    rows = [EVERY[:, 4] for _ in budgets] + [REACHED[name] - EVERY[:, AT[name]] for name in floors]
    limits = [*budgets.values(), *(REACHED[name] - floor for name, floor in floors.items())]
    found = scipy.optimize.linprog(
        -EVERY[:, AT[objective]],
        A_ub=np.array(rows) if rows else None,
        b_ub=limits or None,
        A_eq=np.ones((1, len(EVERY))),
        b_eq=[1.0],
        method="highs-ds",
    )
    return None if found.status == 2 else -found.fun


@pytest.fixture(scope="module")
def model():
    return enumerate_model(Chain(**TINY))


@pytest.mark.parametrize("name", FLOORS)
def test_the_reachable_maximum_matches_the_best_of_all_policies(model, name):
    assert most(model, name) == pytest.approx(REACHED[name], abs=1e-7)


shares = st.none() | st.floats(0.05, 1.1)


@settings(max_examples=60)
@given(
    share=st.fixed_dictionaries(dict.fromkeys(FLOORS, shares)),
    budget=st.none() | st.floats(0.2, 2.5),
    objective=st.sampled_from(["engagement", "learning"]),
)
def test_the_optimum_under_floors_matches_the_best_mixture_of_all_policies(model, share, budget, objective):
    floors = {name: part * REACHED[name] for name, part in share.items() if part is not None}
    budgets = {} if budget is None else {"c4": budget}
    expected = best_mixture(budgets, floors, objective)
    found = solve(model, budgets, floors=floors, objective=objective)
    if expected is None:
        assert isinstance(found, Infeasible)
        assert_explained(found, budgets, floors)
        return
    assert isinstance(found, Optimum)
    assert found.values.reached(objective) == pytest.approx(expected, abs=1e-6)
    assert all(found.values.reached(name) >= floor - 1e-6 for name, floor in floors.items())
    assert all(found.values.costs[name] <= limit + 1e-6 for name, limit in budgets.items())
    assert set(found.multipliers) == {*budgets, *floors}
    assert (found.policy[~model.mask] == 0).all()


def assert_explained(found, budgets, floors):
    """The conflict is one, no part of it is, and what can be reached is what every policy written out reaches."""

    def possible(names):
        return best_mixture(*({name: held[name] for name in names if name in held} for held in (budgets, floors)))

    assert possible(found.conflict) is None
    for name in found.conflict:
        rest = [other for other in found.conflict if other != name]
        assert not rest or possible(rest) is not None
    assert found.most == pytest.approx({name: REACHED[name] for name in floors}, abs=1e-6)
    assert found.scaling is None or not floors


@pytest.mark.parametrize("name", FLOORS)
def test_the_price_of_a_floor_is_what_a_little_more_of_it_costs(model, name):
    floor = 0.9 * REACHED[name] if name != "engagement" else 0.7 * REACHED[name]
    objective = "learning" if name == "engagement" else "engagement"
    found, more = (solve(model, floors={name: amount}, objective=objective) for amount in (floor, floor + 1e-4))
    slope = (found.values.reached(objective) - more.values.reached(objective)) / 1e-4
    assert found.multipliers[name] > 0
    assert found.multipliers[name] == pytest.approx(slope, rel=0.02)
    assert found.values.reached(name) == pytest.approx(floor, abs=1e-6)


def test_a_floor_that_is_reached_anyway_has_no_price(model):
    free = solve(model)
    found = solve(model, floors={"engagement": 0.5 * free.values.ret})
    assert found.multipliers["engagement"] == pytest.approx(0.0, abs=1e-7)
    assert found.values.ret == pytest.approx(free.values.ret)


# What cannot be reached.


@pytest.mark.parametrize("name", FLOORS)
def test_a_floor_out_of_reach_says_what_can_be_reached(model, name):
    floors = {name: 1.5 * REACHED[name]}
    found = solve(model, floors=floors)
    assert isinstance(found, Infeasible)
    assert found.conflict == (name,)
    assert f"no policy meets {name} ≥ {floors[name]:g}: the most that can be reached is" in found.what({}, floors)
    assert f"{name} {REACHED[name]:.4f}" in found.what({}, floors)
    assert f"{name} up to {REACHED[name]:.4f}" in found.fix()


def test_a_floor_and_a_budget_that_exclude_each_other_are_named_together(model):
    budgets, floors = {"c4": 1.0}, {"engagement": 0.95 * REACHED["engagement"]}
    found = solve(model, budgets, floors=floors)
    assert isinstance(found, Infeasible)
    assert set(found.conflict) == {"c4", "engagement"}
    said = found.what(budgets, floors)
    assert "c4 ≤ 1 and engagement ≥" in said
    assert f"each alone can reach c4 {EVERY[:, 4].min():.4f}, engagement {REACHED['engagement']:.4f}" in said
    assert "lower the floor" in found.fix()


def test_a_floor_that_nobody_knows_is_refused(model):
    with pytest.raises(InputError, match="unknown floor 'mastery'; choose from learning, learning-total"):
        solve(model, floors={"mastery": 1.0})


def test_what_is_not_discounted_needs_states_that_tell_the_time(model):
    successor = model.successor.copy()
    successor[0, 0, 0] = 0  # to try again takes it back to where it was
    endless = replace(model, successor=successor)
    assert endless.elapsed is None
    for name in ("learning-total", "mastered"):
        with pytest.raises(InputError, match="needs states that tell the time"):
            solve(endless, floors={name: 1.0})


# The same floors as costs.


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("support", ["masked", "all", "no-op"])
def test_costs_of_floors_are_minus_what_a_policy_reaches(model, floored, random_policy, seed, support):
    policy = random_policy(model, seed, support)
    values, costs = evaluate(model, policy), evaluate(floored, policy).costs
    for name in FLOORS:
        assert costs[name] == pytest.approx(-values.reached(name), abs=1e-5)
    assert values.reached("mastered") == pytest.approx(values.gain, abs=1e-5)  # they start with nothing


@pytest.fixture(scope="module")
def floored():
    return enumerate_model(with_floors(Chain(**TINY), dict.fromkeys(FLOORS, 1.0)))


def test_the_steps_before_each_state_are_those_that_the_state_counts(finite):
    for name in ("chain", "random", "small"):
        found = finite(name)
        np.testing.assert_array_equal(found.model.elapsed, found.model.index // 2 ** len(found.env.curriculum))
