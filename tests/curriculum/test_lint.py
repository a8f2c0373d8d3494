"""Faults found and repaired, against networkx and against real graphs."""

import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.curriculum import Curriculum, RawConcept, RawGraph, read_raw
from mccpo.curriculum.lint import check, repair, repaired
from mccpo.curriculum.lint.names import near_duplicates, spelling
from mccpo.errors import InputError

NAMES = list("abcdefg")


@st.composite
def raw_graphs(draw):
    needs = st.lists(st.sampled_from([*NAMES, "missing"]), max_size=3).map(tuple)
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8))
    return RawGraph(tuple(RawConcept(name, draw(needs)) for name in names))


def oracle_of(raw):
    graph = nx.DiGraph()
    graph.add_nodes_from(raw.names)
    graph.add_edges_from((u, v) for u, v in raw.edges if u in set(raw.names) and u != v)
    return graph


def kinds(raw):
    return Counter(finding.kind for finding in check(raw).findings)


def graph(**needs):
    return RawGraph(tuple(RawConcept(name, tuple(found.split())) for name, found in needs.items()))


@settings(deadline=None)
@given(raw_graphs())
def test_one_cycle_is_reported_for_each_strong_component_and_it_is_one(raw):
    components = [found for found in nx.strongly_connected_components(oracle_of(raw)) if len(found) > 1]
    cycles = [finding.where.split(" → ") for finding in check(raw).findings if finding.kind == "cycle"]
    assert len(cycles) == len(components)
    for path in cycles:
        assert path[0] == path[-1]
        assert len(set(path)) == len(path) - 1 > 1
        assert all(edge in raw.edges for edge in pairwise(path))


@settings(deadline=None)
@given(raw_graphs())
def test_repair_leaves_a_clean_graph_and_removes_nothing_that_could_stay(raw):
    curriculum, removed = repair(raw)
    assert set(curriculum.concepts) == set(raw.names)
    again = check(curriculum.to_raw())
    assert again.usable
    assert {finding.kind for finding in again.findings} <= {"redundant"}
    assert again.depth == curriculum.depth == check(raw).depth
    kept = oracle_of(curriculum.to_raw())
    cut = set(oracle_of(raw).edges) - set(kept.edges)
    assert len(cut) == sum(one.kind == "cycle" for one in removed)
    assert all(nx.has_path(kept, v, u) for u, v in cut)
    assert bool(removed) == bool(set(kinds(raw)) - {"redundant", "unreachable"})


@settings(deadline=None)
@given(raw_graphs())
def test_reducing_is_the_transitive_reduction(raw):
    curriculum, _ = repair(raw)
    reduced, _ = repair(raw, reduce=True)
    expected = nx.transitive_reduction(oracle_of(curriculum.to_raw()))
    assert set(reduced.edges) == set(expected.edges)
    assert kinds(raw)["redundant"] == len(curriculum.edges) - len(reduced.edges)


@settings(deadline=None)
@given(raw_graphs())
def test_unreachable_is_what_no_learner_ever_gets_to(raw):
    names = set(raw.names)
    mastered: set[str] = set()
    while True:
        ready = {name for name in names if all(u in mastered for u, v in raw.edges if v == name)}
        if ready == mastered:
            break
        mastered = ready
    assert {finding.where for finding in check(raw).findings if finding.kind == "unreachable"} == names - mastered


def test_a_self_loop_is_not_also_a_cycle():
    assert kinds(graph(a="a", b="a")) == {"self-loop": 1, "unreachable": 2}


def test_the_edge_that_closes_a_cycle_against_the_order_of_the_file_goes():
    curriculum, removed = repair(graph(a="c", b="a", c="b"))
    assert curriculum.edges == (("a", "b"), ("b", "c"))
    assert [one.as_json() for one in removed] == [
        {"kind": "cycle", "where": "c → a", "why": "closes a cycle of a, b, c"}
    ]


def test_few_edges_go_even_when_the_file_lists_dependents_first():
    raw = graph(e="d c b a", d="c b a", c="b a", b="a", a="e")
    assert [one.where for one in repair(raw)[1]] == ["e → a"]


@pytest.mark.parametrize(
    "names",
    ["linear_equations linear-equations", "Angle angle ANGLE", "fraction fractions", "number_line numberline",
     "unit_1 unit-01 Unit1", "ｘ x", "categories category"],
)  # fmt: skip
def test_names_that_differ_only_in_spelling_are_alike(names):
    assert near_duplicates(names.split()) == (tuple(names.split()),)


@pytest.mark.parametrize("names", ["unit_1_15 unit_11_5", "a<b a>b", "mas mass", "sum sums_2", "+ -", "gas ga"])
def test_names_that_mean_something_else_are_not_alike(names):
    assert near_duplicates(names.split()) == ()


def test_a_name_of_marks_alone_is_its_own_spelling():
    assert spelling("-") == "-"


def test_near_duplicates_are_found_and_left_as_they_are():
    raw = RawGraph((RawConcept("linear_equations"), RawConcept("linear-equations", ("Sums ",)), RawConcept("sum")))
    report = check(raw)
    assert [(one.kind, one.where) for one in report.findings[:2]] == [
        ("dangling", "Sums  → linear-equations"),
        ("near-duplicate", "linear_equations, linear-equations"),
    ]
    assert report.findings[0].message == "'Sums ' is not a concept of the graph; is it 'sum'?"
    assert check(graph(a="", A="a")).usable
    assert set(repair(raw)[0].concepts) == set(raw.names)


def test_repair_states_no_demand_that_the_file_does_not():
    raw = RawGraph((RawConcept("a", (), 0.3), RawConcept("b", ("a", "b"))), "g.csv")
    left, removed = repaired(raw)
    assert left.rows == (RawConcept("a", (), 0.3), RawConcept("b", ("a",)))
    assert left.source == "g.csv"
    assert len(removed) == 1


def test_a_repair_that_drops_most_edges_is_refused():
    with pytest.raises(InputError) as refused:
        repaired(graph(a="", b="a x y b", c="b d", d="c"))
    assert str(refused.value) == (
        "FILE: a repair would drop 4 of 7 edges (2 dangling, 1 self-loop, 1 cycle); "
        "correct the file; `mccpo curriculum check FILE` lists the faults"
    )
    repaired(graph(a="", b="a x", c="b y"))  # half
    repaired(RawGraph((RawConcept("a"), RawConcept("b", ("a", "")), RawConcept("c", ("", "b", "")))))
    dense = graph(a="", b="a", c="a b", d="a b c", e="a b c d")
    assert len(repaired(dense, reduce=True)[0].edges) == 4  # of 10: the paths say the same


def test_the_json_has_these_keys():
    report = check(graph(a="x")).as_json()
    assert list(report) == ["concepts", "edges", "depth", "findings"]
    assert report["findings"][0] == {
        "kind": "dangling",
        "where": "x → a",
        "message": "'x' is not a concept of the graph",
    }


def real(*parts):
    folder = os.environ.get("MCCPO_DATA")
    if not folder:
        pytest.skip("MCCPO_DATA does not name a folder of real data")
    path = Path(folder, *parts)
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return read_raw(path)


def test_junyi_2015():
    raw = real("junyi2015", "junyi_Exercise_table.csv")
    report = check(raw)
    assert (len(raw.rows), report.concepts, report.edges) == (837, 835, 981)
    found = {kind: [one.where for one in report.findings if one.kind == kind] for kind in ("self-loop", "cycle")}
    assert found["self-loop"] == ["proportions_1", "number_sense_length_l1"]
    assert [set(path.split(" → ")) for path in found["cycle"]] == [
        {"simplifying_radicals", "adding_and_subtracting_radicals", "radical_multiplication_and_division"}
    ]
    assert sum(times > 1 for times in Counter(raw.names).values()) == 2
    assert "angle_types, angle types, angle-types" in {one.where for one in report.findings}
    assert len(repair(raw)[0].edges) == 981 - 3


def test_khan_academy():
    report = check(real("khan_academy", "khan_exercises_prerequisites.csv"))
    assert (report.concepts, report.edges, report.depth) == (1838, 1445, 56)
    assert sum(finding.kind == "dangling" for finding in report.findings) == 14


@pytest.mark.parametrize(
    ("name", "concepts", "edges", "usable"),
    [("DBE-KT22", 98, 101, True), ("WDKG-Course", 45, 72, False), ("WDKG-KnowledgePoints", 121, 285, True)],
)
def test_graphml_of_others(name, concepts, edges, usable):
    raw = real("prereq_other", f"{name}.graphml")
    report = check(raw)
    assert (report.concepts, report.edges, report.usable) == (concepts, edges, usable)
    if usable:
        assert len(Curriculum.from_raw(raw)) == concepts
