"""Makes a prerequisite graph usable by removing as little as it can, and says what it removed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import rustworkx

from mccpo.curriculum.formats.raw import Edge, RawGraph, arrow
from mccpo.curriculum.graph import Curriculum
from mccpo.errors import InputError


@dataclass(frozen=True)
class Removal:
    """One thing that was taken out of a graph: its kind of fault, where, and why.

    >>> Removal("self-loop", where="adding", why="is its own prerequisite").kind
    'self-loop'
    """

    kind: str
    where: str
    why: str

    def as_json(self) -> dict[str, str]:
        """The removal as plain values, for JSON."""
        return {"kind": self.kind, "where": self.where, "why": self.why}


class Component(NamedTuple):
    """Concepts that all come before one another, in the order of the file, and the edges among them."""

    concepts: tuple[str, ...]
    edges: tuple[Edge, ...]


def repair(raw: RawGraph, *, reduce: bool = False) -> tuple[Curriculum, tuple[Removal, ...]]:
    """Builds the curriculum that a faulty graph most nearly states, and lists what had to go.

    Self-loops, dangling prerequisites and repeats are removed; a name that is stated more than once keeps its first
    demand and the prerequisites of all its rows. In each cycle the edges that go are those that lead back in an order
    of the concepts chosen to have few of them (the first in the file coming first, all else being equal); none that
    could be kept without closing a cycle is removed. Redundant edges go only when asked for, with `reduce`.

    >>> from mccpo.curriculum import RawConcept
    >>> curriculum, removed = repair(RawGraph((RawConcept("a"), RawConcept("b", ("a", "b")))))
    >>> curriculum.edges, [removal.where for removal in removed]
    ((('a', 'b'),), ['b → b'])
    """
    known = set(raw.names)
    removed: list[Removal] = []
    for name, times in Counter(raw.names).items():
        if times > 1:
            why = f"stated {times} times: merged, with the prerequisites of all and the first demand"
            removed.append(Removal("duplicate", name, why))
    edges_left: dict[Edge, None] = {}
    for (start, end), times in Counter(raw.edges).items():
        if start == end:
            removed.append(Removal("self-loop", arrow(start, end), "a concept cannot come before itself"))
        elif start not in known:
            why = f"{start!r} is not a concept of the graph" if start else "an empty entry names no concept"
            removed.append(Removal("dangling", arrow(start, end) if start else end, why))
        else:
            edges_left[start, end] = None
            if times > 1:
                removed.append(Removal("duplicate", arrow(start, end), f"stated {times} times: kept once"))
    for component in strong_components(raw):
        for edge in _closing_edges(component):
            del edges_left[edge]
            why = f"closes a cycle of {', '.join(component.concepts)}"
            removed.append(Removal("cycle", arrow(*edge), why))
    curriculum = Curriculum(edges_left, dict.fromkeys(raw.names), raw.demand)
    if reduce:
        implied = redundant_edges(curriculum)
        removed += [Removal("redundant", arrow(*edge), f"implied by {arrow(*path)}") for edge, path in implied.items()]
        edges = (edge for edge in curriculum.edges if edge not in implied)
        curriculum = Curriculum(edges, curriculum.concepts, curriculum.demand)
    return curriculum, tuple(removed)


def repaired(raw: RawGraph, *, reduce: bool = False) -> tuple[RawGraph, tuple[Removal, ...]]:
    """The graph that `repair` leaves, with the labels and the demands of the file and no others.

    Refuses to drop most of the edges. What is left would be a graph that nobody stated.

    >>> from mccpo.curriculum import RawConcept
    >>> graph, removed = repaired(RawGraph((RawConcept("a"), RawConcept("b", ("a",)), RawConcept("c", ("b", "c")))))
    >>> graph.edges, removed[0].kind
    ((('a', 'b'), ('b', 'c')), 'self-loop')
    """
    curriculum, removed = repair(raw, reduce=reduce)
    _refuse_loss(raw, len(curriculum.edges) + sum(removal.kind == "redundant" for removal in removed))
    graph = replace(curriculum.to_raw(), source=raw.source)
    return graph.stating(raw.demand).labelled_as(raw), removed


def _refuse_loss(raw: RawGraph, kept: int) -> None:
    """Refuses where more edges would go than stay. Redundant edges count as kept: longer paths still say the same."""
    stated = {edge for edge in raw.edges if edge[0]}  # an empty entry names no concept, so nothing is lost with it
    if 2 * kept >= len(stated):
        return
    known = set(raw.names)
    lost = {
        "dangling": sum(start not in known for start, _ in stated),
        "self-loop": sum(start == end for start, end in stated),
    }
    lost["cycle"] = len(stated) - kept - sum(lost.values())
    kinds = ", ".join(f"{count} {kind}" for kind, count in lost.items() if count)
    raise InputError(
        f"{raw.source}: a repair would drop {len(stated) - kept} of {len(stated)} edges ({kinds})",
        fix=f"correct the file; `mccpo curriculum check {raw.source}` lists the faults",
    )


def strong_components(raw: RawGraph) -> tuple[Component, ...]:
    """The sets of two or more concepts that lie on common cycles, in the order of the file."""
    graph = rustworkx.PyDiGraph()
    index = {name: graph.add_node(name) for name in dict.fromkeys(raw.names)}
    edges = [edge for edge in dict.fromkeys(raw.edges) if edge[0] in index and edge[0] != edge[1]]
    graph.add_edges_from_no_data([(index[start], index[end]) for start, end in edges])
    sets = [sorted(members) for members in rustworkx.strongly_connected_components(graph) if len(members) > 1]
    components = []
    for indices in sorted(sets):
        concepts = tuple(graph[position] for position in indices)
        members = set(concepts)
        inner = tuple(edge for edge in edges if edge[0] in members and edge[1] in members)
        components.append(Component(concepts, inner))
    return tuple(components)


def redundant_edges(curriculum: Curriculum) -> dict[Edge, tuple[str, ...]]:
    """The edges that can go without changing what must come before what, each with a path that implies it."""
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(curriculum.concepts)
    graph.add_edges_from_no_data([(curriculum.index(start), curriculum.index(end)) for start, end in curriculum.edges])
    reduced, position = rustworkx.transitive_reduction(graph)
    needed = {(reduced[start], reduced[end]) for start, end in reduced.edge_list()}
    implied: dict[Edge, tuple[str, ...]] = {}
    for edge in curriculum.edges:
        if edge not in needed:
            start, end = (position[curriculum.index(name)] for name in edge)
            path = rustworkx.dijkstra_shortest_paths(reduced, start, target=end)[end]
            implied[edge] = tuple(reduced[index] for index in path)
    return implied


def _closing_edges(component: Component) -> list[Edge]:
    """Edges without which the component has no cycle, none of which could be kept."""
    rank = {name: position for position, name in enumerate(_order_with_few_edges_back(component))}
    # Edges that lead on cannot close a cycle among themselves; of those that lead back, the shortest are tried first.
    edges = sorted(component.edges, key=lambda edge: (rank[edge[0]] - rank[edge[1]], rank[edge[0]]))
    needs: dict[str, set[str]] = {name: set() for name in component.concepts}
    closing = []
    for start, end in edges:
        needs[end].add(start)
        if rank[start] > rank[end] and not _acyclic(needs):
            needs[end].remove(start)
            closing.append((start, end))
    return closing


def _order_with_few_edges_back(component: Component) -> list[str]:
    """The heuristic of Eades, Lin and Smyth (1993): sources first, sinks last, else the one with most leading out."""
    left = list(component.concepts)
    edges = set(component.edges)
    front: list[str] = []
    back: list[str] = []
    while left:
        leaving, entering = Counter(start for start, _ in edges), Counter(end for _, end in edges)
        sink = next((name for name in left if not leaving[name]), None)
        chosen = sink or max(left, key=lambda name: (not entering[name], leaving[name] - entering[name]))
        (back if sink else front).append(chosen)
        left.remove(chosen)
        edges = {edge for edge in edges if chosen not in edge}
    return front + back[::-1]


def _acyclic(needs: dict[str, set[str]]) -> bool:
    try:
        TopologicalSorter(needs).prepare()
    except CycleError:
        return False
    return True
