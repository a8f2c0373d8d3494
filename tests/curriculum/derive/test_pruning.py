"""Cycles, caps and implied edges, against networkx."""

import networkx as nx
import numpy as np
import pytest

from mccpo.curriculum.derive.pruning import acyclic, closure, reduced, strongest


def pairs(square):
    return {(int(u), int(v)) for u, v in np.argwhere(square)}


def square(n, edges):
    found = np.zeros((n, n), bool)
    for u, v in edges:
        found[u, v] = True
    return found


@pytest.mark.parametrize("seed", range(20))
def test_closure_and_reduction_agree_with_networkx(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 25))
    order = random.permutation(n)
    edges = np.triu(random.random((n, n)) < random.uniform(0.05, 0.5), 1)[np.ix_(order, order)]
    graph = nx.from_numpy_array(edges, create_using=nx.DiGraph)
    assert pairs(closure(edges)) == set(nx.transitive_closure_dag(graph).edges)
    assert pairs(reduced(edges)) == set(nx.transitive_reduction(graph).edges)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_has_no_cycle_and_nothing_was_dropped_that_could_stay(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 20))
    edges = random.random((n, n)) < 0.3
    np.fill_diagonal(edges, False)
    strength = random.random((n, n))
    kept = acyclic(edges, strength)
    graph = nx.from_numpy_array(kept, create_using=nx.DiGraph)
    assert nx.is_directed_acyclic_graph(graph)
    for u, v in pairs(edges & ~kept):
        stronger = nx.DiGraph([edge for edge in graph.edges if strength[edge] > strength[u, v]])
        assert nx.has_path(stronger, v, u)  # it was the weakest of a cycle


def test_each_cycle_loses_its_weakest_edge():
    edges = square(3, [(0, 1), (1, 2), (2, 0)])
    strength = np.array([[0, 3.0, 0], [0, 0, 1.0], [2.0, 0, 0]])
    assert pairs(acyclic(edges, strength)) == {(0, 1), (2, 0)}


def test_the_strongest_prerequisites_are_kept():
    edges = square(4, [(0, 3), (1, 3), (2, 3), (0, 1)])
    strength = np.array([[0, 0.1, 0, 1.0], [0, 0, 0, 3.0], [9.0, 0, 0, 2.0], [0, 0, 0, 0]])
    assert pairs(strongest(edges, strength, 2)) == {(1, 3), (2, 3), (0, 1)}
    assert pairs(strongest(edges, strength, 9)) == pairs(edges)
