"""Agreement of two graphs, worked out by hand."""

import pytest

from mccpo.curriculum import Curriculum
from mccpo.curriculum.derive import compare_graphs
from mccpo.errors import InputError

EXPERT = Curriculum.from_edges([("a", "b"), ("b", "x"), ("x", "c"), ("c", "d")], "abxcd")


def test_hand_worked():
    derived = Curriculum.from_edges([("a", "b"), ("d", "c"), ("b", "c"), ("c", "y")], "abdcy")
    found = compare_graphs(derived, EXPERT)
    assert (found.concepts, found.only_derived, found.only_expert) == (4, 1, 1)
    edges = found.edges
    assert (edges.found, edges.expert, edges.right) == (3, 2, 1)  # x and y are not in both
    assert (edges.precision, edges.recall, edges.f1) == (pytest.approx(1 / 3), 0.5, pytest.approx(0.4))
    assert (edges.chance_precision, edges.chance_recall) == (pytest.approx(2 / 12), pytest.approx(3 / 12))
    assert edges.chance_p == pytest.approx(1 - (10 / 12) * (9 / 11) * (8 / 10))
    # the expert's a, b come before c by way of x, which only the expert has
    assert (found.closure.found, found.closure.expert, found.closure.right) == (4, 6, 3)
    assert (found.oriented, found.orientation, found.orientation_p) == (2, 0.5, pytest.approx(0.75))


def test_a_graph_agrees_with_itself():
    found = compare_graphs(EXPERT, EXPERT)
    assert found.edges.f1 == found.closure.f1 == found.orientation == 1.0


def test_graphs_without_edges_have_no_rates():
    none = Curriculum.from_edges([], "abc")
    found = compare_graphs(none, EXPERT)
    assert (found.edges.precision, found.edges.recall, found.orientation) == (None, 0.0, None)
    with pytest.raises(InputError, match="fewer than two concepts in common"):
        compare_graphs(none, Curriculum.from_edges([], "xyz"))
