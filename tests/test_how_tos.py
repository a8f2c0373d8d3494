"""The examples of the how-to pages, tried as they stand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mccpo.cli import main
from mccpo.experiments.from_graph import STATED, read_graph
from mccpo.runs.benchmark import read_results
from mccpo.serve.service.xapi import outcome_of

PAGES = Path(__file__).parents[1] / "docs" / "how-to"


def block(page: str, language: str) -> str:
    """The only block of a language on a page, or the last of several."""
    return re.findall(rf"^```{language}\n(.*?)^```", (PAGES / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)[-1]


def test_the_xapi_statement_reports_an_outcome() -> None:
    outcome = outcome_of(json.loads(block("connect-by-xapi.md", "json")))
    assert outcome is not None
    assert outcome.correct
    assert outcome.seconds == 12.5
    assert outcome.learner.startswith("lrn_")
    assert (outcome.decision or "").startswith("dec_")


def test_the_plug_in_names_what_the_page_writes() -> None:
    points = tomllib.loads(block("write-a-plug-in.md", "toml"))["project"]["entry-points"]
    assert points["mccpo.environments"] == {"my-tutor": "my_course.environment:MyTutor"}
    code = block("write-a-plug-in.md", "python")
    assert "class MyTutor(Tutor):" in code
    assert '"my-tutor"' in code


def test_the_graph_of_the_page_is_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    graph = re.search(r"```text\n(prerequisite.*?)```", (PAGES / "derive-or-learn-a-graph.md").read_text(), re.DOTALL)
    assert graph is not None
    (tmp_path / "graph.csv").write_text(graph[1])
    assert main(["curriculum", "check", str(tmp_path / "graph.csv")]) == 0
    assert "3 concepts, 2 edges" in capsys.readouterr().out


def test_the_graph_of_the_tutor_page_is_read(tmp_path: Path) -> None:
    page = (PAGES.parent / "tutor.md").read_text("utf-8")
    graph = re.search(r"```text\n(name,prerequisites.*?)```", page, re.DOTALL)
    assert graph is not None
    (tmp_path / "course.csv").write_text(graph[1])
    assert len(read_graph(tmp_path / "course.csv").edges) == 6
    means = STATED.means()
    for name, words in zip(means, ("known at the start", "learnt in a lesson", "guess", "slip"), strict=True):
        row = re.search(rf"^\| {words} \|(.*)\|$", page, re.MULTILINE)
        assert row is not None
        assert float(row[1].split("|")[3]) == pytest.approx(means[name], abs=6e-4)


@pytest.mark.slow
def test_the_log_source_reads_a_file(tmp_path: Path) -> None:
    """In a process of its own, because a source stays registered."""
    (tmp_path / "answers.csv").write_text("student,skill,when,right\nana,sums,2026-01-05 09:00:00,1\n")
    tried = "\nfrom mccpo.logs import load\nassert load('answers.csv', 'my-lms').account.interactions == 1\n"
    program = block("add-a-log-source.md", "python") + tried
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, cwd=tmp_path, timeout=240)


@pytest.mark.slow
def test_folders_of_two_machines_make_one_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--methods", "random-ready,curriculum-order", "--seeds", "2"]
    for folder, env in (("first", "gate"), ("second", "chain")):
        assert main(["benchmark", "--envs", env, *asked, "--out", folder]) == 0
    shutil.copytree("first", "all")
    shutil.copytree("second/cells", "all/cells", dirs_exist_ok=True)
    trained = {path: path.stat().st_mtime_ns for path in Path("all/cells").rglob("policies.json")}
    assert main(["benchmark", "--envs", "gate,chain", *asked, "--out", "all", "--resume"]) == 0
    assert {path: path.stat().st_mtime_ns for path in Path("all/cells").rglob("policies.json")} == trained
    assert list(read_results(Path("all")).environments) == ["gate", "chain"]
    assert main(["benchmark", "--envs", "gate,chain", *asked, "--seed", "1", "--out", "all", "--resume"]) == 2
