"""Reads and writes the files that prerequisite graphs are kept in."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from mccpo import files
from mccpo.curriculum.formats.raw import RawGraph
from mccpo.curriculum.formats.registry import format_of
from mccpo.errors import InputError

MAX_BYTES = 256 * 2**20
"""No curriculum is as large as this; a compressed file that unfolds to more is a mistake or an attack."""


def read_raw(path: str | Path) -> RawGraph:
    """Reads what a graph file states, without judging the graph; a file that cannot be understood is refused.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "graph.csv"
    ...     _ = path.write_text("prerequisite,concept\\ncounting,adding\\nadding,adding\\n")
    ...     read_raw(path).edges
    (('counting', 'adding'), ('adding', 'adding'))
    """
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder", fix="name a file in it")
    graph_format = format_of(path)
    content = read_bytes(Path(path))
    if not content.strip():
        raise InputError(f"{path} is empty", fix="give a file with at least one concept")
    raw = graph_format.parse(content, str(path))
    if not raw.rows:
        raise InputError(f"{path} holds no concepts", fix="give a file with at least one concept")
    return raw


def write_raw(raw: RawGraph, path: str | Path) -> None:
    """Writes a graph in the format that the suffix of `path` names, whole or not at all.

    >>> from tempfile import TemporaryDirectory
    >>> from mccpo.curriculum import RawConcept
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "graph.csv"
    ...     write_raw(RawGraph((RawConcept("counting"), RawConcept("adding", ("counting",), 0.3))), path)
    ...     path.read_text().splitlines()
    ['prerequisite,concept,demand', ',counting,', 'counting,adding,0.3']
    """
    graph_format = format_of(path)
    if Path(path).is_dir():
        raise InputError(f"cannot write {path}: it is a folder", fix="name a file")
    content = graph_format.render(raw).encode()
    if Path(path).suffix.lower() == ".gz":
        content = gzip.compress(content, mtime=0)  # the same graph gives the same bytes on any day
    files.write_bytes(path, content)


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
