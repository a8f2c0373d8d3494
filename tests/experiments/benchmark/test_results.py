"""What follows from rows, on rows made by hand; and how settings are chosen between."""

import pytest

from mccpo.env import make
from mccpo.evaluation.metrics import slack_of
from mccpo.exact import Values
from mccpo.experiments.benchmark.environments import World
from mccpo.experiments.benchmark.posing import Posed
from mccpo.experiments.benchmark.results import hypervolumes, summed_up, winners
from mccpo.experiments.benchmark.rows import cost_share, measured
from mccpo.experiments.benchmark.scoring import nearest, score_of


def row(method, environment="here", kappa=0.5, seed=0, status="done", x=0.5, y=0.5, met=1.0):
    head = {"environment": environment, "method": method, "kind": "learner", "kappa": kappa, "seed": seed}
    tail = {"status": status, "why": "", "folder": "", "seconds": 1.0}
    return head | tail | ({"cost_share": x, "share": y, "satisfaction_strict": met} if status == "done" else {})


def values(ret, cost):
    return Values(ret, {"c": cost}, ret, 0.0, 0.0, 0.0, 0.0)


def test_the_plane_begins_at_the_smallest_kappa():
    """Else who spends and returns little would dominate more than the best under the budgets."""
    best = [row("best", kappa=0.5, x=0.5, y=0.8), row("best", kappa=0.9, x=0.9, y=0.96)]
    thrifty = [row("thrifty", kappa=kappa, x=0.0, y=0.6) for kappa in (0.5, 0.9)]
    found = hypervolumes(best + thrifty)
    assert found["best"]["here"][0] == pytest.approx((0.4 * 0.8 + 0.1 * 0.96) / 0.5)
    assert found["thrifty"]["here"][0] == pytest.approx(0.6)


def test_what_failed_dominates_nothing_and_what_does_not_apply_is_left_out():
    found = hypervolumes([row("a", status="crashed"), row("b", status="does not apply"), row("c")])
    assert found == {"a": {"here": [0.0]}, "c": {"here": [pytest.approx(0.5)]}}


def test_half_a_front_counts_for_what_it_is():
    half = [row("a", kappa=0.5, x=0.5, y=0.8), row("a", kappa=0.9, status="diverged")]
    assert hypervolumes(half)["a"]["here"][0] == pytest.approx(0.8)


def test_who_wins_among_those_that_always_meet_the_budgets():
    rows = [row("bold", y=0.9, met=0.0), row("safe", y=0.7), row("shy", y=0.6)]
    found = summed_up(rows)
    assert found["winners"]["here"]["method"] == "bold"
    assert found["winners"]["here"]["safe_method"] == "safe"
    assert found["aggregate"]["safe"]["best_on"] == ["here"]
    assert found["improvement"] == {}  # MC-CPO took no part
    nobody = winners(hypervolumes(rows[:1]), summed_up(rows[:1])["cells"])
    assert nobody["here"]["safe_method"] is None


def test_a_tie_is_shared_and_nobody_wins_by_nothing():
    rows = [
        row("one", y=0.7),
        row("other", y=0.7),
        row("less", y=0.6),
        row("one", "there", x=1.0),
        row("other", "there", x=1.2),
    ]
    found = summed_up(rows)
    assert found["winners"]["here"]["methods"] == found["winners"]["here"]["safe_methods"] == ["one", "other"]
    assert found["winners"]["there"]["method"] is found["winners"]["there"]["safe_method"] is None
    assert [found["aggregate"][method]["best_on"] for method in ("one", "other", "less")] == [["here"], ["here"], []]


def test_to_spend_of_what_costs_nothing_without_budgets_is_to_spend_too_much():
    env = make("gate")
    posed = Posed("gate", World(env, env), values(1.0, 0.0), values(1.0, 0.0))
    slack = slack_of(env)["c"]
    assert cost_share(values(1.0, 0.0), posed) == cost_share(values(1.0, slack), posed) == 0
    spent = [measured(posed, 0.5, values(1.0, cost)) for cost in (1.01 * slack, 0.3)]
    assert 1 < spent[0]["cost_share"] < spent[1]["cost_share"] < float("inf")
    assert [one["satisfaction_strict"] for one in spent] == [0, 0]


def test_improvement_is_over_the_environments_that_both_are_in():
    rows = [row("mc-cpo", y=0.9), row("mc-cpo", "there", y=0.1), row("other", y=0.5)]
    found = summed_up(rows)["improvement"]["mc-cpo"]["other"]
    assert (found["p"], found["environments"]) == (1.0, 1)


def test_budgets_come_before_the_return_for_those_that_seek_them():
    rich, poor = [values(9.0, 1.1)] * 2, [values(5.0, 0.9)] * 2
    assert score_of(poor, {"c": 1.0}, seeks_budgets=True) > score_of(rich, {"c": 1.0}, seeks_budgets=True)
    assert score_of(poor, {"c": 1.0}, seeks_budgets=False) < score_of(rich, {"c": 1.0}, seeks_budgets=False)
    nearly = score_of([values(1.0, 1.05)] * 2, {"c": 1.0}, seeks_budgets=True)
    assert nearly > score_of(rich, {"c": 1.0}, seeks_budgets=True)
    assert nearly.within == pytest.approx(-0.05)
    assert score_of([values(9.0, 0.1), None], {"c": 1.0}, seeks_budgets=True) < nearly


def test_the_next_smaller_kappa_stands_in():
    trained = {0.5: ["five"], 0.7: ["seven"]}
    assert nearest(trained, (0.45, 0.55, 0.7, 0.95)) == {0.55: ["five"], 0.7: ["seven"], 0.95: ["seven"]}
