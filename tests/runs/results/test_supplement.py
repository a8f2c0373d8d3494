"""What a table may say beyond its rows: read where it is well formed, refused by place where it is not."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from mccpo.errors import InputError
from mccpo.runs.results import Behaviour, Results

CELL = {"mean": 1.0, "std": 0.0, "per_seed": [1.0]}
CONDUCT = {"concepts": ["a", "b"], "mastery": [[0, 0], [0.5, 0]], "ready": [[1, 0]], "chosen": [[1, 0]]}
BOUND = {"budget": 1.0, "bound": 0.9, "mean": 0.8, "passed": True}


def table(**more: object) -> dict[str, Any]:
    return {"table": "t", "rows": {"m": {"return": CELL}}, **more}


def conduct(**changes: object) -> dict[str, Any]:
    return {"m": {**CONDUCT, **changes}}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"conduct": 3}, "t: conduct is a int"),
        ({"conduct": conduct(concepts=[])}, "t: conduct, m names no concepts"),
        ({"conduct": conduct(chosen=[])}, "t: conduct, m, chosen has 0 rows"),
        ({"conduct": conduct(chosen=[[1]])}, "t: conduct, m, chosen, row 0 is not 2 numbers"),
        ({"conduct": conduct(mastery=[[0, 0]])}, "t: conduct, m, mastery has 1 rows"),
        ({"conduct": conduct(ready=[[1, 0], [1, 0]])}, "t: conduct, m, ready has 2 rows"),
        ({"conduct": conduct(ready=[[1, 1.5]])}, "t: conduct, m, ready has a number outside of 0 to 1"),
        ({"conduct": conduct(ready=[[1, math.nan]])}, "t: conduct, m, ready has a number outside of 0 to 1"),
        ({"conduct": conduct(ready=[[1, "x"]])}, "t: conduct, m, ready is not a table of numbers"),
        ({"conduct": conduct() | {"n": {**CONDUCT, "concepts": ["a", "c"]}}}, "names other concepts"),
        ({"groups": {"m": {"slow": 3}}}, "t: groups, m, slow is a int"),
        ({"groups": {"m": {"slow": {"dK": "x"}}}}, "t: groups, m, slow, dK is 'x'"),
        ({"infeasible": {"fix": "more"}}, "t: infeasible does not say what"),
        ({"infeasible": {"what": "no", "least": {"c3": None, "c2": "x"}}}, "t: infeasible, least, c2 is 'x'"),
        ({"fronts": {"m": [{"kappa": 0.3, "infeasible": {}}]}}, "t: fronts κ=0.3: infeasible does not say what"),
        ({"certificate": {"confidence": 0.95}}, "t: certificate, passed is None"),
        ({"certificate": {"passed": True}}, "t: certificate, confidence is None"),
        (
            {"certificate": {"confidence": 0.95, "passed": True, "budgets": {"c3": {**BOUND, "passed": 1}}}},
            "t: certificate, c3, passed is 1",
        ),
        ({"requirements": "be good"}, "t: requirements is a str"),
        ({"paper_points": [{"label": "x", "return": "high"}]}, "t: paper_points, return is 'high'"),
        ({"noise": {"kinds": {"sigma": 3}}}, "t: noise, sigma is a int"),
        ({"noise": {"kinds": {"sigma": [{"m": {}}]}}}, "t: noise, sigma, level is None"),
        ({"noise": {"tutor-15": {"kinds": {"sigma": [{"level": 0, "m": {"return": "x"}}]}}}}, "noise tutor-15, sigma"),
    ],
)
def test_what_is_of_another_shape_is_refused_by_place(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        Results.parse(table(**more))
    assert message in refused.value.what


def test_an_infeasible_demand_is_found_anywhere_and_reported_once() -> None:
    verdict = {"what": "no policy meets c3 ≤ 5.71"}
    fronts = {method: [{"kappa": 0.3, "infeasible": verdict}, {"kappa": 0.9, "return": 1.0}] for method in ("m", "n")}
    settings = {"κ=0.2": {"rows": {}, "infeasible": verdict}, "κ=0.9": {"rows": {"m": {"return": CELL}}}}
    found = Results.parse({"table": "t", "settings": settings, "fronts": fronts, "infeasible": verdict}).unmet
    assert [where for where, _ in found] == ["", "κ=0.2", "κ=0.3"]
    assert [where for where, _ in Results.parse(table(infeasible=verdict)).unmet] == [""]


def test_levels_of_noise_come_in_order_by_environment_or_without() -> None:
    levels = [{"level": level, "m": {"return": 1.0}} for level in (0.2, -0.1, 0.0)]
    one = Results.parse(table(noise={"kinds": {"bias": levels}})).noise
    several = Results.parse(table(noise={"a": {"kinds": {"bias": levels}}, "b": {"kinds": {}}})).noise
    assert [level.level for level in one[""]["bias"]] == [-0.1, 0.0, 0.2]
    assert list(several) == ["a", "b"]


def test_rounding_may_leave_a_share_a_little_outside() -> None:
    found = Results.parse(table(conduct=conduct(chosen=[[1.00001, -0.00001]]))).settings[0].supplement.behaviour["m"]
    assert found.chosen.tolist() == [[1.0, 0.0]]


def test_levels_that_differ_in_a_late_digit_are_told_apart() -> None:
    points = [{"kappa": kappa, "infeasible": {"what": "no"}} for kappa in (0.3, 0.30000001)]
    found = Results.parse(table(fronts={"m": points})).unmet
    assert [where for where, _ in found] == ["κ=0.3", "κ=0.30000001"]


def test_large_tables_are_packed_and_read_back_to_the_last_digit():
    draw = np.random.default_rng(0)
    concepts = tuple(f"c{at}" for at in range(300))
    tables = [draw.random((rows, 300)) for rows in (41, 40, 40)]
    behaviour = Behaviour.rounded(concepts, *tables)
    written = json.loads(json.dumps(behaviour.as_json()))
    assert set(written["mastery"]) == {"shape", "packed"}
    read = Behaviour.parse(written, "it")
    for name in ("mastery", "ready", "chosen"):
        np.testing.assert_allclose(getattr(read, name), getattr(behaviour, name), atol=1e-12)
    listed = {**written, "mastery": behaviour.mastery.tolist()}  # as earlier versions wrote it
    np.testing.assert_array_equal(Behaviour.parse(listed, "it").mastery, behaviour.mastery)


@pytest.mark.parametrize(
    "damage", [{"packed": "!"}, {"packed": "AAAA"}, {"shape": [41, 299]}, {"shape": [41]}, {"shape": "no"}]
)
def test_a_damaged_packed_table_is_refused_by_name(damage):
    tables = [np.zeros((rows, 300)) for rows in (41, 40, 40)]
    written = Behaviour.rounded(tuple(f"c{at}" for at in range(300)), *tables).as_json()
    with pytest.raises(InputError, match="it, mastery"):
        Behaviour.parse({**written, "mastery": {**written["mastery"], **damage}}, "it")
