"""`mccpo audit`: what it prints and writes, and what it refuses."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from mccpo.cli import main
from mccpo.logs import read_table
from mccpo.mastery import codes
from mccpo.mastery.fitting import FitSettings, fit
from mccpo.mastery.tables import gains_by_model, responses_of


def write_logs(path: Path, *, signal: bool = True, concept: bool = True, learners: int = 40) -> pl.DataFrame:
    """A small canonical table: learners get better, and the platform says so now and then."""
    rng = np.random.default_rng(0)
    rows = []
    for who in range(learners):
        for order in range(int(rng.integers(5, 40))):
            right = bool(rng.random() < 0.5 + 0.01 * order)
            rows.append(
                {
                    "learner": f"u{who:03d}",
                    "concept": str(rng.choice(["sums", "halves", "halves~~sums"])) if concept else None,
                    "order": order,
                    "correct": right,
                    "signal": int(right and rng.random() < 0.3) if signal else None,
                    "group_class": "ab"[who % 2],
                }
            )
    pl.DataFrame(rows, schema_overrides={"concept": pl.String, "signal": pl.Int8}).write_parquet(path)
    return read_table(path)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_headline_says_that_it_depends_on_its_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Path("logs.parquet"), signal=False)
    assert main(["audit", "logs.parquet", "--model", "ema", "--out", "found"]) == 0
    curve = json.loads(Path("found/audit.json").read_text())["curves"][0]["points"]
    rates = {point["threshold"]: point["rate"] for point in curve}
    text = capsys.readouterr().out
    assert rates[0.05] > rates[0.0005]
    assert f"at 0.05 it is {100 * rates[0.05]:.1f} %" in text.splitlines()[1]
    assert "what is counted: right answers that bring no gain of mastery K" in text
    first = Path("found/audit.html").read_text().partition("<table")[0]
    assert "This number depends on its threshold" in first
    assert "Threshold of the gain of mastery" in first


def test_the_platforms_signal_has_no_threshold_to_depend_on(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Path("logs.parquet"))
    assert main(["audit", "logs.parquet", "--model", "ema"]) == 0
    assert "depends on its threshold" not in capsys.readouterr().out


def test_the_audit_is_printed_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    frame = write_logs(Path("logs.parquet"))
    assert main(["audit", "logs.parquet", "--model", "ema", "--out", "found", "--minimum", "20"]) == 0
    text = capsys.readouterr().out
    events = frame.filter(pl.col("correct") & (pl.col("signal") != 1)).height
    assert f"{events:,} of {frame.height:,}" in text
    assert "correct ∧ signal ≠ up" in text
    assert "learners with at least 20 interactions" in text
    assert "from 0.0005 to 0.05" in text
    told = json.loads(Path("found/audit.json").read_text())
    assert told["prevalence"][1]["events"] == events
    assert told["main"] == "signal"
    kept = frame.filter(pl.len().over("learner") >= 20)
    assert told["episodes"] == {"interactions": kept.height, "learners": kept["learner"].n_unique()}
    assert "Right answers that bring no mastery: logs<" in Path("found/audit.html").read_text()


def test_a_page_has_its_numbers_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Path("logs.parquet"))
    assert main(["audit", "logs.parquet", "--model", "ema", "--out", "found/mine.html", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["written"] == [str(Path("found/mine.json")), str(Path("found/mine.html"))]
    assert all(Path(name).exists() for name in told["written"])
    assert main(["audit", "logs.parquet", "--model", "ema", "--out", "mine.txt"]) == 2
    assert "name a page that ends in .html, or a folder" in capsys.readouterr().err


def test_json_alone_is_printed_and_nothing_written(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Path("logs.parquet"))
    assert main(["audit", "logs.parquet", "--model", "ema", "--threshold", "0.02", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["definitions"]["ema"]["threshold"] == 0.02
    assert [path.name for path in Path().iterdir()] == ["logs.parquet"]


def test_without_a_signal_the_moving_average_sums_up(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Path("logs.parquet"), signal=False)
    assert main(["audit", "logs.parquet", "--model", "ema"]) == 0
    assert "The platform gives no signal of mastery" in capsys.readouterr().out


def test_without_concepts_the_signal_is_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Path("logs.parquet"), concept=False)
    assert main(["audit", "logs.parquet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told["definitions"]) == ["signal"]
    assert "concept" not in told["breakdowns"]


def test_a_log_without_concepts_or_signal_cannot_be_audited(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Path("logs.parquet"), concept=False, signal=False)
    assert main(["audit", "logs.parquet"]) == 2
    assert "neither concepts nor a signal" in capsys.readouterr().err


def test_no_learner_with_enough_interactions_is_no_episode(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Path("logs.parquet"))
    assert main(["audit", "logs.parquet", "--model", "ema", "--minimum", "1000", "--out", "found"]) == 0
    assert "retained episodes" not in capsys.readouterr().out
    assert json.loads(Path("found/audit.json").read_text())["episodes"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.parquet"], "none.parquet does not exist"),
        (["logs.parquet", "--by", "grade"], "no column 'grade'"),
        (["logs.parquet", "--threshold", "-1"], "the threshold of ema is -1"),
        (["logs.parquet", "--main", "bkt"], "no measure 'bkt'"),
        (["logs.parquet", "--minimum", "0"], "minimum is 0"),
        (["logs.parquet", "--hours-ahead", "99"], "--hours-ahead is 99"),
        (["logs.parquet", "--format", "junyi-2021"], "unknown log format"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    write_logs(Path("logs.parquet"))
    assert main(["audit", *arguments, "--model", "ema", "--out", "found"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert message in output.err
    assert not Path("found").exists()


def test_the_gain_by_knowledge_tracing_is_what_it_adds_event_by_event() -> None:
    frame = write_logs(Path("logs.parquet"), learners=15)
    frame = frame.with_columns(concept=pl.when(pl.col("order") != 3).then(pl.col("concept")))
    found = gains_by_model(frame, ["bkt"], FitSettings(restarts=2, seed=0))["bkt"]
    model = fit("bkt", responses_of(frame), FitSettings(restarts=2, seed=0)).model
    known: dict[tuple[str, str], float] = {}
    expected = []
    for learner, concept, correct in frame.select("learner", "concept", "correct").iter_rows():
        gains = []
        for name in (concept or "").split("~~") if concept else ():
            (code,) = codes(model, [name])
            before = known.get((learner, name), float(model.init(code)))
            known[learner, name] = float(model.update(code, before, correct))
            gains.append(known[learner, name] - before)
        expected.append(np.mean(gains) if gains else np.nan)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_gain_by_the_moving_average_is_what_it_adds_event_by_event() -> None:
    frame = write_logs(Path("logs.parquet"), learners=15)
    known: dict[tuple[str, str], float] = defaultdict(lambda: 0.2)
    expected = []
    for learner, concept, correct in frame.select("learner", "concept", "correct").iter_rows():
        parts = concept.split("~~")
        gains = [0.08 * (correct - known[learner, name]) for name in parts]
        for name, gain in zip(parts, gains, strict=True):
            known[learner, name] += gain
        expected.append(np.mean(gains))
    np.testing.assert_allclose(gains_by_model(frame, ["ema"], FitSettings(alpha=0.08))["ema"], expected, atol=1e-6)


@pytest.mark.parametrize(("format", "said"), [("junyi-2020", "26.5 % (90,485 of 340,988"), ("table", None)])
def test_the_papers_rate_stands_beside_its_own_data_sets(
    capsys: pytest.CaptureFixture[str], format: str, said: str | None
) -> None:
    assert main(["logs", "generate", format, "--out", "made", "--rows", "2000"]) == 0
    check = capsys.readouterr().out.splitlines()[-1].split()
    assert main(["audit", *check[3:], "--model", "ema"]) == 0
    text = capsys.readouterr().out
    assert ("The paper reports" in text) == (said is not None)
    assert said is None or said in text


def test_the_table_is_written_beside_the_audit() -> None:
    frame = write_logs(Path("logs.parquet"))
    assert main(["audit", "logs.parquet", "--model", "ema", "--table", "new/table.parquet", "--out", "found"]) == 0
    assert read_table("new/table.parquet").equals(frame)


@pytest.mark.parametrize(
    "tokens",
    [
        ["--main", "nonsense"],
        ["--by", "nosuch"],
        ["--threshold", "2"],
        ["--out", "taken"],
        ["--out", "half"],
    ],
)
def test_an_audit_that_fails_leaves_no_table(tokens: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Path("logs.parquet"))
    Path("taken").write_text("a file, where a folder should be")
    Path("half/audit.html").mkdir(parents=True)
    there = sorted(Path().rglob("*"))
    assert main(["audit", "logs.parquet", "--model", "ema", "--table", "table.parquet", *tokens]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(Path().rglob("*")) == there


@pytest.mark.parametrize(
    ("log", "place", "told"),
    [
        ("logs.csv", "logs.csv", "ends in .parquet"),
        ("logs.csv", "table", "ends in .parquet"),
        ("logs.parquet", "./logs.parquet", "would overwrite"),
        ("logs.parquet", "linked.parquet", "would overwrite"),
        ("logs.csv", "folder.parquet", "is a folder"),
    ],
)
def test_a_table_goes_where_it_harms_nothing(
    log: str, place: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs(Path("logs.parquet")).write_csv("logs.csv")
    Path("linked.parquet").hardlink_to("logs.parquet")
    Path("folder.parquet").mkdir()
    before = Path(log).read_bytes()
    assert main(["audit", log, "--format", "table", "--model", "ema", "--table", place]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert Path(log).read_bytes() == before
    assert not Path("table").exists()
