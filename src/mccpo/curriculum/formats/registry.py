"""The formats of graph files by suffix. Other packages add theirs by entry points of `mccpo.curriculum_formats`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mccpo.curriculum.formats.raw import RawGraph
from mccpo.errors import InputError
from mccpo.registry import Registry


@dataclass(frozen=True)
class GraphFormat:
    """How one kind of file is read and written."""

    parse: Callable[[bytes, str], RawGraph]
    """From a file's bytes and its name for messages."""
    render: Callable[[RawGraph], str]


FORMATS = Registry("graph format", "mccpo.curriculum_formats", GraphFormat)
"""By suffix, without the dot."""


def register_format(suffix: str, parse: Callable[[bytes, str], RawGraph], render: Callable[[RawGraph], str]) -> None:
    """Lets files with this suffix, given without its dot, be read and written."""
    FORMATS.register(suffix, GraphFormat(parse, render))


def format_of(path: str | Path) -> GraphFormat:
    """The format that a path's suffix names.

    >>> from mccpo.curriculum import read_raw  # imports the formats
    >>> format_of("graph.tsv.gz") is FORMATS["tsv"]
    True
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix[1:] in FORMATS:
        return FORMATS[suffix[1:]]
    raise InputError(
        f"{path} has the suffix {suffix!r}, which names no graph format" if suffix else f"{path} has no suffix",
        fix=f"use one of {', '.join(f'.{name}' for name in FORMATS)} (each also with .gz)",
    )
