"""What the report of a benchmark says in sentences: who is best, who nearly is, and how MC-CPO stands."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from mccpo.evaluation import summarise
from mccpo.report.benchmark.finding import finding, verdict
from mccpo.report.benchmark.page import render
from mccpo.report.benchmark.ranking import LEVEL, compare_ours, interval, not_told_apart, not_told_apart_text
from mccpo.report.benchmark.views import EnvironmentView, Pair

from .benchmark_folder import SEEDS, made_up, view_from
from .benchmark_page import Tables


def summary_json(seeds):
    """A summary as results of a benchmark have it."""
    return summarise(seeds).as_json()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    return (made_up(tmp_path_factory.mktemp("benchmark")) / "results.json").read_text()


@pytest.fixture
def results(told: str) -> dict[str, Any]:
    return json.loads(told)


def environment_of(results: dict[str, Any], name: str) -> EnvironmentView:
    return next(environment for environment in view_from(results).environments if environment.name == name)


def told_of(results: dict[str, Any], name: str) -> str:
    return verdict(environment_of(results, name), view_from(results))


def meet(results: dict[str, Any], environment: str, per_seed: list[float], kappa: float | None = None, method=None):
    """Has methods meet the budgets of an environment in some seeds."""
    for cell in results["cells"]:
        here = cell["environment"] == environment and cell["status"] == "done"
        if here and kappa in (None, cell["kappa"]) and method in (None, cell["method"]):
            cell["satisfaction_strict"] |= {"mean": sum(per_seed) / len(per_seed), "per_seed": per_seed}


def test_first_sentences(results):
    won, stands, overall, budgets = finding(view_from(results))
    assert won.endswith(
        "on 1 of the 3 environments: chain (not told apart from Exact Lyapunov, which is given the model, and 1 more)."
    )
    assert f"in {SEEDS} of {SEEDS} seeds (τ = 0)" in won
    assert stands.startswith("Beside the best other method of each")
    for environment in view_from(results).run:
        assert environment.name in stands.split(compare_ours(environment).word)[1]
    assert "its interquartile mean of hypervolume is" in overall
    assert "That of what it keeps within budgets is" in overall
    assert budgets == "It meets every budget in all 27 runs, of a seed at a κ each."


@pytest.mark.parametrize(
    ("theirs", "rank"),
    [
        ((0.7, 0.6, 0.79), "0.900, 1st of {}; next is CPO, 0.700"),
        ((0.85, 0.75, 0.95), "0.900, not told apart from CPO (0.850), the next of {}"),
        ((0.95, 0.85, 1.0), "0.900, not told apart from CPO (0.950), the first of {}"),
        ((1.1, 1.05, 1.2), "0.900, 2nd of {}; first is CPO, 1.100"),
    ],
)
def test_no_overall_rank_is_claimed_within_chance(results, theirs, rank):
    for method, one in results["aggregate"].items():
        iqm, *ends = {"mc-cpo": (0.9, 0.8, 1.0), "cpo": theirs}.get(method, (0.1, 0.1, 0.1))
        one |= {"iqm": iqm, "ci": ends, "kept": {"iqm": iqm, "ci": ends}}
    overall = finding(view_from(results))[2]
    volumes, kept = rank.format("the 12 methods that have a result on every environment"), rank.format("these")
    assert overall == (
        f"Over all environments its interquartile mean of hypervolume is {volumes}. "
        f"That of what it keeps within budgets is {kept}."
    )


def test_lead_within_chance_is_not_told_apart(results):
    results["hypervolume"]["chain"] = {
        "mc-cpo": summary_json([0.8, 0.81, 0.82]),
        "cpo": summary_json([0.79, 0.8, 0.83]),
        "focops": summary_json([0.7, 0.8, 0.9]),
        "rcpo": summary_json([0.1, 0.1, 0.1]),
    }
    environment = environment_of(results, "chain")
    assert [pair.method for pair in not_told_apart(environment.ranked)] == ["cpo", "focops"]
    assert "is that of MC-CPO: 0.810, not told apart from CPO and 1 more." in told_of(results, "chain")
    assert "chain (not told apart from CPO and 1 more)" in finding(view_from(results))[0]
    results["hypervolume"]["chain"]["lyapunov-lp"] = summary_json([0.808] * 3)
    told = not_told_apart_text(environment_of(results, "chain").ranked)
    assert told == "not told apart from Exact Lyapunov, which is given the model, and 2 more"


def test_single_seeds_tell_nothing_apart(results):
    results["hypervolume"]["chain"] = {"mc-cpo": summary_json([0.8]), "cpo": summary_json([0.1])}
    assert not_told_apart_text(environment_of(results, "chain").ranked) == "not told apart from CPO"


def test_the_best_is_among_those_not_told_apart(results):
    """Ten methods of the same mean: the first is chosen by looking, and yet the true best is hardly ever left out."""
    random, left_out = np.random.default_rng(0), 0
    methods = [method for method in results["hypervolume"]["chain"] if method != "maskable-ppo"][:10]
    for _ in range(100):
        scores = random.normal(0.8, 0.01, (len(methods), 5)) + random.normal(0.0, 0.02, 5)
        made = [ranking_pair(method, seeds) for method, seeds in zip(methods, scores, strict=True)]
        ranked = sorted(made, key=lambda pair: -pair.volume)
        kept = {pair.method for pair in [ranked[0], *not_told_apart(ranked)]}
        left_out += methods[0] not in kept
    assert left_out <= 10  # 5 are to be expected at most


def test_names_who_keeps_most(results):
    results["kept"]["chain"] = {"cpo": summary_json([0.9, 0.91, 0.92]), "mc-cpo": summary_json([0.6, 0.6, 0.6])}
    environment = environment_of(results, "chain")
    assert told_of(results, "chain").endswith("Most of the return is kept within the budgets by CPO: 0.910.")
    assert compare_ours(environment).kept_rank == 2
    assert compare_ours(environment).position.endswith(f" of {compare_ours(environment).of}; by kept 2")
    results["kept"]["chain"]["mc-cpo"] = summary_json([0.99, 0.99, 0.99])
    ranked = compare_ours(environment_of(results, "chain"))
    assert ranked.position == f"1 of {ranked.of}"  # as by the hypervolume


def test_names_where_ours_misses_a_budget(results):
    meet(results, "chain", [1.0, 0.0, 1.0], kappa=0.7, method="mc-cpo")
    won, *others = finding(view_from(results))
    assert "on none of the 3 environments" in won
    assert "It meets every budget in 26 of 27 runs, of a seed at a κ each; it misses some on chain (8/9)." in others


def test_names_leader_that_is_given_the_model(results):
    ours = results["hypervolume"]["chain"]["mc-cpo"]
    more = summary_json([value + 0.1 for value in ours["per_seed"]])
    results["hypervolume"]["chain"]["lyapunov-lp"] = more
    stands = finding(view_from(results))[1]
    assert "to a method that is given the model on" in stands
    assert "chain" in stands.split("given the model on")[1]


def test_says_when_no_budget_is_met(results):
    meet(results, "chain", [0.0] * SEEDS)
    levels = "Nobody met κ = 0.5, 0.7 and 0.9 in any of their seeds"
    assert told_of(results, "chain") == f"{levels}."
    assert f"On chain: n{levels[1:]}." in finding(view_from(results))


def test_says_when_budgets_are_met_only_sometimes(results):
    meet(results, "chain", [1.0, 0.0, 1.0])
    assert told_of(results, "chain") == "No method meets every budget in every seed."
    assert "On chain: no method meets every budget in every seed." in finding(view_from(results))


def test_names_best_on_reachable_budgets(results):
    meet(results, "chain", [0.0] * SEEDS, kappa=0.5)
    environment = environment_of(results, "chain")
    assert environment.unmet == [0.5]
    assert not environment.best
    assert [pair.method for pair in environment.reachable] == ["mc-cpo"]
    told = told_of(results, "chain")
    assert told.startswith(
        "Nobody met κ = 0.5 in any of its seeds. Of the methods that always meet the rest, the largest "
    )
    assert f"is that of MC-CPO: {results['hypervolume']['chain']['mc-cpo']['mean']:.3f}" in told
    short = "nobody met κ = 0.5 in any of its seeds; of those that always meet the rest, MC-CPO is best"
    assert any(one.startswith(f"On chain: {short}") for one in finding(view_from(results)))


def test_without_ours_the_others_are_named(results):
    results["cells"] = [cell for cell in results["cells"] if cell["method"] != "mc-cpo"]
    (told,) = finding(view_from(results))
    assert told.startswith("MC-CPO took no part.")
    assert "On tutor-15 the best is PID-Lagrangian." in told


def test_says_how_many_methods_were_run(results):
    known = len([one for one in results["methods"].values() if one["kind"] != "outside"])
    assert "were run here" not in told_of(results, "chain")
    results["cells"] = [cell for cell in results["cells"] if (cell["environment"], cell["method"]) != ("chain", "cpo")]
    assert told_of(results, "chain").startswith(f"{known - 1} of {known} methods were run here. ")


def test_a_tie_has_several_winners(results):
    results["hypervolume"]["chain"]["cpo"] = results["hypervolume"]["chain"]["mc-cpo"]
    environment = environment_of(results, "chain")
    assert {pair.method for pair in environment.best} == {"mc-cpo", "cpo"}
    assert "is that of MC-CPO and CPO alike" in told_of(results, "chain")


def test_zero_hypervolume_is_never_best(results):
    nothing = summary_json([0.0] * SEEDS)
    results["hypervolume"]["chain"] = dict.fromkeys(results["hypervolume"]["chain"], nothing)
    environment = environment_of(results, "chain")
    assert environment.pair("mc-cpo").safe
    assert not environment.best
    assert not environment.largest
    told = "o method that meets every budget in every seed dominates anything"
    assert told_of(results, "chain") == f"N{told}."
    assert f"On chain: n{told}." in finding(view_from(results))


def test_single_environment_names_best_other(results):
    results["environments"] = {"tutor-15": results["environments"]["tutor-15"]}
    _, stands, budgets = finding(view_from(results))
    assert stands.startswith("Beside PID-Lagrangian (")
    assert budgets.startswith("It meets every budget")


# ---- where MC-CPO stands


def ranking_pair(method, seeds, kind="learner"):
    """A method of an environment by its hypervolumes alone."""
    cell = SimpleNamespace(kind=kind)
    return Pair(method, (cell,), summarise(seeds))


def test_methods_are_compared_seed_by_seed():
    draw = np.random.default_rng(1)
    ours, theirs, fewer = draw.normal(0.9, 0.01, 10), draw.normal(0.88, 0.05, 10), draw.normal(0.88, 0.05, 7)
    expected = ttest_rel(ours, theirs).confidence_interval(0.95)
    assert interval(ranking_pair("mc-cpo", ours), ranking_pair("cpo", theirs), 0.05) == pytest.approx(tuple(expected))
    for kind, seeds in (("outside", theirs), ("learner", fewer)):  # which share no seeds with ours
        expected = ttest_ind(ours, seeds, equal_var=False).confidence_interval(0.95)
        found = interval(ranking_pair("mc-cpo", ours), ranking_pair("other", seeds, kind), 0.05)
        assert found == pytest.approx(tuple(expected))


@pytest.mark.parametrize(
    ("others", "word"),
    [([0.1, 0.11, 0.12], "ahead"), ([0.99, 0.98, 0.97], "behind"), ([0.0, 0.99, 0.99], "cannot tell"), (None, "level")],
)
def test_ahead_level_behind_and_cannot_tell(results, others, word):
    volumes = results["hypervolume"]["chain"]
    ours = volumes["mc-cpo"]
    results["hypervolume"]["chain"] = {"mc-cpo": ours, "cpo": ours if others is None else summary_json(others)}
    found = compare_ours(environment_of(results, "chain"))
    assert (found.word, found.of, found.other.method) == (word, 2, "cpo")
    assert found.rank == 1 + (found.difference < 0)


def test_interval_without_spread_is_the_difference():
    found = interval(ranking_pair("mc-cpo", [0.5] * 3), ranking_pair("cpo", [0.4] * 3), 0.05)
    assert found == pytest.approx((0.1, 0.1))


@pytest.mark.parametrize(("by", "word"), [(LEVEL / 2, "level"), (2 * LEVEL, "ahead"), (-2 * LEVEL, "behind")])
def test_level_is_a_margin_and_not_a_lack_of_evidence(results, by, word):
    seeds = [0.8, 0.81, 0.82]
    results["hypervolume"]["chain"] = {
        "mc-cpo": summary_json([seed + by for seed in seeds]),
        "cpo": summary_json(seeds),
    }
    assert compare_ours(environment_of(results, "chain")).word == word


def test_the_interval_counts_how_many_were_compared(results):
    few = {"mc-cpo": summary_json([0.8, 0.81, 0.83]), "cpo": summary_json([0.79, 0.8, 0.8])}
    results["hypervolume"]["chain"] = few
    alone = compare_ours(environment_of(results, "chain")).interval
    results["hypervolume"]["chain"] = few | {"focops": summary_json([0.5] * 3), "rcpo": summary_json([0.4] * 3)}
    among = compare_ours(environment_of(results, "chain")).interval
    assert among[0] < alone[0]
    assert among[1] > alone[1]


def test_single_seed_has_no_interval(results):
    results["hypervolume"]["chain"] = {method: summary_json([0.5 + at]) for at, method in enumerate(("cpo", "mc-cpo"))}
    found = compare_ours(environment_of(results, "chain"))
    assert (found.interval, found.word, found.difference) == (None, "cannot tell", 1.0)


def test_older_results_are_read(results):
    newer = view_from(json.loads(json.dumps(results)))
    del results["kept"]
    for about in results["aggregate"].values():
        for name in ("complete", "ours", "kept"):
            about.pop(name, None)
        about |= {"environments": 1, "iqm": 0.5}
    for about in results["profiles"].values():
        about["share"] = [0.0] * len(about["tau"])
    for about in results["winners"].values():
        for name in [name for name in about if name.startswith(("unmet", "reachable"))]:
            del about[name]
    view = view_from(results)
    assert set(view.complete) | set(view.partial) == set(view.methods)
    for method in view.complete:
        assert all(method in methods for methods in results["hypervolume"].values())
    for method in view.partial:
        where = [name for name, methods in results["hypervolume"].items() if method in methods]
        assert sorted(view.aggregate[method].environments) == sorted(where)
    assert view.profiles == newer.profiles  # of hypervolumes relative to the best, as they are now
    assert all(
        view.aggregate[method].scores.hypervolume == aggregate.scores.hypervolume
        for method, aggregate in newer.aggregate.items()
    )
    assert compare_ours(view.run[0]).kept_rank is None
    assert "keeps within budgets" not in " ".join(finding(view))
    assert "is kept" not in verdict(view.run[0], view)
    assert Tables(render(view)).tables["on-chain", "place"][1][2]["text"] == "–"
