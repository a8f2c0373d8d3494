"""The verdict on budgets: its linear program against enumeration, and what the learner finds against exact search."""

import json
import math
import re
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.curriculum import Curriculum
from mccpo.env import Constraints
from mccpo.env.tutor import Tutor
from mccpo.evaluation import summarise
from mccpo.exact import Infeasible, Values
from mccpo.experiments import Session
from mccpo.experiments.feasibility import Diagnosis, Minimisers, diagnose, diagnosis, examine
from mccpo.experiments.feasibility.mixtures import Reached, Unreached, least_scaling, verdict_on, weightings
from mccpo.experiments.problem import Problem
from mccpo.files import dump_json
from mccpo.methods import METHODS, NeuralPlan, RulePolicies
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.gradient.settings import PPOSettings

NAMES = ("c2", "c3", "c4")


def rows_of(table):
    return [dict(zip(NAMES, row, strict=False)) for row in table]


# The linear program


def enumerated(shares):
    """The least maximum over all mixtures, by every basic solution: as many policies as costs that are level."""
    policies, costs = shares.shape
    best = math.inf
    for size in range(1, min(policies, costs) + 1):
        for rows in combinations(range(policies), size):
            for columns in combinations(range(costs), size):
                level = np.column_stack([shares[np.ix_(rows, columns)].T, -np.ones(size)])
                system = np.vstack([level, np.append(np.ones(size), 0.0)])
                if abs(np.linalg.det(system)) < 1e-9:
                    continue
                weights = np.linalg.solve(system, np.append(np.zeros(size), 1.0))[:-1]
                if (weights >= -1e-9).all():
                    best = min(best, (weights @ shares[list(rows)]).max())
    return best


amounts = st.just(0.0) | st.floats(1e-3, 4.0)
tables = st.integers(1, 3).flatmap(
    lambda costs: st.lists(st.tuples(*[amounts] * costs), min_size=1, max_size=6).map(np.array)
)


@given(tables, st.tuples(*[st.floats(0.2, 3.0)] * 3))
def test_the_least_scaling_matches_enumeration(costs, limits):
    limits = np.array(limits[: costs.shape[1]])
    found = least_scaling(costs, limits, np.zeros_like(limits))
    assert found.factor == pytest.approx(enumerated(costs / limits), abs=1e-6)
    # No mixture is cheaper at the prices, at which all limits together are worth 1: nothing below the factor will do.
    assert (found.prices >= -1e-9).all()
    if found.factor > 1e-6:
        assert found.prices @ limits == pytest.approx(1)
        assert (costs @ found.prices).min() == pytest.approx(found.factor, abs=1e-6)


@settings(max_examples=40)
@given(tables, st.tuples(*[st.floats(0.2, 3.0)] * 3))
def test_a_verdict_is_the_edge_of_what_mixtures_meet(costs, limits):
    rows, budgets = rows_of(costs), dict(zip(NAMES, limits[: costs.shape[1]], strict=False))
    found = verdict_on(rows, budgets, prices=weightings(tuple(budgets)))
    if isinstance(found, Reached):
        assert enumerated(costs / np.array(list(budgets.values()))) <= 1 + 1e-6
        return
    assert not isinstance(found, Infeasible)  # what a search does not find is no proof
    assert found.scaling > 1
    assert isinstance(verdict_on(rows, {c: 1.0001 * found.scaling * d for c, d in budgets.items()}), Reached)
    assert isinstance(verdict_on(rows, {c: 0.9999 * found.scaling * d for c, d in budgets.items()}), Unreached)
    assert isinstance(verdict_on(rows, {c: budgets[c] for c in found.conflict}), Unreached)
    for size in range(1, len(found.conflict)):
        for fewer in combinations(budgets, size):
            assert isinstance(verdict_on(rows, {c: budgets[c] for c in fewer}), Reached)
    assert found.least == {c: min(row[c] for row in rows) for c in budgets}
    assert found.floor <= found.scaling + 1e-6


def test_the_floor_meets_the_scaling_where_enough_prices_were_tried():
    """The minimax theorem: the best mixture and the best prices come to the same."""
    costs = np.array([[0.5, 4.0], [1.0, 2.5], [3.0, 1.0]])
    budgets = {"c2": 1.0, "c3": 1.5}
    prices = [{"c2": w, "c3": (1 - w) / 1.5} for w in np.linspace(0, 1, 1001)]
    few, many = (verdict_on(rows_of(costs), budgets, prices=tried) for tried in (prices[::500], prices))
    assert few.floor < many.floor
    assert many.floor == pytest.approx(many.scaling, abs=1e-3)
    assert verdict_on(rows_of(costs), budgets).floor is None
    at_best = verdict_on(rows_of(costs), budgets, prices=[many.prices])
    assert at_best.floor == pytest.approx(at_best.scaling)
    assert at_best.settled
    assert not few.settled


def test_a_conflict_of_two_names_both_and_only_them():
    rows = rows_of([[0.1, 3.0, 1.0], [0.1, 1.0, 3.0]])
    found = verdict_on(rows, {"c2": 1.0, "c3": 1.5, "c4": 2.0})
    assert found.conflict == ("c3", "c4")
    assert found.least == {"c2": 0.1, "c3": 1.0, "c4": 1.0}
    assert found.scaling == pytest.approx(8 / 7)  # 3/7 of the first: c3 = 13/7 ≤ 1.5·8/7 and c4 = 15/7 ≤ 2·8/7
    words = found.what({"c2": 1.0, "c3": 1.5, "c4": 2.0})
    assert "c3 ≤ 1.5 and c4 ≤ 2: each alone was brought down to c3 1.0000, c4 1.0000" in words
    assert "1.1429" in found.fix()


def test_the_factor_is_printed_so_that_it_will_do():
    found = verdict_on([{"c2": 1.00004}], {"c2": 1.0})
    assert "a factor of 1.0001" in found.fix()


def test_a_budget_of_0_allows_its_slack_and_no_factor_raises_it():
    rows = [{"c2": 0.001, "c3": 3.0}, {"c2": 0.5, "c3": 1.0}]
    budgets = {"c2": 0.0, "c3": 2.0}
    never = verdict_on(rows, budgets)
    assert (never.conflict, never.scaling, never.floor) == (("c2",), None, None)
    assert never.fix() == "raise the budgets that are 0"
    found = verdict_on(rows, budgets, slack={"c2": 0.01}, prices=weightings(("c2", "c3")))
    share = (0.01 - 0.001) / (0.5 - 0.001)
    assert found.conflict == ("c2", "c3")
    assert found.scaling == pytest.approx((3 - 2 * share) / 2)
    assert isinstance(verdict_on(rows, budgets, slack={"c2": 0.3}), Reached)
    assert verdict_on(rows, {"c2": 0.0}, slack={"c2": 0.01}) == Reached(0.0, 2, "policy 0")


def test_budgets_that_a_mixture_meets_are_not_called_infeasible():
    found = verdict_on(rows_of([[0.0, 2.0], [2.0, 0.0]]), {"c2": 1.25, "c3": 1.25})
    assert found == Reached(pytest.approx(0.8), 2)
    assert "c2 ≤ 1.25 and c3 ≤ 1.25 can be met" in found.what({"c2": 1.25, "c3": 1.25})


@pytest.mark.parametrize(("names", "number"), [(("a",), 1), (("a", "b"), 3), (("a", "b", "c"), 7), (tuple("abcd"), 11)])
def test_weightings_are_the_corners_the_middles_and_the_centre(names, number):
    found = weightings(names)
    assert len({tuple(sorted(one)) for one in found}) == len(found) == number
    assert all(sum(one.values()) == pytest.approx(1) for one in found)


# What the learner finds


def least_by_search(env, prices):
    """The least Σ u_i J_i of any masked policy of a small tutor, over all numbers of times each concept is taught."""
    needs = np.asarray(env.curriculum.prerequisites.dense)
    price = np.array([prices.get(name, 0.0) for name in env.cost_names])

    @cache
    def value(taught):
        if sum(taught) == env.horizon:
            return 0.0
        n = np.array(taught)
        K = 1 - (1 - env.K0) * (1 - env.eta) ** n
        gain = env.eta * (1 - K)
        reward = np.clip(
            env.r_base - env.r_difficulty * env.demand * (1 - K) + env.r_novelty * np.exp(-n / env.novelty_span), 0, 1
        )
        costs = np.maximum(0, [env.c2_gain - gain, env.c3_demand - env.demand, reward - env.c4_rate * gain])
        ready = [v for v in range(len(n)) if (K[needs[v]] >= env.theta).all()]
        return min(
            price @ costs[:, v] + env.gamma * value((*taught[:v], taught[v] + 1, *taught[v + 1 :])) for v in ready
        )

    return value((0,) * len(env.curriculum))


SMALL = Tutor(
    curriculum=Curriculum.from_edges([("a", "b")], concepts=["a", "b", "c"], demand=[0.2, 0.6, 0.35]),
    eta=0.4,
    c2_gain=0.05,
    horizon=12,
)


def problem_of(env, plan):
    nothing = Values(0.0, {}, 0.0, 0.0, 0.0, 0.0, 0.0)
    return Problem(env.name, env, env, nothing, nothing, plan=plan)


BUDGETS = {"c3": 0.8, "c4": 0.2}  # each can be met, both together cannot


@pytest.fixture(scope="module")
def told():
    """What a session is told, as (label, point, points)."""
    return []


@pytest.fixture(scope="module")
def small(told):
    """The diagnosis of a small tutor's budgets, after a table with two masked policies and one that is not."""
    settings = PPOSettings(learning_rate=4e-3)  # as befits a short training
    plan = NeuralPlan(steps=20_000, seeds=1, sizes=Sizes(32, 24, 96, 4), settings=settings, validation=8)
    session = Session(progress=lambda stage, point: told.append((stage.label, point, stage.points)))
    rows = {
        "mc-cpo": {f"J_{name}": summarise([1.5, 2.0]) for name in NAMES},
        "unconstrained": {f"J_{name}": summarise([0.0]) for name in NAMES},
    }
    with pytest.MonkeyPatch.context() as patch:  # the order of the search has a test of its own
        patch.setattr(diagnosis, "_of_teaching", lambda *_: [])
        patch.setattr(diagnosis, "_of_rules", lambda *_: [])
        return diagnose(problem_of(SMALL, plan), BUDGETS, rows, "small", session, seeds=1, rounds=2, longer=1)


SEARCHED = ["rules", "teaching", "search ×1", "search, round 2 ×1"]


@pytest.mark.parametrize(
    ("meets", "tried"),
    [
        ("the rule zpdes", ["rules"]),
        ("teaching", ["rules", "teaching"]),
        ("search", ["rules", "teaching", "search ×1"]),
        ("search, round 2", SEARCHED),
        (
            "search, 4 times as long",
            ["rules", "teaching", "search ×1", "search, round 2 ×1", "search, 4 times as long ×4"],
        ),
        (None, [*SEARCHED, "search, 4 times as long ×4"]),
    ],
)
def test_the_search_goes_on_until_something_meets_the_budgets(monkeypatch, meets, tried):
    plan, seen = NeuralPlan(steps=100, seeds=1), []

    def costs(name):
        return dict.fromkeys(NAMES, 0.5 if name == meets else 2.0)

    def rules(env, seed):
        seen.append("rules")
        return [("the rule zpdes", costs("the rule zpdes"))]

    def teaching(env, plan, session):
        seen.append("teaching")
        return [("teaching", costs("teaching"))]

    def minimise(problem, prices, label, session, *, seeds, steps):
        seen.append(f"{label} ×{steps // plan.steps}")
        found = costs(label) | ({"c3": 1.9} if label == "search" and meets != label else {})
        return Minimisers(tuple(prices), tuple((found,) for _ in prices), steps, 0.0)

    for name, fake in (("_of_rules", rules), ("_of_teaching", teaching), ("minimise", minimise)):
        monkeypatch.setattr(diagnosis, name, fake)
    monkeypatch.setattr(Unreached, "settled", False)
    found = diagnose(problem_of(SMALL, plan), {"c3": 1.0, "c4": 1.0}, {}, "search", Session(), rounds=2)
    assert seen == tried
    assert isinstance(found.verdict, Reached if meets else Unreached)


def test_a_rule_that_meets_the_budgets_is_found_before_anything_is_called_infeasible():
    """Policies that hardly learnt miss the budgets, and so does all that is trained for so short; a rule meets them."""
    plan = NeuralPlan(steps=200, seeds=1, sizes=Sizes(8, 12, 48, 1), validation=2)
    rule = METHODS["greedy-gain"]
    played = RulePolicies(rule.build(), 1).play(SMALL, episodes=200, seed=1)
    costs = dict(zip(SMALL.cost_names, np.asarray(played.costs)[0].mean(axis=-1).tolist(), strict=True))
    budgets = {name: 1.02 * costs[name] for name in ("c3", "c4")}
    poor = {f"J_{name}": summarise([2 * max(costs[name], 1.0)]) for name in NAMES}
    rows = {"mc-cpo": poor | {"satisfaction_strict": summarise([0.0])}}
    told: list[str] = []
    session = Session(progress=lambda stage, _: told.append(stage.label))
    unmet = examine(problem_of(SMALL, plan), rows, Constraints(budgets), "small", session)
    assert unmet.feasible is True
    assert unmet.verdict == "not met"
    assert re.search(r"can be met: the rule [\w-]+ meets them", unmet.what)
    assert (unmet.steps, told) == (0, [])  # nothing had to be trained


def test_what_no_search_found_is_not_called_infeasible():
    found = verdict_on(rows_of([[1.0, 4.0], [3.0, 1.5]]), {"c2": 1.0, "c3": 1.0}, names=["zpdes", "random-ready"])
    assert found.nearest.name == "random-ready"
    assert "nearest came random-ready, whose c2 is 3 times its budget" in found.what({"c2": 1.0, "c3": 1.0})
    unmet = Diagnosis({"c2": 1.0, "c3": 1.0}, found, Minimisers((), (), 0, 0.0)).unmet()
    assert (unmet.feasible, unmet.verdict) == (None, "not found")


@pytest.mark.parametrize(
    ("floors", "budgets", "verdict"),
    [
        ({"mastered": 16.0}, {}, "infeasible"),  # of 15 concepts
        ({"mastered": 9.0}, {}, "not found"),
        ({"mastered": 6.0}, {}, "not met"),
        ({"mastered": 6.0}, {"c3": 1.0}, "not found"),  # by itself it can be reached
    ],
)
def test_floors_are_infeasible_only_beyond_what_an_episode_can_have(floors, budgets, verdict):
    problem = replace(problem_of(Tutor(), NeuralPlan()), reach={"mastered": 8.0})
    rows = {"mc-cpo": {"satisfaction_strict": summarise([0.0, 0.0])}}
    assert examine(problem, rows, Constraints(budgets, floors), "tutor-15", Session()).verdict == verdict


def test_floors_in_conflict_name_the_policy_that_came_nearest():
    problem = replace(problem_of(Tutor(), NeuralPlan()), reach={"mastered": 8.0, "engagement": 34.0})
    rows = {
        name: {
            "satisfaction_strict": summarise([0.0, 0.0]),
            "mastered": summarise(mastered),
            "return": summarise(returns),
        }
        for name, mastered, returns in (
            ("mc-cpo", [6.5, 5.9], [27.0, 30.6]),
            ("unconstrained", [5.99, 5.99], [34.0] * 2),
        )
    }
    asked = Constraints({}, {"mastered": 6.0, "engagement": 30.0})
    unmet = examine(problem, rows, asked, "tutor-15", Session())
    assert (unmet.verdict, unmet.nearest) == ("not found", "mc-cpo, seed 1")
    assert "nearest came mc-cpo, seed 1, with mastered 5.9 of 6" in unmet.what
    assert unmet.fix == "ask for at most what it has of mastered, or train for longer"


@pytest.mark.slow
def test_every_minimiser_finds_what_search_finds(small):
    assert len(small.minimisers.prices) == 3 + 1
    for price, seeds in zip(small.minimisers.prices, small.minimisers.costs, strict=True):
        exact = least_by_search(SMALL, price)
        found = min(sum(each * one[name] for name, each in price.items()) for one in seeds)
        assert exact - 1e-4 <= found <= 1.03 * exact + 0.1


def test_the_truth_lies_between_the_floor_and_the_scaling(small):
    def exact(w):
        return least_by_search(SMALL, {"c3": w / BUDGETS["c3"], "c4": (1 - w) / BUDGETS["c4"]})

    found = small.verdict
    assert found.conflict == ("c3", "c4")
    assert found.least["c3"] == pytest.approx(least_by_search(SMALL, {"c3": 1.0}), rel=0.03)
    scaling = max(exact(w) for w in np.linspace(0, 1, 21))
    assert 0.97 * found.floor <= scaling <= found.scaling + 1e-3
    assert found.scaling <= 1.1 * scaling


def test_the_same_minimisers_answer_for_other_budgets(small):
    def asked(c3, c4):
        return verdict_on(small.minimisers.all_costs, {"c3": c3, "c4": c4}, prices=small.minimisers.prices)

    least = least_by_search(SMALL, {"c3": 1.0})
    low = asked(0.5 * least, 100.0)
    assert low.conflict == ("c3",)
    assert low.scaling == pytest.approx(2.0, rel=0.03)
    assert low.floor == pytest.approx(low.scaling)
    assert isinstance(asked(2 * BUDGETS["c3"], 2 * BUDGETS["c4"]), Reached)


def test_the_masked_policies_of_a_table_count_and_the_others_do_not(small):
    assert small.verdict.policies == 2 + 3 + 1
    assert small.verdict.least["c3"] > 0


def test_what_it_took_is_told(small, told):
    told = [one for one in told if not one[0].endswith(", choosing")]
    assert list(dict.fromkeys(label for label, _, _ in told)) == ["small", "small, round 2"]
    assert told[-1] == ("small, round 2", told[-1][2], told[-1][2])
    result = json.loads(dump_json(small.unmet().as_json()), parse_constant=pytest.fail)
    assert result["feasible"] is None
    assert result["verdict"] == "not found"
    assert result["nearest"]
    assert result["steps"] >= 4 * 20_000
    assert {"conflict", "least", "scaling", "floor", "policies"} <= set(result)
    assert small.minimisers.seconds > 0
    assert result["what"] == small.verdict.what(BUDGETS)


def least_demand_shortfall(env):
    """The least J_c3 of the profile with 15 concepts, by dynamic programming.

    Only concepts 0 to 5 cost anything. All the others, and 5, have 3 among their ancestors, and with 3 mastered 6 can
    be taught for nothing: so no policy needs 5 or those from 7 on, nor then to have mastered 2 or 4. What counts is how
    often 0, 1 and 3 were taught, up to mastery.
    """
    cost = np.maximum(0, env.c3_demand - env.demand)
    enough = math.ceil(math.log((1 - env.theta) / (1 - env.K0)) / math.log(1 - env.eta))
    n0, n1, n3 = np.indices((enough + 1,) * 3)
    opens = {0: True, 1: True, 2: True, 3: (n0 == enough) & (n1 == enough), 4: n1 == enough, 6: n3 == enough}
    after = {
        v: tuple(np.minimum(n + (v == each), enough) for n, each in zip((n0, n1, n3), (0, 1, 3), strict=True))
        for v in opens
    }
    V = np.zeros_like(n0, float)
    for _ in range(env.horizon):
        V = np.min([np.where(opens[v], cost[v] + env.gamma * V[after[v]], np.inf) for v in opens], axis=0)
    return float(V[0, 0, 0])


def test_the_least_demand_shortfall_of_the_profile():
    # Concept 1 twelve times, 0 twelve, 3 twelve, then 6 for ever.
    by_hand = (0.25 + 0.99**12 * 0.3 + 0.99**24 * 0.15) * (1 - 0.99**12) / 0.01
    assert least_demand_shortfall(Tutor()) == pytest.approx(by_hand, abs=1e-9)
    assert by_hand == pytest.approx(7.20, abs=0.005)


@pytest.mark.slow
def test_three_tenths_of_the_unconstrained_costs_are_infeasible_on_the_profile():
    env = Tutor()
    budgets = {"c2": 0.3 * 0.912, "c3": 0.3 * 19.02, "c4": 0.3 * 27.87}
    found = diagnose(
        problem_of(env, NeuralPlan()), budgets, {}, "tutor-15 κ=0.3", Session(), seeds=1, rounds=1, longer=1
    )
    assert isinstance(found.verdict, Unreached)
    assert found.verdict.conflict == ("c3",)
    assert found.verdict.least["c3"] == pytest.approx(least_demand_shortfall(env), rel=0.03)
