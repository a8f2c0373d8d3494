"""Routes that name components as the release does: an ancestor comes before what follows it."""

import json

import networkx as nx
import numpy as np
import pytest

from mccpo.curriculum import Curriculum
from mccpo.curriculum.derive import Xes3g5mChoices, derive_xes3g5m, read_routes
from mccpo.errors import InputError

NAMES = {"0": "数", "1": "加法", "2": "加法 ", "3": "乘法", "4": "几何", "5": "圆"}


def write(folder, routes, names=NAMES):
    questions = {
        str(number): {
            "content": "…",
            "kc_routes": found,
            "answer": ["1"],
            "options": {},
            "analysis": "",
            "type": "填空",
        }
        for number, found in enumerate(routes)
    }
    (folder / "questions.json").write_text(json.dumps(questions, ensure_ascii=False), encoding="utf-8")
    (folder / "kc_routes_map.json").write_text(json.dumps(names, ensure_ascii=False), encoding="utf-8")
    return folder


ROUTES = [["数----加法----乘法"], ["数----加法----乘法"], ["数----加法"], ["数----加法 "], ["几何----圆"], ["数"]]


def derive(folder, routes=ROUTES, counts=None, **choices):
    return derive_xes3g5m(read_routes(write(folder, routes)), Xes3g5mChoices(**choices), counts)


def test_ancestors_are_prerequisites_and_names_keep_their_white_space(tmp_path):
    graph = derive(tmp_path).graph
    # 几何 is on a route, but no question asks for it: it has no interactions, and 圆 is left without an edge
    assert set(graph.edges) == {("数", "加法"), ("数", "乘法"), ("加法", "乘法"), ("数", "加法 ")}
    assert graph.evidence["数", "乘法"].support == {"questions": 2, "steps": 2}
    assert set(graph.names) == {"数", "加法", "加法 ", "乘法"}
    assert set(derive(tmp_path, pairs="nearest").graph.edges) == set(graph.edges) - {("数", "乘法")}


def test_nearest_steps_over_what_is_not_kept(tmp_path):
    counts = {"数": 5, "3": 9, "加法": 0}
    assert derive(tmp_path, counts=counts, pairs="nearest").graph.edges == (("数", "乘法"),)


def test_only_the_most_frequent_are_kept(tmp_path):
    counts = {"1": 9, "加法 ": 8, "3": 7, "0": 1}
    graph = derive(tmp_path, counts=counts, top=3).graph
    assert graph.edges == (("加法", "乘法"),)
    assert set(derive(tmp_path, counts=counts, top=3, alone="kept").graph.names) == {"加法", "加法 ", "乘法"}
    derived = derive(tmp_path, counts=counts, top=3, names="id")
    assert derived.graph.edges == (("1", "3"),)
    assert derived.members == {"1": ("1",), "3": ("3",)}
    with pytest.raises(InputError, match="'99', which is no component"):
        derive(tmp_path, counts={"99": 1})


def test_routes_that_contradict_one_another_are_refused_or_repaired(tmp_path):
    routes = [["数----加法"], ["加法----数"], ["数----乘法"]]
    with pytest.raises(InputError, match=r"cycle, .* → .*; correct it, or add --choice cycles=repair"):
        derive(tmp_path, routes)
    derived = derive(tmp_path, routes, cycles="repair")
    assert len(Curriculum.from_raw(derived.graph).edges) == 2
    assert any("removed" in note for note in derived.notes)
    assert derived.graph.derived is not None
    assert set(derived.graph.evidence) == set(derived.graph.edges)


def test_all_pairs_are_the_closure_of_the_nearest(tmp_path):
    """A taxonomy of the release's size: each component below one of those before it, every one asked for."""
    random = np.random.default_rng(0)
    parent = [int(random.integers(0, number)) if number else None for number in range(300)]
    names = {str(number): f"kc {number}" for number in range(300)}
    routes = []
    for number in range(300):
        path, at = [], number
        while at is not None:
            path.append(names[str(at)])
            at = parent[at]
        routes.append(["----".join(reversed(path))])
    found = read_routes(write(tmp_path, routes, names))
    every = derive_xes3g5m(found, Xes3g5mChoices(top=0)).graph
    nearest = derive_xes3g5m(found, Xes3g5mChoices(top=0, pairs="nearest")).graph
    assert set(every.edges) == set(nx.transitive_closure(nx.DiGraph(nearest.edges)).edges)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("questions.json", "{", "is not JSON"),
        ("questions.json", "[]", "is not a JSON object"),
        ("questions.json", '{"1": {"content": ""}}', "question 1 has no list of kc_routes"),
        ("questions.json", '{"1": {"kc_routes": ["数----加法  "]}}', "which kc_routes_map.json lacks"),
        ("kc_routes_map.json", '{"0": "数", "1": "数"}', "names component 1"),
    ],
)
def test_wrong_files_are_refused_in_one_line(tmp_path, file, text, message):
    write(tmp_path, ROUTES)
    (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_routes(tmp_path)
