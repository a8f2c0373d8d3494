"""Floors from the command line, from the first word to the report: on a finite environment and on a tutor."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests import small

from mccpo.cli import main
from mccpo.env import make
from mccpo.experiments import Options, compare, measuring
from mccpo.experiments.saved_policies import load_policies
from mccpo.serve.policy import load_release

CHAIN = ["compare", "chain", "--seeds", "2", "--episodes", "80"]
WHOLE = 0.8 * sum(0.99**t for t in range(5))
"""What can be learnt on the chain: the next concept at every step, mastered four times in five."""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _small_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Options, "neural_plan", small.plan)


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_compare_on_a_finite_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHAIN, "--floor", "learning=0.8", "--out", "run", "--json"]) == 0
    found = printed(capsys)
    assert found["floors"] == {"learning": pytest.approx(0.8 * WHOLE)}
    assert found["budgets"] == {}
    assert {"random-ready", "mastery-learning", "zpdes", "mc-cpo", "unconstrained"} <= found["rows"].keys()
    assert found["optimum"]["learning"] == pytest.approx(0.8 * WHOLE)
    for row in found["rows"].values():
        assert {"learning", "mastered", "dK"} <= row.keys()
    page = Path("run/report.html").read_text()
    assert "floor on learning" in page
    assert "Mastered" in page
    assert "its floor in" in page
    assert "Learners gain" in page


def test_compare_tells_floors_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--methods", "unconstrained,mc-cpo"]
    assert main([*CHAIN, *few, "--floor", "learning=0.8", "--floor", "mastered=2.5", "--budget", "c4=3"]) == 0
    told = capsys.readouterr().out
    assert "budgets c4 ≤ 3" in told
    assert "floors learning ≥ 3.1366, mastered ≥ 2.5" in told
    assert "Learners gain" in told


def test_a_sentence_is_a_floor_too(capsys: pytest.CaptureFixture[str]) -> None:
    said = "learners gain at least 80 % of what can be learnt"
    assert main([*CHAIN, "--methods", "mc-cpo", "--require", said, "--json"]) == 0
    found = printed(capsys)
    assert found["floors"] == {"learning": pytest.approx(0.8 * WHOLE)}
    assert any(said in line for line in found["requirements"])


def test_a_floor_that_is_missed_fails_where_it_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    short = ["compare", "chain", "--seeds", "1", "--episodes", "40", "--methods", "mc-cpo"]
    assert main([*short, "--floor", "learning=99%", "--require-satisfied"]) == 3
    capsys.readouterr()
    assert main([*short, "--floor", "learning=1%", "--require-satisfied"]) == 0


@pytest.mark.slow  # what it puts together is tested part by part
@pytest.mark.usefixtures("_small_plans")
def test_compare_on_a_tutor_and_what_can_be_done_with_its_policies(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--seeds", "2", "--set", f"horizon={small.HORIZON}", "--methods", "unconstrained,mc-cpo,zpdes"]
    episodes = str(measuring.EVALUATION_EPISODES)  # as many as the run was judged by need no other program
    assert main(["compare", "tutor-15", *few, "--floor", "learning=0.8", "--out", "run", "--json"]) == 0
    found = printed(capsys)
    assert found["budgets"] == {}
    assert found["floors"]["learning"] > 0
    assert "lambda_learning" in found["rows"]["mc-cpo"]
    assert "floor on learning" in Path("run/report.html").read_text()
    kept = {one.method.name: one for one in load_policies(Path("run"))}
    assert kept["mc-cpo"].floors == found["floors"]
    assert kept["mc-cpo"].method.shared
    assert load_release(Path("run"), method="mc-cpo").masked
    assert main(["evaluate", "run", "--episodes", episodes, "--json"]) == 0
    again = printed(capsys)
    assert again["floors"] == found["floors"]
    code = main(["certify", "run", "--method", "mc-cpo", "--episodes", episodes, "--json"])
    certificate = printed(capsys)
    assert (code == 0) is certificate["passed"]
    assert certificate["floors"]["learning"]["bound"] < certificate["floors"]["learning"]["mean"]
    assert main(["certify", "run", "--method", "mc-cpo", "--episodes", episodes]) in (0, 3)
    told = capsys.readouterr().out
    assert "at least" in told


@pytest.mark.usefixtures("_small_plans")
def test_training_to_teach_needs_neither_budget_nor_floor(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--seeds", "2", "--set", f"horizon={small.HORIZON}"]
    assert main(["train", "tutor-15", *few, "--objective", "learning", "--out", "run", "--json"]) == 0
    assert printed(capsys)["budgets"] == {}
    assert main(["evaluate", "run", "--episodes", str(measuring.EVALUATION_EPISODES), "--json"]) == 0


def test_solve_with_floors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "chain", "--floor", "learning=0.8", "--json"]) == 0
    found = printed(capsys)
    assert found["floors"] == {"learning": pytest.approx(0.8 * WHOLE)}
    assert found["learning"] == pytest.approx(0.8 * WHOLE)
    assert found["multipliers"]["learning"] > 0
    assert main(["solve", "chain", "--floor", "mastered=2"]) == 0
    told = capsys.readouterr().out
    assert "floors: mastered ≥ 2" in told
    assert "lambda_mastered" in told
    assert main(["solve", "chain", "--objective", "learning", "--json"]) == 0
    assert printed(capsys)["dK"] == pytest.approx(4.0)


def test_a_floor_out_of_reach_exits_3_and_says_what_can_be_reached(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "chain", "--floor", "mastered=4.5", "--json"]) == 3
    found = printed(capsys)
    assert found["feasible"] is False
    assert found["conflict"] == ["mastered"]
    assert found["most"] == {"mastered": pytest.approx(4.0)}
    assert main(["solve", "chain", "--floor", "mastered=4.5"]) == 3
    told = capsys.readouterr()
    assert "the most that can be reached is mastered 4.0000" in told.out
    assert "the budgets and floors cannot be met" in told.err


@pytest.mark.parametrize(
    ("call", "culprit"),
    [
        (["compare", "chain", "--floor", "learning"], "'learning' is not understood"),
        (["compare", "chain", "--floor", "learning=lots"], "not understood"),
        (["compare", "chain", "--floor", "joy=0.8"], "unknown floor 'joy'"),
        (["compare", "tutor-15", "--floor", "learning=0"], "the floor of learning is 0"),
        (["compare", "tutor-15", "--floor", "learning=0.5", "--floor", "learning=0.6"], "given twice"),
        (["compare", "chain", "--floor", "mastered=5"], "no policy meets mastered ≥ 5"),
        (["compare", "chain", "tutor-15", "--floor", "mastered=99%", "--floor", "mastered=9"], "given twice"),
        (["compare", "chain", "--objective", "joy"], "joy"),
        (["train", "tutor-15", "--floor", "learning=200%"], "2 of what can be reached"),
        (["solve", "chain", "--floor", "learning=0.5", "--front", "c4"], "--front goes with budgets alone"),
        (["solve", "chain", "--floor", "joy=1"], "unknown floor 'joy'"),
        (
            ["compare", "chain", "--floor", "learning=0.5", "--require", "gain at least 80 % of what can be learnt"],
            "given twice",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_floors_that_make_no_sense_are_one_line_before_training(
    call: list[str], culprit: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*_: Any, **__: Any) -> None:
        pytest.fail("trained first")

    monkeypatch.setattr(compare, "run", train)
    monkeypatch.setattr("mccpo.experiments.problem.train_anchor", train)
    assert main(call) == 2
    told = capsys.readouterr().err
    assert culprit in told
    assert told.count("\n") == 1
    assert not Path("runs").exists()


def test_fractions_are_an_environment_like_the_others() -> None:
    env = make("fractions")
    assert env.num_actions == len(env.curriculum) == 15
    assert env.curriculum.concepts[-1] == "dividing"
