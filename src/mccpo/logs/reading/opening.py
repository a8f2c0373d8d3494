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
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import polars as pl

from mccpo.errors import InputError
from mccpo.logs.reading.mending import is_ragged, lines_of, no_rows, without

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
LINE = "line"
FILE = "file"
"""The column that says which of several files a row is from."""
_UTF8 = ("utf-8", "utf8", "utf-8-sig")
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_LONGEST_HEADER = 10**6
_LONGEST_TOLD = 300
"""Of what polars says about a file, which may quote much of it, so many letters are passed on."""


class Ragged(NamedTuple):
    """A line that is no row at all."""

    line: int
    reason: str
    file: str | None = None


@dataclass(frozen=True, eq=False)
class Opened:
    """A file's rows as text, lazily, with the `line` that each begins on.

    **Fields:**

    - `ragged`: lines that are no rows at all.
    - `mend`: opens the file again without such lines, which is slow; only a file that polars gives up on needs it.
    - `locate`: the true lines of some rows. Until it is asked, `line` counts rows, as if each were one line.
    """

    frame: pl.LazyFrame
    ragged: Sequence[Ragged] = ()
    mend: Callable[[], Opened] | None = None
    locate: Callable[[pl.DataFrame], pl.DataFrame] | None = None


def open_table(
    path: Path,
    columns: Sequence[str],
    *,
    delimiter: str = ",",
    encoding: str = "utf-8",
    optional: Sequence[str] = (),
    numbered: bool = False,
    quoted: bool = True,
) -> Opened:
    """Opens a delimited file or a parquet file that has `columns`, and takes those and the `optional` ones it has.

    Where a header may name a column twice, `numbered` gives the second `.1` after its name, the third `.2`. Where
    fields are not `quoted`, a quote is a letter like others.
    """
    check_file(path)
    if is_parquet(path):
        return _open_parquet(path, columns, optional)
    quote = '"' if quoted else None
    header = read_header(path, delimiter, encoding, numbered=numbered)
    check_columns(path, header, columns, delimiter)
    wanted = list(dict.fromkeys([LINE, *columns, *(name for name in optional if name in header)]))
    # All columns are read: where some are left out, polars drops what a line has too much of, and says nothing.
    unused = tuple(name for name in header if name not in wanted)
    encoding = encoding_of(path, encoding)
    as_it_is = encoding.lower() in _UTF8 and not ends_lines_with_cr(path, encoding)
    source = path if as_it_is else io.BytesIO(_decoded(path, encoding))
    spelt = _as_polars_names(header) if numbered else header
    if quoted and any('"' in name for name in header):  # of which polars leaves some doubled
        with reading(path):
            spelt = pl.scan_csv(source, separator=delimiter, infer_schema=False).collect_schema().names()
    schema, numbers = dict.fromkeys(spelt, pl.String), dict(zip(spelt, header, strict=True))

    def scan(content: Path | io.BytesIO, *, truncated: bool = False) -> pl.LazyFrame:
        frame = pl.scan_csv(
            content,
            schema=schema,
            separator=delimiter,
            row_index_name=LINE,
            row_index_offset=2,
            truncate_ragged_lines=truncated,
            quote_char=quote,
            low_memory=True,
        )
        return frame.rename(numbers).select(*wanted, *unused)

    def mend() -> Opened:
        with reading(path), open_text(path, encoding) as handle:
            found, plain = no_rows(handle, len(header), delimiter, quote)
        ragged = [Ragged(each.line, each.reason) for each in found]
        if plain:
            rows = pl.col(LINE).is_in([each.place + 2 for each in found])
            return Opened(scan(source, truncated=True).filter(~rows), ragged, locate=locate)
        # Past a stray quote polars and we would not agree on what a row is: it gets only the sound ones, well quoted.
        with reading(path), open_text(path, encoding) as handle:
            kept = without(handle, len(header), delimiter)
        lines = pl.Series(LINE, kept.lines, dtype=pl.UInt32)
        return Opened(scan(io.BytesIO(kept.content)).collect().with_columns(lines).lazy(), ragged)

    def locate(rows: pl.DataFrame) -> pl.DataFrame:
        if not quoted or not _has_quotes(path):
            return rows
        with reading(path), open_text(path, encoding) as handle:
            lines = lines_of(handle, (rows[LINE] - 2).to_list(), delimiter)
        return rows.with_columns(pl.Series(LINE, lines, dtype=pl.UInt32))

    return Opened(scan(source), mend=mend, locate=locate)


def header_of(path: Path, *, delimiter: str = ",", encoding: str = "utf-8", numbered: bool = False) -> list[str]:
    """The names of a delimited file's or a parquet file's columns."""
    check_file(path)
    if not is_parquet(path):
        return read_header(path, delimiter, encoding, numbered=numbered)
    with reading(path):
        return pl.scan_parquet(path).collect_schema().names()


def first_texts(table: Opened, column: str, most: int) -> pl.Series:
    """The first texts of a column that say something, at most so many."""

    def first(frame: pl.LazyFrame) -> pl.Series:
        told = frame.select(column).filter(pl.col(column) != "")
        return told.head(most).collect(engine="streaming")[column]

    try:
        return first(table.frame)
    except pl.exceptions.ComputeError as error:
        if table.mend is None or not is_ragged(error):
            raise
        return first(table.mend().frame)


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def check_file(path: Path) -> None:
    """Refuses a path that is no file with something in it."""
    if not path.exists():
        raise InputError(f"{path} does not exist", fix="check the path")
    if path.is_dir():
        raise InputError(f"{path} is a folder", fix="name a file in it")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty", fix="give a file with rows")


def check_header(path: Path, header: Sequence[str]) -> None:
    """Refuses a header with a name that is kept for us."""
    if LINE in header:
        raise InputError(
            f"{path} has a column {LINE!r}, a name that is kept for the lines of a file", fix="give it another name"
        )


def check_columns(path: Path, header: Sequence[str], columns: Sequence[str], delimiter: str = ",") -> None:
    """Refuses a header that lacks a column, saying whether another delimiter would have found it."""
    missing = [name for name in columns if name not in header]
    if not missing:
        return
    if len(header) == 1:
        for other, words in DELIMITERS.items():
            if other != delimiter and set(columns) <= set(next(csv.reader(header, delimiter=other))):
                raise InputError(
                    f"{path} is separated by {words}, not by {DELIMITERS.get(delimiter, repr(delimiter))}",
                    fix=f"give --delimiter {other!r}" if other != "\t" else "give --delimiter tab",
                )
    shown = ", ".join(header[:20]) + (" …" if len(header) > 20 else "")
    raise InputError(
        f"{path} has no column {missing[0]!r}; it has {shown[:500]}", fix="check the format, or map columns with --map"
    )


def read_header(path: Path, delimiter: str, encoding: str, *, numbered: bool = False) -> list[str]:
    """The names of the columns in the first line."""
    with reading(path), open_text(path, encoding) as handle:
        line = handle.readline(_LONGEST_HEADER)
    if "\0" in line:
        raise InputError(f"{path} holds null bytes, as UTF-16 text does", fix="name its encoding with --encoding")
    header = next(csv.reader([line.lstrip("\ufeff").rstrip("\r\n")], delimiter=delimiter), [])
    if not header or not any(name.strip() for name in header):
        raise InputError(f"{path} has no header in its first line", fix="give a file whose first line names columns")
    check_header(path, header)
    if numbered:
        return [name if not (again := header[:at].count(name)) else f"{name}.{again}" for at, name in enumerate(header)]
    twice = next((name for at, name in enumerate(header) if name in header[:at]), None)
    if twice is not None:
        raise InputError(f"{path} has the column {twice!r} twice", fix="give each column a name of its own")
    return header


def open_bytes(path: Path) -> BinaryIO:
    """A file as bytes, decompressed where it is gzip data or says so by its name."""
    with path.open("rb") as start:
        zipped = start.read(2) == _GZIP or path.suffix.lower() == ".gz"
    return cast(BinaryIO, gzip.open(path, "rb")) if zipped else path.open("rb")


def encoding_of(path: Path, encoding: str) -> str:
    """How a file is encoded: as it is said to be, unless it begins with the mark of UTF-8."""
    with reading(path), open_bytes(path) as handle:
        return "utf-8-sig" if handle.read(len(_BOM)) == _BOM else encoding


def ends_lines_with_cr(path: Path, encoding: str) -> bool:
    """Whether lines end as on old machines, with a carriage return alone, which polars does not know."""
    with reading(path), open_text(path, encoding) as handle:
        return handle.readline(_LONGEST_HEADER).endswith("\r") and handle.read(1) != "\n"


def _as_polars_names(header: Sequence[str]) -> list[str]:
    """Numbered columns by the names that polars has for columns of one name."""
    numbered = [name.rpartition(".") for name in header]
    return [
        f"{name}_duplicated_{int(number) - 1}" if name in header[:at] and number.isdigit() else header[at]
        for at, (name, _, number) in enumerate(numbered)
    ]


@contextmanager
def open_text(path: Path, encoding: str = "utf-8") -> Iterator[io.TextIOBase]:
    """A file as text, decompressed where it is gzip data or says so by its name; lines keep their ends."""
    try:
        told = encoding_of(path, encoding)
        with open_bytes(path) as content, io.TextIOWrapper(content, encoding=told, newline="") as handle:
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
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, str(error)) from error
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise InputError(f"cannot read {path}: {reason}", fix="check it, or fetch the file again") from error


def _unreadable(path: Path, message: str) -> InputError:
    if "utf-8" in message.lower() or "utf8" in message.lower():
        return InputError(f"{path} is not UTF-8 text", fix="name its encoding, such as --encoding iso-8859-15")
    told = next(iter(message.splitlines()), "damaged")
    if len(told) > _LONGEST_TOLD:
        told = told[:_LONGEST_TOLD] + " …"
    return InputError(f"{path} cannot be read ({told})", fix="check it, or fetch the file again")


def _open_parquet(path: Path, columns: Sequence[str], optional: Sequence[str]) -> Opened:
    with reading(path):
        frame = pl.scan_parquet(path)
        header = frame.collect_schema().names()
        check_header(path, header)
        check_columns(path, header, columns)
        wanted = [*columns, *(name for name in optional if name in header and name not in columns)]
        return Opened(frame.select(pl.col(wanted).cast(pl.String)).with_row_index(LINE, offset=1))


def _decoded(path: Path, encoding: str) -> bytes:
    """A file as UTF-8, with line ends that polars knows."""
    with reading(path), open_text(path, encoding) as handle:
        text = handle.read()
    return (text if "\n" in text else text.replace("\r", "\n")).encode()


def _has_quotes(path: Path) -> bool:
    """Whether a row can go over several lines at all, which needs quotes."""
    with reading(path), open_bytes(path) as handle:
        return any(b'"' in block for block in iter(lambda: handle.read(2**20), b""))
