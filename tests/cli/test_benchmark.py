"""`mccpo benchmark` on methods that need no training: its tables, JSON, refusals, resuming and outside agents."""

import json
import sys
from dataclasses import replace

import polars as pl
import pytest

from mccpo.cli import main
from mccpo.experiments.benchmark import AgentRow, write_agent_rows
from mccpo.methods import registry
from mccpo.methods.rules import RandomReady

QUICK = ["benchmark", "--methods", "random-ready,lyapunov-lp", "--envs", "gate,assistments-2009", "--seeds", "2"]


@pytest.fixture(autouse=True)
def _no_data(monkeypatch):
    monkeypatch.delenv("MCCPO_DATA", raising=False)


def run(capsys, *arguments):
    code = main(list(arguments))
    told = capsys.readouterr()
    return code, told.out, told.err


def test_it_prints_a_table_for_each_environment(capsys, tmp_path):
    code, out, err = run(capsys, *QUICK, "--out", str(tmp_path / "run"))
    assert code == 0, err
    line = next(line for line in out.splitlines() if "lyapunov-lp" in line)
    assert "0.88 (2/2)" in line  # the optimum at κ = 0.7
    assert "100.0 100.0 100.0 %" in line
    assert "assistments-2009: no data" in out
    assert "gate random-ready: done" in err
    assert len(pl.read_parquet(tmp_path / "run/rows.parquet")) == 2 * 2 * 3 * 2
    page = (tmp_path / "run/report.html").read_bytes()
    (tmp_path / "run/report.html").unlink()
    code, out, _ = run(capsys, "report", str(tmp_path / "run"))
    assert (code, out) == (0, f"report: {tmp_path / 'run/report.html'}\n")
    assert (tmp_path / "run/report.html").read_bytes() == page
    assert run(capsys, "report", str(tmp_path / "run"), str(tmp_path / "run"))[0] == 2


def test_json_is_the_results_file_and_nothing_else(capsys, tmp_path):
    code, out, _ = run(capsys, *QUICK, "--kappa", "0.6", "--out", str(tmp_path / "run"), "--json")
    assert code == 0
    told = json.loads(out, parse_constant=pytest.fail)
    assert told == json.loads((tmp_path / "run/results.json").read_text())
    assert told["protocol"]["kappa"] == [0.6]
    code, again, _ = run(capsys, *QUICK, "--kappa", "0.6", "--out", str(tmp_path / "run"), "--json", "--resume")
    assert code == 0
    assert json.loads(again)["cells"] == told["cells"]
    code, _, err = run(capsys, *QUICK, "--kappa", "0.7", "--out", str(tmp_path / "run"), "--resume")
    assert code == 2
    assert "other settings" in err


def test_an_outside_agent_joins_the_table(capsys, tmp_path):
    row = AgentRow("gate", "my-agent", None, 0, 0.7, 0.7, 0.5, 0.1, 0.0, {"c": 0.1}, seconds=3.0)
    write_agent_rows(tmp_path / "mine.parquet", [row])
    arguments = ["--rows", str(tmp_path / "mine.parquet"), "--out", str(tmp_path / "run"), "--json"]
    code, out, err = run(capsys, *QUICK, *arguments)
    assert code == 0, err
    cells = [cell for cell in json.loads(out)["cells"] if cell["method"] == "my-agent"]
    assert [cell["kind"] for cell in cells] == ["outside"] * 3
    assert cells[0]["return"]["mean"] == 0.7
    # It stays there when the benchmark is resumed without it, and is measured anew when it is named again.
    code, out, err = run(capsys, *QUICK, "--out", str(tmp_path / "run"), "--json", "--resume")
    assert code == 0, err
    assert [cell for cell in json.loads(out)["cells"] if cell["method"] == "my-agent"] == cells
    write_agent_rows(tmp_path / "mine.parquet", [replace(row, ret=0.6)])
    code, out, err = run(capsys, *QUICK, *arguments, "--resume")
    assert code == 0, err
    again = [cell for cell in json.loads(out)["cells"] if cell["method"] == "my-agent"]
    assert [cell["return"]["mean"] for cell in again] == [0.6] * 3


def test_json_is_json_though_a_method_prints(capsys, tmp_path, monkeypatch):
    def printing():
        sys.stdout.write("hello\n")
        return RandomReady()

    monkeypatch.setitem(
        registry.METHODS._registered, "curriculum-order", registry.RuleEntry("curriculum-order", "", "", printing)
    )
    arguments = ["--methods", "curriculum-order", "--envs", "gate", "--seeds", "1", "--json"]
    code, out, err = run(capsys, "benchmark", *arguments, "--out", str(tmp_path / "run"))
    assert code == 0, err
    assert json.loads(out)["suite"] == "quick"
    assert "hello" in err


def test_an_outside_agent_with_the_name_of_a_method_is_refused_first(capsys, tmp_path):
    row = AgentRow("gate", "mc-cpo", None, 0, *[0.5] * 5, {"c": 0.1})
    write_agent_rows(tmp_path / "mine.parquet", [row])
    arguments = ["--rows", str(tmp_path / "mine.parquet"), "--out", str(tmp_path / "run")]
    code, out, err = run(capsys, *QUICK, *arguments)  # though it is not even asked for
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "mine.parquet, row 1: 'mc-cpo' is the name of a method" in err
    assert not (tmp_path / "run").exists()


def test_it_can_do_without_the_cache(capsys, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("mccpo.cli.commands.benchmark.command.caches", lambda: asked.append("caches") or (None, None))
    code, _, err = run(capsys, *QUICK, "--out", str(tmp_path / "run"), "--no-cache")
    assert (code, asked) == (0, []), err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--suite", "quikc"], "unknown suite"),
        (["--methods", "mc-cp"], "did you mean 'mc-cpo'"),
        (["--envs", "gates"], "did you mean 'gate'"),
        (["--kappa", "0"], "kappa is 0.0"),
        (["--kappa", "0.5,0.5"], "named twice"),
        (["--limit", "0"], "limit is 0.0 seconds"),
        (["--seeds", "0"], "seeds is 0"),
        (["--resume"], "--resume does not say which"),
        (["--methods", ","], "--methods is ',', which names nothing"),
        (["--envs", " "], "--envs is ' ', which names nothing"),
        (["--rows", "nothing.parquet"], "cannot read nothing.parquet"),
    ],
)
def test_a_wrong_input_is_reported_in_one_line_before_anything_runs(capsys, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "benchmark", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_several_processes_give_the_same(capsys, tmp_path):
    alone, shared = (tmp_path / name for name in ("alone", "shared"))
    assert run(capsys, *QUICK, "--out", str(alone))[0] == 0
    code, _, err = run(capsys, *QUICK, "--out", str(shared), "--jobs", "2")
    assert code == 0, err
    assert "gate random-ready: done" in err
    rows = [pl.read_parquet(folder / "rows.parquet").drop("seconds") for folder in (alone, shared)]
    assert rows[0].equals(rows[1])


def test_data_that_is_nowhere_is_refused(capsys, tmp_path):
    code, _, err = run(capsys, *QUICK, "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "run"))
    assert (code, err.count("\n")) == (2, 1)
    assert "nowhere" in err
    assert not (tmp_path / "run").exists()


def test_a_damaged_pair_is_named_with_what_to_do(capsys, tmp_path):
    call = ["benchmark", "--methods", "random-ready", "--envs", "gate", "--seeds", "1", "--out", str(tmp_path / "run")]
    assert run(capsys, *call)[0] == 0
    pair = tmp_path / "run/cells/gate/random-ready"
    (pair / "results.json").write_text("{")
    code, _, err = run(capsys, *call, "--resume")
    assert code == 2
    assert f"delete {pair} and resume" in err


def test_no_process_is_refused(capsys):
    code, _, err = run(capsys, *QUICK, "--jobs", "0")
    assert (code, err.count("\n")) == (2, 1)
    assert "--jobs is 0" in err


def test_floors_hold_at_every_kappa_and_are_told_as_amounts(capsys, tmp_path):
    flags = ("--envs", "chain", "--methods", "zpdes,random-ready,lyapunov-lp", "--kappa", "0.9", "--seeds", "1")
    code, out, err = run(capsys, "benchmark", *flags, "--floor", "learning=0.9", "--out", str(tmp_path / "run"))
    assert code == 0, err
    assert "seeds that meet budgets and floors" in out
    problem = json.loads((tmp_path / "run" / "results.json").read_text())["environments"]["chain"]
    whole = 0.8 * sum(0.99**t for t in range(5))  # the next concept at every step, mastered four times in five
    assert problem["reach"] == {"learning": pytest.approx(whole)}
    assert problem["floors"] == {"learning": pytest.approx(0.9 * whole)}
    assert f"floors at every κ: learning ≥ {0.9 * whole:.4g} ({whole:.4g} can be reached)" in " ".join(out.split())
    met = {cell["method"]: cell.get("satisfaction_strict") for cell in results_of(tmp_path / "run")["cells"]}
    assert met["zpdes"]["mean"] == 1
    assert met["random-ready"]["mean"] == 0
    assert met["lyapunov-lp"] is None  # it goes by budgets, and knows no floors
    assert "floor on learning, at every κ" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("floors", [("learning=0.5", "learning=0.7"), ("knowledge=0.5",), ("learning=0.4,0.8",)])
def test_floors_that_make_no_sense_are_refused_before_anything_is_written(capsys, tmp_path, floors):
    flags = [flag for floor in floors for flag in ("--floor", floor)]
    code, _, err = run(capsys, "benchmark", "--envs", "gate", *flags, "--out", str(tmp_path / "run"))
    assert (code, err.count("\n")) == (2, 1)
    assert not (tmp_path / "run").exists()


def results_of(folder):
    return json.loads((folder / "results.json").read_text())
