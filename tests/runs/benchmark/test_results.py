"""A benchmark's results as types: what is written is read again, and older and published results are, too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from mccpo.errors import InputError
from mccpo.experiments.benchmark import Protocol
from mccpo.files import dump_json
from mccpo.runs.benchmark import (
    Aggregate,
    BenchmarkResults,
    InterquartileMean,
    Leaders,
    NotRun,
    Optimum,
    Outcome,
    OverallScores,
    ProblemRecord,
    ProtocolRecord,
    Row,
    Winners,
    read_results,
    worst_costs,
    write_results,
    write_rows,
)

PUBLISHED = Path(__file__).parents[3] / "docs" / "benchmark" / "full"
OUTCOME = Outcome(
    2.0, 1.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.25, 3.0, {"c": 0.5}, share=0.6, optimum_share=None, cost_share=0.7
)
ROW = Row("gate", "cpo", "learner", 0.5, 1, "done", "", "{}", "cells/gate/cpo", 3.0, {"c": 0.5}, OUTCOME)
FAILED = Row("gate", "cpo", "learner", 0.9, 0, "crashed", "why", "{}", "cells/gate/cpo", None, {"c": 0.9}, None)


@pytest.fixture(scope="module")
def raw() -> dict[str, object]:
    return json.loads((PUBLISHED / "results.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def published(raw) -> BenchmarkResults:
    return BenchmarkResults.parse(raw)


def test_published_results_come_back_to_the_byte(raw, published):
    assert dump_json(published.as_json()) == json.dumps(raw, ensure_ascii=False)


def test_written_results_are_read_again(published, tmp_path):
    write_results(tmp_path, published)
    assert read_results(tmp_path) == published


def test_reading_needs_no_jax():
    code = "import sys, mccpo.runs.benchmark; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_protocol_record_has_all_of_the_protocol():
    told = Protocol(limit=3.0).as_json()
    assert dump_json(ProtocolRecord.parse(told).as_json()) == dump_json(told)


def test_environments_are_problems_or_not_run(raw, published):
    gate = published.environments["gate"]
    assert isinstance(gate, ProblemRecord)
    assert gate.optimum[0.5].ret == 0.8
    assert gate.optimum[0.5].cost("c") == 0.5
    changed = raw | {"environments": {"gate": {"why": "no data"}}}
    assert BenchmarkResults.parse(changed).environments == {"gate": NotRun("no data")}
    infeasible = Optimum(infeasible="cannot be met")
    assert infeasible.ret is None
    assert infeasible.as_json() == {"infeasible": "cannot be met"}


def test_seeds_of_a_cell_match_its_method(published):
    cell = published.findings.cells[0]
    assert published.seeds(cell) == len(published.findings.hypervolume[cell.environment][cell.method].per_seed)


def test_a_running_benchmark_has_no_versions(raw):
    without = {key: value for key, value in raw.items() if key != "versions"}
    results = BenchmarkResults.parse(without)
    assert results.versions is None
    assert list(results.as_json()) == list(without)


def test_older_results_lack_what_came_later(raw):
    scores = {"iqm": 0.5, "ci": [0.4, 0.6]}
    older = {key: value for key, value in raw.items() if key not in ("kept", "winners")}
    older |= {"aggregate": {"cpo": scores | {"environments": 3, "best_on": []}}}
    findings = BenchmarkResults.parse(older).findings
    assert findings.kept is None
    assert findings.winners == {}
    assert findings.aggregate["cpo"] == Aggregate(
        OverallScores(InterquartileMean(0.5, (0.4, 0.6)), None), environments=(), complete=False
    )


def test_older_results_searched_at_one_kappa(raw, published):
    assert published.protocol.search_kappa == 0.7
    assert published.methods["mc-cpo"].settings["tutor-25"] == {"settings.rule.proportional": 1.0}
    assert published.findings.beyond_rules is None
    assert "beyond_rules" not in published.as_json()
    newer = {name: value for name, value in raw["protocol"].items() if name != "search_kappa"}
    record = ProtocolRecord.parse(newer)
    assert record.search_kappa is None
    assert record.as_json() == newer


def test_what_is_new_comes_back(raw, published):
    beyond = {"gate": {"cpo": raw["kept"]["gate"]["cpo"]}}
    settings = {"gate": {"0.5": {}, "0.9": {"dual_rate": 0.3}}}
    told = raw | {"beyond_rules": beyond, "methods": {"cpo": {"kind": "learner", "settings": settings}}}
    results = BenchmarkResults.parse(told)
    assert results.findings.beyond_rules == {"gate": {"cpo": published.findings.kept["gate"]["cpo"]}}
    assert results.methods["cpo"].settings == settings
    again = json.loads(dump_json(results.as_json()))
    assert again["beyond_rules"] == beyond
    assert again["methods"]["cpo"]["settings"] == settings
    assert BenchmarkResults.parse(again) == results


def test_ours_is_written_only_beside_incomplete_methods():
    scores = OverallScores(InterquartileMean(0.5, (0.4, 0.6)), InterquartileMean(0.3, (0.2, 0.4)))
    complete = Aggregate(scores, ("gate",), complete=True)
    incomplete = Aggregate(scores, ("gate",), complete=False, beside_ours=True)
    assert "ours" not in complete.as_json()
    assert incomplete.as_json()["ours"] is None


def test_first_of_tied_leaders_is_the_method():
    nobody = Leaders((), None)
    told = Winners(Leaders(("a", "b"), 0.5), nobody, (), (0.5,), nobody).as_json()
    assert (told["method"], told["methods"], told["hypervolume"]) == ("a", ["a", "b"], 0.5)
    assert (told["safe_method"], told["unmet"], told["reachable_methods"]) == (None, [0.5], [])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"suite": 3}, "suite is no text"),
        ({"protocol": {}}, "KeyError"),
        ({"cells": {}}, "cells is no list"),
        ({"hypervolume": {"gate": {"cpo": {"mean": "much"}}}}, "mean is no number"),
        ({"methods": []}, "instead of an object"),
    ],
)
def test_what_is_no_benchmark_is_refused_in_one_line(raw, tmp_path, change, reason):
    (tmp_path / "results.json").write_text(json.dumps(raw | change))
    with pytest.raises(InputError, match=f"is not a finished benchmark .*{reason}") as refused:
        read_results(tmp_path)
    assert "\n" not in str(refused.value)


def test_rows_have_the_same_columns_whatever_became_of_them(tmp_path):
    write_rows(tmp_path / "rows.parquet", [ROW, FAILED])
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    assert frame.columns == [
        *["environment", "method", "kind", "kappa", "seed", "return", "share", "optimum_share", "J_c", "budget_c"],
        *["satisfaction", "satisfaction_strict", "prerequisite_violation_rate", "true_violation_rate"],
        *["violation_rate", "dK", "rhsi"],
        *["learning", "mastered", "cost_share", "seconds", "status", "why", "settings", "folder"],
    ]
    assert frame["return"].to_list() == [2.0, None]
    assert frame["seconds"].to_list() == [3.0, None]
    assert (frame["learning"].to_list(), frame["mastered"].to_list()) == ([0.25, None], [3.0, None])
    assert worst_costs(tmp_path / "rows.parquet") == {("gate", "cpo", 0.5): {"J_c": 0.5}, ("gate", "cpo", 0.9): {}}


def test_a_row_of_a_failed_seed_has_no_metrics():
    assert list(FAILED.as_json())[-1] == "budget_c"
    assert ROW.as_json()["optimum_share"] is None
    assert ROW.as_json() | {"seed": 0} != ROW.as_json()


def test_rows_of_something_else_are_refused(tmp_path):
    pl.DataFrame({"method": ["a"]}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(KeyError, match="environment"):
        worst_costs(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="cannot read"):
        worst_costs(tmp_path / "none.parquet")
