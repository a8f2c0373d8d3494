"""Public data sets: the catalogue is whole and in the docs, and an environment can be made of a release."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import mccpo
from mccpo import datasets
from mccpo.errors import InputError
from mccpo.logs import SOURCES
from mccpo.logs.synthetic import generate

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", datasets.names())
def test_a_data_set_is_described_in_full_and_in_the_docs(name):
    dataset = datasets.get(name)
    assert dataset.format in SOURCES
    assert dataset.home.startswith("https://")
    assert all((dataset.title, dataset.licence, dataset.cite, dataset.files, dataset.graph, dataset.sampled))
    assert set(dataset.unchecked) <= {field.name for field in fields(dataset)}
    page = " ".join((ROOT / "docs/data.md").read_text(encoding="utf-8").split()).replace("]( ", "](")
    said = page.partition(f"- [`{name}`]({dataset.home}): ")[2].partition(" - [`")[0]
    assert f"**Released:** {dataset.released}." in said
    assert f"**Licence:** {dataset.licence}." in said
    assert f"**Prerequisites:** {dataset.graph}." in said
    assert ("**Not checked:**" in said) == bool(dataset.unchecked)
    assert ("unchecked" in str(dataset)) == bool(dataset.unchecked)


def test_every_environment_from_data_has_its_data_set():
    shown = datasets.gallery()
    made_of_data = {entry.name for entry in shown if entry.dataset is not None}
    assert made_of_data == {name for name in datasets.names() for name in datasets.get(name).environments}
    assert [entry.dataset is None for entry in shown] == sorted(
        [entry.dataset is None for entry in shown], reverse=True
    )
    assert all(entry.summary.endswith(".") for entry in shown)


def test_an_unknown_name_is_told_with_those_there_are():
    with pytest.raises(InputError, match="there is no data set 'ednet'; choose from assistments-2009, "):
        datasets.get("ednet")


@pytest.mark.slow
def test_a_release_with_a_recipe_becomes_an_environment(tmp_path):
    generate("junyi-2020", tmp_path / "junyi", rows=3_000, learners=20)
    folder = datasets.prepare("junyi-2020", tmp_path / "junyi" / "Log_Problem.csv", tmp_path / "mine")
    env = mccpo.make(str(folder), horizon=5)
    document = json.loads((folder / "prepared.json").read_text())
    assert len(env.curriculum) == document["graph"]["concepts"] > 1
    assert "derived" in document["graph"]
    assert env.horizon == 5


def junyi_2015(folder: Path, learners: int = 24) -> None:
    """A small release of the exact schema: three exercises in a row, and learners who go through them."""
    header = (
        "user_id,exercise,problem_type,problem_number,topic_mode,suggested,review_mode,time_done,time_taken,"
        "time_taken_attempts,correct,count_attempts,hint_used,count_hints,hint_time_taken_list,earned_proficiency,"
        "points_earned"
    )
    rng = np.random.default_rng(0)
    rows = [header]
    for who in range(learners):
        for step in range(36):
            exercise = ("counting", "adding", "times")[step // 12]
            right = str(rng.random() < 0.4 + 0.04 * (step % 12)).lower()
            time = 1_400_000_000_000_000 + (who * 100 + step) * 60_000_000
            rows.append(f"{who},{exercise},t,{step},false,false,false,{time},9,9,{right},1,false,0,,false,10")
    folder.mkdir()
    (folder / "junyi_ProblemLog_original.csv").write_text("\n".join(rows) + "\n")
    table = "name,prerequisites\ncounting,\nadding,counting\ntimes,adding\ntimes,adding\n"
    (folder / "junyi_Exercise_table.csv").write_text(table, encoding="utf-8-sig")


class Recorded:
    """Stands in for what logs are made into, where the making is not what is tested: it takes half a minute."""

    def __init__(self, table, graph, options, *, origin):
        self.table, self.graph, self.origin = table, graph, origin

    def warned(self, lines):
        self.warnings = list(lines)
        return self

    def compared(self):
        return self

    def write(self, folder):
        folder.mkdir()


def test_the_experts_graph_is_taken_where_there_is_one(tmp_path, monkeypatch):
    junyi_2015(tmp_path / "junyi")
    made = []
    monkeypatch.setattr("mccpo.experiments.prepare.prepare", lambda *a, **k: made.append(Recorded(*a, **k)) or made[-1])
    assert datasets.prepare("junyi-2015", tmp_path / "junyi", tmp_path / "mine") == tmp_path / "mine"
    (prepared,) = made
    assert set(prepared.graph.edges) == {("counting", "adding"), ("adding", "times")}
    assert prepared.warnings == ["the graph had 2 faults, which were repaired"]
    assert (prepared.table.height, prepared.origin.format) == (24 * 36, "junyi-2015")
    (tmp_path / "junyi/junyi_Exercise_table.csv").unlink()
    with pytest.raises(InputError, match="put it beside the log"):
        datasets.prepare("junyi-2015", tmp_path / "junyi", tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_a_release_with_the_experts_graph_becomes_an_environment(tmp_path):
    junyi_2015(tmp_path / "junyi")
    folder = datasets.prepare("junyi-2015", tmp_path / "junyi", tmp_path / "mine")
    assert mccpo.make(str(folder)).curriculum.concepts == ("counting", "adding", "times")
    assert "the graph had" in json.loads((folder / "prepared.json").read_text())["warnings"][0]


def test_the_catalogue_needs_no_heavy_library():
    code = (
        "import sys, mccpo; mccpo.datasets.get('xes3g5m'); print(sorted({'jax', 'polars', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
