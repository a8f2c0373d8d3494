"""Graphs made wrong on purpose, to see what wrong edges do: some are missing, added or reversed."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from mccpo.curriculum.formats.raw import Edge
from mccpo.curriculum.graph import Curriculum
from mccpo.errors import InputError

Mistake = Literal["missing", "extra", "reversed"]
MISTAKES: tuple[Mistake, ...] = get_args(Mistake)


def misstate(curriculum: Curriculum, mistake: Mistake, share: float, seed: int) -> Curriculum:
    """The curriculum with a share of its edges wrong, at least one, chosen at random; it stays acyclic.

    `extra` adds as many edges, each from a concept to a later one. `reversed` turns edges whose reverse closes no
    cycle; where there are too few of them, fewer are turned.

    >>> chain = Curriculum.from_edges([("a", "b"), ("b", "c")])
    >>> misstate(chain, "reversed", 1.0, seed=0).edges
    (('c', 'b'), ('b', 'a'))
    """
    if not 0 < share <= 1:
        raise InputError(f"the share of wrong edges is {share}", fix="give a share above 0, up to 1")
    random = np.random.default_rng([seed, MISTAKES.index(mistake)])
    number = max(1, round(share * len(curriculum.edges)))
    match mistake:
        case "missing":
            gone = {curriculum.edges[at] for at in random.permutation(len(curriculum.edges))[:number]}
            edges = [edge for edge in curriculum.edges if edge not in gone]
        case "extra":
            edges = [*curriculum.edges, *_absent(curriculum, number, random)]
        case "reversed":
            edges = _turned(curriculum, number, random)
    demand = dict(zip(curriculum.concepts, curriculum.demand.tolist(), strict=True))
    return Curriculum(edges, curriculum.concepts, demand)


def wrong_edges(stated: Curriculum, truth: Curriculum) -> int:
    """How many edges must be added, removed or turned to get from one graph to the other; one that is turned is one.

    >>> a, b = Curriculum.from_edges([("a", "b")]), Curriculum.from_edges([("b", "a")])
    >>> wrong_edges(a, b)
    1
    """
    ours, theirs = set(stated.edges), set(truth.edges)
    turned = sum((end, start) in theirs for start, end in ours - theirs)
    return len(ours ^ theirs) - turned


def _absent(curriculum: Curriculum, number: int, random: np.random.Generator) -> list[Edge]:
    """Edges that are not there, each from a concept to a later one."""
    later, earlier = np.nonzero(np.tri(len(curriculum), k=-1, dtype=bool) & ~curriculum.prerequisites.dense)
    chosen = random.permutation(len(later))[:number]
    return [(curriculum.concepts[earlier[at]], curriculum.concepts[later[at]]) for at in chosen]


def _turned(curriculum: Curriculum, number: int, random: np.random.Generator) -> list[Edge]:
    """The edges with some of them reversed."""
    edges, turned = set(curriculum.edges), 0
    for at in random.permutation(len(curriculum.edges)):
        start, end = curriculum.edges[at]
        rest = edges - {(start, end)}
        if turned < number and not _leads(rest, start, end):
            edges, turned = rest | {(end, start)}, turned + 1
    return sorted(edges)


def _leads(edges: set[Edge], start: str, end: str) -> bool:
    """Whether a path leads from one concept to another."""
    reached, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        new = {after for before, after in edges if before == at} - reached
        reached |= new
        waiting += new
    return end in reached
