"""Log formats and graph formats that other packages add."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mccpo.cli import main
from mccpo.curriculum import Curriculum
from mccpo.curriculum.formats import FORMATS
from mccpo.logs import SOURCES, load

CODE = '''"""Logs of a school, in lines of who;what;right."""

from mccpo.curriculum.formats import GraphFormat, RawConcept, RawGraph
from mccpo.logs import Source, register_source
from mccpo.logs.reading import Text, Truth, open_table


@register_source("school", "Our school (answers.txt)")
def school(path, options):
    return Source(
        open=lambda path, options: open_table(path, ("who", "what", "right"), delimiter=options.delimiter or ";"),
        fields={
            "learner": Text("who", required=True),
            "concept": Text("what"),
            "correct": Truth("right", required=True),
        },
        order=(),
    )


LINES = GraphFormat(
    lambda content, source: RawGraph(tuple(RawConcept(name) for name in content.decode().split()), source),
    lambda raw: "\\n".join(raw.names) + "\\n",
)
'''
POINTS = """[mccpo.log_sources]
school = others_school:school
table = others_school:school
broken = others_school:nothing

[mccpo.curriculum_formats]
lines = others_school:LINES
"""


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    about = tmp_path / "others-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (tmp_path / "others_school.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "others_school", raising=False)
    for registry in (SOURCES, FORMATS):
        monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    rows = [f"{who};{what};{(at + number) % 2}" for at, who in enumerate("ab") for number, what in enumerate("xyxy")]
    path = tmp_path / "answers.txt"
    path.write_text("who;what;right\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["logs", "check"],
        ["logs", "convert", "--out", "t.parquet"],
        ["audit", "--model", "ema"],
        ["fit-learner", "--model", "ema", "--held-out", "0.5"],
    ],
)
def test_commands_read_a_format_of_another_package(
    answers: Path, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(answers.parent)
    assert not main([*command, str(answers), "--format", "school", "--json"])
    assert json.loads(capsys.readouterr().out)


def test_a_format_of_another_package_says_what_it_is(answers: Path) -> None:
    assert list(SOURCES)[-2:] == ["broken", "school"]
    assert SOURCES["school"].label == "Our school (answers.txt)"
    assert SOURCES["school"].docs == "Logs of a school, in lines of who;what;right."
    assert load(answers, "school").account.learners == 2


def test_a_broken_format_is_one_line_and_breaks_no_other(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "check", str(answers), "--format", "broken"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "the log format 'broken' of others_school:nothing fails" in said
    assert load(answers, "school").account.interactions == 8


@pytest.mark.usefixtures("answers")
def test_a_name_of_ours_stays_ours() -> None:
    assert SOURCES["table"].build.__module__ == "mccpo.logs.sources.mapped_table"


def test_a_graph_format_of_another_package_is_read_and_written(answers: Path) -> None:
    path = answers.with_name("graph.lines")
    Curriculum.from_edges([], ["a", "b"]).write(path)
    assert path.read_text() == "a\nb\n"
    assert Curriculum.read(path).concepts == ("a", "b")
