"""The bench of knowledge tracing: what it asks for, and what it tells without the peer."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from mccpo.bench import mastery as bench_learner
from mccpo.bench.mastery_results import FitQuality, OurFit, PeerFit
from mccpo.bench.neural import Bench
from mccpo.bench.peer import PeerMissing
from mccpo.cli import main
from mccpo.experiments import Session


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with a table of the shape of ASSISTments 2009: one row for each skill of an answer."""
    draw = np.random.default_rng(0)
    rows = [
        {"order_id": at, "user_id": at % 20, "skill_name": skill, "correct": int(draw.uniform() < 0.6)}
        for at in range(400)
        for skill in (["a", "b"] if at % 10 == 0 else [[None], ["a"], ["b"]][at % 3])
    ]
    path = tmp_path / bench_learner.DATA
    path.parent.mkdir()
    pl.DataFrame(rows, schema_overrides={"skill_name": pl.String}).write_parquet(path)
    monkeypatch.setenv("MCCPO_DATA", str(tmp_path))
    return tmp_path


def test_without_data_it_says_so(monkeypatch, capsys):
    monkeypatch.delenv("MCCPO_DATA", raising=False)
    assert main(["bench", "learner"]) == 2
    assert "MCCPO_DATA" in capsys.readouterr().err


def test_rows_of_one_answer_are_one_event(data):
    responses = bench_learner.assistments()
    table = pl.read_parquet(data / bench_learner.DATA)
    named = table.filter(pl.col("skill_name").is_not_null())
    assert responses.rows == named.height
    assert len(np.unique(responses.event)) == named["order_id"].n_unique()


def test_without_the_peer_ours_is_measured_all_the_same(data, monkeypatch):
    notes = []
    monkeypatch.setattr(bench_learner, "ROUNDS", 1)
    found = bench_learner.measure(Bench(Session(progress=None), None, notes.append))
    assert found.peer_missing is not None
    assert "MCCPO_CACHE" in found.peer_missing
    assert notes
    for contest in found.as_json()["threads"].values():
        assert contest["ours"]["seconds"] > 0
        assert contest["peers"] == {}


def test_a_skill_that_is_worse_is_named(data):
    ours = OurFit([1.0], 2.0, 10, FitQuality(np.array([-100.0, -50.0]), 0.7))
    peer = PeerFit([12.0], [4.0], 10, True, {}, FitQuality(np.array([-99.0, -50.01]), 0.7))
    comparison = bench_learner.compare(bench_learner.assistments().concepts, ours, peer)
    assert comparison.worse == ["a"]
    assert comparison.better == []
    assert (comparison.ratio, comparison.em_ratio) == (12.0, 4.0)
    assert comparison.least_lead == pytest.approx(-1 / 99)


def test_what_the_peer_says_is_judged_as_ours_is(data, monkeypatch, tmp_path):
    """A stand-in for the peer's Python that answers with parameters of its own."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    script = home / "bin" / "python"
    answer = (
        "import json, sys; request = json.load(sys.stdin); "
        'starts = request["starts"]; assert len(open(request["table"]).readlines()) > 100; '
        'print(json.dumps({"rounds": [2.0], "em_rounds": [1.0], "steps": 7, "compiled": True, "versions": {}, '
        '"parameters": {skill: [0.5, 0.1, 0.6, 0.4] for skill in starts}}))'
    )
    (home / "answer.py").write_text(answer)
    script.write_text(f"#!/bin/sh\nexec {sys.executable} {home / 'answer.py'}\n")
    script.chmod(0o755)
    kept = bench_learner.assistments()
    found = bench_learner._theirs(Path(home), bench_learner.VARIANTS[0], kept, kept, 1)
    assert found.seconds == 2.0
    shown = found.as_json()
    assert shown["log_likelihood"] == pytest.approx(found.quality.by_concept.sum())
    assert shown["log_likelihood"] < 0


def test_a_peer_that_stops_is_missing(data, tmp_path):
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "python"
    script.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    script.chmod(0o755)
    kept = bench_learner.assistments()
    with pytest.raises(PeerMissing, match="broken"):
        bench_learner._theirs(tmp_path, bench_learner.VARIANTS[0], kept, kept, 1)
