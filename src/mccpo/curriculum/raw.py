"""A prerequisite graph as a file states it, faults and all."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Edge: TypeAlias = tuple[str, str]
"""(prerequisite, concept): the first must be mastered before the second is taught."""

_UNWRITABLE = {"Cc", "Cs"}  # control characters and lone surrogates: no XML file can hold them
_NONCHARACTERS = {"\ufffe", "\uffff"}


@dataclass(frozen=True)
class RawConcept:
    """One row of a graph file: a concept, what it says it needs, and its demand where it gives one."""

    name: str
    prerequisites: tuple[str, ...] = ()
    demand: float | None = None


@dataclass(frozen=True)
class RawGraph:
    """Everything a graph file says, in its own order: repeats, self-loops and dangling prerequisites are kept."""

    rows: tuple[RawConcept, ...]
    source: str = "FILE"
    """Where it was read from, for messages."""

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
        found: dict[str, float] = {}
        for row in self.rows:
            if row.demand is not None:
                found.setdefault(row.name, row.demand)
        return found


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
