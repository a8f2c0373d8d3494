"""Log formats by name, and reading a file by the name of its format."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from mccpo.errors import InputError
from mccpo.logs import table
from mccpo.logs.reading import MOST_REJECTED, Logs, read_source
from mccpo.logs.source import Opening, Source
from mccpo.logs.sources.junyi_2020 import JUNYI_2020

SOURCES: dict[str, Source] = {source.name: source for source in (JUNYI_2020,)}


def load(
    path: str | Path, format: str, opening: Opening | None = None, *, most_rejected: float = MOST_REJECTED
) -> Logs:
    """Reads a log of a named format, with the account of its rows."""
    if format not in SOURCES:
        close = difflib.get_close_matches(format, SOURCES, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise InputError(f"unknown log format '{format}'", fix=f"{hint}choose from {', '.join(SOURCES)}")
    return read_source(SOURCES[format], Path(path), opening, most_rejected=most_rejected)


def read(path: str | Path, format: str | None = None, mapping: Mapping[str, str] | None = None) -> pl.DataFrame:
    """The canonical table of a log: of a named format, or, without one, of a canonical parquet file."""
    if format is None:
        return table.read(path)
    return load(path, format, Opening(mapping=mapping or {})).table
