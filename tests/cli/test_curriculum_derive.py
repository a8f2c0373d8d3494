"""`mccpo curriculum derive`, `choices`, `learn` and `compare`, as a user runs them."""

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from mccpo.cli import main
from mccpo.curriculum import Curriculum, read_raw

CONTENT = "ucid,difficulty,learning_stage,level1_id,level2_id,level3_id,level4_id\n" + "".join(
    f"{stage[0]}{difficulty[0]}{number},{difficulty},{stage},m,{stage[0]},{stage[0]}3,{stage[0]}4\n"
    for stage in ("elementary", "junior")
    for difficulty in ("easy", "normal", "hard")
    for number in range(20)
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in os.environ:
        if variable.startswith("MCCPO_"):
            monkeypatch.delenv(variable)
    Path("content.csv").write_text(CONTENT)


def run(capsys, *tokens):
    code = main(["curriculum", *tokens])
    output = capsys.readouterr()
    return code, output.out, output.err


def run_json(capsys, *tokens):
    code, out, err = run(capsys, *tokens, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_a_derived_graph_is_written_labelled_and_stays_so(capsys):
    tokens = ("derive", "content.csv", "--recipe", "junyi-2020", "--out", "g.json", "--members", "m.csv")
    result = run_json(capsys, *tokens)
    assert (result["concepts"], result["edges"], result["depth"]) == (6, 5, 5)
    assert len(Curriculum.read("g.json")) == 6
    assert Path("m.csv").read_text().startswith("item,concept\nee0,level2 e elementary easy\n")
    written = Path("g.json").read_bytes()
    run(capsys, *tokens)
    assert Path("g.json").read_bytes() == written
    for command in (("check", "g.json"), ("show", "g.json")):
        assert "derived by junyi-2020 from content.csv (concept=group" in run(capsys, *command)[1]
    run(capsys, "convert", "g.json", "h.json.gz")
    run(capsys, "check", "g.json", "--repair", "r.json")
    assert read_raw("h.json.gz").derived == read_raw("r.json").derived == read_raw("g.json").derived is not None
    assert "cannot say that this graph is derived" in run(capsys, "convert", "g.json", "h.csv")[2]


def test_choices_are_settled_on_the_command_line(capsys):
    tokens = (
        "derive",
        "content.csv",
        "--recipe",
        "junyi-2020",
        "--out",
        "g.json",
        "--choice",
        "cross=all,cluster=level3",
    )
    assert run_json(capsys, *tokens)["edges"] == 4 + 9


def test_choices_shows_what_each_yields(capsys):
    result = run_json(capsys, "choices", "content.csv")
    assert result["one_at_a_time"][0]["edges"] == 5
    assert result["exact"] == 0
    code, out, _ = run(capsys, "choices", "content.csv", "--nearest", "2")
    assert code == 0
    assert "None gives exactly the paper's numbers." in out


def write_logs():
    random = np.random.default_rng(0)
    rows = []
    for learner in range(400):
        knows_a = random.random() < 0.7
        knows_b = knows_a and random.random() < 0.6
        rows += [(str(learner), "a", 0, knows_a), (str(learner), "b", 1, knows_b)]
        rows.append((str(learner), "z", 2, random.random() < 0.5))
    columns = ["learner", "concept", "order", "correct"]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet("logs.parquet")


def test_a_graph_is_learnt_and_set_beside_an_experts(capsys):
    write_logs()
    result = run_json(capsys, "learn", "logs.parquet", "--out", "learnt.json")
    assert result["derived"].startswith("derived by responses from logs.parquet")
    assert Curriculum.read("learnt.json").edges == (("a", "b"),)
    Path("expert.csv").write_text("name,prerequisites\na,b\nb,\nz,z\n")
    found = run_json(capsys, "compare", "learnt.json", "expert.csv")
    assert (found["oriented"], found["orientation"], found["edges"]["right"]) == (1, 0.0, 0)
    assert found["repaired"] == {"expert.csv": 1}
    code, out, _ = run(capsys, "compare", "learnt.json", "learnt.json")
    assert code == 0
    assert "direction: 100.0% of 1 pairs" in out


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["derive", "content.csv", "--recipe", "other", "--out", "g.json"], "other"),
        (["derive", "content.csv", "--recipe", "junyi-2020", "--out", "g.csv"], "name a .json file"),
        (["derive", "none.csv", "--recipe", "junyi-2020", "--out", "g.json"], "none.csv does not exist"),
        (["derive", "content.csv", "--recipe", "case", "--out", "g.json"], "content.csv is not JSON"),
        (
            ["derive", "content.csv", "--recipe", "junyi-2020", "--out", "g.json", "--choice", "x=1"],
            "no choice 'x' open",
        ),
        (["derive", "content.csv", "--recipe", "junyi-2020", "--out", "g.json", "--choice", "cross"], "NAME=VALUE"),
        (["learn", "none.parquet", "--out", "g.json"], "none.parquet"),
        (["learn", "content.csv", "--out", "g.json"], "content.csv"),
        (["learn", "logs.parquet", "--out", "g.json", "--floor", "2"], "floor is 2.0"),
        (["compare", "content.csv", "content.csv"], "but neither prerequisite and concept"),
    ],
)
def test_a_wrong_call_ends_with_one_line_and_no_file(capsys, tokens, message):
    write_logs()
    code, out, err = run(capsys, *tokens)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not Path("g.json").exists()
