"""Construction, order and content of a curriculum."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mccpo.curriculum import Curriculum
from mccpo.errors import InputError

CHAIN = [("a", "b"), ("b", "c")]


@st.composite
def dags(draw, most=12):
    """Edges over shuffled names, so that the given order is rarely a topological one."""
    size = draw(st.integers(1, most))
    names = draw(st.permutations([f"c{index}" for index in range(size)]))
    pairs = [(names[u], names[v]) for v in range(size) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3 * size)) if pairs else []
    return edges, sorted(names)


@settings(deadline=None)
@given(dags())
def test_every_prerequisite_comes_first_and_depth_is_the_longest_path(graph):
    edges, names = graph
    curriculum = Curriculum.from_edges(edges, names)
    oracle = nx.DiGraph(edges)
    oracle.add_nodes_from(names)
    place = {name: index for index, name in enumerate(curriculum.concepts)}
    assert sorted(curriculum.concepts) == names
    assert all(place[u] < place[v] for u, v in edges)
    assert curriculum.depth == nx.dag_longest_path_length(oracle)
    assert set(curriculum.sources) == {name for name in names if not oracle.in_degree(name)}
    for name in names:
        assert set(curriculum.ancestors(name)) == nx.ancestors(oracle, name)


@settings(deadline=None)
@given(dags())
def test_the_sparse_and_the_dense_form_say_the_same(graph):
    curriculum = Curriculum.from_edges(*graph)
    sparse, dense = curriculum.prerequisites
    for v in range(len(curriculum)):
        assert sorted(u for u in sparse[v] if u < len(curriculum)) == list(np.flatnonzero(dense[v]))
    assert dense.sum() == len(curriculum.edges)


@settings(deadline=None)
@given(dags(), st.randoms())
def test_the_order_of_edges_does_not_matter(graph, random):
    edges, names = graph
    shuffled = random.sample(edges, len(edges))
    first, second = Curriculum.from_edges(edges, names), Curriculum.from_edges(shuffled, names)
    assert first == second
    assert hash(first) == hash(second)


def test_a_topological_order_that_is_given_is_kept():
    assert Curriculum.from_edges([("b", "d")], ["c", "b", "a", "d"]).concepts == ("c", "b", "a", "d")


def test_demand_follows_its_concept_into_the_new_order():
    curriculum = Curriculum.from_edges(CHAIN, ["c", "b", "a"], [0.3, 0.2, 0.1])
    assert dict(zip(curriculum.concepts, curriculum.demand, strict=True)) == {"a": 0.1, "b": 0.2, "c": 0.3}
    assert list(Curriculum.from_edges(CHAIN, demand={"b": 1}).demand) == [0.5, 1.0, 0.5]


def test_content_decides_equality():
    assert Curriculum.from_edges(CHAIN) != Curriculum.from_edges(CHAIN, demand={"a": 0.1})
    assert Curriculum.from_edges(CHAIN) != Curriculum.from_edges(CHAIN[:1])
    assert Curriculum.from_edges(CHAIN) != "a curriculum"


def test_it_never_changes():
    curriculum = Curriculum.from_edges(CHAIN)
    with pytest.raises(AttributeError):
        curriculum.concepts = ()
    for array in (curriculum.demand, *curriculum.prerequisites):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_copies_are_equal_and_carry_no_cached_hash():
    curriculum = Curriculum.from_edges(CHAIN)
    hash(curriculum)
    for twin in (pickle.loads(pickle.dumps(curriculum)), copy.deepcopy(curriculum)):
        assert twin == curriculum
        assert "_hash" not in vars(twin)


@pytest.mark.parametrize(
    ("edges", "concepts", "demand", "message"),
    [
        ([*CHAIN, ("c", "a")], None, None, r"a → b → c → a; run `mccpo curriculum check FILE --repair"),
        ([("a", "a")], None, None, "'a' is its own prerequisite"),
        ([*CHAIN, ("a", "b")], None, None, "a → b is given twice"),
        (CHAIN, ["a", "b"], None, "names 'c'"),
        ([], ["a", "a"], None, "'a' is listed twice"),
        ([], [], None, "no concepts"),
        ([], ["  "], None, "is empty"),
        ([], ["a\x00"], None, "control character"),
        (CHAIN, None, [0.1, 0.2, 0.3], "no order"),
        (CHAIN, ["a", "b", "c"], [0.1], "1 demands for 3 concepts"),
        (CHAIN, None, {"x": 0.1}, "'x', which is not a concept"),
        (CHAIN, None, {"a": float("nan")}, "demand of 'a' is nan"),
        (CHAIN, None, {"a": 1.5}, "demand of 'a' is 1.5"),
    ],
)
def test_what_is_wrong_is_refused_by_name(edges, concepts, demand, message):
    with pytest.raises(InputError, match=message):
        Curriculum.from_edges(edges, concepts, demand)


def test_an_unknown_concept_gets_a_suggestion():
    with pytest.raises(InputError, match="did you mean 'addition'"):
        Curriculum.from_edges([("addition", "division")]).index("adition")
