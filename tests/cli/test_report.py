"""`mccpo report` on folders that are not as a run leaves them."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from mccpo.cli import main

pytestmark = pytest.mark.usefixtures("figures")
CELL = {"mean": 1.0, "std": 0.0, "per_seed": [1.0]}


def one_cell(**changes: object) -> dict[str, object]:
    return {"table": "t", "rows": {"mc-cpo": {"return": CELL | changes}}}


@pytest.fixture(autouse=True)
def _run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    Path("run/manifest.json").write_text('{"finished": true}')
    curves = {"part": "t", "method": "mc-cpo", "seed": np.zeros(2, int), "episodes": [1, 2], "return": [0.5, 1.0]}
    pl.DataFrame(curves).write_parquet("run/metrics.parquet")


def report(results: object) -> int:
    Path("run/results.json").write_text(json.dumps(results))
    return main(["report", "run"])


@pytest.mark.parametrize("results", [one_cell(), {"tables": {"t": one_cell()}}, {"tables": {"t": one_cell(ci=[0, 2])}}])
def test_a_run_becomes_a_page(results: object) -> None:
    assert report(results) == 0
    assert "Return during training" in Path("run/report.html").read_text()


@pytest.mark.parametrize(("out", "page"), [("mine", "mine/report.html"), ("mine.html", "mine.html")])
def test_out_is_a_folder_unless_it_ends_in_html(out: str, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("run/results.json").write_text(json.dumps(one_cell()))
    assert main(["report", "run", "--out", out]) == 0
    assert capsys.readouterr().out == f"report: {page}\n"
    assert Path(page).is_file()
    Path("other").write_text("")
    assert main(["report", "run", "--out", "other"]) == 2
    assert "ends in .html, or a folder" in capsys.readouterr().err


def test_a_run_without_curves_becomes_a_page() -> None:
    """Such as a cell of a benchmark."""
    Path("run/metrics.parquet").unlink()
    assert report(one_cell()) == 0
    assert "Return during training" not in Path("run/report.html").read_text()


def test_the_curves_of_a_setting_are_found_by_table_and_name() -> None:
    columns = {"method": "mc-cpo", "seed": np.zeros(2, int), "episodes": [1, 2], "return": [0.5, 1.0], "unit": "steps"}
    frames = [pl.DataFrame({"part": part, **columns}) for part in ("t κ=0.9", "other κ=0.9", "t2 κ=0.9")]
    pl.concat(frames).write_parquet("run/metrics.parquet")
    settings = {name: {"rows": one_cell()["rows"]} for name in ("κ=0.9", "κ=1.02")}
    assert report({"table": "t", "settings": settings}) == 0
    page = Path("run/report.html").read_text()
    assert page.count("Return during training") == 1
    assert "During training at κ=0.9" in page
    assert "Training steps" in page


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ({}, "has no tables"),
        ([], "is not a JSON object"),
        ({"tables": []}, "has no tables"),
        ({"tables": {}}, "has no tables"),
        ({"tables": {"x": 3}}, "a table of results is a int"),
        ({"tables": {"x": None}}, "results has no rows"),
        (one_cell(ci=[1]), "t: rows, mc-cpo, return, ci has 1 numbers"),
        (one_cell(ci=3), "t: rows, mc-cpo, return, ci is a int"),
        (one_cell(per_seed=3), "t: rows, mc-cpo, return, per_seed is a int"),
        (one_cell(per_seed=[None]), "per_seed is None"),
        (one_cell(mean=10**400), "mean is 10"),
        ({"table": "t", "rows": {"mc-cpo": {}}}, "t has rows without numbers"),
        ({"table": "t", "settings": {"R=1": 3}}, "t R=1 is a int"),
        ({**one_cell(), "fronts": {"mc-cpo": 3}}, "t: fronts is a int"),
        ({**one_cell(), "front_optimum": 3}, "t: front_optimum is a int"),
        ({**one_cell(), "notes": 3}, "t: notes is a int"),
        ({**one_cell(), "tests": {"x": {"t": "high"}}}, "t: tests, x, t is 'high'"),
        ({**one_cell(), "tests": {"x": {"means": 1}}}, "t: tests, x, means is a int"),
    ],
)
def test_results_of_another_shape_are_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], results: object, message: str
) -> None:
    assert report(results) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert message in output.err
    assert str(Path("run/results.json")) in output.err
    assert not Path("run/report.html").exists()
