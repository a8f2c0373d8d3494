"""What every recipe has in common: choices that are checked, and a result that says where it comes from."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args, get_origin, get_type_hints

from mccpo.curriculum.formats.raw import Derivation, Edge, Evidence, Fact, RawConcept, RawGraph
from mccpo.errors import InputError

Cycles = Literal["refuse", "repair"]
"""What becomes of edges that lead in a circle: the graph is refused, or as few as can be are removed."""


class RecipeChoices(Protocol):
    """What a recipe leaves open: a frozen dataclass of texts and whole numbers."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Settled = TypeVar("Settled", bound=RecipeChoices)


@dataclass(frozen=True)
class Derived:
    """A derived graph, which items make up each of its concepts, and what its maker should know."""

    graph: RawGraph
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The items (exercises, KCs, standards) that a concept stands for, by their ids in the logs."""
    notes: tuple[str, ...] = ()
    """What was left out, assumed or repaired, one sentence each."""


@dataclass(frozen=True)
class Recipe:
    """A way to derive a graph from a file."""

    name: str
    choices: type[Any]
    """What it leaves open, a dataclass with defaults."""
    read: Callable[[Path], Any]
    derive: Callable[[Any, Any, Mapping[str, int] | None], Derived]
    """From what `read` gave, the choices, and the interactions that each item has, where they are known."""

    def run(self, file: Path, given: Mapping[str, Fact], interactions: Mapping[str, int] | None = None) -> Derived:
        """The graph that the recipe makes of a file."""
        return self.derive(self.read(file), settle(self.choices, given), interactions)


def settle(kind: type[Settled], given: Mapping[str, Fact]) -> Settled:
    """The choices of a recipe from names and values; what is not given has its default."""
    types = get_type_hints(kind)
    settled = {}
    for name, value in given.items():
        if name not in types:
            close = difflib.get_close_matches(name, types, n=1)
            fix = f"did you mean {close[0]!r}?" if close else f"the choices are {', '.join(types)}"
            raise InputError(f"the recipe leaves no choice {name!r} open", fix=fix)
        settled[name] = _checked(name, value, types[name])
    return kind(**settled)


def alternatives(kind: type[RecipeChoices]) -> dict[str, tuple[str, ...]]:
    """The values that each choice can have, for those that are a choice between words."""
    types = get_type_hints(kind)
    return {
        choice.name: get_args(types[choice.name])
        for choice in fields(kind)
        if get_origin(types[choice.name]) is Literal
    }


def derivation(recipe: str, origin: str | Path, choices: RecipeChoices) -> Derivation:
    """The label of a derived graph. Files go by their names alone, so that any copy gives the same bytes."""
    return Derivation(recipe, Path(origin).name, asdict(choices))


def graph_of(concepts: Iterable[str], evidence: Mapping[Edge, Evidence], source: str, derived: Derivation) -> RawGraph:
    """A graph from its concepts and the evidence of its edges, in the order of the concepts."""
    names = list(dict.fromkeys(concepts))
    if not names:
        raise InputError(f"{source}: the recipe leaves no concept", fix="loosen its choices")
    position = {name: position for position, name in enumerate(names)}
    ordered = dict(sorted(evidence.items(), key=lambda item: (position[item[0][1]], position[item[0][0]])))
    needs: dict[str, list[str]] = {name: [] for name in names}
    for prerequisite, concept in ordered:
        needs[concept].append(prerequisite)
    rows = tuple(RawConcept(name, tuple(prerequisites)) for name, prerequisites in needs.items())
    return RawGraph(rows, source, derived, ordered)


def without_cycles(graph: RawGraph, cycles: Cycles) -> tuple[RawGraph, tuple[str, ...]]:
    """The graph if it can serve as a gate, or, with `cycles="repair"`, what is left without the edges that prevent it.

    Also gives what was removed, as notes.
    """
    from mccpo.curriculum import lint  # noqa: PLC0415 - needs rustworkx, which most recipes do without

    report = lint.check(graph)
    if report.usable:
        return graph, ()
    if cycles == "refuse":
        fault = next(finding for finding in report.findings if finding.kind in lint.GRAVE)
        raise InputError(
            f"{graph.source}: {fault.kind}, {fault.where}", fix="correct it, or add --choice cycles=repair"
        )
    left, removed = lint.repaired(graph)
    return left, tuple(f"removed {removal.where} ({removal.kind}: {removal.why})" for removal in removed)


def linked(evidence: Mapping[Edge, Evidence]) -> set[str]:
    """The concepts that have an edge."""
    return {name for edge in evidence for name in edge}


def _checked(name: str, value: Fact, kind: Any) -> Fact:
    allowed = get_args(kind)
    if allowed and value not in allowed:
        raise InputError(f"the choice {name} is {value!r}", fix=f"choose one of {', '.join(map(str, allowed))}")
    if not allowed and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise InputError(f"the choice {name} is {value!r}", fix="give a whole number from 0")
    return value
