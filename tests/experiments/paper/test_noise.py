"""The noise table in small: what is evaluated, what the gate lets through, and that the paper's claim is answered."""

import json

import numpy as np
import pytest
from scipy import stats
from tests.small import HORIZON, PLAN

from mccpo.env import Constraints, make
from mccpo.errors import InputError
from mccpo.evaluation import summarise
from mccpo.experiments import Options, Session, calibration, measuring
from mccpo.experiments.paper import noise
from mccpo.experiments.paper.noise import KINDS, WORST, Level
from mccpo.experiments.problem import pose_neural
from mccpo.files import dump_json

SHORT = {"horizon": HORIZON, "K0": 0.55}  # gated concepts come soon


@pytest.fixture(scope="module")
def kept():
    """The policies that the table hands over."""
    return []


@pytest.fixture(scope="module")
def results(kept):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Options, "neural_plan", lambda *_: PLAN)
        patch.setattr(noise, "ENVIRONMENTS", ("tutor-15",))
        patch.setattr(calibration, "SHARES", (0.95,))
        patch.setattr(calibration, "MEMORIES", (0.9,))
        produced = noise.produce(Options(parameters=SHORT, kappa=(0.9,)), Session(keep=kept.append))
    return json.loads(dump_json(produced.results.as_json()), parse_constant=pytest.fail)


@pytest.fixture(scope="module")
def kinds(results):
    return results["noise"]["tutor-15 κ=0.9"]["kinds"]


def test_every_kind_and_level_is_evaluated(results, kinds):
    assert results["table"] == "noise"
    assert list(results["settings"]) == [f"tutor-15 κ=0.9 σ={sigma:g}" for sigma in (0, 0.05, 0.1, 0.2)]
    assert {kind: [level["level"] for level in levels] for kind, levels in kinds.items()} == {
        "sigma": [0, 0.05, 0.1, 0.2],
        "bias": [-0.2, -0.1, 0, 0.1, 0.2],
        "delay": [0, 1, 2, 5, 10],
        "caution": [0, 0.1, 0.2, 0.3],
        "memory": [0, 0.5, 0.8, 0.9],
    }
    for levels in kinds.values():
        for level in levels:
            assert set(level) == {"level", "unconstrained", "mc-cpo"}
            assert {"return", "J_c2", "satisfaction", "satisfaction_strict"} <= set(level["mc-cpo"])
            for row in (level["unconstrained"], level["mc-cpo"]):  # K is the truth in tutor-15
                assert row["true_violation_rate"] == row["prerequisite_violation_rate"]


def test_every_part_of_the_run_is_shown_by_a_setting(results, kept):
    assert results["parts"] == {"tutor-15 κ=0.9 noise": "tutor-15 κ=0.9 σ=0"}
    assert {one.part for one in kept} == set(results["parts"])
    assert set(results["parts"].values()) <= set(results["settings"])


def test_the_same_level_is_the_same_everywhere(results, kinds):
    exact = [next(level for level in kinds[kind] if level["level"] == 0) for kind in ("sigma", "bias", "delay")]
    assert exact[0] == exact[1] == exact[2]
    assert kinds["sigma"][-1]["mc-cpo"] == kinds["caution"][0]["mc-cpo"] == kinds["memory"][0]["mc-cpo"]
    row = results["settings"]["tutor-15 κ=0.9 σ=0.2"]["rows"]["mc-cpo"]
    assert row["return"]["mean"] == kinds["sigma"][-1]["mc-cpo"]["return"]


def test_without_error_policies_are_worth_as_much_as_on_the_tutor(results, monkeypatch):
    monkeypatch.setattr(Options, "neural_plan", lambda *_: PLAN)
    problem = pose_neural(make("tutor-15", **SHORT), Options(), Session())
    budgets = problem.budgets(0.9, {})
    trained = measuring.train(problem, ["unconstrained"], Constraints(budgets), "", Session())
    setting = results["settings"]["tutor-15 κ=0.9 σ=0"]
    assert setting["budgets"] == pytest.approx(budgets)
    for metric, summary in measuring.measured(problem, trained["unconstrained"], Constraints(budgets)).items():
        ours = setting["rows"]["unconstrained"][metric]["per_seed"]
        np.testing.assert_allclose(ours, summary.per_seed, rtol=1e-5, err_msg=metric)


def test_the_gate_lets_through_what_the_estimate_overrates_and_nothing_else(kinds):
    def let_through(kind, level):
        return next(one for one in kinds[kind] if one["level"] == level)["mc-cpo"]["true_violation_rate"]

    assert let_through("sigma", 0.0) == let_through("bias", -0.2) == let_through("delay", 10) == 0
    assert 0 < let_through("sigma", 0.05) < let_through("sigma", 0.2)
    assert 0 < let_through("bias", 0.1) < let_through("bias", 0.2)
    assert let_through("caution", 0.3) < let_through("caution", 0.1) < let_through("caution", 0)
    assert let_through("memory", 0.8) < let_through("memory", 0)


def test_the_claim_is_answered_from_what_was_measured(results, kinds):
    (claim,) = results["claims"]
    exact, noisy = kinds["sigma"][0]["mc-cpo"], kinds["sigma"][-1]["mc-cpo"]
    assert claim["drop"] == pytest.approx(1 - noisy["return"] / exact["return"])
    assert claim["satisfaction"] == min(level["mc-cpo"]["satisfaction"] for level in kinds["sigma"])
    assert claim["holds"] == (claim["drop"] < 0.004 and claim["satisfaction"] == 1)
    said = f"claim {'holds' if claim['holds'] else 'does not hold'}"
    answer = next(note for note in results["notes"] if said in note)
    assert f"from {exact['return']:.2f} to {noisy['return']:.2f}" in answer
    assert f"{100 * noisy['true_violation_rate']:.3g} %" in answer
    assert f"{100 * noisy['true_violation_rate']:.3g} %" in results["finding"]


def test_a_calibrated_gate_keeps_its_share_under_each_error(results, kinds):
    gates = results["calibrated"]
    errors = {"sigma": 0.2, "bias": 0.1, "delay": 10}
    assert [(gate["error"], gate["level"], gate["delta"]) for gate in gates] == [
        (kind, level, delta) for kind, level in errors.items() for delta in (0.05, 0.01)
    ]
    for gate in gates:
        uncalibrated = next(one for one in kinds[gate["error"]] if one["level"] == gate["level"])["mc-cpo"]
        exact = kinds["sigma"][0]["mc-cpo"]
        assert (gate["part"], gate["method"]) == ("tutor-15 κ=0.9", "mc-cpo")  # nothing confines the unconstrained
        assert gate["kept"]
        assert gate["true_violation_rate"] <= gate["upper"] <= gate["delta"]
        assert gate["held_out_bound"] <= gate["delta"]
        assert gate["uncalibrated_rate"] == uncalibrated["true_violation_rate"]
        assert (gate["uncalibrated_gain"], gate["exact_gain"]) == (uncalibrated["dK"], exact["dK"])
        assert gate["lost"] == pytest.approx(1 - gate["mean_return"] / uncalibrated["return"])
        assert gate["lost_in_all"] == pytest.approx(1 - gate["mean_return"] / exact["return"])
    assert any("of 6 calibrated gates, 6 keep" in note for note in results["notes"])


def row(ret, satisfied, unready=0.0):
    seeds = len(satisfied)
    values = {"satisfaction": satisfied, "satisfaction_strict": satisfied}
    values |= {"return": [ret] * seeds, "true_violation_rate": [unready] * seeds}
    return {metric: summarise(np.asarray(cell, float)) for metric, cell in values.items()}


@pytest.mark.parametrize(
    ("noisy", "holds"),
    [
        (row(32.9, [1, 1], 0.05), True),  # 0.3 % less
        (row(33.5, [1, 1]), True),
        (row(32.8, [1, 1]), False),  # 0.6 % less
        (row(33.0, [1, 0]), False),
    ],
)
def test_the_claim_holds_exactly_where_it_does(noisy, holds):
    levels = {level for levels in KINDS.values() for level in levels.values()}
    ours = {level: row(33.0, [1, 1]) for level in levels} | {Level(WORST): noisy}
    claim = noise.claimed("here", ours)
    assert claim.holds is holds
    assert ("it holds for here" in noise.finding([claim])) is holds
    assert ("the claim holds" in noise.answer(claim, ours, 1.0)) is holds


def test_levels_of_noise_are_compared_policy_by_policy():
    """Every level judges the same policies by the same random numbers: what each loses is small beside their spread."""
    random = np.random.default_rng(4)
    exact = random.normal(33.0, 1.0, 10)
    noisy = exact - 0.03 + random.normal(0.0, 0.02, 10)
    ours = {Level(): {"return": summarise(exact)}, Level(WORST): {"return": summarise(noisy)}}
    ((name, test),) = noise.paired_tests("here", ours).items()
    assert test.p == pytest.approx(stats.ttest_rel(noisy, exact).pvalue)
    assert test.p < 0.05 < 0.9 < stats.ttest_ind(noisy, exact, equal_var=False).pvalue
    assert name == "here: mc-cpo, σ = 0.2 vs none, return"


def test_satisfaction_must_hold_at_every_level_of_noise():
    ours = {level: row(33.0, [1, 1]) for level in KINDS["sigma"].values()} | {Level(0.1): row(33.0, [1, 0])}
    assert not noise.claimed("here", ours).holds


@pytest.mark.slow
def test_other_methods_are_evaluated_on_request(monkeypatch):
    monkeypatch.setattr(Options, "neural_plan", lambda *_: PLAN)
    monkeypatch.setattr(noise, "ENVIRONMENTS", ("tutor-15",))
    monkeypatch.setattr(calibration, "SHARES", (0.0,))
    monkeypatch.setattr(calibration, "MEMORIES", (0.9,))
    monkeypatch.setattr(noise, "KINDS", {kind: dict(list(levels.items())[:1]) for kind, levels in KINDS.items()})
    results = noise.produce(Options(methods=("post-hoc",), parameters=SHORT, kappa=(0.9,)), Session()).results
    assert [set(setting.rows) for setting in results.settings] == [{"post-hoc"}]
    assert results.claims == ()
    assert {gate.method for gate in results.calibrated} == {"post-hoc"}  # its filter goes by the gate


def test_budgets_are_set_by_kappa():
    with pytest.raises(InputError, match="sets budgets by κ"):
        noise.produce(Options(budgets={"c2": 1.0}), Session())
