"""Opening what logs are kept in: delimited text in any encoding, plain or gzipped, and parquet, as columns of text.

The header is read first, by itself: a wrong delimiter or a missing column is told before gigabytes are read.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from mccpo.errors import InputError

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
LINE = "line"
_UTF8 = ("utf-8", "utf8", "utf-8-sig")


@dataclass(frozen=True, eq=False)
class Opened:
    """A file's rows as text, lazily, with the `line` that each begins on.

    **Fields:**

    - `ragged`: lines that are no rows at all, with the reason.
    - `unused`: columns that nobody asked for. They are read all the same: where some are left out, polars drops what a
      line has too much of, and says nothing.
    - `mend`: opens the file again without such lines, which is slow; only a file that polars gives up on needs it.
    """

    frame: pl.LazyFrame
    ragged: dict[int, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    mend: Callable[[], Opened] | None = None


def open_table(
    path: Path, columns: Sequence[str], *, delimiter: str = ",", encoding: str = "utf-8", optional: Sequence[str] = ()
) -> Opened:
    """Opens a delimited file or a parquet file that has `columns`, and takes those and the `optional` ones it has."""
    check_file(path)
    if path.suffix.lower() == ".parquet":
        return _open_parquet(path, columns, optional)
    header = read_header(path, delimiter, encoding)
    check_columns(path, header, columns, delimiter)
    wanted = list(dict.fromkeys([LINE, *columns, *(name for name in optional if name in header)]))
    unused = tuple(name for name in header if name not in wanted)
    schema = dict.fromkeys(header, pl.String)
    source = path if encoding.lower() in _UTF8 else io.BytesIO(_decoded(path, encoding))

    def scan(content: Path | io.BytesIO) -> pl.LazyFrame:
        frame = pl.scan_csv(
            content,
            schema=schema,
            separator=delimiter,
            row_index_name=LINE,
            row_index_offset=2,
            low_memory=True,
        )
        return frame.select(*wanted, *unused)

    def mend() -> Opened:
        kept, ragged = _without_ragged(path, len(header), delimiter, encoding)
        lines = pl.Series(LINE, kept.lines, dtype=pl.UInt32)
        return Opened(scan(io.BytesIO(kept.content)).collect().with_columns(lines).lazy(), ragged, unused)

    return Opened(scan(source), unused=unused, mend=mend)


def check_file(path: Path) -> None:
    """Refuses a path that is no file with something in it."""
    if not path.exists():
        raise InputError(f"{path} does not exist", fix="check the path")
    if path.is_dir():
        raise InputError(f"{path} is a folder", fix="name a file in it")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty", fix="give a file with rows")


def check_columns(path: Path, header: Sequence[str], columns: Sequence[str], delimiter: str = ",") -> None:
    """Refuses a header that lacks a column, saying whether another delimiter would have found it."""
    missing = [name for name in columns if name not in header]
    if not missing:
        return
    if len(header) == 1:
        for other, words in DELIMITERS.items():
            if other != delimiter and set(columns) <= set(header[0].split(other)):
                raise InputError(
                    f"{path} is separated by {words}, not by {DELIMITERS.get(delimiter, repr(delimiter))}",
                    fix=f"give --delimiter {other!r}" if other != "\t" else "give --delimiter tab",
                )
    shown = ", ".join(header[:20]) + (" …" if len(header) > 20 else "")
    raise InputError(
        f"{path} has no column {missing[0]!r}; it has {shown}", fix="check the format, or map columns with --map"
    )


def read_header(path: Path, delimiter: str, encoding: str) -> list[str]:
    """The names of the columns in the first line."""
    with reading(path), open_text(path, encoding) as handle:
        line = handle.readline(10**6)
    header = next(csv.reader([line.lstrip("\ufeff")], delimiter=delimiter), [])
    twice = next((name for at, name in enumerate(header) if name in header[:at]), None)
    if not header or not any(name.strip() for name in header):
        raise InputError(f"{path} has no header in its first line", fix="give a file whose first line names columns")
    if twice is not None:
        raise InputError(f"{path} has the column {twice!r} twice", fix="give each column a name of its own")
    return header


@contextmanager
def open_text(path: Path, encoding: str = "utf-8") -> Iterator[io.TextIOBase]:
    """A file as text, decompressed where it ends in .gz."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding=encoding, newline="") as handle:
            yield handle
    except LookupError as error:
        raise InputError(f"there is no encoding {encoding!r}", fix="give one such as utf-8 or iso-8859-15") from error


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
            fix="name its encoding, such as --encoding iso-8859-15",
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path} is cut short or not gzip data ({error})", fix="fetch the file again") from error
    except pl.exceptions.ComputeError as error:
        raise _unreadable(path, str(error)) from error
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise InputError(f"cannot read {path}: {reason}", fix="check it, or fetch the file again") from error


def _unreadable(path: Path, message: str) -> InputError:
    if "utf-8" in message.lower() or "utf8" in message.lower():
        return InputError(f"{path} is not UTF-8 text", fix="name its encoding, such as --encoding iso-8859-15")
    return InputError(f"{path} cannot be read ({message.splitlines()[0]})", fix="check it, or fetch the file again")


def _open_parquet(path: Path, columns: Sequence[str], optional: Sequence[str]) -> Opened:
    with reading(path):
        frame = pl.scan_parquet(path)
        header = frame.collect_schema().names()
        check_columns(path, header, columns)
        wanted = [*columns, *(name for name in optional if name in header and name not in columns)]
        return Opened(frame.select(pl.col(wanted).cast(pl.String)).with_row_index(LINE, offset=1))


def _decoded(path: Path, encoding: str) -> bytes:
    with reading(path), open_text(path, encoding) as handle:
        return handle.read().encode()


def is_ragged(error: Exception) -> bool:
    """Whether polars gave up on a line that is no row: too many fields, or a quote without an end."""
    return "more fields" in str(error) or 'could not parse `"' in str(error)


@dataclass(frozen=True)
class _Kept:
    content: bytes
    lines: list[int]


def _without_ragged(path: Path, width: int, delimiter: str, encoding: str) -> tuple[_Kept, dict[int, str]]:
    """The file without the lines that have too many fields: row by row, as only a damaged file needs."""
    ragged: dict[int, str] = {}
    lines: list[int] = []
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    with reading(path), open_text(path, encoding) as handle:
        rows = csv.reader(handle, delimiter=delimiter)
        writer.writerow(next(rows))
        start = rows.line_num + 1
        for row in rows:
            if len(row) > width:
                ragged[start] = f"{len(row)} fields, where the header has {width}"
            elif row:
                writer.writerow(row)
                lines.append(start)
            start = rows.line_num + 1
    return _Kept(text.getvalue().encode(), lines), ragged
