"""The files that prerequisite graphs are kept in: which format a path means, and getting its bytes in and out."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mccpo import files
from mccpo.curriculum.formats import csv_format, graphml_format, json_format
from mccpo.curriculum.formats.raw import RawGraph
from mccpo.errors import InputError

MAX_BYTES = 256 * 2**20
"""No curriculum is as large as this; a compressed file that unfolds to more is a mistake or an attack."""


class Format(NamedTuple):
    """How one kind of file is read and written."""

    parse: Callable[[bytes, str], RawGraph]
    """From a file's bytes and its name for messages."""
    render: Callable[[RawGraph], str]


FORMATS = {
    ".json": Format(json_format.parse, json_format.render),
    ".csv": Format(csv_format.parse, csv_format.render),
    ".tsv": Format(csv_format.parse, lambda raw: csv_format.render(raw, delimiter="\t")),
    ".graphml": Format(graphml_format.parse, graphml_format.render),
}


def read_raw(path: str | Path) -> RawGraph:
    """Reads what a graph file states, without judging the graph; a file that cannot be understood is refused."""
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder", fix="name a file in it")
    form = format_of(path)
    content = read_bytes(Path(path))
    if not content.strip():
        raise InputError(f"{path} is empty", fix="give a file with at least one concept")
    raw = form.parse(content, str(path))
    if not raw.rows:
        raise InputError(f"{path} holds no concepts", fix="give a file with at least one concept")
    return raw


def write_raw(raw: RawGraph, path: str | Path) -> None:
    """Writes a graph in the format that the suffix of `path` names, whole or not at all."""
    form = format_of(path)
    if Path(path).is_dir():
        raise InputError(f"cannot write {path}: it is a folder", fix="name a file")
    content = form.render(raw).encode()
    if Path(path).suffix.lower() == ".gz":
        content = gzip.compress(content, mtime=0)  # the same graph gives the same bytes on any day
    files.write_bytes(path, content)


def format_of(path: str | Path) -> Format:
    """The format that a path's suffix names."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    try:
        return FORMATS[suffix]
    except KeyError:
        raise InputError(
            f"{path} has the suffix {suffix!r}, which names no graph format" if suffix else f"{path} has no suffix",
            fix=f"use one of {', '.join(FORMATS)} (each also with .gz)",
        ) from None


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, unpacked where its name ends in `.gz`."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as handle:
            content: bytes = handle.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", fix="check the path") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path} is cut short or not gzip data ({error})", fix="fetch the file again") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix="check that you may read it") from error
    if len(content) > MAX_BYTES:
        raise InputError(f"{path} holds more than {MAX_BYTES // 2**20} MiB", fix="give a file of a curriculum's size")
    return content
