"""Competencies and Academic Standards Exchange (1EdTech CASE): `precedes` between standards is a prerequisite.

A package holds `CFDocument`, `CFItems` and `CFAssociations`. An association of the type `precedes` says that its
origin comes before its destination. `isChildOf` is hierarchy and never makes an edge; the other types say nothing
about order and are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mccpo.curriculum.derive.inputs import read_object
from mccpo.curriculum.derive.recipe import Cycles, Derived, Recipe, derivation, graph_of, linked, without_cycles
from mccpo.curriculum.formats.raw import Edge, Evidence, arrow
from mccpo.errors import InputError

RECIPE = "case"


@dataclass(frozen=True)
class CaseChoices:
    """What the recipe leaves open."""

    names: Literal["code", "statement", "identifier"] = "code"
    """What the concepts are called; an item without such a name, or that shares it, goes by its identifier."""
    alone: Literal["dropped", "kept"] = "dropped"
    """Items without an edge; of these, ones that have children are headings and always dropped."""
    cycles: Cycles = "refuse"
    """What to do where items come before one another."""


class Package(NamedTuple):
    """A framework: its items by identifier, and its associations as (type, origin, destination)."""

    items: dict[str, dict[str, Any]]
    associations: tuple[tuple[str, str, str], ...]
    source: str


def read_package(path: str | Path) -> Package:
    """Reads a CASE package from JSON."""
    document = read_object(Path(path))
    for key in ("CFItems", "CFAssociations"):
        if not isinstance(document.get(key), list):
            raise InputError(
                f"{path} has no list {key}", fix="give a CASE package (CFDocument, CFItems, CFAssociations)"
            )
    items: dict[str, dict[str, Any]] = {}
    for number, item in enumerate(document["CFItems"], start=1):
        identifier = item.get("identifier") if isinstance(item, dict) else None
        if not isinstance(identifier, str) or not identifier or identifier in items:
            raise InputError(
                f"{path} item {number} has the identifier {identifier!r}, missing or given before", fix="give each once"
            )
        items[identifier] = item
    associations = tuple(
        _association(entry, f"{path} association {number}")
        for number, entry in enumerate(document["CFAssociations"], start=1)
    )
    return Package(items, associations, str(path))


def derive_case(package: Package, choices: CaseChoices | None = None) -> Derived:
    """The graph of the `precedes` associations among the items of the package."""
    choices = choices or CaseChoices()
    name = _names(package, choices.names)
    evidence: dict[Edge, Evidence] = {}
    headings: set[str] = set()
    ignored: Counter[str] = Counter()
    for kind, origin, destination in package.associations:
        if kind == "precedes":
            if not {origin, destination} <= set(name):
                ignored["precedes to or from an item of another package"] += 1
                continue
            evidence[name[origin], name[destination]] = Evidence("precedes")
        else:
            ignored[kind] += 1
            headings |= {destination} if kind == "isChildOf" else set()
    if not evidence:
        raise InputError(
            f"{package.source} has no 'precedes' between its items, so it says nothing of order",
            fix="give a package with such associations; hierarchy alone (isChildOf) makes no prerequisites",
        )
    linked_names = linked(evidence)
    if choices.alone == "kept":
        linked_names |= {name[identifier] for identifier in name if identifier not in headings}
    members = {name[identifier]: (identifier,) for identifier in name if name[identifier] in linked_names}
    graph = graph_of(members, evidence, package.source, derivation(RECIPE, package.source, choices))
    graph, removed = without_cycles(graph, choices.cycles)
    notes = tuple(f"ignored {count} associations: {kind}" for kind, count in sorted(ignored.items()))
    return Derived(graph, members, (*notes, *removed))


def _association(entry: object, where: str) -> tuple[str, str, str]:
    fix = "give each an associationType, an originNodeURI and a destinationNodeURI with identifiers"
    if not isinstance(entry, dict) or not isinstance(entry.get("associationType"), str):
        raise InputError(f"{where} has no associationType", fix=fix)
    ends = []
    for key in ("originNodeURI", "destinationNodeURI"):
        node = entry.get(key)
        identifier = node.get("identifier") if isinstance(node, dict) else None
        if not isinstance(identifier, str):
            raise InputError(f"{where} has no {key} with an identifier", fix=fix)
        ends.append(identifier)
    if entry["associationType"] == "precedes" and ends[0] == ends[1]:
        raise InputError(f"{where} has an item precede itself, {arrow(*ends)}", fix="remove it")
    return entry["associationType"], ends[0], ends[1]


def _names(package: Package, choice: str) -> dict[str, str]:
    """What each item is called, by identifier; every name is one item's alone."""
    keys = {"code": "humanCodingScheme", "statement": "fullStatement"}
    wanted = {
        identifier: " ".join(str(item.get(keys.get(choice, ""), "") or "").split())
        for identifier, item in package.items.items()
    }
    times = Counter(wanted.values())
    return {identifier: text if text and times[text] == 1 else identifier for identifier, text in wanted.items()}


def _run(package: Package, choices: CaseChoices, interactions: Mapping[str, int] | None) -> Derived:
    if interactions is not None:
        raise InputError("--counts has no meaning for a CASE package", fix="leave it out")
    return derive_case(package, choices)


CASE = Recipe(RECIPE, CaseChoices, read_package, _run)
