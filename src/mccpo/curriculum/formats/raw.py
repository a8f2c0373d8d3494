"""A prerequisite graph as a file states it, faults and all."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

Edge: TypeAlias = tuple[str, str]
"""(prerequisite, concept): the first must be mastered before the second is taught."""

Fact: TypeAlias = str | int | float | bool
"""A plain value that a file can hold: a choice of a recipe, or a number that supports an edge."""

EXPERT_TABLE = "expert table"
"""The provenance of an edge that a table of concepts lists among the prerequisites."""

_UNWRITABLE = {"Cc", "Cs"}  # control characters and lone surrogates: no XML file can hold them
_NONCHARACTERS = {"\ufffe", "\uffff"}


@dataclass(frozen=True)
class RawConcept:
    """One row of a graph file: a concept, what it says it needs, and its demand where it gives one.

    >>> RawConcept("adding", ("counting",), demand=0.3).prerequisites
    ('counting',)
    """

    name: str
    prerequisites: tuple[str, ...] = ()
    demand: float | None = None


@dataclass(frozen=True)
class Derivation:
    """How a graph was derived: nobody stated its edges, a recipe made them.

    >>> print(Derivation("case", "package.json", {"names": "code"}))
    derived by case from package.json (names=code)
    """

    recipe: str
    origin: str
    """What it was derived from, such as the name of a file."""
    choices: Mapping[str, Fact] = field(default_factory=dict)
    """What the recipe leaves open, as it was settled here."""

    def __str__(self) -> str:
        settled = ", ".join(f"{name}={value}" for name, value in self.choices.items())
        return f"derived by {self.recipe} from {self.origin}" + (f" ({settled})" if settled else "")


@dataclass(frozen=True)
class Evidence:
    """Why an edge is there, and the numbers that speak for it.

    >>> Evidence(EXPERT_TABLE).provenance
    'expert table'
    """

    provenance: str
    support: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True)
class RawGraph:
    """Everything a graph file says, in its own order: repeats, self-loops and dangling prerequisites are kept.

    >>> RawGraph((RawConcept("counting"), RawConcept("adding", ("counting", "nowhere")))).edges
    (('counting', 'adding'), ('nowhere', 'adding'))
    """

    rows: tuple[RawConcept, ...]
    source: str = "FILE"
    """Where it was read from, for messages."""
    derived: Derivation | None = None
    """How it was derived, where it was."""
    evidence: Mapping[Edge, Evidence] = field(default_factory=dict, hash=False)
    """Where the edges come from, of those of which it is known."""

    def labelled_as(self, other: RawGraph) -> RawGraph:
        """This graph with what `other` says of its derivation and of the edges that both have."""
        own_edges = set(self.edges)
        evidence = {edge: reasons for edge, reasons in other.evidence.items() if edge in own_edges}
        return replace(self, derived=other.derived, evidence=evidence)

    def stating(self, demand: Mapping[str, float]) -> RawGraph:
        """This graph with these demands and no others: a demand that nobody stated must not be read as stated."""
        return replace(self, rows=tuple(replace(row, demand=demand.get(row.name)) for row in self.rows))

    def provenances(self, edges: Collection[Edge] | None = None) -> dict[str, int]:
        """How many of the distinct edges come from where; those of which nothing is said are left out."""
        counts: dict[str, int] = {}
        for edge in dict.fromkeys(self.edges) if edges is None else edges:
            if edge in self.evidence:
                provenance = self.evidence[edge].provenance
                counts[provenance] = counts.get(provenance, 0) + 1
        return counts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of every row, repeats included."""
        return tuple(row.name for row in self.rows)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Every stated (prerequisite, concept), repeats included."""
        return tuple((prerequisite, row.name) for row in self.rows for prerequisite in row.prerequisites)

    @cached_property
    def demand(self) -> dict[str, float]:
        """The first demand that is given for each concept that has one."""
        demands: dict[str, float] = {}
        for row in self.rows:
            if row.demand is not None:
                demands.setdefault(row.name, row.demand)
        return demands


def fault_in_name(name: str) -> str | None:
    """Says why `name` cannot name a concept, or None when it can."""
    if not name.strip():
        return "is empty"
    if any(unicodedata.category(letter) in _UNWRITABLE or letter in _NONCHARACTERS for letter in name):
        return "holds a control character"
    return None


def arrow(*names: str) -> str:
    """Shows a path through the graph, or one edge of it: `a → b → c`."""
    return " → ".join(names)
