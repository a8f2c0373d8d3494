"""`mccpo curriculum`, as a user runs it."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mccpo.cli import main
from mccpo.curriculum import Curriculum, read_raw

FAULTY = "name,prerequisites\na,\nb,a|b\nc,b|d|a|a\nd,c|x\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in os.environ:
        if variable.startswith("MCCPO_"):
            monkeypatch.delenv(variable)
    Path("faulty.csv").write_text(FAULTY)
    Path("good.csv").write_text("prerequisite,concept\na,b\nb,c\na,c\n")


def run(capsys, *tokens):
    code = main(["curriculum", *tokens])
    output = capsys.readouterr()
    return code, output.out, output.err


def run_json(capsys, *tokens):
    code, out, _ = run(capsys, *tokens, "--json")
    return code, json.loads(out)


def test_check_exits_3_on_grave_faults_with_its_json_all_the_same(capsys):
    code, report = run_json(capsys, "check", "faulty.csv")
    assert code == 3
    assert list(report) == ["concepts", "edges", "depth", "findings", "provenance"]
    assert (report["concepts"], report["edges"]) == (4, 7)
    assert [finding["kind"] for finding in report["findings"]] == [
        "cycle", "self-loop", "dangling", "duplicate", "unreachable", "unreachable", "unreachable", "redundant",
    ]  # fmt: skip


def test_check_exits_0_when_there_is_nothing_worse_than_redundance(capsys):
    code, out, err = run(capsys, "check", "good.csv")
    assert (code, err) == (0, "")
    assert "3 concepts, 3 edges, depth 2" in out
    assert "a → c: implied by a → b → c" in out


def test_check_repairs_and_records_what_it_removed(capsys):
    code, report = run_json(capsys, "check", "faulty.csv", "--repair", "out/mended.graphml", "--reduce")
    assert code == 0
    removed = json.loads(Path("out/mended.graphml.removed.json").read_text())["removed"]
    assert removed == report["removed"]
    assert {one["kind"] for one in removed} == {"self-loop", "duplicate", "dangling", "cycle", "redundant"}
    assert run(capsys, "check", "out/mended.graphml")[0] == 0
    assert Curriculum.read("out/mended.graphml").edges == (("a", "b"), ("b", "c"), ("c", "d"))


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["check", "none.csv"], "none.csv does not exist"),
        (["check", "faulty.csv", "--reduce"], "add --repair OUT"),
        (["check", "faulty.csv", "--repair", "out.txt"], "out.txt has the suffix '.txt'"),
        (["check", "faulty.csv", "--repair", "./faulty.csv"], "would overwrite faulty.csv"),
        (["show", "faulty.csv"], "run `mccpo curriculum check faulty.csv --repair OUT`"),
        (["show", "good.csv", "--theta", "1"], "theta is 1.0"),
        (["show", "good.csv", "--out", "x.png"], "ends in .svg"),
        (["show", "good.csv", "--mastery", "a=nan"], "mastery of 'a' is nan"),
        (["show", "good.csv", "--mastery", "a=1.5"], "mastery of 'a' is 1.5"),
        (["show", "good.csv", "--mastery", "a=x"], "a number from 0 to 1"),
        (["show", "good.csv", "--mastery", "zz=0.5"], "there is no concept 'zz'"),
        (["show", "good.csv", "--mastery", "none.json"], "cannot read none.json"),
        (["convert", "faulty.csv", "out.json"], "run `mccpo curriculum check faulty.csv --repair OUT`"),
        (["convert", "good.csv", "out.doc"], "names no graph format"),
        (["convert", "good.csv", "good.csv"], "would overwrite"),
        (["convert", "good.csv", "missing/../good.csv"], "would overwrite"),
        (["check", "faulty.csv", "--repair", "missing/../faulty.csv"], "would overwrite"),
    ],
)
def test_wrong_input_is_one_line_exit_2_and_no_file(capsys, tokens, message):
    before = sorted(Path().iterdir())
    code, out, err = run(capsys, *tokens)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert sorted(Path().iterdir()) == before


def test_repair_and_convert_invent_no_demand(capsys):
    """A demand of 0.5 in the file would count as stated, and `prepare` would not look for it in the logs."""
    Path("some.csv").write_text("prerequisite,concept,demand\n,a,0.2\na,b,\n")
    assert run(capsys, "convert", "some.csv", "some.json")[0] == 0
    assert run(capsys, "check", "some.csv", "--repair", "mended.csv")[0] == 0
    assert read_raw("some.json").demand == read_raw("mended.csv").demand == {"a": 0.2}


def test_repair_stops_before_it_drops_most_of_a_graph(capsys):
    Path("foreign.csv").write_text("name,prerequisites\na,\nb,a\nc,x|y\n")
    before = sorted(Path().iterdir())
    code, out, err = run(capsys, "check", "foreign.csv", "--repair", "mended.csv")
    assert (code, out) == (2, "")
    assert err == (
        "mccpo: foreign.csv: a repair would drop 2 of 3 edges (2 dangling); correct the file; "
        "`mccpo curriculum check foreign.csv` lists the faults\n"
    )
    assert sorted(Path().iterdir()) == before


def test_check_finds_near_duplicate_names_and_does_not_fail_for_them(capsys):
    Path("twice.csv").write_text("prerequisite,concept\na,linear_equations\na,linear-equation\n")
    code, out, _ = run(capsys, "check", "twice.csv")
    assert code == 0
    assert "near-duplicate: 1\n  linear_equations, linear-equation: these names differ only in" in out
    findings = run_json(capsys, "check", "twice.csv")[1]["findings"]
    assert [finding["kind"] for finding in findings] == ["near-duplicate"]


def test_a_repair_that_cannot_be_recorded_is_not_made(capsys):
    Path("mended.json.removed.json").mkdir()
    code, out, err = run(capsys, "check", "faulty.csv", "--repair", "mended.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "mended.json.removed.json" in err
    assert not Path("mended.json").exists()


@pytest.mark.parametrize(
    "content",
    ['{"a": NaN}', '{"a": "x"}', '{"a": true}', '{"a": null}', '{"aa": 1}', "[1]", "{", '{"a": 0.1, "a": 0.9}',
     f'{{"a": {10**400}}}', f'{{"a": -{10**400}}}', '{"a": 1e999}', f'{{"a": {"9" * 5000}}}'],
    ids=lambda content: content[:20],
)  # fmt: skip
def test_a_wrong_mastery_file_is_refused(capsys, content):
    Path("K.json").write_text(content)
    code, out, err = run(capsys, "show", "good.csv", "--mastery", "K.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert len(err) < 200
    assert "'a" in err or "K.json" in err


def test_show_draws_and_says_what_is_ready_and_what_locks_the_rest(capsys):
    Path("K.json").write_text('{"a": 0.9}')
    code, out, _ = run(capsys, "show", "good.csv", "--mastery", "K.json", "--out", "pictures/g.svg")
    assert code == 0
    assert "ready and not yet mastered: b" in out
    assert "c by b" in out
    assert "wrote pictures/g.svg" in out
    ElementTree.parse("pictures/g.svg")
    code, result = run_json(capsys, "show", "good.csv", "--mastery", "a=0.9")
    assert (result["mastered"], result["ready"], result["locked"]) == (["a"], ["a", "b"], {"c": ["b"]})
    assert result["drawing"] == "good.svg"


def test_convert_keeps_everything(capsys):
    for start, end in (("good.csv", "g.json"), ("g.json", "g.graphml.gz"), ("g.graphml.gz", "g.tsv")):
        assert run(capsys, "convert", start, end)[0] == 0
    assert Curriculum.read("g.tsv") == Curriculum.read("good.csv")
