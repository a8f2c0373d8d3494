"""What follows from rows, on rows made by hand; and how settings are chosen between."""

import numpy as np
import pytest
import scipy

from mccpo.env import Constraints, make
from mccpo.evaluation import hypervolume
from mccpo.evaluation.policy import slack_of
from mccpo.exact import Values
from mccpo.experiments.benchmark.overall import relative
from mccpo.experiments.benchmark.results import findings_of, hypervolumes, kept_shares, winners
from mccpo.experiments.benchmark.rows import cost_share
from mccpo.experiments.benchmark.rows import outcome as outcome_of
from mccpo.experiments.benchmark.scoring import nearest, score_of
from mccpo.experiments.problem import Problem
from mccpo.runs.benchmark import Outcome, Row


def outcome(x, y, met):
    return Outcome(y, met, met, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, {}, share=y, optimum_share=None, cost_share=x)


def row(method, environment="here", kappa=0.5, seed=0, status="done", x=0.5, y=0.5, met=1.0):
    worth = outcome(x, y, met) if status == "done" else None
    return Row(environment, method, "learner", kappa, seed, status, "", "{}", "", 1.0, {}, worth)


def values(ret, cost):
    return Values(ret, {"c": cost}, ret, 0.0, 0.0, 0.0, 0.0)


def test_the_plane_begins_at_the_smallest_kappa():
    """Else who spends and returns little would dominate more than the best under the budgets."""
    best = [row("best", kappa=0.5, x=0.5, y=0.85), row("best", kappa=0.9, x=0.9, y=0.98)]
    thrifty = [row("thrifty", kappa=kappa, x=0.0, y=0.6) for kappa in (0.5, 0.9)]
    found = hypervolumes(best + thrifty)
    assert found["best"]["here"][0] == pytest.approx((0.4 * (0.85 + 0.98) / 2 + 0.1 * (0.98 + 1) / 2) / 0.5)
    assert found["thrifty"]["here"][0] == pytest.approx((0.8 + 1) / 2)  # the line from (0, 0.6) to (1, 1)
    assert hypervolume([0.0], [0.6]) > hypervolume([0.5, 0.9], [0.85, 0.98])  # from no cost it would be thrifty


def test_failures_dominate_nothing():
    found = hypervolumes([row("a", status="crashed"), row("b", status="does not apply"), row("c")])
    assert found == {"a": {"here": {0: 0.0}}, "c": {"here": {0: pytest.approx(0.75)}}}


def test_half_a_front_counts_for_what_it_is():
    half = [row("a", kappa=0.5, x=0.5, y=0.8), row("a", kappa=0.9, status="diverged")]
    assert hypervolumes(half)["a"]["here"][0] == pytest.approx(0.9)


def test_safe_winner():
    rows = [row("bold", y=0.9, met=0.0), row("safe", y=0.7), row("shy", y=0.6)]
    found = findings_of(rows, {})
    assert found.winners["here"].overall.methods == ("bold",)
    assert found.winners["here"].safe.methods == ("safe",)
    assert found.aggregate["safe"].best_on == ("here",)
    assert found.improvement == {}  # MC-CPO took no part
    nobody = winners(hypervolumes(rows[:1]), findings_of(rows[:1], {}).cells)
    assert nobody["here"].safe.methods == ()


def test_ties_are_shared_and_zero_never_wins():
    rows = [
        row("one", y=0.7),
        row("other", y=0.7),
        row("less", y=0.6),
        row("one", "there", x=1.0),
        row("other", "there", x=1.2),
    ]
    found = findings_of(rows, {})
    assert found.winners["here"].overall.methods == found.winners["here"].safe.methods == ("one", "other")
    assert found.winners["there"].overall.methods == found.winners["there"].safe.methods == ()
    assert [found.aggregate[method].best_on for method in ("one", "other", "less")] == [("here",), ("here",), ()]


def test_complete_means_a_result_everywhere():
    rows = [
        *(row("mc-cpo", place) for place in ("here", "there")),
        row("failing"), row("failing", "there", status="crashed"),
        row("partial"), row("partial", "there", status="does not apply"),
        *(row(method, "nowhere", status="does not apply") for method in ("mc-cpo", "failing", "partial", "idle")),
    ]  # fmt: skip
    found = findings_of(rows, {}).aggregate
    assert {method: (aggregate.environments, aggregate.complete) for method, aggregate in found.items()} == {
        "mc-cpo": (("here", "there"), True),
        "failing": (("here", "there"), True),  # a failure is a result: it dominates nothing
        "partial": (("here",), False),
    }
    assert [method for method, aggregate in found.items() if aggregate.beside_ours] == ["partial"]


def test_incomplete_method_has_ours_on_same_runs():
    draw = np.random.default_rng(0)
    heights = {(place, seed): draw.uniform(0.5, 1.0) for place in ("easy", "fair", "hard") for seed in range(8)}
    rows = [row("mc-cpo", place, seed=seed, y=y) for (place, seed), y in heights.items()]
    seeds = range(2, 8)  # an agent from elsewhere has seeds of its own
    rows += [row("other", place, seed=seed, y=0.3) for place in ("easy", "fair") for seed in seeds]
    found = findings_of(rows, {}).aggregate["other"]
    volumes = {run: (y + 1) / 2 for run, y in heights.items()}  # at κ = 0.5, below a line from there to (1, 1)
    for name, ours, height in (("hypervolume", volumes, (0.3 + 1) / 2), ("kept", heights, 0.3)):
        best = {place: np.mean([ours[place, seed] for seed in range(8)]) for place in ("easy", "fair")}
        same = [ours[place, seed] / best[place] for place in best for seed in seeds]
        theirs = [height / best[place] for place in best for _ in seeds]
        assert getattr(found.scores, name).iqm == pytest.approx(scipy.stats.trim_mean(theirs, 0.25))
        measure = getattr(found.ours, name)
        assert measure.iqm == pytest.approx(scipy.stats.trim_mean(same, 0.25))
        low, high = measure.ci
        assert low < measure.iqm < high


def test_quartiles_are_of_seeds():
    """One method is the better by half on three of four environments, of which two lie in the outer quartiles."""
    levels = {"hard": (0.56, 0.84), "harder": (0.5, 0.75), "fair": (0.9, 0.8), "easy": (0.6, 0.9)}
    rows = [
        row(method, place, seed=seed, y=2 * volume - 1)  # the mean of y and 1 is the volume
        for place, volumes in levels.items()
        for method, volume in zip(("low", "high"), volumes, strict=True)
        for seed in range(4)
    ]
    found = findings_of(rows, {}).aggregate
    assert found["low"].scores.hypervolume.iqm == pytest.approx(2 / 3)  # of the best: 2/3, 2/3, 1, 2/3
    assert found["high"].scores.hypervolume.iqm == pytest.approx(1.0)


def test_scores_are_relative_to_the_best():
    scores = {"a": {"here": {0: 0.2, 1: 0.6}, "there": {0: 0.0}}, "b": {"here": {0: 0.1, 1: 0.1}, "there": {0: 0.0}}}
    found = relative(scores)
    assert found["a"].scores.tolist() == [[pytest.approx(0.5), 0.0]]  # nobody has anything there
    assert found["b"].scores.tolist() == [[pytest.approx(0.25), 0.0]]


def test_profiles_are_relative_too():
    found = findings_of([row("a", y=0.0), row("b", y=0.5), row("b", seed=1, y=0.0)], {}).profiles
    above = {method: dict(zip(profile.tau, profile.share, strict=True)) for method, profile in found.items()}
    assert (above["a"][0.78], above["a"][0.82]) == (1.0, 0.0)  # 0.5 of a best mean of (0.75 + 0.5) / 2
    assert (above["b"][0.82], above["b"][1.0]) == (0.5, 0.5)  # 0.75 is more than the best has on average


def test_kept_share():
    rows = [
        row("a", kappa=0.5, y=0.8), row("a", kappa=0.9, x=0.9, y=0.96),
        row("a", kappa=0.5, seed=1, y=0.8), row("a", kappa=0.9, seed=1, x=0.91, y=0.99, met=0.0),
        row("b", kappa=0.5, status="crashed"), row("b", kappa=0.9, y=0.5),
        row("c", kappa=0.5, status="does not apply"), row("c", kappa=0.9, status="does not apply"),
        row("d", kappa=0.5, y=-0.5), row("d", kappa=0.9, status="does not apply"),
    ]  # fmt: skip
    assert kept_shares(rows) == {
        "a": {"here": {0: pytest.approx(0.88), 1: pytest.approx(0.4)}},
        "b": {"here": {0: pytest.approx(0.25)}},
        "d": {"here": {0: 0.0}},  # less than nothing is not worse than a budget that is missed
    }
    assert findings_of(rows, {}).kept["here"]["a"].per_seed == pytest.approx([0.88, 0.4])


def test_optimum_keeps_most():
    """On a concave front, the second policy spends less than its κ asks for, where the front bends."""
    front = {0.5: 0.8, 0.6: 0.9, 0.9: 0.96}
    best = [row("optimum", kappa=kappa, x=kappa, y=front[kappa]) for kappa in (0.5, 0.9)]
    thrifty = [row("thrifty", kappa=kappa, x=x, y=front[x]) for kappa, x in ((0.5, 0.5), (0.9, 0.6))]
    found = findings_of(best + thrifty, {})
    volumes, within = found.hypervolume["here"], found.kept["here"]
    assert volumes["optimum"].mean == pytest.approx(0.9)  # its points and (1, 1) are on a line
    assert volumes["thrifty"].mean == pytest.approx(0.93)  # 0.2 × 0.85 + 0.8 × 0.95
    assert within["thrifty"].mean < within["optimum"].mean == pytest.approx(0.88)


def test_ours_is_none_without_common_environments():
    rows = [row("mc-cpo", "here"), row("other", "there")]
    found = findings_of(rows, {}).aggregate
    assert found["other"].beside_ours
    assert found["other"].ours is None
    assert not found["mc-cpo"].beside_ours
    assert not found["mc-cpo"].complete
    alone = findings_of([row("a", "here"), row("b", "here"), row("b", "there")], {}).aggregate  # MC-CPO took no part
    assert alone["a"].ours is None


def test_best_on_reachable_budgets():
    tight = [row(method, kappa=0.5, seed=seed, met=0.0) for method in ("bold", "best", "other") for seed in range(2)]
    wide = [row("bold", kappa=0.9, seed=seed, x=0.9, y=0.99, met=float(seed)) for seed in range(2)]
    wide += [row("best", kappa=0.9, seed=seed, x=0.9, y=0.95) for seed in range(2)]
    wide += [row("other", kappa=0.9, seed=seed, x=0.9, y=0.92) for seed in range(2)]
    rows = sorted(tight + wide, key=lambda one: (one.method, one.kappa))
    found = findings_of(rows, {}).winners["here"]
    assert (found.unmet, found.safe_methods, found.safe.methods) == ((0.5,), (), ())
    assert (found.overall.methods, found.reachable.methods) == (("bold",), ("best",))
    assert found.reachable.hypervolume == pytest.approx((0.4 * (0.5 + 0.95) / 2 + 0.1 * (0.95 + 1) / 2) / 0.5)


def test_one_seed_shows_a_budget_is_reachable():
    rows = [row("lucky", seed=seed, met=float(seed == 0)) for seed in range(2)] + [row("safe", kappa=0.9, x=0.9)]
    found = findings_of(rows, {}).winners["here"]
    assert (found.unmet, found.reachable.methods) == ((), ())


def test_reachable_winner_is_the_safe_one():
    found = findings_of([row("bold", y=0.9, met=0.0), row("safe", y=0.7)], {}).winners["here"]
    assert (found.unmet, found.reachable.methods) == ((), found.safe.methods)
    assert found.reachable.hypervolume == found.safe.hypervolume == pytest.approx(0.85)


def test_nobody_wins_without_met_budgets():
    found = findings_of([row("a", met=0.0), row("b", status="crashed")], {}).winners["here"]
    assert (found.unmet, found.reachable.methods, found.reachable.hypervolume) == ((0.5,), (), None)


def test_spending_a_cost_of_zero_is_too_much():
    env = make("gate")
    problem = Problem("gate", env, env, values(1.0, 0.0), values(1.0, 0.0))
    slack = slack_of(env)["c"]
    assert cost_share(values(1.0, 0.0), problem) == cost_share(values(1.0, slack), problem) == 0
    spent = [outcome_of(problem, 0.5, values(1.0, cost)) for cost in (1.01 * slack, 0.3)]
    assert 1 < spent[0].cost_share < spent[1].cost_share < float("inf")
    assert [worth.satisfaction_strict for worth in spent] == [0, 0]


def test_improvement_is_over_common_environments():
    rows = [row("mc-cpo", y=0.9), row("mc-cpo", "there", y=0.1), row("other", y=0.5)]
    found = findings_of(rows, {}).improvement["mc-cpo"]["other"]
    assert (found.p, found.environments) == (1.0, ("here",))


HELD = Constraints({"c": 1.0})


def test_budgets_come_before_the_return_for_those_that_seek_them():
    rich, poor = [values(9.0, 1.1)] * 2, [values(5.0, 0.9)] * 2
    assert score_of(poor, HELD, seeks_budgets=True) > score_of(rich, HELD, seeks_budgets=True)
    assert score_of(poor, HELD, seeks_budgets=False) < score_of(rich, HELD, seeks_budgets=False)
    nearly = score_of([values(1.0, 1.05)] * 2, HELD, seeks_budgets=True)
    assert nearly > score_of(rich, HELD, seeks_budgets=True)
    assert nearly.within == pytest.approx(-0.05)
    assert score_of([values(9.0, 0.1), None], HELD, seeks_budgets=True) < nearly


def test_the_next_smaller_kappa_stands_in():
    trained = {0.5: ["five"], 0.7: ["seven"]}
    assert nearest(trained, (0.45, 0.55, 0.7, 0.95)) == {0.55: ["five"], 0.7: ["seven"], 0.95: ["seven"]}
