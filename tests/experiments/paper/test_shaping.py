"""The shaping table in small: the weights, one training for them all, and what a search over them finds."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.small import HORIZON, PLAN

from mccpo.errors import InputError
from mccpo.evaluation import summarise
from mccpo.experiments import Options, Session, anchors, training
from mccpo.experiments.paper import shaping
from mccpo.experiments.paper.shaping import Study, weigh
from mccpo.experiments.table import met
from mccpo.files import dump_json

FEW = {"reward-shaped": (0.5, 1.0), "reward-shaped-gain": (5.0, 30.0)}
BUDGETS = {"c2": 1.0, "c3": 10.0}


@pytest.fixture(scope="module")
def trainings():
    """The names of the methods of every training."""
    return []


@pytest.fixture(scope="module")
def kept():
    """The policies that the table hands over."""
    return []


@pytest.fixture(scope="module")
def results(trainings, kept):
    train_specs = training.train_specs

    def train(env, specs, *args, **kwargs):
        trainings.append([spec.name for spec in specs])
        return train_specs(env, specs, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Options, "neural_plan", lambda *_: PLAN)
        for module in (anchors, training):
            patch.setattr(module, "train_specs", train)
        patch.setattr(shaping, "ENVIRONMENTS", ("tutor-15",))
        patch.setattr(shaping, "WEIGHTS", FEW)
        options = Options(parameters={"horizon": HORIZON}, kappa=(0.9, 0.7))
        produced = shaping.produce(options, Session(keep=kept.append))
    return json.loads(dump_json(produced.results.as_json()), parse_constant=pytest.fail)


def test_a_weight_scales_the_papers_prices_or_is_lambda():
    assert weigh("reward-shaped", 1.0).shaping == {"c": 0.5, "c2": 0.5, "c4": 1.0}
    assert weigh("reward-shaped", 0.2).shaping == pytest.approx({"c": 0.1, "c2": 0.1, "c4": 0.2})
    assert weigh("reward-shaped", 0.2).progress == 0
    spec = weigh("reward-shaped-gain", 30.0)
    assert (spec.name, spec.progress, spec.shaping, spec.masked) == ("reward-shaped-gain@30", 30.0, {}, False)


def test_all_weights_are_one_training_and_methods_with_shared_weights_another(results, trainings):
    del results
    assert trainings[0] == ["unconstrained"]
    assert trainings[1] == ["mc-cpo"]
    assert trainings[2] == ["reward-shaped@0.5", "reward-shaped@1", "reward-shaped-gain@5", "reward-shaped-gain@30"]
    assert trainings[3:] == [["mc-cpo"]]


def test_the_methods_stand_side_by_side_and_each_form_by_weight(results):
    parts = results["settings"]
    main, prices, gain = parts.values()
    assert list(parts) == ["tutor-15 κ=0.9", "tutor-15 κ=0.9, reward-shaped", "tutor-15 κ=0.9, reward-shaped-gain"]
    assert list(main["rows"]) == list(shaping.METHODS)
    assert list(prices["rows"]) == ["reward-shaped@0.5", "reward-shaped@1", "mc-cpo"]
    assert list(gain["rows"]) == ["reward-shaped-gain@5", "reward-shaped-gain@30", "mc-cpo"]
    assert main["rows"]["reward-shaped"] == prices["rows"]["reward-shaped@1"]
    assert main["rows"]["reward-shaped-gain"] == gain["rows"]["reward-shaped-gain@5"]
    assert prices["rows"]["reward-shaped@0.5"]["return"] != prices["rows"]["reward-shaped@1"]["return"]
    assert main["rows"]["mc-cpo"]["prerequisite_violations_training"]["mean"] == 0
    assert main["rows"]["reward-shaped"]["prerequisite_violations_training"]["mean"] > 0
    assert main["paper"] == {}  # another horizon than the paper's


def test_a_setting_or_the_fronts_show_every_part_of_the_run(results, kept):
    assert results["parts"] == {"tutor-15 shaping κ=0.9": "tutor-15 κ=0.9", "tutor-15 shaping κ=0.7": ""}
    assert {one.part for one in kept} == set(results["parts"])
    assert "tutor-15 κ=0.9" in results["settings"]


def test_fronts_have_a_point_for_every_weight_and_every_kappa(results):
    fronts = results["fronts"]
    assert fronts == results["settings"]["tutor-15 κ=0.9"]["fronts"]
    assert [point["weight"] for point in fronts["reward-shaped"]] == [0.5, 1.0]
    assert [point["weight"] for point in fronts["reward-shaped-gain"]] == [5.0, 30.0]
    assert [point["kappa"] for point in fronts["mc-cpo"]] == [0.9, 0.7]
    rows = results["settings"]["tutor-15 κ=0.9, reward-shaped"]["rows"]
    assert fronts["reward-shaped"][0]["return"] == rows["reward-shaped@0.5"]["return"]["mean"]


def test_the_finding_says_how_many_weights_were_tried(results):
    assert [(found["kappa"], found["tried"]) for found in results["searches"]] == [(0.9, 4), (0.7, 4)]
    assert "The best of 4 shaping weights" in results["finding"]
    assert "of 4 weights of shaping" in results["notes"][-1]
    returned = results["settings"]["tutor-15 κ=0.9"]["rows"]["mc-cpo"]["return"]["mean"]
    assert f"against {returned:.2f}" in results["finding"]
    assert f"MC-CPO returns {returned:.2f}" in results["notes"][-1]


def row(ret, c2, c3, unready=5.0):
    """A method of two seeds whose costs of c2 and c3 are these."""
    cells = {"return": [ret, ret], "J_c2": c2, "J_c3": c3, "prerequisite_violations_training": [unready] * 2}
    return {metric: summarise(np.asarray(cell, float)) for metric, cell in cells.items()}


def study(ours, swept):
    problem = SimpleNamespace(training=SimpleNamespace(seeds=2))
    budgets = {0.9: BUDGETS, 0.45: {name: limit / 2 for name, limit in BUDGETS.items()}}
    rows = {"mc-cpo": ours[0.9], "unconstrained": row(40.0, [2, 2], [20, 20])}
    return Study("here", problem, budgets, rows, {"reward-shaped": swept}, ours, None)


def test_seeds_are_held_against_any_budgets():
    assert met(row(1.0, [1.0, 0.9], [10, 9]), BUDGETS) == 1.0
    assert met(row(1.0, [1.01, 0.9], [10, 9]), BUDGETS) == 0.5
    assert met(row(1.0, [1.01, 0.9], [10, 9]), BUDGETS, 0.1) == 1.0
    assert met(row(1.0, [0.5, 0.9], [10.1, 11]), BUDGETS) == 0.0


def test_a_weight_matches_only_if_every_seed_meets_the_budgets_with_equal_return():
    ours = {0.9: row(30.0, [1, 1], [9, 9], unready=0), 0.45: row(25.0, [0.5, 0.5], [5, 5], unready=0)}
    swept = {
        0.1: row(39.0, [1.5, 1.5], [15, 15]),  # more, beyond the budgets
        0.2: row(35.0, [1.0, 1.1], [9, 9]),  # more, but one seed is beyond
        0.3: row(30.5, [0.9, 0.9], [9, 9]),
        0.4: row(24.0, [0.4, 0.4], [4, 4]),
    }
    first, second = shaping.search(study(ours, swept))
    assert (first.tried, first.meeting, first.best, first.matches) == (4, 2, "reward-shaped@0.3", True)
    assert (second.meeting, second.best, second.best_return, second.matches) == (1, "reward-shaped@0.4", 24.0, False)
    assert "matches MC-CPO in 1 of 2 cases" in shaping.finding([first, second], seeds=2)
    said = shaping.answer(study(ours, swept), [first, second])
    assert "reward-shaped@0.3, returns 30.50, no less" in said
    assert "reward-shaped@0.4, returns 24.00, less." in said
    assert "taught what was not ready in 0 steps a seed, the shaped methods in 5 or more" in said


def test_a_miss_of_ours_is_not_hidden():
    ours = {0.9: row(30.0, [1, 1.2], [9, 9])}
    found = shaping.search(study(ours, {0.3: row(20.0, [0.9, 0.9], [9, 9])}))
    assert (found[0].mc_cpo_satisfaction, found[0].matches) == (0.5, False)
    said = shaping.answer(study(ours, {0.3: row(20.0, [0.9, 0.9], [9, 9])}), found)
    assert "meets the budgets in 1 of 2 seeds" in said
    assert "within the budgets in every seed, which MC-CPO is not" in said


def test_a_search_can_find_nothing():
    ours = {0.9: row(30.0, [1, 1], [9, 9])}
    (found,) = shaping.search(study(ours, {0.3: row(40.0, [2, 2], [9, 9])}))
    assert (found.meeting, found.best, found.matches) == (0, None, False)
    assert "none meets them in every seed" in shaping.answer(study(ours, {0.3: row(40.0, [2, 2], [9, 9])}), [found])


def test_how_far_shaping_is_from_unconstrained_is_measured():
    weights = {0.1: row(39.8, [2, 2], [20, 20]), 4.0: row(10.0, [0, 0], [1, 1])}
    for cells in weights.values():
        cells["prerequisite_violation_rate"] = summarise([0.25, 0.75])
    (note,) = shaping.apart(study({0.9: row(30.0, [1, 1], [9, 9])}, weights))
    assert "within 1 % of the unconstrained 40.00 at 1 of 2 weights (0.1); at 4 it is 10.00, with 50 %" in note


def test_budgets_are_set_by_kappa():
    with pytest.raises(InputError, match="sets budgets by κ"):
        shaping.produce(Options(budgets={"c2": 1.0}), Session())
    with pytest.raises(InputError, match="reproduce shaping-25 sets budgets by κ"):
        shaping.produce_paper_sweep(Options(budgets={"c2": 1.0}), Session())


def test_every_lambda_of_the_paper_stands_beside_its_one_row():
    weights = shaping.PAPER_WEIGHTS["reward-shaped-gain"]
    assert weights == (0.05, 0.1, 0.2, 0.5, 5.0)
    ours = {0.9: row(30.0, [1, 1], [9, 9])}
    swept = {"reward-shaped-gain": {weight: row(34.79 if weight < 1 else 20.0, [1, 1], [9, 9]) for weight in weights}}
    one = replace(study(ours, {}), environment="tutor-25", swept=swept)
    (setting,) = shaping._swept(one, Options())
    assert {name: cells["return"].mean for name, cells in setting.paper.items()} == {
        f"reward-shaped-gain@{weight:g}": 34.79 for weight in weights
    }
    assert setting.verdicts["reward-shaped-gain@5"]["return"].kind == "differs"
    assert shaping._swept(one, Options(parameters={"eta": 0.1}))[0].paper == {}
    elsewhere = replace(one, environment="tutor-15")
    assert shaping._swept(elsewhere, Options())[0].paper == {}
