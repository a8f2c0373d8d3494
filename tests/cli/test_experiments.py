"""`solve`, `compare`, `reproduce`, `report` and `bench` as a user calls them."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mccpo.cli import main

SMALL = ["--seeds", "2", "--episodes", "80", "--methods", "unconstrained,mc-cpo"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _json(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    return json.loads(capsys.readouterr().out)


def test_solve_gives_the_exact_optimum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "chain", "--budget", "c4=2.4505", "--front", "c4", "--points", "5", "--json"]) == 0
    found = _json(capsys)
    assert found["return"] == pytest.approx(3.67574750)
    assert found["multipliers"] == {"c4": pytest.approx(0.5)}
    assert len(found["front"]) == 5
    assert sum(entry["visits"] for entry in found["policy"]) == pytest.approx(4.90099501)


def test_solve_prints_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "gate", "--budget", "c=0"]) == 0
    out = capsys.readouterr().out
    assert "lambda_c        0.4" in out
    assert "prog 1.0000" in out


def test_budgets_out_of_reach_exit_3_with_their_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "chain", "--budget", "c4=0.5", "--json"]) == 3
    found = _json(capsys)
    assert found["feasible"] is False
    assert found["conflict"] == ["c4"]
    assert found["least"]["c4"] == pytest.approx(0.9801990)
    assert found["scaling"] == pytest.approx(1.9603980)


@pytest.mark.usefixtures("figures")
def test_compare_leaves_a_run_folder_that_can_be_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "gate", *SMALL, "--out", "run", "--json"]) == 0
    printed = _json(capsys)
    assert printed == json.loads(Path("run/results.json").read_text())
    assert {"table", "protocol", "budgets", "rows", "paper", "verdicts", "tests"} <= printed.keys()
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["finished"]
    assert manifest["configuration"]["seeds"] == 2
    assert main(["report", "run", "--out", "page.html"]) == 0
    assert "<svg" in Path("page.html").read_text()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_results_and_another_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    for out, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert main(["reproduce", "gate", *SMALL, "--seed", seed, "--out", out]) == 0
    a, b, c = (Path(out, "results.json").read_bytes() for out in "abc")
    assert a == b
    assert a != c
    assert Path("a/metrics.parquet").read_bytes() == Path("b/metrics.parquet").read_bytes()


@pytest.mark.slow
def test_without_out_each_run_gets_a_folder_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["compare", "gate", *SMALL]) == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["compare-gate", "compare-gate-2"]
    assert "report: runs/compare-gate-2/report.html" in capsys.readouterr().out


def test_require_satisfied_exits_3_when_a_budget_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--seeds", "1", "--episodes", "80", "--methods", "mc-cpo"]
    assert main(["compare", "gate", *short]) == 0
    assert main(["compare", "gate", *short, "--require-satisfied"]) == 3
    assert "mccpo: gate: mc-cpo meets its budgets in 0% of the seeds" in capsys.readouterr().err


def test_ctrl_c_leaves_a_run_that_resumes_to_the_same_bits() -> None:
    # Long enough that the signal arrives in the middle of training.
    call = [
        sys.executable,
        "-m",
        "mccpo",
        "compare",
        "gate",
        "--seeds",
        "2",
        "--episodes",
        "200000",
        "--methods",
        "mc-cpo",
    ]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*call, "--out", "broken"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=env
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        while "%" not in said:  # a quarter of the way
            assert said, "it ended before"
            said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130, (said, rest)
    assert "go on with --out broken --resume" in rest
    assert not json.loads(Path("broken/manifest.json").read_text())["finished"]
    assert not Path("broken/results.json").exists()
    assert main(["report", "broken"]) == 2
    assert main([*call[3:], "--out", "broken", "--resume"]) == 0
    assert main([*call[3:], "--out", "whole"]) == 0
    assert Path("broken/results.json").read_bytes() == Path("whole/results.json").read_bytes()


CURRICULA = {
    "cyclic.csv": "prerequisite,concept\na,b\nb,c\nc,a\n",
    "dangling.json": '{"format": "mccpo-curriculum/1", "concepts": [{"name": "a", "prerequisites": ["z"]}]}',
    "truncated.json": '{"format": "mccpo-curriculum/1", "concepts": [{"name": "a", "prere',
    "empty.csv": "",
}


@pytest.mark.parametrize(
    ("call", "culprit"),
    [
        (["compare", "random-finite", "--curriculum", "cyclic.csv"], "a → b → c → a"),
        (["solve", "random-finite", "--curriculum", "dangling.json"], "z"),
        (["solve", "random-finite", "--curriculum", "truncated.json"], "truncated.json"),
        (["solve", "random-finite", "--curriculum", "empty.csv"], "empty.csv"),
        (["solve", "random-finite", "--curriculum", "missing.csv"], "missing.csv"),
        (["solve", "chain", "--curriculum", "empty.csv"], "empty.csv"),
        (["solve", "chain", "--set", "theta=1.5"], "1.5"),
        (["solve", "chain", "--set", "theta=nan"], "nan"),
        (["solve", "chain", "--set", "theta=high"], "high"),
        (["solve", "chain", "--set", "horizon=2.5"], "2.5"),
        (["solve", "chain", "--set", "concepts=0"], "concepts"),
        (["solve", "chain", "--set", "p_learn=2"], "p_learn"),
        (["solve", "gate", "--set", "R=-1"], "R is -1"),
        (["solve", "chain", "--set", "tetha=0.5"], "tetha"),
        (["solve", "chian"], "chian"),
        (["solve", "chain", "--budget", "c4=-1"], "c4"),
        (["solve", "chain", "--budget", "c4=nan"], "c4=nan"),
        (["solve", "chain", "--budget", "c9=1"], "c9"),
        (["solve", "chain", "--budget", "2.45"], "2.45"),
        (["solve", "chain", "--front", "c9"], "c9"),
        (["solve", "chain", "--set", "r_hack=NaN"], "r_hack"),
        (["solve", "chain", "--set", "r_hack=0"], "r_hack"),
        (["solve", "chain", "--set", "concepts=20000"], "2^20000"),
        (["solve", "random-finite", "--set", "curriculum=foo"], "foo"),
        (["reproduce", "chain", "--set", "foo=1"], "foo"),
        (["reproduce", "gate", "--set", "R=abc"], "abc"),
        (["reproduce", "random-finite", "--set", "concepts=2.5"], "2.5"),
        (["reproduce", "chain", "--kappa", "0.9,0.7"], "one kappa"),
        (["compare", "chain", "--kappa", "0.5,0.5"], "twice"),
        (["compare", "chain", "--kappa", "0.9,0.5", "--budget", "c4=3"], "contradict"),
        (["compare", "chain", "--episodes", "0"], "episodes is 0"),
        (["compare", "chain", "--seed", "9223372036854775808"], "seed"),
        (["compare", "chain", "--seed", "4294967296"], "seed"),
        (["compare", "chain", "--seeds", "99999999999"], "seeds"),
        (["compare", "chain", "--out", "empty.csv"], "empty.csv"),
        (["compare", "chain", "--out", "empty.csv/run"], "empty.csv"),
        (["compare", "chain", "--out", ""], "--out"),
        (["compare", "tutor-15", "--episodes", "100"], "--steps"),
        (["compare", "chain", "--steps", "100"], "--episodes"),
        (["solve", "chain", "--kappa", "-1"], "-1"),
        (["compare", "chain", "--budget", "c4=0.5"], "0.9802"),
        (["compare", "chain", "--methods", "mc-ppo"], "mc-ppo"),
        (["compare", "chain", "--seeds", "0"], "seeds"),
        (["compare", "chain", "--episodes", "3"], "3 episodes"),
        (["compare", "chain", "--episodes", "-5"], "episodes"),
        (["compare", "chain", "--kappa", "a"], "'a'"),
        (["compare", "chain", "--resume"], "--resume"),
        (["compare", "chain", "--resume", "--out", "nowhere"], "nowhere"),
        (["reproduce", "tutor-99"], "tutor-99"),
        (["reproduce", "all", "--budget", "c4=2"], "--budget"),
        (["reproduce", "all", "--episodes", "10"], "10 episodes are fewer than one update's 40"),
        (["reproduce", "all", "--steps", "0"], "steps is 0"),
        (["reproduce", "all", "--seeds", "0"], "seeds is 0"),
        (["report"], "no run"),
        (["report", "nowhere"], "nowhere"),
        (["bench", "everything"], "everything"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_input_is_one_line_and_exit_2(call: list[str], culprit: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in CURRICULA.items():
        Path(name).write_text(content)
    assert main(call) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("mccpo: ")
    assert culprit in lines[0]
    assert not re.search(r"Traceback|internal error", captured.err)
    assert not Path("runs").exists()
    assert not Path("nowhere").exists()


def test_a_users_curriculum_becomes_an_environment(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.csv").write_text("prerequisite,concept\ncounting,adding\nadding,multiplying\n")
    assert main(["solve", "random-finite", "--curriculum", "mine.csv", "--kappa", "0.7", "--json"]) == 0
    assert "multiplying" in json.dumps(_json(capsys)["policy"])


def test_compare_trains_on_a_users_curriculum_and_resumes_on_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.csv").write_text("prerequisite,concept\ncounting,adding\nadding,multiplying\n")
    Path("other.csv").write_text("prerequisite,concept\nadding,counting\ncounting,multiplying\n")
    call = ["compare", "random-finite", *SMALL, "--out", "run"]
    assert main([*call, "--curriculum", "mine.csv", "--json"]) == 0
    assert _json(capsys)["protocol"]["curriculum"].startswith("3 concepts, 2 edges, sha256 ")
    assert main([*call, "--curriculum", "other.csv", "--resume"]) == 2
    assert "other settings" in capsys.readouterr().err


def test_gamma_and_horizon_can_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "chain", *SMALL, "--set", "gamma=1,horizon=3", "--json"]) == 0
    protocol = _json(capsys)["protocol"]
    assert (protocol["gamma"], protocol["horizon"]) == (1, 3)


@pytest.mark.slow
def test_require_satisfied_looks_at_every_kappa(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "chain", "--seeds", "2", "--episodes", "4000", "--methods", "mc-cpo", "--kappa", "0.99,0.21"]
    assert main([*call, "--require-satisfied"]) == 3
    assert "at κ = 0.21" in capsys.readouterr().err


@pytest.mark.slow
def test_the_papers_numbers_stand_beside_the_papers_problem_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "gate", *SMALL, "--kappa", "0.5", "--json"]) == 0
    assert _json(capsys)["paper"] == {}
    assert main(["reproduce", "gate", *SMALL, "--json"]) == 0
    assert _json(capsys)["paper"]
