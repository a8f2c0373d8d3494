"""`mccpo recalibrate` as a user calls it: a tutor is served, learners answer, and a new run is made of the record."""

import hashlib
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from tests import small
from tests.cli.test_tutor import tutor  # noqa: F401 - a fixture
from tests.serve.client import serving

from mccpo.cli import main
from mccpo.cli.commands.tutor.recalibrate import CHANGES
from mccpo.env import make
from mccpo.experiments import Options
from mccpo.serve.policy import load_release

EPISODES = ["--episodes", "40"]
slow = pytest.mark.slow  # two tutors are made


def teach(api, learners: int, lessons: int, right: float, name: str = "learner") -> list[str]:
    """Learners who answer right with one chance, whatever they are asked."""
    random, ids = np.random.default_rng(learners), []
    for at in range(learners):
        ids.append(api.learner(f"{name} {at}"))
        for _ in range(lessons):
            decision = api.next(ids[-1])["id"]
            correct = bool(random.random() < right)
            assert api.post(f"/v1/decisions/{decision}/outcome", {"correct": correct}).status_code == 200
    return ids


def files_of(run: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in run.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def served(tutor, tmp_path_factory) -> tuple[Path, Path, int]:  # noqa: F811
    """A tutor that taught learners who know little; its record, and how many answers count."""
    record = tmp_path_factory.mktemp("record") / "decisions.db"
    with serving(load_release(tutor[0]), record) as api:
        ids = teach(api, 8, 6, right=0.25)
        assert api("DELETE", f"/v1/learners/{ids[0]}").status_code == 200
    return tutor[0], record, 7 * 6


@pytest.fixture(scope="module")
def recalibrated(served, tmp_path_factory) -> tuple[Path, dict, dict[str, str]]:
    run, record, _ = served
    before, out = files_of(run), tmp_path_factory.mktemp("again") / "run-2"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Options, "neural_plan", small.plan)
        patch.setattr("mccpo.report.page.html.galleries", lambda *_: [])
        printed: list[str] = []
        patch.setattr("sys.stdout.write", printed.append)
        code = main(["recalibrate", str(run), "--database", str(record), *EPISODES, "--out", str(out), "--json"])
    found = json.loads("".join(printed))
    assert code == (0 if found["passed"] else 3)
    return out, found, before


@slow
def test_a_new_run_says_what_was_learnt_from_which_events(served, recalibrated) -> None:
    run, record, answers = served
    out, found, before = recalibrated
    with sqlite3.connect(record) as connection:
        number, hash = connection.execute("SELECT number, hash FROM head").fetchone()
    learnt = json.loads((out / "manifest.json").read_text())["configuration"]["learnt_from"]
    assert learnt == found["learnt_from"]
    assert (learnt["event"], learnt["hash"]) == (number, hash)
    assert (learnt["answers"], learnt["learners"], learnt["erased_learners"]) == (answers, 7, 1)
    assert files_of(run) == before
    assert json.loads((out / CHANGES).read_text())["concepts"] == found["concepts"]


@slow
def test_learners_who_answer_wrong_are_believed_to_know_less(served, recalibrated) -> None:
    out, found, _ = recalibrated
    assert found["learners"] == "answers"
    asked = [row for row in found["concepts"].values() if row["answers"]]
    assert sum(row["answers"] for row in asked) == served[2]
    for row in asked:
        assert row["prior"]["low"] < row["prior"]["after"] < row["prior"]["before"]
        assert row["prior"]["low"] < row["prior"]["after"] < row["prior"]["high"]
    unasked = [row for row in found["concepts"].values() if not row["answers"]]
    assert all(row["prior"]["after"] < row["prior"]["before"] for row in unasked)  # by way of the platform
    env = make(str(out / "prepared"))
    assert np.ptp(np.asarray(env.K0)) > 0
    assert env.confidence == pytest.approx(0.9)


@slow
def test_a_record_that_does_not_hold_is_refused(served, tmp_path, capsys) -> None:
    run, record, _ = served
    copy = tmp_path / "copy.db"
    with sqlite3.connect(record) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        row = target.execute("SELECT number, text FROM event WHERE kind = 'outcome' LIMIT 1").fetchone()
        changed = row[1].replace('"correct":false', '"correct":true') if "false" in row[1] else row[1] + " "
        target.execute("UPDATE event SET text = ? WHERE number = ?", (changed, row[0]))
    assert main(["recalibrate", str(run), "--database", str(copy), "--out", str(tmp_path / "new")]) == 3
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert "does not hold" in said[0]
    assert not (tmp_path / "new").exists()


def test_what_is_no_tutor_without_logs_is_refused(tmp_path, capsys) -> None:
    assert main(["recalibrate", str(tmp_path)]) == 2
    assert "mccpo tutor GRAPH" in capsys.readouterr().err


@slow
def test_the_new_release_goes_on_with_the_same_record(served, recalibrated, capsys) -> None:
    run, record, _ = served
    out, _, _ = recalibrated
    with serving(load_release(run), record, runs=out.parent) as api:
        body = {"run": out.name, "lower_gate": True}
        answer = api.post("/v1/releases", body)
        assert answer.status_code == 200, answer.text
        teach(api, 8, 2, right=0.5)  # those who are known already, but for the one who was erased
    assert main(["verify", str(record)]) == 0
    assert load_release(out).version in capsys.readouterr().out
