"""The Junyi 2020 recipe on taxonomies small enough to draw, and on the real one where it is at hand."""

import os
from pathlib import Path

import pytest

from mccpo.curriculum import Curriculum
from mccpo.curriculum.derive import (
    Junyi2020Choices,
    derive_junyi2020,
    every_combination,
    graph_size,
    read_taxonomy,
)
from mccpo.curriculum.derive.recipe import settle
from mccpo.errors import InputError

HEADER = (
    "ucid,content_pretty_name,content_kind,difficulty,subject,learning_stage,level1_id,level2_id,level3_id,level4_id"
)
ROWS = [  # id, difficulty, stage, level 2 node; e is elementary, j and k are junior, s is senior
    ("e1", "easy", "elementary", "e"), ("e2", "easy", "elementary", "e"), ("e3", "normal", "elementary", "e"),
    ("e4", "hard", "elementary", "e"), ("e5", "unset", "elementary", "e"),
    ("j1", "easy", "junior", "j"), ("j2", "hard", "junior", "j"),
    ("k1", "normal", "junior", "k"),
    ("s1", "easy", "senior", "s"),
]  # fmt: skip


def write(path, rows=ROWS, header=HEADER):
    lines = [f"{i},ã€åŸº,Exercise,{d},math,{s},m,{n},{n}3,{n}4" for i, d, s, n in rows]
    path.write_text("\ufeff" + "\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def taxonomy(tmp_path):
    return read_taxonomy(write(tmp_path / "Info_Content.csv"))


def edges(taxonomy, **choices):
    graph = derive_junyi2020(taxonomy, Junyi2020Choices(**{"min_exercises": 1} | choices)).graph
    short = {name: f"{name.split()[1]}.{name.split()[3]}" for name in graph.names if " " in name}
    return {(short.get(start, start), short.get(end, end)) for start, end in graph.edges}


WITHIN = {("e.easy", "e.normal"), ("e.normal", "e.hard"), ("j.easy", "j.hard")}


def test_easier_comes_first_in_a_cluster_and_the_earlier_stage_in_a_branch(taxonomy):
    across = {("e.hard", "j.easy"), ("e.hard", "k.normal"), ("j.hard", "s.easy"), ("k.normal", "s.easy")}
    assert edges(taxonomy) == WITHIN | across
    assert edges(taxonomy, senior="unlinked") == WITHIN | {("e.hard", "j.easy"), ("e.hard", "k.normal")}
    assert edges(taxonomy, cross="none") == WITHIN
    assert edges(taxonomy, branch="level2") == WITHIN  # no node of level 2 has exercises of two stages
    assert edges(taxonomy, cross="same", senior="dropped") == WITHIN | {
        ("e.easy", "j.easy"), ("e.hard", "j.hard"), ("e.normal", "k.normal"),
    }  # fmt: skip
    assert len(edges(taxonomy, cross="all", senior="dropped") - WITHIN) == 3 * 3


def test_unset_is_left_out_or_apart_or_easy(taxonomy):
    names = {
        choice: derive_junyi2020(taxonomy, Junyi2020Choices(unset=choice, min_exercises=1))
        for choice in ("apart", "easy")
    }
    assert "level2 e elementary unset" in names["apart"].graph.names
    assert edges(taxonomy, unset="apart") == edges(taxonomy)
    assert names["easy"].members["level2 e elementary easy"] == ("e1", "e2", "e5")


def test_exercises_can_be_the_concepts(taxonomy):
    found = edges(taxonomy, concept="exercise", cross="none")
    assert found == {("e1", "e3"), ("e2", "e3"), ("e3", "e4"), ("j1", "j2")}


def test_small_groups_lonely_concepts_and_rare_exercises_can_go(taxonomy):
    assert derive_junyi2020(taxonomy, Junyi2020Choices(min_exercises=2)).graph.names == ("level2 e elementary easy",)
    kept = derive_junyi2020(taxonomy, Junyi2020Choices(min_exercises=1, cross="none", alone="dropped")).graph.names
    assert kept == tuple(f"level2 {name}" for name in (
        "e elementary easy", "e elementary normal", "e elementary hard", "j junior easy", "j junior hard",
    ))  # fmt: skip
    counts = {"e1": 10, "e3": 10, "j1": 9}
    derived = derive_junyi2020(taxonomy, Junyi2020Choices(min_exercises=1, min_interactions=10), counts)
    assert set(derived.members.values()) == {("e1",), ("e3",)}
    with pytest.raises(InputError, match="--counts"):
        derive_junyi2020(taxonomy, Junyi2020Choices(min_interactions=10))


def test_every_edge_says_where_it_comes_from(taxonomy):
    graph = derive_junyi2020(taxonomy, Junyi2020Choices(min_exercises=1)).graph
    assert set(graph.evidence) == set(graph.edges)
    assert graph.provenances() == {"difficulty order within a cluster": 3, "stage order within a branch": 4}
    support = graph.evidence["level2 e elementary easy", "level2 e elementary normal"].support
    assert support == {"cluster": "level2 e", "exercises_of_prerequisite": 2, "exercises_of_concept": 1}
    assert graph.derived is not None
    assert graph.derived.origin == "Info_Content.csv"


def test_sizes_count_what_the_graph_holds(taxonomy):
    for one in every_combination(taxonomy)[::7]:
        if one.concepts:
            graph = Curriculum.from_raw(derive_junyi2020(taxonomy, one.choices).graph)
            assert (one.concepts, one.edges, one.depth) == (len(graph), len(graph.edges), graph.depth)


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (ROWS, HEADER.replace("difficulty", "difficult"), "has no column difficulty"),
        (ROWS, HEADER.replace("ucid", "id"), "has no column ucid or content_index"),
        ([("e1", "tough", "elementary", "e")], HEADER, "line 2 has the difficulty 'tough'"),
        ([("e1", "easy", "college", "e")], HEADER, "line 2 has the learning_stage 'college'"),
        ([ROWS[0], ROWS[0]], HEADER, "line 3 has the ucid 'e1'"),
        ([], HEADER, "has no rows"),
        ([*ROWS, ("a,b", "easy", "junior", "j")], HEADER, "line 11 does not have 10 cells"),
    ],
)
def test_wrong_tables_are_refused_in_one_line(tmp_path, rows, header, message):
    with pytest.raises(InputError, match=message):
        read_taxonomy(write(tmp_path / "x.csv", rows, header))


def test_wrong_choices_are_refused(taxonomy):
    with pytest.raises(InputError, match="did you mean 'cluster'"):
        settle(Junyi2020Choices, {"clusters": "level2"})
    with pytest.raises(InputError, match="choose one of level1, level2"):
        settle(Junyi2020Choices, {"cluster": "level5"})
    with pytest.raises(InputError, match="whole number"):
        settle(Junyi2020Choices, {"min_exercises": -1})
    with pytest.raises(InputError, match="finer than the cluster"):
        derive_junyi2020(taxonomy, Junyi2020Choices(branch="level3"))
    with pytest.raises(InputError, match="leaves no concept"):
        derive_junyi2020(taxonomy, Junyi2020Choices(min_exercises=99))


def test_the_real_exercises_give_the_papers_numbers_under_the_defaults():
    if "MCCPO_DATA" not in os.environ:
        pytest.skip("MCCPO_DATA is not set")
    taxonomy = read_taxonomy(Path(os.environ["MCCPO_DATA"]) / "junyi2020" / "Info_Content_from_sql_dump.csv")
    assert len(taxonomy.exercises) == 1330
    graph = Curriculum.from_raw(derive_junyi2020(taxonomy).graph)
    assert (len(graph), len(graph.edges), graph.depth) == (14, 17, 5)
    exact = [
        least for least in range(1, 101) if graph_size(taxonomy, Junyi2020Choices(min_exercises=least)).distance == 0
    ]
    assert exact == [19, 20, 21]
