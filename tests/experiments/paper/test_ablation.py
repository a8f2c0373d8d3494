"""The ablation: every row differs from MC-CPO in one thing, and the steps of validation are counted."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.small import HORIZON, PLAN

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.evaluation import summarise
from mccpo.experiments import GROUPS, TABLES, Options, Session, lacks_data, measuring
from mccpo.experiments.paper import ablation
from mccpo.experiments.problem import pose
from mccpo.files import dump_json
from mccpo.methods import NeuralPlan, PPOSettings, method_spec, validation_steps
from mccpo.runs.results import Results

CHANGED = {
    "mc-cpo-plain-network": {"shared"},
    "mc-cpo-no-proportional": {"rule"},
    "mc-cpo-no-foresight": {"foresight"},
    "mc-cpo-no-averaging": {"averaging"},
    "mc-cpo-no-margin": {"tighten", "aside", "caution", "look_caution"},
    "mc-cpo-no-mask": {"masked"},
    "mc-cpo-frontier": {"frontier_end"},
}


def changes(one: ablation.Ablated) -> set[str]:
    """What a row has another value of than MC-CPO, of the method itself and of its numbers."""
    own = {name for name in PPOSettings._fields if getattr(one.settings, name) != getattr(PPOSettings(), name)}
    spec, ours = one.spec, method_spec("mc-cpo")
    return own | {name for name in vars(spec) if name != "name" and getattr(spec, name) != getattr(ours, name)}


def test_every_row_has_one_part_changed_and_no_other() -> None:
    rows = {one.name: one for one in ablation.ablated()}
    assert changes(rows.pop("mc-cpo")) == set()
    additions = {"foresight", "tighten", "averaging", "caution", "look_caution", "aside", "rule", "selecting", "shared"}
    assert additions <= changes(rows.pop("mc-cpo-paper"))
    assert {name: changes(one) for name, one in rows.items()} == CHANGED


def test_validation_takes_the_looks_and_the_final_choice() -> None:
    env, plan = make("tutor-15"), NeuralPlan(steps=2 * 12_288)
    assert validation_steps(env, plan) == (2 * 128 + 6 * 98) * env.horizon
    short = make("tutor-15", horizon=50)  # twice as many episodes of half the length
    assert validation_steps(short, plan) == (2 * 256 + 6 * 196) * 50


def test_the_counted_plan_is_the_longest_that_fits() -> None:
    env, plan = make("tutor-15"), NeuralPlan(steps=300_000)
    short = ablation.counted_plan(env, plan)
    assert short is not None

    def whole(points: int) -> int:
        steps = points * 12_288
        return steps + validation_steps(env, replace(plan, steps=steps))

    assert short.steps == short.points * 12_288
    assert whole(short.points) <= plan.points * 12_288 < whole(short.points + 1)
    assert ablation.counted_plan(env, NeuralPlan(steps=12_288)) is None


def test_without_its_data_a_table_is_left_out_of_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCCPO_DATA", raising=False)
    assert [name for name in GROUPS["ablation"] if lacks_data(name)] == ["ablation-assistments-2009"]
    assert not lacks_data("gate")
    monkeypatch.setenv("MCCPO_DATA", "somewhere")
    assert not lacks_data("ablation-assistments-2009")


def test_its_methods_are_its_own() -> None:
    with pytest.raises(InputError, match="methods and budgets of its own"):
        TABLES["ablation-tutor-15"](Options(methods=("mc-cpo",)), Session())


def test_excess_is_over_the_budget_that_is_exceeded_most() -> None:
    row = {"J_c2": summarise([1.0, 3.0]), "J_c3": summarise([4.0, 1.0])}
    constraints = measuring.Constraints({"c2": 2.0, "c3": 4.0})
    assert ablation._excess(row, constraints).per_seed == pytest.approx((0.0, 0.5))


@pytest.mark.slow
def test_the_table_runs_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Options, "neural_plan", lambda *_: PLAN)
    monkeypatch.setattr(ablation, "make", lambda name: make(name, horizon=HORIZON))
    monkeypatch.setattr(ablation, "counted_plan", lambda *_: replace(PLAN, steps=400))
    results = TABLES["ablation-tutor-15"](Options(), Session()).results
    read = Results.parse(json.loads(dump_json(results.as_json())))
    (setting,) = read.settings
    rows = setting.rows
    assert {*CHANGED, "mc-cpo-paper", "mc-cpo", "mc-cpo-no-selection", "mc-cpo-counted", *ablation.RULES} < set(rows)
    trained = [name for name in rows if name.startswith("mc-cpo")]
    assert all(rows[name]["satisfaction_strict_last"].per_seed for name in trained)
    none = {name for name in trained if rows[name]["validation_steps"].mean == 0}
    assert none == {"mc-cpo-paper", "mc-cpo-no-selection"}
    assert rows["mc-cpo-no-mask"]["prerequisite_violation_rate"].mean > 0
    assert all(rows[name]["prerequisite_violation_rate"].mean == 0 for name in trained if name != "mc-cpo-no-mask")
    assert ablation.test_name("mc-cpo-paper", "return") in read.tests


@pytest.mark.slow
def test_the_ablation_has_mc_cpo_and_its_last_policies() -> None:
    problem = pose(make("tutor-15", horizon=HORIZON), PLAN)
    constraints = problem.constraints(ablation.KAPPA)
    ours = next(one for one in ablation.ablated() if one.name == "mc-cpo")
    bare = ablation.Ablated("bare", ours.spec, ours.settings._replace(selecting=0.0))
    runs = ablation._train(problem.env, [ours, bare], constraints, PLAN, "both", Session())
    named = measuring.train(problem, ["mc-cpo"], constraints, "named", Session())["mc-cpo"]
    np.testing.assert_array_equal(runs.selected[0], named.policies.parameters)
    np.testing.assert_array_equal(runs.last[0], runs.selected[1])
