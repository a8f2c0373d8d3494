"""`mccpo logs`, as a user runs it."""

import gzip
import json
import os
from pathlib import Path

import polars as pl
import pytest

from mccpo.cli import main
from mccpo.logs.synthetic import PLATFORMS

TABLE = ["--format", "table", "--map", "learner=student,concept=skill,item=problem,time=answered_at,correct=right"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in os.environ:
        if variable.startswith("MCCPO_"):
            monkeypatch.delenv(variable)


@pytest.fixture
def made(capsys):
    """A made-up log of Junyi's with faults in it, and what a check must find."""
    assert (
        main(["logs", "generate", "junyi-2020", "--rows", "2400", "--faults", "0.01", "--out", "junyi", "--json"]) == 0
    )
    return json.loads(capsys.readouterr().out)


def run(capsys, *tokens):
    code = main(["logs", *tokens])
    output = capsys.readouterr()
    return code, output.out, output.err


def strict(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_a_check_finds_what_was_planted(made, capsys):
    code, out, err = run(capsys, "check", "junyi", "--format", "junyi-2020", "--json")
    found = strict(out)
    assert (code, err) == (0, "")
    assert list(found) == [
        "rows", "interactions", "learners", "concepts", "items", "without_concept", "rejected", "first", "last",
        "skipped", "duplicates", "merged", "out_of_order", "reasons", "skips",
    ]  # fmt: skip
    assert {name: found[name] for name in made["expected"]} == made["expected"]
    assert found["rows"] == found["rejected"] + found["skipped"] + found["duplicates"] + found["merged"] + 2376
    assert found["rejected"] == sum(found["reasons"].values()) == 20
    assert sorted(Path().iterdir()) == [Path("junyi")]


def test_the_text_of_a_check_is_a_sum_with_its_reasons(made, capsys):
    code, out, err = run(capsys, "check", "junyi", "--format", "junyi-2020")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    assert "rows 2,400" in lines
    assert "- rejected 20" in lines
    assert "4 missing uuid" in lines
    assert "- duplicates 4" in lines
    assert any(line.startswith("= interactions 2,376") for line in lines)
    assert "--out DIR" in err


def test_rejects_are_kept_where_the_user_says(made, capsys):
    code, out, _ = run(capsys, "check", "junyi", "--format", "junyi-2020", "--out", "kept", "--json")
    assert code == 0
    assert strict(out)["written"] == ["kept/account.json", "kept/rejects.csv"]
    rejects = pl.read_csv("kept/rejects.csv", infer_schema=False)
    assert rejects.columns[:2] == ["line", "reason"]
    assert rejects.height == 20
    lines = Path("junyi/Log_Problem.csv").read_text().split("\n")
    for line, reason in rejects.select("line", "reason").iter_rows():
        text = lines[int(line) - 1]
        fields = text.split(",")
        marks = {
            "missing uuid": len(fields) == 14 and not fields[1],
            "unreadable is_correct": "perhaps" in fields,
            "unreadable timestamp_TW": fields[0] == "later",
            "missing is_correct": len(fields) == 6,
            "15 fields, where the header has 14": len(fields) == 15,
        }
        assert marks[reason], text
    assert json.loads(Path("kept/account.json").read_text())["rejected"] == 20


def test_convert_writes_the_table_its_account_and_its_rejects(made, capsys):
    code, out, _ = run(capsys, "convert", "junyi", "--format", "junyi-2020", "--out", "new/table.parquet", "--json")
    assert code == 0
    assert strict(out)["written"] == ["new/table.parquet", "new/table.account.json", "new/table.rejects.csv"]
    assert sorted(each.name for each in Path("new").iterdir()) == [
        "table.account.json", "table.parquet", "table.rejects.csv",
    ]  # fmt: skip
    table = pl.read_parquet("new/table.parquet")
    assert table.height == made["expected"]["interactions"]
    assert table.select(pl.struct("learner", "order").is_sorted()).item()
    before = Path("new/table.parquet").read_bytes()
    run(capsys, "convert", "junyi", "--format", "junyi-2020", "--out", "new/table.parquet")
    assert Path("new/table.parquet").read_bytes() == before


def test_nothing_is_left_of_a_conversion_that_fails(made, capsys, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mccpo.logs.write_rejects", fail)
    code, out, err = run(capsys, "convert", "junyi", "--format", "junyi-2020", "--out", "table.parquet")
    assert (code, out) == (1, "")
    assert "No space left" in err
    assert sorted(Path().iterdir()) == [Path("junyi")]


def test_generate_tells_the_check_that_fits(capsys):
    code, out, _ = run(capsys, "generate", "table", "--rows", "600", "--learners", "7", "--out", "made", "--json")
    found = strict(out)
    assert (code, found["path"]) == (0, "made/table.csv")
    command = found["check"].split()
    assert command[:3] == ["mccpo", "logs", "check"]
    code, out, _ = run(capsys, *command[2:], "--json")
    assert code == 0
    assert strict(out)["learners"] == 7


def test_the_help_of_generate_names_every_format(capsys):
    assert main(["logs", "generate", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert all(name in told for name in PLATFORMS)


def write_inputs():
    main(["logs", "generate", "table", "--rows", "500", "--out", "good.csv"])
    text = Path("good.csv").read_text()
    header = text.splitlines()[0]
    Path("semicolons.csv").write_text(text.replace(",", ";"))
    Path("tabs.csv").write_text(text.replace(",", "\t"))
    Path("no_correct.csv").write_text(text.replace("right", "wrong", 1))
    Path("latin.csv").write_bytes(text.replace("concept", "thème").encode("iso-8859-15"))
    Path("cut.csv.gz").write_bytes(gzip.compress(text.encode())[:-2000])
    Path("header.csv").write_text(header + "\n")
    Path("empty.csv").write_text("")
    rows = text.splitlines()
    Path("rejects.csv").write_text("\n".join([*rows[:481], *("," + row.split(",", 1)[1] for row in rows[481:])]))


@pytest.mark.parametrize("verb", ["check", "convert"])
@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["none.csv", *TABLE], "none.csv does not exist"),
        (["semicolons.csv", *TABLE], "separated by semicolons"),
        (["good.csv", *TABLE, "--delimiter", "tab"], "separated by commas"),
        (["good.csv", *TABLE, "--delimiter", ",,"], "one character"),
        (["no_correct.csv", *TABLE], "no column 'right'"),
        (["latin.csv", *TABLE], "--encoding"),
        (["good.csv", *TABLE, "--encoding", "klingon"], "no encoding 'klingon'"),
        (["cut.csv.gz", *TABLE], "cut.csv.gz"),
        (["header.csv", *TABLE], "no rows"),
        (["empty.csv", *TABLE], "empty"),
        (["rejects.csv", *TABLE], "20 of 500 rows"),
        (["rejects.csv", *TABLE, "--most-rejected", "1.5"], "from 0 to 1"),
        (["good.csv"], "no --format is given"),
        (["good.csv", "--format", "tabel"], "did you mean 'table'?"),
        (["good.csv", "--format", "table", "--map", "student"], "--map"),
    ],
)
def test_wrong_input_is_one_line_exit_2_and_leaves_nothing(verb, tokens, message, capsys):
    write_inputs()
    capsys.readouterr()
    before = sorted(Path().iterdir())
    code, out, err = run(capsys, verb, *tokens, "--out", {"check": "kept", "convert": "t.parquet"}[verb])
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
    assert sorted(Path().iterdir()) == before


def test_input_that_a_flag_puts_right_is_read(capsys):
    write_inputs()
    capsys.readouterr()
    for tokens in (
        ["tabs.csv", "--delimiter", "tab"],
        ["semicolons.csv", "--delimiter", ";"],
        ["latin.csv", "--encoding", "iso-8859-15"],
        ["rejects.csv", "--most-rejected", "0.05"],
    ):
        code, out, _ = run(capsys, "check", *tokens, *TABLE, "--json")
        found = strict(out)
        assert (code, found["rows"]) == (0, 500)
        assert found["rejected"] == (20 if tokens[0] == "rejects.csv" else 0)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["convert", "good.csv", *TABLE, "--out", "table.csv"], "ends in .parquet"),
        (["generate", "junyi-2021", "--rows", "10", "--out", "x"], "did you mean 'junyi-2020'?"),
        (["generate", "pykt", "--rows", "10", "--faults", "0.1", "--out", "x"], "no line for each answer"),
        (["generate", "table", "--rows", "ten", "--out", "x"], "not a whole number"),
        (["generate", "junyi-2020", "--rows", "10", "--out", "good.csv"], "is a file"),
    ],
)
def test_wrong_calls_are_one_line_and_exit_2(tokens, message, capsys):
    write_inputs()
    capsys.readouterr()
    before = sorted(Path().iterdir())
    code, out, err = run(capsys, *tokens)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("taken", ["table.parquet", "table.account.json", "table.rejects.csv"])
def test_a_conversion_into_a_folder_leaves_nothing_beside_it(taken, made, capsys):
    Path(taken).mkdir()
    code, out, err = run(capsys, "convert", "junyi", "--format", "junyi-2020", "--out", "table.parquet")
    assert (code, out) == (2, "")
    assert "is a folder" in err
    assert sorted(Path().iterdir()) == sorted([Path("junyi"), Path(taken)])


@pytest.mark.parametrize("taken", ["account.json", "rejects.csv"])
def test_a_check_that_cannot_keep_all_keeps_nothing(taken, made, capsys):
    Path("kept", taken).mkdir(parents=True)
    code, out, _ = run(capsys, "check", "junyi", "--format", "junyi-2020", "--out", "kept")
    assert (code, out) == (2, "")
    assert list(Path("kept").iterdir()) == [Path("kept", taken)]


def test_the_rejects_of_a_conversion_do_not_overwrite_its_log(capsys):
    log = Path("again.rejects.csv")
    log.write_text("learner,correct\nana,1\n")
    code, _, err = run(capsys, "convert", str(log), "--format", "table", "--out", "again.parquet")
    assert (code, list(Path().iterdir())) == (2, [log])
    assert "would overwrite again.rejects.csv" in err
    assert log.read_text() == "learner,correct\nana,1\n"
