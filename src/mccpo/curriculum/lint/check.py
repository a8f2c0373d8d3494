"""Finds what is wrong with a prerequisite graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import rustworkx

from mccpo.curriculum.formats.raw import RawGraph, arrow
from mccpo.curriculum.lint.names import near_duplicates, spelling
from mccpo.curriculum.lint.repair import redundant_edges, repair, strong_components

Kind = Literal["cycle", "self-loop", "dangling", "duplicate", "near-duplicate", "unreachable", "redundant"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Every kind of finding, the gravest first."""
GRAVE: frozenset[Kind] = frozenset(("cycle", "self-loop", "dangling"))
"""The kinds with which a graph cannot serve as a gate."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: its kind, the concept or the path concerned, and what it means.

    >>> from mccpo.curriculum import RawConcept
    >>> [finding.kind for finding in check(RawGraph((RawConcept("adding", ("adding",)),))).findings]
    ['self-loop', 'unreachable']
    """

    kind: Kind
    where: str
    message: str


@dataclass(frozen=True)
class LintReport:
    """What a graph file holds and what is wrong with it."""

    concepts: int
    """Distinct names."""
    edges: int
    """Distinct edges as stated, self-loops and dangling prerequisites included."""
    depth: int
    """The number of edges on the longest path of the graph that `repair` would leave."""
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether the graph can serve as a gate: no cycle, self-loop or dangling prerequisite."""
        return not any(finding.kind in GRAVE for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        findings = [
            {"kind": finding.kind, "where": finding.where, "message": finding.message} for finding in self.findings
        ]
        return {"concepts": self.concepts, "edges": self.edges, "depth": self.depth, "findings": findings}


def check(raw: RawGraph) -> LintReport:
    """Finds the faults of a graph, the gravest kind first, each kind in the order of the file.

    `cycle`: a set of concepts that all come before one another (one finding for each such set). `self-loop`: a concept
    that is its own prerequisite. `dangling`: a prerequisite that is not a concept. `duplicate`: a name or an edge that
    is stated more than once. `near-duplicate`: names that differ only in case, spacing or plural. `unreachable`: a
    concept that no learner can become ready for, because it is on or behind a cycle, a self-loop or a dangling
    prerequisite. `redundant`: an edge that a longer path already implies.

    >>> from mccpo.curriculum import RawConcept
    >>> print(check(RawGraph((RawConcept("a", ("b",)), RawConcept("b", ("a",))))).findings[0].where)
    a → b → a
    """
    repaired, _ = repair(raw)
    findings: list[Finding] = [
        *_cycles(raw),
        *_self_loops(raw),
        *_dangling(raw),
        *_duplicates(raw),
        *_near_duplicates(raw),
        *_unreachable(raw),
        *(
            Finding("redundant", arrow(*edge), f"implied by {arrow(*path)}")
            for edge, path in redundant_edges(repaired).items()
        ),
    ]
    return LintReport(len(set(raw.names)), len(set(raw.edges)), repaired.depth, tuple(findings))


def _cycles(raw: RawGraph) -> Iterator[Finding]:
    for component in strong_components(raw):
        graph = rustworkx.PyDiGraph()
        index = {name: graph.add_node(name) for name in component.concepts}
        graph.add_edges_from_no_data([(index[start], index[end]) for start, end in component.edges])
        steps = rustworkx.digraph_find_cycle(graph, index[component.concepts[0]])
        path = [graph[start] for start, _ in steps]
        start = path.index(min(path, key=component.concepts.index))
        path = [*path[start:], *path[: start + 1]]
        others = len(component.concepts) - len(path) + 1
        more = f"; {others} more concepts are entangled with it" if others else ""
        yield Finding("cycle", arrow(*path), f"each of these {len(path) - 1} concepts comes before the others{more}")


def _self_loops(raw: RawGraph) -> Iterator[Finding]:
    for start, end in dict.fromkeys(raw.edges):
        if start == end:
            yield Finding("self-loop", start, "is its own prerequisite")


def _dangling(raw: RawGraph) -> Iterator[Finding]:
    known = set(raw.names)
    alike = {spelling(name): name for name in raw.names}
    for start, end in dict.fromkeys(raw.edges):
        if start and start not in known:
            close = alike.get(spelling(start))
            hint = "" if close is None else f"; is it {close!r}?"
            yield Finding("dangling", arrow(start, end), f"{start!r} is not a concept of the graph{hint}")
        elif not start:
            yield Finding("dangling", end, "its list of prerequisites has an empty entry")


def _duplicates(raw: RawGraph) -> Iterator[Finding]:
    for name, times in Counter(raw.names).items():
        if times > 1:
            yield Finding("duplicate", name, f"the concept is stated {times} times")
    for edge, times in Counter(raw.edges).items():
        if times > 1:
            yield Finding("duplicate", arrow(*edge), f"the edge is stated {times} times")


def _near_duplicates(raw: RawGraph) -> Iterator[Finding]:
    # Not a grave fault, and `repair` leaves them: two concepts may really be called so, and only people can tell.
    for names in near_duplicates(raw.names):
        message = "these names differ only in case, spacing or plural; if they mean one concept, give it one name"
        yield Finding("near-duplicate", ", ".join(names), message)


def _unreachable(raw: RawGraph) -> Iterator[Finding]:
    known = set(raw.names)
    reason: dict[str, str] = {}
    for component in strong_components(raw):
        reason.update(dict.fromkeys(component.concepts, "it is on a cycle"))
    dependents: dict[str, list[str]] = {}
    for start, end in raw.edges:
        dependents.setdefault(start, []).append(end)
        if start == end:
            reason.setdefault(end, "it is its own prerequisite")
        elif start not in known:
            reason.setdefault(end, "it has a dangling prerequisite")
    waiting = list(reason)
    for name in waiting:  # grows while it is walked: breadth first, so each concept gets the nearest reason
        for dependent in dependents.get(name, ()):
            if dependent not in reason:
                reason[dependent] = f"it needs {name!r}, which is unreachable"
                waiting.append(dependent)
    for name in dict.fromkeys(raw.names):
        if name in reason:
            yield Finding("unreachable", name, f"no learner can become ready for it: {reason[name]}")
