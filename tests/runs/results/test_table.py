"""Results as types: what they refuse, and that they are the same JSON before and after a file."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mccpo.errors import InputError
from mccpo.evaluation import summarise, welch
from mccpo.files import dump_json
from mccpo.runs.results import (
    Behaviour,
    Bound,
    BudgetLevel,
    CalibratedGate,
    Certificate,
    Correction,
    Decoupling,
    FromLogs,
    FrontPoint,
    Instance,
    NoiseClaim,
    NoiseLevel,
    PaperPoint,
    PolicyBounds,
    Readiness,
    Reported,
    Results,
    Seal,
    Search,
    Setting,
    Supplement,
    TradeOff,
    UnmetBudgets,
    Verdict,
    as_document,
    parse_document,
)

HERE = Path("results.json")
ROWS = {"mc-cpo": {"return": summarise([1.0, 2.0]), "J_c2": summarise([0.5, 0.25])}}
UNMET = UnmetBudgets(
    feasible=None,
    what="no policy that was found meets c2",
    fix="raise it",
    conflict=("c2",),
    least={"c2": 0.25},
    scaling=1.5,
    floor=None,
    prices={"c2": 1.0},
    policies=6,
    steps=100,
    nearest="zpdes, whose c2 is 1.5 times its budget",
)
MET = UnmetBudgets(feasible=True, what="c2 can be met", fix="train on", scaling=0.9, policies=6, steps=100)
BEHAVIOUR = Behaviour.rounded(("a", "b"), np.full((3, 2), 1 / 3), np.ones((2, 2)), np.eye(2))
SETTING = Setting(
    name="",
    budgets={"c2": 0.5},
    rows=ROWS,
    optimum={"return": 2.5},
    paper={"mc-cpo": {"return": Reported(1.5, 0.25), "J_c2": Reported(0.5, 0.0)}},
    verdicts={"mc-cpo": {"return": Verdict("agrees", "near")}},
    supplement=Supplement({"mc-cpo": BEHAVIOUR}, {"mc-cpo": {"all": {"dK": 1.5}}}, UNMET),
)
FRONTS = {"mc-cpo": (FrontPoint({"return": 1.5}, kappa=0.9), FrontPoint({"return": 1.0}, kappa=0.5, unmet=MET))}
TABLE = Results(
    table="t",
    title="A table",
    settings=(SETTING,),
    protocol={"seeds": 2, "kappa": [0.9, 0.5], "c2_gain": 0.5},
    environment="Somewhere.",
    tests={"mc-cpo vs none": welch([1.0, 2.0], [1.0, 3.0])},
    notes=("A note.",),
    level=BudgetLevel(0.9),
    requirements=("progress",),
    parts={"t κ=0.9": ""},
    tradeoff=TradeOff(FRONTS, (FrontPoint({"return": 2.5}, budget=0.5),), (PaperPoint("theirs", {"return": 1.0}),)),
)
GATE = CalibratedGate(
    part="a",
    method="mc-cpo",
    error="bias",
    level=0.1,
    delta=0.05,
    caution=0.2,
    memory=0.0,
    shut=False,
    held_out_bound=0.04,
    true_violation_rate=0.01,
    upper=0.03,
    uncalibrated_rate=0.7,
    mean_return=9.0,
    uncalibrated_return=12.0,
    exact_return=10.0,
    mean_gain=1.0,
    uncalibrated_gain=1.5,
    exact_gain=2.0,
    satisfaction_strict=0.5,
    uncalibrated_satisfaction=0.0,
    exact_satisfaction=1.0,
)
SEVERAL = replace(
    TABLE,
    table="s",
    settings=(replace(SETTING, name="a", tradeoff=TradeOff(FRONTS)), replace(SETTING, name="b", optimum={})),
    level=None,
    requirements=None,
    parts={"one": "a", "two": "b", "three": ""},
    finding="",
    data=FromLogs(
        graph={"concepts": 2, "edges": 1, "derived": "by hand"},
        events={"in the table": 5.0},
        episodes={"count": 2.0},
        learners={"tutor": 2.0},
        engagement={"tutor": {"r_squared": 0.5}},
        account={"rows": 5},
        decoupling=(Decoupling("ema", "all", "correct", 1, 5, 2, 0.25, None, None),),
    ),
    noise={"a": {"sigma": (NoiseLevel(0.0, {"mc-cpo": {"return": 1.5}}),)}},
    claims=(NoiseClaim("a", 0.1, 1.0, 0.0, False),),
    calibrated=(GATE,),
    searches=(Search("a", 0.9, 4, 0, None, None, 1.5, 0.5, False),),
    tradeoff=TradeOff(FRONTS),
)
INSTANCES = replace(
    TABLE,
    settings=(Setting("", {}, ROWS),),
    level=None,
    requirements=None,
    parts=None,
    tradeoff=None,
    instances={"100": Instance({"c2": 1.0}, {"return": 2.0}, {"mc-cpo": {"return": (1.0, 2.0)}})},
)
BOUND = Bound(0.5, 0.75, 0.625, 1.0, 10, passed=True)
READINESS = Readiness(0.0, 0.0, 0.0, None, None, None, violations=0, steps=20)
CERTIFICATE = Certificate(
    confidence=0.95,
    passed=True,
    budgets={"c2": replace(BOUND, policy=0)},
    prerequisite=replace(READINESS, policy=0, structural=True, reason="the mask"),
    policies=(PolicyBounds(0, True, {"c2": BOUND}, READINESS),),
    part="t κ=0.9",
    environment="t",
    method="mc-cpo",
    episodes=10,
    correction=Correction(1, 0.95),
    seal=Seal("0.1.0", "abc"),
)


def written(value: Any) -> Any:
    return json.loads(dump_json(value), parse_constant=pytest.fail)


@pytest.mark.parametrize("tables", [[TABLE], [SEVERAL], [INSTANCES], [TABLE, SEVERAL]], ids=["t", "s", "i", "both"])
def test_results_come_back_from_their_json(tables: list[Results]) -> None:
    document = as_document(tables)
    again = parse_document(written(document), HERE)
    assert [results.table for results in again] == [results.table for results in tables]
    assert dump_json(as_document(again)) == dump_json(document)


def test_certificate_comes_back_from_its_json() -> None:
    assert Certificate.parse(written(CERTIFICATE.as_json()), "here") == CERTIFICATE


def test_keys_stand_in_the_published_order() -> None:
    assert list(TABLE.as_json()) == [
        *("table", "title", "protocol", "environment", "kappa", "budgets", "requirements", "parts", "rows"),
        *("optimum", "paper", "verdicts", "conduct", "groups", "infeasible"),
        *("tests", "fronts", "front_optimum", "paper_points", "notes"),
    ]
    assert list(SEVERAL.as_json()) == [
        *("table", "title", "finding", "protocol", "environment", "data", "settings", "parts", "noise", "claims"),
        *("calibrated", "fronts", "searches", "tests", "notes"),
    ]
    assert "optimum" not in INSTANCES.as_json()
    assert INSTANCES.as_json()["instances"]["100"]["optimum"] == {"return": 2.0}


def test_a_calibrated_gate_comes_back_and_says_what_it_costs() -> None:
    assert CalibratedGate.parse(written(GATE.as_json()), "here") == GATE
    assert GATE.kept
    assert not replace(GATE, upper=0.06).kept
    assert (GATE.lost, GATE.lost_in_all) == pytest.approx((0.25, 0.1))


def test_results_from_before_gates_were_calibrated_still_parse() -> None:
    raw = written(SEVERAL.as_json())
    del raw["calibrated"]
    old = Results.parse(raw)
    assert old.calibrated is None
    assert "calibrated" not in old.as_json()


def test_budgets_of_the_environments_own_have_no_kappa() -> None:
    own = replace(TABLE, level=BudgetLevel(None))
    assert own.as_json()["kappa"] is None
    assert Results.parse(written(own.as_json())).level == BudgetLevel(None)
    assert "kappa" not in replace(TABLE, level=None).as_json()


def test_one_row_per_setting_method_metric_and_seed() -> None:
    frame = SEVERAL.to_polars()
    assert frame.columns == ["table", "setting", "method", "metric", "seed", "value"]
    assert frame.height == 2 * 1 * 2 * 2
    assert frame.row(1) == ("s", "a", "mc-cpo", "return", 1, 2.0)


def test_a_certificate_is_shown_where_its_part_is() -> None:
    shown = TABLE.with_certificate(CERTIFICATE)
    assert shown is not None
    assert shown.settings[0].supplement.certificates == (CERTIFICATE,)
    assert TABLE.with_certificate(replace(CERTIFICATE, part="t κ=0.7")) is None
    assert replace(TABLE, parts=None).with_certificate(CERTIFICATE) is None


def test_the_certificate_appears_in_the_setting_of_its_part() -> None:
    shown = SEVERAL.with_certificate(replace(CERTIFICATE, part="two"))
    assert shown is not None
    assert [bool(setting.supplement.certificates) for setting in shown.settings] == [False, True]
    whole = SEVERAL.with_certificate(replace(CERTIFICATE, part="three"))
    assert whole is not None
    assert len(whole.supplement.certificates) == 1
    assert replace(SEVERAL, parts={"two": "c"}).with_certificate(replace(CERTIFICATE, part="two")) is None


def test_parts_that_are_no_object_name_no_setting() -> None:
    assert Results.parse({"table": "t", "rows": ROWS_JSON, "parts": [3]}).parts is None


def cell(*values: float) -> dict[str, Any]:
    return {"mean": float(np.mean(values)), "std": float(np.std(values)), "per_seed": list(values)}


ROWS_JSON = {"m": {"return": cell(1)}}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"table": "t"}, "t has no rows"),
        ({"table": "t", "rows": []}, "t: rows is a list"),
        ({"table": "t", "rows": {"m": {"return": {"mean": math.nan}}}}, "t: rows, m, return, mean is nan"),
        ({"table": "t", "rows": {"m": {"return": 3.0}}}, "t: rows, m, return is a float"),
        ({"table": "t", "rows": {"m": {"return": cell(1)}}, "paper": {"m": {"lambda": [1, 2, 3]}}}, "has 3 numbers"),
        ({"table": "t", "rows": {"m": {}}, "verdicts": {"m": {"return": {"verdict": "good"}}}}, "'good'"),
        ({"table": "t", "rows": {"m": {}}, "optimum": {"return": True}}, "optimum, return is True"),
        ({"table": "t", "settings": {"R=1": {}}}, "t R=1 has no rows"),
    ],
)
def test_another_shape_is_refused_by_place(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Results.parse(raw)


@pytest.mark.parametrize("tables", [{}, [], "x"])
def test_a_document_without_tables_is_refused(tables: object) -> None:
    with pytest.raises(InputError, match=r"results\.json has no tables"):
        parse_document({"tables": tables}, HERE)


def test_a_document_is_refused_by_file_and_place() -> None:
    with pytest.raises(InputError, match=r"results\.json: t has no rows"):
        parse_document({"table": "t"}, HERE)


def test_results_are_read_without_what_trains_or_draws() -> None:
    probe = (
        "import sys, mccpo.runs.results; sys.exit(any(name in sys.modules for name in ('jax', 'polars', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
