"""`mccpo fit-learner` as a user calls it."""

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from mccpo.cli import main
from mccpo.mastery import BKT, read_model


@pytest.fixture
def logs(tmp_path):
    """A canonical table of forty learners who answer on three concepts."""
    draw = np.random.default_rng(0)
    rows = [
        {
            "learner": f"u{who:02d}",
            "concept": ["a", "b", "a~~c"][at % 3],
            "item": f"q{at % 7}",
            "order": at,
            "correct": bool(draw.uniform() < 0.4 + 0.02 * at),
        }
        for who in range(40)
        for at in range(20)
    ]
    path = tmp_path / "logs.parquet"
    pl.DataFrame(rows).write_parquet(path)
    return path


def test_the_model_and_its_diagnostics_are_written(logs, tmp_path, capsys):
    assert main(["fit-learner", str(logs), "--out", str(tmp_path / "run"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    model = read_model(tmp_path / "run" / "learner.json")
    assert isinstance(model, BKT)
    assert model.concepts == ("a", "b", "c")
    assert told == json.loads((tmp_path / "run" / "diagnostics.json").read_text())
    assert told["diagnostics"]["learners"] == 8
    assert told["diagnostics"]["events"] == 160
    page = (tmp_path / "run" / "reliability.html").read_text()
    assert page.count("<svg") >= 1
    for one in told["diagnostics"]["reliability"]:  # the diagram's points stand below it, too
        assert f"{one['predicted']:.3f}" in page
        assert f"{one['correct']:.3f}" in page
    before = (tmp_path / "run" / "learner.json").read_bytes()
    assert main(["fit-learner", str(logs), "--out", str(tmp_path / "again"), "--json"]) == 0
    assert (tmp_path / "again" / "learner.json").read_bytes() == before


@pytest.mark.parametrize("model", ["pfa", "ema", "bkt-forget", "elo", "best-lr"])
def test_every_model_as_text(logs, model, capsys):
    assert main(["fit-learner", str(logs), "--model", model]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{model}: 3 concepts, judged on 160 events of 8 learners")
    assert lines[1].split() == ["AUC", "log-loss", "RMSE", "ECE"]
    assert len(lines[2].split()) == 4
    assert lines[3].startswith("mastery at least 0.7")
    assert lines[4].startswith("95 % with learners resampled: AUC 0.")
    assert lines[5].startswith("a constant has a log-loss of 0.6")
    assert lines[6].split()[:2] == ["predicted", "right"]


def test_warnings_go_to_stderr_and_into_the_result(logs, capsys):
    assert main(["fit-learner", str(logs), "--model", "ema", "--json"]) == 0
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert any("judged on 8 learners" in warning for warning in told["warnings"])
    assert printed.err.splitlines() == [f"warning: {warning}" for warning in told["warnings"]]
    assert len(told["diagnostics"]["intervals"]["auc"]) == 2
    assert all(len(one_bin["interval"]) == 2 for one_bin in told["diagnostics"]["reliability"])


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--theta", "2"], "--theta"),
        (["--held-out", "0"], "--held-out"),
        (["--held-out", "0.001"], "cannot be held out"),
        (["--restarts", "0"], "restarts"),
        (["--model", "best-lr", "--ridge", "0"], "ridge"),
        (["--observed", "signal"], "no answer on a named concept"),
    ],
)
def test_wrong_calls_end_in_one_line(logs, flags, complaint, tmp_path, capsys):
    assert main(["fit-learner", str(logs), *flags, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_logs_that_are_not_there(tmp_path, capsys):
    assert main(["fit-learner", str(tmp_path / "none.parquet")]) == 2
    assert "none.parquet" in capsys.readouterr().err


@pytest.mark.skipif("MCCPO_DATA" not in os.environ, reason="MCCPO_DATA names no folder of real data")
def test_assistments_2009_reaches_the_known_auc(tmp_path, capsys):
    """A plain per-skill BKT has an AUC of 0.712 on learners held out, give or take who they are."""
    source = Path(os.environ["MCCPO_DATA"], "assist2009", "skill_builder_data_corrected.parquet")
    concept = pl.col("skill_name").drop_nulls().unique().sort().str.join("~~")
    table = (
        pl.read_parquet(source)
        .group_by("order_id")
        .agg(pl.col("user_id").first().cast(pl.String).alias("learner"), pl.col("correct").first() > 0, concept=concept)
        .with_columns(concept=pl.when(pl.col("concept") != "").then(pl.col("concept")))
        .sort("learner", "order_id")
        .with_columns(order=pl.int_range(pl.len()).over("learner"))
    )
    table.write_parquet(tmp_path / "logs.parquet")
    assert main(["fit-learner", str(tmp_path / "logs.parquet"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["concepts"] == 110
    assert found["diagnostics"]["auc"] == pytest.approx(0.712, abs=0.015)
    assert found["diagnostics"]["ece"] < 0.02


@pytest.mark.slow
@pytest.mark.skipif("MCCPO_DATA" not in os.environ, reason="MCCPO_DATA names no folder of real data")
@pytest.mark.parametrize(("model", "least"), [("best-lr", 0.78), ("elo", 0.77)])
def test_assistments_2009_is_predicted_as_well_as_published(model, least, capsys):
    """Best-LR is published at 0.77, question by question, on learners held out."""
    source = Path(os.environ["MCCPO_DATA"], "assist2009", "skill_builder_data_corrected.parquet")
    assert main(["fit-learner", str(source), "--format", "assistments-2009", "--model", model, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["diagnostics"]["events"] == 48_541
    assert found["diagnostics"]["auc"] > least
