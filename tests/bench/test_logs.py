"""The logs bench: what it runs, what it calls equal, and that a faulty peer is told."""

import sys

import pytest

from mccpo.bench import logs as bench_logs
from mccpo.errors import InputError, MccpoError


@pytest.mark.parametrize(
    ("other", "unlike"),
    [
        ({"n": 3, "rate": 0.5 + 1e-7, "by": {"a": 0.25}, "curve": [0.1, 0.2]}, []),
        ({"n": 4, "rate": 0.5, "by": {"a": 0.25}, "curve": [0.1, 0.2]}, ["n: 3 and 4"]),
        ({"n": 3, "rate": 0.50001, "by": {"a": 0.25}, "curve": [0.1, 0.2]}, ["rate: 0.5 and 0.50001"]),
        ({"n": 3, "rate": 0.5, "by": {"b": 0.25}, "curve": [0.1, 0.2]}, ["by.a: 0.25 and None", "by.b: None and 0.25"]),
        ({"n": 3, "rate": 0.5, "by": {"a": 0.25}, "curve": [0.1, 0.3]}, ["curve[1]: 0.2 and 0.3"]),
    ],
)
def test_results_are_equal_to_a_millionth(other, unlike):
    one = {"n": 3, "rate": 0.5, "by": {"a": 0.25}, "curve": [0.1, 0.2]}
    assert bench_logs.differences(one, other) == unlike


@pytest.mark.slow
def test_polars_and_ours_are_measured_in_processes_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_logs, "PANDAS_ROWS", 0)  # its environment takes minutes to create
    said = []
    found = bench_logs.measure([3_000, 6_000], tmp_path, said.append, rounds=1).as_json()
    assert [size["rows"] for size in found["sizes"]] == [3_000, 6_000]
    for size in found["sizes"]:
        ours, polars = size["mccpo"], size["polars"]
        assert size["ratio"] == ours["seconds"] / polars["seconds"]
        assert list(ours["stages"]) == ["read", "mastery", "episodes", "audit", "writing beside them"]
        assert sum(ours["stages"].values()) == pytest.approx(ours["seconds"])
        assert 0.05 < polars["peak_gib"] < 1
    assert isinstance(found["linear"], bool)
    assert any("round 1: mccpo" in line for line in said)


def test_pandas_that_cannot_be_installed_is_told(tmp_path, monkeypatch):
    log = tmp_path / "log"
    found = bench_logs._pandas(1_000, log, bench_logs.PipelineRun(1.0, result={}), None, lambda _: None)
    assert "MCCPO_CACHE" in found.as_json()["missing"]


def test_a_script_that_fails_says_why(tmp_path):
    with pytest.raises(MccpoError, match=r"log_pipeline\.py failed: KeyError: 'nobody'"):
        bench_logs._process(sys.executable, "log_pipeline.py", "nobody", str(tmp_path), str(tmp_path / "x"))


def test_too_few_rows_are_refused(tmp_path):
    with pytest.raises(InputError, match="1000"):
        bench_logs.measure([10], tmp_path, lambda _: None)
