"""Opens what logs are kept in, delimited text and parquet, as columns of text.

The header is read first, by itself: a wrong delimiter or a missing column is told before gigabytes are read.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import polars as pl

from mccpo.logs.reading.damaged_text import damaged_lines, is_ragged, line_numbers, without_damage
from mccpo.logs.reading.headers import LINE, check_columns, check_header, read_header
from mccpo.logs.reading.text_files import (
    check_file,
    encoding_of,
    ends_lines_with_cr,
    has_quotes,
    is_parquet,
    open_text,
    reading,
)

_UTF8 = ("utf-8", "utf8", "utf-8-sig")

T = TypeVar("T")


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

    def apply(self, work: Callable[[Opened], T]) -> T:
        """What `work` makes of the rows; where polars gives up on a line that is no row, of the rows without it."""
        try:
            return work(self)
        except pl.exceptions.ComputeError as error:
            if self.mend is None or not is_ragged(error):
                raise
            return work(self.mend())


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
    header = read_header(path, delimiter, encoding, numbered=numbered)
    check_columns(path, header, columns, delimiter)
    wanted = list(dict.fromkeys([LINE, *columns, *(name for name in optional if name in header)]))
    # All columns are read: where some are left out, polars drops what a line has too much of, and says nothing.
    unused = [name for name in header if name not in wanted]
    encoding = encoding_of(path, encoding)
    as_it_is = encoding.lower() in _UTF8 and not ends_lines_with_cr(path, encoding)
    content = path if as_it_is else io.BytesIO(_decoded(path, encoding))
    spelt = _as_polars_names(header) if numbered else header
    if quoted and any('"' in name for name in header):  # of which polars leaves some doubled
        with reading(path):
            spelt = pl.scan_csv(content, separator=delimiter, infer_schema=False).collect_schema().names()
    names = dict(zip(spelt, header, strict=True))
    file = _DelimitedFile(path, content, names, (*wanted, *unused), delimiter, encoding, '"' if quoted else None)
    return Opened(file.scan(content), mend=file.mend, locate=file.locate)


@dataclass(frozen=True, eq=False)
class _DelimitedFile:
    """A delimited file that has been looked at: how polars reads it.

    **Fields:**

    - `content`: the file, or its bytes where polars cannot read the file itself.
    - `names`: its columns by what polars calls them.
    - `selected`: the columns to take, in this order.
    """

    path: Path
    content: Path | io.BytesIO
    names: dict[str, str]
    selected: tuple[str, ...]
    delimiter: str
    encoding: str
    quote: str | None

    def scan(self, content: Path | io.BytesIO, *, truncated: bool = False) -> pl.LazyFrame:
        """The rows; where lines are `truncated`, what they have too much of is dropped."""
        frame = pl.scan_csv(
            content,
            schema=dict.fromkeys(self.names, pl.String),
            separator=self.delimiter,
            row_index_name=LINE,
            row_index_offset=2,
            truncate_ragged_lines=truncated,
            quote_char=self.quote,
            low_memory=True,
        )
        return frame.rename(self.names).select(*self.selected)

    def mend(self) -> Opened:
        """The rows without the lines that are none."""
        with reading(self.path), open_text(self.path, self.encoding) as handle:
            damaged, plain = damaged_lines(handle, len(self.names), self.delimiter, self.quote)
        ragged = [Ragged(line.line, line.reason) for line in damaged]
        if plain:
            rows = pl.col(LINE).is_in([line.row + 2 for line in damaged])
            return Opened(self.scan(self.content, truncated=True).filter(~rows), ragged, locate=self.locate)
        # Past a stray quote polars and we would not agree on what a row is: it gets only the sound ones, well quoted.
        with reading(self.path), open_text(self.path, self.encoding) as handle:
            sound = without_damage(handle, len(self.names), self.delimiter)
        lines = pl.Series(LINE, sound.lines, dtype=pl.UInt32)
        return Opened(self.scan(io.BytesIO(sound.content)).collect().with_columns(lines).lazy(), ragged)

    def locate(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with the lines that they truly begin on."""
        if self.quote is None or not has_quotes(self.path):
            return rows
        with reading(self.path), open_text(self.path, self.encoding) as handle:
            lines = line_numbers(handle, (rows[LINE] - 2).to_list(), self.delimiter)
        return rows.with_columns(pl.Series(LINE, lines, dtype=pl.UInt32))


def header_of(path: Path, *, delimiter: str = ",", encoding: str = "utf-8", numbered: bool = False) -> list[str]:
    """The names of a delimited file's or a parquet file's columns."""
    check_file(path)
    if not is_parquet(path):
        return read_header(path, delimiter, encoding, numbered=numbered)
    with reading(path):
        return pl.scan_parquet(path).collect_schema().names()


def first_texts(table: Opened, column: str, most: int) -> pl.Series:
    """The first texts of a column that say something, at most so many."""

    def first(opened: Opened) -> pl.Series:
        texts = opened.frame.select(column).filter(pl.col(column) != "")
        return texts.head(most).collect(engine="streaming")[column]

    return table.apply(first)


def _as_polars_names(header: Sequence[str]) -> list[str]:
    """Numbered columns by the names that polars has for columns of one name."""
    numbered = [name.rpartition(".") for name in header]
    return [
        f"{name}_duplicated_{int(number) - 1}" if name in header[:at] and number.isdigit() else header[at]
        for at, (name, _, number) in enumerate(numbered)
    ]


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
