"""Prerequisite graphs as JSON, the format that says most plainly what it means.

    {"format": "mccpo-curriculum/1",
     "concepts": [{"name": "counting", "demand": 0.2, "prerequisites": []},
                  {"name": "addition", "demand": 0.4, "prerequisites": ["counting"]}]}

`demand` and `prerequisites` may be left out, and so may `format`. A key that is not known is refused: a misspelt
`prerequisites` would otherwise open the gate without a word.
"""

from __future__ import annotations

import json
from typing import Any

from mccpo.curriculum.fields import concept_demand, concept_name, decode, unrepeated
from mccpo.curriculum.raw import RawConcept, RawGraph
from mccpo.errors import InputError

VERSION = "mccpo-curriculum/1"
_SHAPE = 'write {"concepts": [{"name": ..., "demand": ..., "prerequisites": [...]}, ...]}'


def parse(content: bytes, source: str) -> RawGraph:
    """Reads a graph from JSON text."""
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
    _refuse_unknown(document, ("format", "concepts"), source)
    if document.get("format", VERSION) != VERSION:
        raise InputError(f"{source} has the format {document['format']!r}", fix=f"give a file of format {VERSION!r}")
    rows = (_concept(entry, f"{source} concept {number}") for number, entry in enumerate(document["concepts"], start=1))
    return RawGraph(tuple(rows), source)


def render(raw: RawGraph) -> str:
    """Writes a graph as JSON text, one concept a line."""
    lines = []
    for row in raw.rows:
        entry: dict[str, Any] = {"name": row.name}
        if row.demand is not None:
            entry["demand"] = row.demand
        entry["prerequisites"] = list(row.prerequisites)
        lines.append("  " + json.dumps(entry, ensure_ascii=False))
    return f'{{"format": {json.dumps(VERSION)},\n "concepts": [\n' + ",\n".join(lines) + "\n ]}\n"


def _concept(entry: object, where: str) -> RawConcept:
    if not isinstance(entry, dict) or "name" not in entry:
        raise InputError(f"{where} has no name", fix=_SHAPE)
    _refuse_unknown(entry, ("name", "demand", "prerequisites"), where)
    name = concept_name(entry["name"], where)
    needs = entry.get("prerequisites", [])
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        raise InputError(f"{where} ({name!r}) has prerequisites that are not a list of names", fix=_SHAPE)
    return RawConcept(name, tuple(needs), concept_demand(entry.get("demand"), f"{where} ({name!r})"))


def _refuse_unknown(entry: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in known:
            raise InputError(f"{where} has the unknown key {key!r}", fix=f"the keys are {', '.join(known)}")
