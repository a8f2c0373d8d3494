"""What the report of a benchmark says over environments: like is set beside like, and time told where it is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

from mccpo import evaluation
from mccpo.report.benchmark import words
from mccpo.report.benchmark.figures import profiles, strokes
from mccpo.report.benchmark.overall import signed
from mccpo.report.benchmark.page import render
from mccpo.report.benchmark.ranking import compare_ours
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.report.vocabulary import method_label
from mccpo.runs.benchmark import Seconds

from .benchmark_folder import COSTS, SEEDS, STRENGTHS, made_up, view_from
from .benchmark_page import Tables, row_of

PARTIAL = ["lyapunov-lp", "maskable-ppo"]  # neither is on every environment


def summarise(seeds):
    """A summary as results of a benchmark have it."""
    return evaluation.summarise(seeds).as_json()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = made_up(tmp_path_factory.mktemp("benchmark"))
    return json.loads((folder / "results.json").read_text())


@pytest.fixture(scope="module")
def view(results) -> BenchmarkView:
    return view_from(results)


@pytest.fixture(scope="module")
def tables(view):
    return Tables(render(view)).tables


def test_only_complete_methods_are_ranked(results, view, tables):
    assert sorted(view.complete) == sorted(set(STRENGTHS) - set(PARTIAL))
    rows = tables["overall", "overall"][1:]
    keys = [float(row[1]["key"]) for row in rows]
    assert keys == sorted((results["aggregate"][method]["iqm"] for method in view.complete), reverse=True)
    kept = [results["aggregate"][method]["kept"]["iqm"] for method in view.complete]
    assert [float(row[2]["key"]) for row in rows] == kept
    names = {row[0]["key"] for row in rows}
    assert names.isdisjoint(map(method_label, PARTIAL))


def test_others_are_set_beside_ours_on_same_environments(results, tables):
    rows = tables["overall", "unranked"][1:]
    assert sorted(row[0]["key"] for row in rows) == sorted(map(method_label, PARTIAL))
    row = row_of(rows, "Exact Lyapunov")
    assert row[1]["text"] == "2gate, chain"
    for measure, column in (("hypervolume", 3), ("kept", 5)):
        scores = [
            np.array(results[measure][environment]["mc-cpo"]["per_seed"])
            / max(one["mean"] for one in results[measure][environment].values())
            for environment in ("gate", "chain")
        ]
        assert float(row[column]["key"]) == pytest.approx(scipy.stats.trim_mean(np.ravel(scores), 0.25))


def test_profiles_are_of_ranked_methods(view):
    drawn = profiles(view, strokes(view), iter("ab"))
    assert [panel.title for panel in drawn.panels] == ["All environments", "Near the best"]
    assert profiles(replace(view, aggregate={}), strokes(view), iter("ab")) is None
    few = replace(view, profiles={name: one for name, one in view.profiles.items() if name not in PARTIAL})
    assert profiles(few, strokes(view), iter("ab")) == drawn


@pytest.mark.usefixtures("undrawn")
def test_nobody_is_ranked_without_complete_methods(results):
    some = {method: one | {"complete": False, "ours": None} for method, one in results["aggregate"].items()}
    text = render(view_from(results | {"aggregate": some}))
    assert "No method has a result on every environment, so that none can be ranked." in text
    assert ("overall", "overall") not in Tables(text).tables


def test_first_table_ranks_ours_on_each_environment(view, tables):
    (head, *rows) = tables["", "standings"]
    assert [row[0]["text"] for row in rows] == list(COSTS)
    assert len(head) == 7
    for row, environment in zip(rows, view.run, strict=True):
        found = compare_ours(environment)
        assert row[0]["links"] == [f"#on-{environment.name}"]
        assert row[1]["text"].startswith(method_label(environment.ranked[0].method))
        assert row[2]["text"].startswith(method_label(environment.best[0].method))
        assert row[3]["text"] == f"{found.ours.volume:.3f}{found.position}"
        assert row[4]["text"].endswith(f"/{3 * SEEDS}")
        assert row[5]["text"].startswith(method_label(found.other.method))
        assert row[6]["text"].startswith(f"{found.word} ")
        assert float(row[6]["key"]) == pytest.approx(found.difference)


@pytest.mark.usefixtures("undrawn")
def test_first_table_names_unmet_kappa(results):
    changed = json.loads(json.dumps(results))
    for cell in changed["cells"]:
        if (cell["environment"], cell["kappa"], cell["status"]) == ("chain", 0.5, "done"):
            cell["satisfaction_strict"] |= {"mean": 0.0, "per_seed": [0.0] * SEEDS}
    rows = Tables(render(view_from(changed))).tables
    best = row_of(rows["", "standings"], "chain")[2]["text"]
    assert best.startswith("MC-CPO")
    assert best.endswith("nobody met κ = 0.5")
    assert "best that meets the rest" in row_of(rows["on-chain", "place"], "MC-CPO")[1]["text"]


@pytest.mark.usefixtures("undrawn")
def test_tables_say_when_a_lead_may_be_chance(results):
    changed = json.loads(json.dumps(results))
    changed["hypervolume"]["chain"] = {
        "mc-cpo": summarise([0.8, 0.81, 0.82]),
        "cpo": summarise([0.79, 0.8, 0.83]),
        "rcpo": summarise([0.1, 0.1, 0.1]),
    }
    rows = Tables(render(view_from(changed))).tables
    told = "not told apart from 1 other"
    first = row_of(rows["", "standings"], "chain")
    assert first[1]["text"] == first[2]["text"] == f"MC-CPO0.810{told}"
    assert row_of(rows["on-chain", "place"], "MC-CPO")[1]["text"].endswith(f"best that meets all{told}")
    assert row_of(rows["overall", "overall"], "MC-CPO")[4]["text"] == "1/3chain (not alone)"
    changed["hypervolume"]["chain"]["cpo"] = summarise([0.2, 0.2, 0.3])
    rows = Tables(render(view_from(changed))).tables
    assert row_of(rows["", "standings"], "chain")[1]["text"] == "MC-CPO0.810"
    assert row_of(rows["overall", "overall"], "MC-CPO")[4]["text"] == "1/3chain"


@pytest.mark.usefixtures("undrawn")
def test_first_table_without_ours(results):
    without = {name: one for name, one in results["methods"].items() if name != "mc-cpo"}
    cells = [cell for cell in results["cells"] if cell["method"] != "mc-cpo"]
    found = Tables(render(view_from(results | {"methods": without, "cells": cells}))).tables["", "standings"]
    assert {len(row) for row in found} == {3}


def test_small_differences_do_not_look_like_zero():
    assert signed(-0.0013, -0.0025, -0.0004) == ["−0.0013", "−0.0025", "−0.0004"]
    assert signed(0.0, -0.01, 0.01) == ["0.000", "−0.010", "+0.010"]
    assert signed(0.004) == ["+0.004"]


# ---- what it took


def test_time_by_device(view):
    # Ten methods on the accelerator and three rules, 100 s on each of three environments; an outside agent says none.
    assert words.took(view) == "50 min on NVIDIA H200, 15 min on cpu (39 of 42 pairs); wall-clock 1 h 10 min"
    assert ("pairs of method and environment took", words.took(view)) in words.protocol(view)


def test_unknown_time_is_left_out(view):
    seconds = {"gate": Seconds(2.5, None, None, None)}
    older = {name: replace(method, seconds=seconds) for name, method in view.methods.items()}
    without = replace(view, methods=older)
    assert words.took(without) == ""
    assert not any("took" in name for name, _ in words.protocol(without))


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.24, "0.2 s"),
        (9.97, "10 s"),
        (48, "48 s"),
        (99.7, "2 min"),
        (720, "12 min"),
        (3599, "1 h"),
        (4320, "1 h 12 min"),
    ],
)
def test_duration_in_words(seconds, told):
    assert words.duration(seconds) == told
