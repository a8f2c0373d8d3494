"""Prerequisite graphs as JSON, the format that says most plainly what it means.

    {"format": "mccpo-curriculum/1",
     "concepts": [{"name": "counting", "demand": 0.2, "prerequisites": []},
                  {"name": "addition", "demand": 0.4, "prerequisites": ["counting"]}]}

A graph that nobody stated says how it was derived, and where each edge comes from:

    {"format": "mccpo-curriculum/1",
     "derived": {"recipe": "junyi-2020", "from": "Info_Content.csv", "choices": {"cluster": "level2"}},
     "concepts": [...],
     "edges": [{"prerequisite": "counting", "concept": "addition",
                "provenance": "difficulty order", "support": {"exercises": 12}}]}

Its edges are still those of the `prerequisites`; `edges` may speak only of these. `demand` and `prerequisites` may be
left out, and so may `format`, `derived` and `edges`. A key that is not known is refused: a misspelt
`prerequisites` would otherwise open the gate without a word.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mccpo.curriculum.formats.fields import concept_demand, concept_name, decode, unrepeated
from mccpo.curriculum.formats.raw import Derivation, Edge, Evidence, Fact, RawConcept, RawGraph, arrow
from mccpo.curriculum.formats.registry import register_format
from mccpo.errors import InputError

VERSION = "mccpo-curriculum/1"
_SHAPE = 'write {"concepts": [{"name": ..., "demand": ..., "prerequisites": [...]}, ...]}'
_DERIVED_SHAPE = 'write "derived": {"recipe": ..., "from": ..., "choices": {...}}'
_EDGE_SHAPE = 'write {"prerequisite": ..., "concept": ..., "provenance": ..., "support": {...}}'


def parse_json(content: bytes, source: str) -> RawGraph:
    """Reads a graph from JSON text.

    >>> text = b'{"concepts": [{"name": "counting"}, {"name": "adding", "prerequisites": ["counting"]}]}'
    >>> parse_json(text, "graph.json").edges
    (('counting', 'adding'),)
    """
    try:
        document = json.loads(decode(content, source), object_pairs_hook=unrepeated)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source} line {error.lineno} is not JSON ({error.msg})", fix="correct it or fetch the file again"
        ) from error
    except (RecursionError, ValueError) as error:
        raise InputError(f"{source} cannot be read as JSON ({error})", fix=_SHAPE) from error
    if not isinstance(document, dict) or not isinstance(document.get("concepts"), list):
        raise InputError(f"{source} has no list of concepts", fix=_SHAPE)
    _refuse_unknown(document, ("format", "derived", "concepts", "edges"), source)
    if document.get("format", VERSION) != VERSION:
        raise InputError(f"{source} has the format {document['format']!r}", fix=f"give a file of format {VERSION!r}")
    rows = (_concept(entry, f"{source} concept {number}") for number, entry in enumerate(document["concepts"], start=1))
    raw = RawGraph(tuple(rows), source, _derivation(document.get("derived"), source))
    return replace(raw, evidence=_evidence(document.get("edges", []), set(raw.edges), source))


def render_json(raw: RawGraph) -> str:
    """Writes a graph as JSON text, one concept a line and one line for each edge of which something is said.

    >>> print(render_json(RawGraph((RawConcept("counting"),))), end="")
    {"format": "mccpo-curriculum/1",
     "concepts": [
      {"name": "counting", "prerequisites": []}
     ]}
    """
    lines = []
    for row in raw.rows:
        entry: dict[str, Any] = {"name": row.name}
        if row.demand is not None:
            entry["demand"] = row.demand
        entry["prerequisites"] = list(row.prerequisites)
        lines.append("  " + json.dumps(entry, ensure_ascii=False))
    text = f'{{"format": {json.dumps(VERSION)},\n'
    if raw.derived is not None:
        origin = {"recipe": raw.derived.recipe, "from": raw.derived.origin, "choices": dict(raw.derived.choices)}
        text += f' "derived": {json.dumps(origin, ensure_ascii=False, allow_nan=False)},\n'
    text += ' "concepts": [\n' + ",\n".join(lines) + "\n ]"
    if raw.evidence:
        text += ',\n "edges": [\n' + ",\n".join(_edge_line(*entry) for entry in raw.evidence.items()) + "\n ]"
    return text + "}\n"


def _edge_line(edge: Edge, evidence: Evidence) -> str:
    entry = {"prerequisite": edge[0], "concept": edge[1], "provenance": evidence.provenance}
    support = {"support": dict(evidence.support)} if evidence.support else {}
    return "  " + json.dumps(entry | support, ensure_ascii=False, allow_nan=False)


def _concept(entry: object, where: str) -> RawConcept:
    if not isinstance(entry, dict) or "name" not in entry:
        raise InputError(f"{where} has no name", fix=_SHAPE)
    _refuse_unknown(entry, ("name", "demand", "prerequisites"), where)
    name = concept_name(entry["name"], where)
    needs = entry.get("prerequisites", [])
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        raise InputError(f"{where} ({name!r}) has prerequisites that are not a list of names", fix=_SHAPE)
    return RawConcept(name, tuple(needs), concept_demand(entry.get("demand"), f"{where} ({name!r})"))


def _derivation(entry: object, source: str) -> Derivation | None:
    if entry is None:
        return None
    if not isinstance(entry, dict) or not all(_is_text(entry.get(key)) for key in ("recipe", "from")):
        raise InputError(f"{source} does not say how it was derived", fix=_DERIVED_SHAPE)
    _refuse_unknown(entry, ("recipe", "from", "choices"), f"{source} 'derived'")
    choices = _facts(entry.get("choices", {}), f"{source} 'choices'", _DERIVED_SHAPE)
    return Derivation(entry["recipe"], entry["from"], choices)


def _evidence(entries: object, stated: set[Edge], source: str) -> dict[Edge, Evidence]:
    if not isinstance(entries, list):
        raise InputError(f"{source} has edges that are not a list", fix=_EDGE_SHAPE)
    evidence: dict[Edge, Evidence] = {}
    for number, entry in enumerate(entries, start=1):
        where = f"{source} edge {number}"
        if not isinstance(entry, dict) or not all(
            _is_text(entry.get(key)) for key in ("prerequisite", "concept", "provenance")
        ):
            raise InputError(f"{where} lacks a prerequisite, a concept or a provenance", fix=_EDGE_SHAPE)
        _refuse_unknown(entry, ("prerequisite", "concept", "provenance", "support"), where)
        edge = (entry["prerequisite"], entry["concept"])
        if edge not in stated:
            fix = "list the prerequisite with the concept, or drop the entry"
            raise InputError(f"{where} speaks of {arrow(*edge)}, which no concept states", fix=fix)
        if edge in evidence:
            raise InputError(f"{where} speaks of {arrow(*edge)} a second time", fix="give each edge one entry")
        evidence[edge] = Evidence(
            entry["provenance"], _facts(entry.get("support", {}), f"{where} 'support'", _EDGE_SHAPE)
        )
    return evidence


def _facts(entry: object, where: str, shape: str) -> Mapping[str, Fact]:
    if not isinstance(entry, dict) or not all(
        isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)) for value in entry.values()
    ):
        raise InputError(f"{where} does not map names to numbers or texts", fix=shape)
    return entry


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _refuse_unknown(entry: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in known:
            raise InputError(f"{where} has the unknown key {key!r}", fix=f"the keys are {', '.join(known)}")


register_format("json", parse_json, render_json)
