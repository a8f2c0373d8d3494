"""Log formats by name, and reading a file by the name of its format."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from mccpo.errors import InputError
from mccpo.logs import table
from mccpo.logs.reading.read import MOST_REJECTED, Logs, read_source
from mccpo.logs.sources.assistments_2009 import ASSISTMENTS_2009
from mccpo.logs.sources.assistments_2012 import ASSISTMENTS_2012
from mccpo.logs.sources.assistments_2017 import ASSISTMENTS_2017
from mccpo.logs.sources.columns import TABLE
from mccpo.logs.sources.datashop import DATASHOP
from mccpo.logs.sources.decisions import DECISIONS
from mccpo.logs.sources.ednet_kt1 import EDNET_KT1
from mccpo.logs.sources.junyi_2015 import JUNYI_2015
from mccpo.logs.sources.junyi_2020 import JUNYI_2020
from mccpo.logs.sources.pykt import PYKT
from mccpo.logs.sources.source import Opening, Source, SourceOf
from mccpo.logs.sources.xapi import XAPI
from mccpo.logs.sources.xes3g5m import XES3G5M

SOURCES: dict[str, Source | SourceOf] = {
    source.name: source
    for source in (
        JUNYI_2020,
        JUNYI_2015,
        XES3G5M,
        ASSISTMENTS_2009,
        ASSISTMENTS_2012,
        ASSISTMENTS_2017,
        EDNET_KT1,
        DATASHOP,
        PYKT,
        XAPI,
        DECISIONS,
        TABLE,
    )
}


def load(
    path: str | Path, format: str, opening: Opening | None = None, *, most_rejected: float = MOST_REJECTED
) -> Logs:
    """Reads a log of a named format, with the account of its rows."""
    if format not in SOURCES:
        close = difflib.get_close_matches(format, SOURCES, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise InputError(f"unknown log format '{format}'", fix=f"{hint}choose from {', '.join(SOURCES)}")
    found = SOURCES[format]
    said = opening or Opening()
    if said.mapping and not (isinstance(found, SourceOf) and found.mapped):
        raise InputError(f"{format} has columns of its own", fix="leave --map out, or read with --format table")
    if said.model is not None and not (isinstance(found, SourceOf) and found.models):
        raise InputError(f"{format} has no models to choose from", fix="leave --model out")
    source = found.of(Path(path), said) if isinstance(found, SourceOf) else found
    return read_source(source, Path(path), said, most_rejected=most_rejected)


def read(path: str | Path, format: str | None = None, mapping: Mapping[str, str] | None = None) -> pl.DataFrame:
    """The canonical table of a log: of a named format, or, without one, of a canonical parquet file."""
    if format is None:
        return table.read(path)
    return load(path, format, Opening(mapping=mapping or {})).table
