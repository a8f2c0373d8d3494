"""The tutor's comparison in small: budgets, fronts, violations, and what is refused."""

import json
import math

import numpy as np
import pytest
from tests import small

from mccpo.errors import InputError
from mccpo.experiments import Options, Session, compare, feasibility, training
from mccpo.files import dump_json

METHODS = ("unconstrained", "post-hoc", "mc-cpo")
SHORT = {"horizon": small.HORIZON, "K0": 0.55}  # gated concepts come soon
SMALL = Options(methods=METHODS, seeds=1, kappa=(0.9, 0.7), parameters=SHORT)


@pytest.fixture(scope="module")
def told():
    """What a session is told, as (stage, point)."""
    return []


@pytest.fixture(scope="module")
def produced(told):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Options, "neural_plan", small.plan)
        patch.setattr(feasibility, "examine", lambda *_: None)  # so short a training meets few budgets
        return compare.produce("tutor-15", SMALL, Session(progress=lambda *news: told.append(news)))


@pytest.fixture(scope="module")
def results(produced):
    return json.loads(dump_json(produced.results.as_json()), parse_constant=pytest.fail)


def test_the_results_have_the_shape_of_a_table(results):
    assert results["table"] == "tutor-15"
    assert set(results["rows"]) == set(METHODS)
    assert results["protocol"]["steps"] >= 300
    for method, row in results["rows"].items():
        assert {"return", "rhsi", "J_c2", "J_c3", "J_c4", "dK", "satisfaction", "satisfaction_strict"} <= set(row)
        for metric, cell in row.items():
            assert len(cell["per_seed"]) == 1, (method, metric)
        assert row["dK"]["mean"] > 0


def test_budgets_are_a_share_of_the_unconstrained_costs(results):
    free = results["rows"]["unconstrained"]
    assert set(results["budgets"]) == {"c2", "c3", "c4"}
    for name, budget in results["budgets"].items():
        assert budget == pytest.approx(0.9 * free[f"J_{name}"]["mean"], rel=1e-9)
    assert free["rhsi"]["mean"] == pytest.approx(1.0)


def test_every_constrained_method_has_a_point_for_each_budget_level(results):
    fronts = results["fronts"]
    assert [point["kappa"] for point in fronts["mc-cpo"]] == [0.9, 0.7]
    for method in ("unconstrained", "post-hoc"):  # no budget moves them
        assert [point["kappa"] for point in fronts[method]] == [0.9]
    for method, points in fronts.items():
        assert points[0]["return"] == results["rows"][method]["return"]["mean"]


def test_our_method_never_teaches_what_is_not_ready(results):
    rows = results["rows"]
    for metric in ("prerequisite_violation_rate", "prerequisite_violations_training"):
        assert rows["mc-cpo"][metric]["per_seed"] == [0]
        assert rows["unconstrained"][metric]["mean"] > 0
    for point in results["fronts"]["mc-cpo"]:
        assert point["prerequisite_violation_rate"] == point["prerequisite_violations_training"] == 0
    assert rows["post-hoc"]["prerequisite_violation_rate"]["per_seed"] == [0]


def test_the_unready_steps_of_training_are_all_counted(produced, results):
    curves = produced.curves["tutor-15"]
    rates = curves.values["unconstrained"]["prerequisite_violation_rate"]
    per_point = np.diff(curves.trained, prepend=0)
    counted = results["rows"]["unconstrained"]["prerequisite_violations_training"]["mean"]
    assert counted == pytest.approx(float((rates * per_point).sum()), rel=1e-4)


def test_a_filter_at_execution_is_trained_as_without_it(produced, results):
    free, filtered = results["rows"]["unconstrained"], results["rows"]["post-hoc"]
    assert free["prerequisite_violations_training"] == filtered["prerequisite_violations_training"]
    assert free["return"] != filtered["return"]
    curves = produced.curves["tutor-15"].values
    for metric, values in curves["unconstrained"].items():
        np.testing.assert_array_equal(values, curves["post-hoc"][metric])


def test_a_session_is_told_of_every_stage_from_its_beginning(told, results):
    stages = list(dict.fromkeys(stage for stage, _ in told))
    for stage in stages:
        assert [point for one, point in told if one == stage] == list(range(stage.points + 1))
    trainings = [stage for stage in stages if "," not in stage.label]
    tables = [stage for stage in trainings if "least" not in stage.label]  # the others look into missed budgets
    assert [stage.label for stage in tables] == ["tutor-15 unconstrained", "tutor-15 κ=0.9", "tutor-15 κ=0.7"]
    for stage in tables:
        assert (stage.points * stage.steps_per_point, stage.unit) == (results["protocol"]["steps"], "steps")


@pytest.mark.parametrize(
    ("environment", "wrong", "what", "fix"),
    [
        ("tutor-15", {"episodes": 100}, "by steps, not episodes", "--steps"),
        ("chain", {"steps": 100}, "by episodes, not steps", "--episodes"),
        ("tutor-15", {"budgets": {"c9": 1.0}}, "unknown cost 'c9'", "c2, c3, c4"),
        ("tutor-15", {"budgets": {"c2": -1.0}}, "the budget of c2 is -1.0", "at least 0"),
        ("tutor-15", {"budgets": {"c2": math.nan}}, "the budget of c2 is nan", "at least 0"),
        ("tutor-15", {"budgets": {"c2": math.inf}}, "the budget of c2 is inf", "at least 0"),
    ],
)
def test_a_wrong_choice_is_refused_before_any_training(environment, wrong, what, fix, monkeypatch):
    monkeypatch.setattr(training, "train_variants", lambda *_, **__: pytest.fail("trained first"))
    with pytest.raises(InputError) as caught:
        compare.produce(environment, Options(**wrong), Session())
    assert what in caught.value.what
    assert fix in caught.value.fix
