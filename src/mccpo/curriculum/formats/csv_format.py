"""Prerequisite graphs as CSV or TSV: an edge list, or a table of concepts.

An edge list has the header `prerequisite,concept` and may have a `demand` column, for the concept of its row. A row
with an empty prerequisite states a concept without adding an edge; so written, any graph survives a round trip, and
this is the form we write.

A table has a `name` and a `prerequisites` column (and perhaps `demand`); other columns are left alone. Prerequisites
are separated by `|`, `;` or `,`, whichever comes first in this list and occurs in the file. Somebody wrote such a
table by hand, so its edges have the provenance "expert table"; an edge list may have been written by a program.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from mccpo.curriculum.formats.fields import concept_demand, concept_name, decode, shorten
from mccpo.curriculum.formats.raw import EXPERT_TABLE, Evidence, RawConcept, RawGraph
from mccpo.curriculum.formats.registry import register_format
from mccpo.errors import InputError

_EDGE_COLUMNS = ("prerequisite", "concept")
_TABLE_COLUMNS = ("name", "prerequisites")
_LIST_SEPARATORS = "|;,"

Row = tuple[int, dict[str, str]]
"""A line number and the cells by column."""


def parse_csv(content: bytes, source: str) -> RawGraph:
    r"""Reads a graph from an edge list or a table of concepts.

    >>> parse_csv(b"prerequisite,concept\ncounting,adding\n", "graph.csv").edges
    (('counting', 'adding'),)
    """
    rows = _rows(decode(content, source), source)
    header = next(rows)[1]
    read = _reader_for(header, source)
    raw = RawGraph(read(list(rows), source), source)
    return raw if read is not _table else replace(raw, evidence=dict.fromkeys(raw.edges, Evidence(EXPERT_TABLE)))


def render_csv(raw: RawGraph, delimiter: str = ",") -> str:
    """Writes a graph as an edge list with demands.

    >>> print(render_csv(RawGraph((RawConcept("counting"), RawConcept("adding", ("counting",))))), end="")
    prerequisite,concept,demand
    ,counting,
    counting,adding,
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow((*_EDGE_COLUMNS, "demand"))
    for row in raw.rows:
        demand = "" if row.demand is None else repr(row.demand)
        for prerequisite in row.prerequisites or ("",):
            writer.writerow((prerequisite, row.name, demand))
    return text.getvalue()


def _rows(text: str, source: str) -> Iterator[Row]:
    """The header (as cells that repeat the column names), then each row that is not blank."""
    first = text.lstrip().split("\n", 1)[0]
    delimiter = max(",\t;", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: list[str] = []
    try:
        for cells in reader:
            if not any(cells):
                continue
            if not columns:
                columns = [cell.strip().lower() for cell in cells]
                cells = columns
                _refuse_repeated(columns, f"{source} line {reader.line_num}")
            if len(cells) != len(columns):
                raise InputError(
                    f"{source} line {reader.line_num} has {len(cells)} cells under {len(columns)} columns",
                    fix="quote cells that hold the separator, or fetch the file again if it was cut short",
                )
            yield reader.line_num, dict(zip(columns, cells, strict=True))
    except csv.Error as error:
        raise InputError(
            f"{source} line {reader.line_num} is not CSV ({error})", fix="correct it or fetch the file again"
        ) from error


def _refuse_repeated(columns: list[str], where: str) -> None:
    for column in (*_EDGE_COLUMNS, *_TABLE_COLUMNS, "demand"):  # others are left alone, whatever they are called
        if columns.count(column) > 1:
            raise InputError(f"{where} names the column {column!r} twice", fix="name each column once")


def _reader_for(columns: Collection[str], source: str) -> Callable[[list[Row], str], tuple[RawConcept, ...]]:
    if all(column in columns for column in _EDGE_COLUMNS):
        return _edge_list
    if all(column in columns for column in _TABLE_COLUMNS):
        return _table
    named = shorten(", ".join(columns))
    raise InputError(
        f"{source} line 1 names {named}, but neither {' and '.join(_EDGE_COLUMNS)} nor {' and '.join(_TABLE_COLUMNS)}",
        fix="begin the file with the line 'prerequisite,concept' or with the columns of a table",
    )


def _edge_list(rows: list[Row], source: str) -> tuple[RawConcept, ...]:
    needs: dict[str, list[str]] = {}
    demands: dict[str, float] = {}
    for line, cells in rows:
        where = f"{source} line {line}"
        if cells["prerequisite"]:
            needs.setdefault(concept_name(cells["prerequisite"], where), [])
        name = concept_name(cells["concept"], where)
        needs.setdefault(name, []).extend(filter(None, [cells["prerequisite"]]))
        demand = concept_demand(cells.get("demand"), where)
        if demand is not None and demands.setdefault(name, demand) != demand:
            raise InputError(f"{where} gives {name!r} a second demand", fix="give each concept one demand")
    return tuple(RawConcept(name, tuple(prerequisites), demands.get(name)) for name, prerequisites in needs.items())


def _table(rows: list[Row], source: str) -> tuple[RawConcept, ...]:
    names = {cells["name"] for _, cells in rows}
    lists = [cells["prerequisites"] for _, cells in rows if cells["prerequisites"] not in names]
    separator = next((mark for mark in _LIST_SEPARATORS if any(mark in text for text in lists)), None)
    concepts = []
    for line, cells in rows:
        where = f"{source} line {line}"
        name = concept_name(cells["name"], where)
        needs = _split(cells["prerequisites"], separator, names)
        concepts.append(RawConcept(name, needs, concept_demand(cells.get("demand"), where)))
    return tuple(concepts)


def _split(text: str, separator: str | None, names: set[str]) -> tuple[str, ...]:
    """The prerequisites in one cell. An empty entry, as after a last separator, is kept: it is a fault to report."""
    if not text.strip():
        return ()
    entries = [text] if text in names or separator is None else text.split(separator)
    # Names may differ by white space alone, so it is only dropped where the name as it stands is unknown.
    return tuple(entry if entry in names else entry.strip() for entry in entries)


register_format("csv", parse_csv, render_csv)
register_format("tsv", parse_csv, lambda raw: render_csv(raw, delimiter="\t"))
