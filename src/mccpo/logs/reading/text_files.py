"""Files as bytes and as text: any encoding, plain or gzipped, and in one line what is wrong with one."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl

from mccpo.errors import InputError

LONGEST_HEADER = 10**6
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""The marks that text may begin with, and the encodings that they tell."""
NAME_ENCODING = "name its encoding, such as --encoding iso-8859-15 or --encoding utf-16-le"
_LONGEST_REASON = 300
"""Of what polars says about a file, which may quote much of it, so many letters are passed on."""


def check_file(path: Path) -> None:
    """Refuses a path that is no file with something in it."""
    if not path.exists():
        raise InputError(f"{path} does not exist", fix="check the path")
    if path.is_dir():
        raise InputError(f"{path} is a folder", fix="name a file in it")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty", fix="give a file with rows")


def is_parquet(path: Path) -> bool:
    """Whether a path is that of a parquet file, by its name."""
    return path.suffix.lower() == ".parquet"


def holds_parquet(path: Path) -> bool:
    """Whether a file is parquet, by its first bytes."""
    with reading(path), path.open("rb") as handle:
        return handle.read(len(_PARQUET)) in (_PARQUET, b"PARE")


def open_bytes(path: Path) -> BinaryIO:
    """A file as bytes, decompressed where it is gzip data or says so by its name."""
    with path.open("rb") as start:
        zipped = start.read(2) == _GZIP or path.suffix.lower() == ".gz"
    return cast(BinaryIO, gzip.open(path, "rb")) if zipped else path.open("rb")


@contextmanager
def open_text(path: Path, encoding: str = "utf-8") -> Iterator[io.TextIOBase]:
    """A file as text, decompressed where it is gzip data or says so by its name; lines keep their ends."""
    try:
        actual = encoding_of(path, encoding)
        with open_bytes(path) as content, io.TextIOWrapper(content, encoding=actual, newline="") as handle:
            yield handle
    except LookupError as error:
        raise InputError(
            f"there is no encoding {encoding!r}", fix="give one such as utf-8, utf-16 or iso-8859-15"
        ) from error


def encoding_of(path: Path, encoding: str) -> str:
    """How a file is encoded: as its first bytes say where they are a mark of Unicode, else as it is said to be."""
    with reading(path), open_bytes(path) as handle:
        start = handle.read(max(map(len, _MARKS)))
    return next((told for mark, told in _MARKS.items() if start.startswith(mark)), encoding)


def ends_lines_with_cr(path: Path, encoding: str) -> bool:
    """Whether lines end as on old machines, with a carriage return alone, which polars does not know."""
    with reading(path), open_text(path, encoding) as handle:
        return handle.readline(LONGEST_HEADER).endswith("\r") and handle.read(1) != "\n"


def has_quotes(path: Path) -> bool:
    """Whether a row can go over several lines at all, which needs quotes."""
    with reading(path), open_bytes(path) as handle:
        return any(b'"' in block for block in iter(lambda: handle.read(2**20), b""))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Tells in one line what is wrong with a file that cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", fix="check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not {error.encoding.upper()} text (byte {error.start})",
            fix=NAME_ENCODING,
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path} is cut short or not gzip data ({error})", fix="fetch the file again") from error
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, str(error)) from error
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise InputError(f"cannot read {path}: {reason}", fix="check it, or fetch the file again") from error


def _unreadable(path: Path, message: str) -> InputError:
    if "utf-8" in message.lower() or "utf8" in message.lower():
        return InputError(f"{path} is not UTF-8 text", fix=NAME_ENCODING)
    reason = next(iter(message.splitlines()), "damaged")
    if len(reason) > _LONGEST_REASON:
        reason = reason[:_LONGEST_REASON] + " …"
    return InputError(f"{path} cannot be read ({reason})", fix="check it, or fetch the file again")
