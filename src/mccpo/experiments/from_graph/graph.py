"""The graph of a tutor: read, checked, and refused in one line where no tutor can be made of it."""

from __future__ import annotations

from pathlib import Path

from mccpo.curriculum import Curriculum, RawGraph, read_raw
from mccpo.errors import InputError

MOST_CONCEPTS = 2_000
"""A policy, its rivals and its certificate take minutes with a hundred concepts: with several thousand, hours."""


def read_graph(path: Path) -> RawGraph:
    """Reads a graph. What is doubtful is refused, never repaired: which edge of a cycle is wrong, only people know."""
    graph = read_raw(path)
    concepts = len(Curriculum.from_raw(graph))
    if concepts == 1:
        raise InputError(f"{path} has one concept, so there is nothing to choose", fix="name at least two")
    if concepts > MOST_CONCEPTS:
        raise InputError(
            f"{path} has {concepts:,} concepts, and a tutor is made and certified for {MOST_CONCEPTS:,} at most",
            fix="give the graph of one course at a time",
        )
    if not graph.edges:
        raise InputError(f"{path} has no edges, so the gate would lock nothing", fix="say in it what comes before what")
    return graph
