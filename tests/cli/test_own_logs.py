"""Logs of one's own: what is taken without a question, and the one line that says what to do about the rest."""

from pathlib import Path

import numpy as np
import pytest

from mccpo.cli import main
from mccpo.logs import ReadOptions, load

MAP = "learner=student,concept=skill,time=when,correct=right"
MAPPED = ["--format", "table", "--map", MAP]


def rows(between: str = ",", year: int = 2023, learners: int = 6) -> str:
    rng = np.random.default_rng(0)
    lines = ["student,skill,when,right"]
    for who in range(learners):
        lines += [
            f"s{who},k{at % 3},{year}-01-{1 + at:02d} 10:00:00,{int(rng.random() < 0.3 + 0.02 * at)}"
            for at in range(20)
        ]
    return "\n".join(lines).replace(",", between) + "\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(capsys: pytest.CaptureFixture[str], *tokens: str) -> str:
    """The one line with which a command refuses."""
    assert main(list(tokens)) == 2
    line = capsys.readouterr().err.strip()
    assert "\n" not in line
    return line


@pytest.mark.parametrize(("between", "flag"), [(";", "--delimiter ';'"), ("\t", "--delimiter tab"), ("|", "'|'")])
@pytest.mark.parametrize("mapping", [[], ["--map", MAP], ["--map", "learner=student,correct=misspelt"]])
def test_another_delimiter_is_named(
    between: str, flag: str, mapping: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.csv").write_text(rows(between))
    assert flag in refusal(capsys, "logs", "check", "own.csv", "--format", "table", *mapping)


def test_a_second_delimiter_within_the_header_is_seen_through(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.csv").write_text("learner;correct;score, in points\na;1;0,5\n")
    assert "--delimiter ';'" in refusal(capsys, "logs", "check", "own.csv", "--format", "table")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_tells_the_encoding(encoding: str) -> None:
    Path("own.csv").write_text(rows().replace("k0", "Brüche"), encoding=encoding)
    logs = load("own.csv", "table", ReadOptions(mapping=dict(pair.split("=") for pair in MAP.split(","))))
    assert set(logs.table["concept"].cast(str)) == {"Brüche", "k1", "k2"}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_named(encoding: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.csv").write_text(rows(), encoding=encoding)
    assert f"--encoding {encoding}" in refusal(capsys, "logs", "check", "own.csv", *MAPPED)
    assert main(["logs", "check", "own.csv", *MAPPED, "--encoding", encoding]) == 0


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("2023-01-01,richtig,10", "'richtig' is not 1 or 0, true or false, yes or no, correct or incorrect"),
        ("2023-01-01,1,'37,5'", '"37,5" is not a number such as 12.5'),
        ("1 März,1,10", "'1 März' is not a time such as 2026-03-01 08:15"),
    ],
)
def test_an_unreadable_value_is_shown_with_the_readable_ones(
    row: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.csv").write_text(f"learner,time,correct,seconds\na,{row}\n".replace("'", '"'))
    assert told.replace('"', "'") in refusal(capsys, "logs", "check", "own.csv", "--format", "table")


def test_times_that_all_are_zero_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """By them, the same answer given twice would count as one row that stands twice."""
    Path("own.csv").write_text("user_id,item_id,timestamp,correct,skill_id\n" + "a,i,0,1,k\n" * 3)
    assert "leave time out of --map" in refusal(capsys, "logs", "check", "own.csv", "--format", "table")
    mapping = {"learner": "user_id", "item": "item_id", "correct": "correct", "concept": "skill_id"}
    assert load("own.csv", "table", ReadOptions(mapping=mapping)).account.interactions == 3


def test_models_that_could_be_chosen_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    columns = ["Anon Student Id", "Problem Name", "Step Name", "First Transaction Time", "First Attempt"]
    lines = [[*columns, "KC (Fine)", "KC (Coarse)"], ["a", "p", "s", "2023-01-01 10:00:00", "correct", "f", "c"]]
    Path("own.txt").write_text("".join("\t".join(line) + "\n" for line in lines))
    assert main(["logs", "check", "own.txt", "--format", "datashop"]) == 0
    assert "concepts are those of the model 'Fine'; --model takes another: Coarse" in capsys.readouterr().err
    assert main(["logs", "check", "own.txt", "--format", "datashop", "--model", "Coarse"]) == 0
    assert "model" not in capsys.readouterr().err


@pytest.mark.parametrize("command", [["audit"], ["fit-learner"], ["curriculum", "learn", "--out", "g.json"]])
def test_a_file_that_is_no_canonical_table_asks_for_a_format(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.csv").write_text(rows())
    line = refusal(capsys, *command, "own.csv")
    assert "--format table with --map" in line
    assert "PAR1" not in line


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ("learner=student,concept=student,correct=right", "'student' of own.csv is to be learner and concept at once"),
        ("learner=student,correct=right,signal=right", "'right' of own.csv is to be correct and signal at once"),
    ],
)
def test_a_column_is_not_two_things(mapping: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.csv").write_text(rows())
    assert told in refusal(capsys, "logs", "check", "own.csv", "--format", "table", "--map", mapping)


def test_an_exercise_may_be_concept_and_item_at_once() -> None:
    Path("own.csv").write_text(rows())
    mapping = {"learner": "student", "concept": "skill", "item": "skill", "correct": "right", "group_skill": "skill"}
    table = load("own.csv", "table", ReadOptions(mapping=mapping)).table
    assert table["concept"].cast(str).equals(table["item"].cast(str))


def test_times_before_1970_are_rejected_with_their_reason(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.csv").write_text(rows(year=1923))
    assert "time before 1970 in when" in refusal(capsys, "logs", "check", "own.csv", *MAPPED)
    Path("own.csv").write_text("learner,time,correct\na,-5,1\na,0,1\na,5,0\n")
    logs = load("own.csv", "table", most_rejected=0.5)
    assert (logs.account.interactions, logs.account.reasons) == (2, {"time before 1970 in time": 1})


def test_every_command_that_reads_logs_takes_their_delimiter_and_encoding(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.csv").write_text(rows(";"), encoding="utf-16-le")
    flags = [*MAPPED, "--delimiter", ";", "--encoding", "utf-16-le"]
    assert main(["audit", "own.csv", *flags, "--model", "ema"]) == 0
    assert main(["fit-learner", "own.csv", *flags, "--model", "ema"]) == 0
    assert main(["curriculum", "learn", "own.csv", *flags, "--min-learners", "3", "--out", "graph.json"]) == 0
    capsys.readouterr()


def test_flags_that_say_nothing_about_a_canonical_table_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.csv").write_text(rows())
    assert main(["logs", "convert", "own.csv", *MAPPED, "--out", "own.parquet"]) == 0
    capsys.readouterr()
    assert "leave --map out" in refusal(capsys, "audit", "own.parquet", "--map", MAP)


@pytest.mark.parametrize(
    "command", [["curriculum", "check"], ["curriculum", "compare"], ["prepare"], ["compare"], ["train"]]
)
def test_help_names_the_columns_of_a_graph(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "prerequisite,concept" in told
    assert "name,prerequisites" in told
