"""The tables: every one in small, and what the paper's protocols must show in full."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.small import HORIZON, PLAN

from mccpo.env import Chain, Gate, make
from mccpo.errors import InputError
from mccpo.experiments import GROUPS, LONG, TABLES, Options, Session, compare, feasibility
from mccpo.experiments.paper import random_finite, tutor
from mccpo.experiments.problem import pose_finite
from mccpo.files import dump_json
from mccpo.runs.results import VERDICTS

# They vary more than the method, and have tests of their own.
OF_THEIR_OWN = (
    "shaping",
    "shaping-25",
    "noise",
    "parameterisations",
    "coverage",
    "wrong-edges",
    "wrong-edges-40",
    *GROUPS["ablation"],
    *LONG,
)
SMALL = Options(methods=("unconstrained", "post-hoc", "mc-cpo"), seeds=2, episodes=80)


@pytest.mark.parametrize(
    "table",
    [
        # tutor-25 is tutor-15 with more concepts, reward-gap is the gate with several rewards.
        pytest.param(table, marks=pytest.mark.slow if table in ("tutor-25", "reward-gap") else ())
        for table in TABLES
        if table not in OF_THEIR_OWN
    ],
)
def test_every_table_runs_in_small(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_finite, "INSTANCES", 2)
    monkeypatch.setattr(feasibility, "examine", lambda *_: None)  # so short a training meets few budgets
    monkeypatch.setattr(Options, "neural_plan", lambda *_: PLAN)
    short = replace(SMALL, episodes=None, kappa=(0.9,), parameters={"horizon": HORIZON})
    options = short if table.startswith("tutor") else SMALL
    produced = TABLES[table](options, Session())
    results = json.loads(dump_json(produced.results.as_json()))
    assert results["table"] == table
    for part in (results.get("settings") or {"": results}).values():
        assert set(part["rows"]) == set(SMALL.methods)
        assert part["budgets"].keys() <= {"c", "c2", "c3", "c4"}
        for method, row in part["rows"].items():
            for metric, cell in row.items():
                if metric.startswith("rhsi"):  # which says nothing of learning
                    variant = "_trained" if metric.endswith("_trained") else ""
                    assert {f"dK{variant}", f"mastered{variant}"} <= row.keys(), (method, metric)
                assert len(cell["per_seed"]) == (4 if table == "random-finite" else 2), (method, metric)
            assert row["prerequisite_violation_rate"]["mean"] == 0 or method == "unconstrained"
        for method, cells in part["verdicts"].items():
            assert all(cell["verdict"] in VERDICTS for cell in cells.values()), method
    assert produced.curves


def test_a_network_s_table_has_no_row_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """MC-CPO has no frontier where a network learns, so that the method without one is the same row again."""
    asked = []

    def run(_: object, methods: tuple[str, ...], *__: object) -> None:
        asked.append(methods)
        raise InterruptedError

    monkeypatch.setattr(tutor, "pose_neural", lambda *_: SimpleNamespace(budgets=lambda *_: {}))
    monkeypatch.setattr(tutor.measuring, "run", run)
    for chosen in ({}, {"methods": ("mc-cpo-no-frontier",)}):
        with pytest.raises(InterruptedError):
            TABLES["tutor-15"](Options(**chosen), Session())
    assert asked == [("unconstrained", "reward-shaped", "post-hoc", "mc-cpo"), ("mc-cpo-no-frontier",)]


@pytest.mark.slow
def test_the_gate_shows_what_it_must_at_every_reward() -> None:
    results = TABLES["reward-gap"](Options(), Session()).results
    for setting in results.settings:
        R = float(setting.name.removeprefix("R="))
        ours = setting.rows["mc-cpo"]
        assert np.allclose(ours["return"].per_seed, R, atol=1e-3)
        assert max(ours["pi_hack"].per_seed) < 5e-4
        assert max(ours["rhsi"].per_seed) < 5e-4
        assert min(setting.rows["unconstrained"]["pi_hack"].per_seed) > 0.998
        assert max(setting.rows["post-hoc"]["return"].per_seed) < 0.0011
    verdicts = next(setting for setting in results.settings if setting.name == "R=0.6").verdicts
    assert verdicts["unconstrained"]["return"].kind == "agrees"
    assert verdicts["post-hoc"]["return"].kind == "agrees"


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(
    ("method", "budget"),
    [
        ("mc-cpo", 2.4505),
        *(pytest.param("mc-cpo-no-frontier", budget, marks=pytest.mark.slow) for budget in (2.4505, 2.592)),
        pytest.param("mc-cpo", 2.592, marks=pytest.mark.slow),
    ],
)
def test_the_chain_shows_what_it_must(method: str, budget: float) -> None:
    options = Options(methods=(method,), budgets={"c4": budget}, seeds=5)
    (setting,) = TABLES["chain"](options, Session()).results.settings
    row = setting.rows[method]
    assert min(row["return"].per_seed) >= 0.995 * setting.optimum["return"]
    assert max(row["J_c4"].per_seed) <= 1.005 * budget
    assert row["return"].std <= 0.01
    assert row["satisfaction_strict"].mean == 1
    assert np.allclose(row["lambda_c4"].per_seed, 0.5, rtol=0.05)


@pytest.mark.slow
def test_random_finite_shows_what_it_must() -> None:
    results = TABLES["random-finite"](Options(methods=("mc-cpo",)), Session()).results
    assert results.instances is not None
    assert len(results.instances) == 20
    assert results.settings[0].rows["mc-cpo"]["within"].mean >= 0.9


def test_kappa_anchors_on_the_exact_unconstrained_optimum() -> None:
    assert pose_finite(Chain(), kappa=0.5).budgets["c4"] == pytest.approx(2.4504975)
    assert pose_finite(Chain()).budgets == pose_finite(Chain(), kappa=0.5).budgets
    assert pose_finite(Gate()).budgets == {"c": 0.0}
    assert pose_finite(Gate(), kappa=0.5).budgets == {"c": 0.5}


def test_budgets_out_of_reach_end_in_a_verdict_before_any_training() -> None:
    with pytest.raises(InputError, match=r"the least that can be reached is c4 0\.9802; raise all budgets .* 1\.9604"):
        compare.produce("chain", Options(budgets={"c4": 0.5}), Session())


def test_several_kappa_give_a_front() -> None:
    results = compare.produce("chain", replace(SMALL, kappa=(0.9, 0.5)), Session()).results
    assert results.tradeoff is not None
    assert results.tradeoff.optimum is not None
    assert [point.kappa for point in results.tradeoff.fronts["mc-cpo"]] == [0.9, 0.5]
    assert [point.kappa for point in results.tradeoff.fronts["unconstrained"]] == [0.9]
    assert results.kappa == 0.9
    returns = [point.metrics["return"] for point in results.tradeoff.optimum]
    assert returns == sorted(returns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ()}, "no method is named"),
        ({"methods": ("mc-ppo",)}, "unknown method 'mc-ppo'"),
        ({"kappa": (0.0,)}, "kappa is 0.0"),
        ({"kappa": (float("nan"),)}, "kappa is nan"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Options(**options)  # type: ignore[arg-type]


@pytest.mark.usefixtures("optimised")
def test_a_reward_of_another_scale_needs_no_other_settings() -> None:
    options = Options(methods=("mc-cpo",), seeds=1, parameters={"r_hack": 30.0, "r_concept": 18.0})
    (setting,) = compare.produce("chain", options, Session()).results.settings
    assert setting.rows["mc-cpo"]["satisfaction_strict"].mean == 1
    assert setting.rows["mc-cpo"]["return"].mean >= 0.99 * setting.optimum["return"]
    assert setting.optimum["lambda_c4"] == pytest.approx(15.0)


def test_a_budget_of_ones_own_is_seen_everywhere() -> None:
    options = replace(SMALL, methods=("mc-cpo",), budgets={"c2": 0.7, "c4": 3.0})
    produced = TABLES["chain"](options, Session())
    assert "lambda_c2" in produced.curves["chain"].values["mc-cpo"]
    assert all(point.metrics["J_c2"] <= 0.7 + 1e-6 for point in produced.results.tradeoff.optimum)
    assert len(compare.produce("chain", options, Session()).results.tradeoff.optimum) > 5


def test_compare_states_the_kappa_that_its_budgets_have() -> None:
    options = Options(methods=("mc-cpo",), seeds=1, episodes=400)
    results = compare.produce("random-finite", options, Session()).results
    problem = pose_finite(make("random-finite"))
    assert results.level is not None
    assert results.level.kappa == 0.5
    assert results.settings[0].budgets == {
        name: pytest.approx(0.5 * problem.anchor.costs[name]) for name in problem.env.constrained
    }
