"""The canonical table as a parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from mccpo import files
from mccpo.errors import InputError
from mccpo.logs.reading.headers import check_columns
from mccpo.logs.reading.text_files import check_file, holds_parquet, reading
from mccpo.logs.table import COLUMNS, GROUP, NAMES, OPTIONAL, beside, encode, tidied

_NEEDED = ("learner", "concept", "order", "correct")
_NEVER_NULL = ("learner", "order", "correct")


def write_table(table: pl.DataFrame, path: str | Path) -> None:
    """Writes a canonical table as parquet, whole or not at all.

    >>> from tempfile import TemporaryDirectory
    >>> table = pl.DataFrame({"learner": ["Ana"] * 2, "concept": "adding", "order": [0, 1], "correct": [True, False]})
    >>> with TemporaryDirectory() as folder:
    ...     write_table(table, Path(folder) / "answers.parquet")
    ...     read_table(Path(folder) / "answers.parquet")["correct"].to_list()
    [True, False]
    """
    with files.replacing(path) as scratch:
        _write(table, scratch)


@contextmanager
def writing_table(table: pl.DataFrame, path: str | Path) -> Iterator[None]:
    """Writes a canonical table while something else is done with it, and puts it in place if that succeeds."""
    with files.replacing(path) as scratch, ThreadPoolExecutor(1) as pool:
        written = pool.submit(_write, table, scratch)
        yield
        written.result()


def _write(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path, compression="zstd", compression_level=1, statistics=False)


def read_table(path: str | Path) -> pl.DataFrame:
    """Reads a canonical table; one that others wrote may hold its names as text.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.parquet"
    ...     table = pl.DataFrame({"learner": ["Ana", "Bo"], "concept": "adding", "order": 0, "correct": [True, False]})
    ...     table.write_parquet(path)
    ...     read_table(path)["learner"].to_list()
    ['Ana', 'Bo']
    """
    source = Path(path)
    check_file(source)
    if not holds_parquet(source):
        raise InputError(
            f"{source} is no canonical table, which is a parquet file",
            fix="say what it is: --format NAME of a known format, or --format table with --map for a table of your own",
        )
    with reading(source):
        frame = pl.read_parquet(source)
    check_columns(source, frame.columns, _NEEDED)
    frame = frame.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in COLUMNS.items() if name not in frame.columns
    )
    known = {name: dtype for name, dtype in {**COLUMNS, **OPTIONAL}.items() if name in frame.columns}
    frame = frame.with_columns(_typed(source, frame[name], dtype) for name, dtype in known.items())
    if not frame.height:
        raise InputError(f"{path} holds no events", fix="give a table with rows")
    _check_whole(source, frame)
    frame = frame.select(*COLUMNS, *beside(frame.columns)).with_columns(encode(tidied(frame["concept"])))
    coded = [name for name in frame.columns if name in NAMES or name.startswith(GROUP)]
    frame = frame.with_columns(encode(frame[name]) for name in coded)
    sorted_by = frame.select(pl.col("learner").to_physical().alias("who"), pl.col("order").alias("when"))
    who, when = sorted_by["who"].to_numpy().astype(np.int64), sorted_by["when"].to_numpy()
    in_order = (np.diff(who) > 0) | ((np.diff(who) == 0) & (np.diff(when) > 0))
    return frame if in_order.all() else frame.sort("learner", "order", maintain_order=True)


def _typed(path: Path, column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """A column as what it should hold. Numbers that are no whole ones, or no yes or no, are refused: not rounded."""
    if column.dtype == dtype or (column.name in NAMES and isinstance(column.dtype, pl.Enum | pl.Categorical)):
        return column
    try:
        typed = column.cast(dtype)
        exact = not (column.dtype.is_numeric() and (dtype.is_integer() or dtype == pl.Boolean)) or bool(
            (typed.cast(column.dtype) == column).all()
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{path}: the column {column.name!r} holds {column.dtype}",
            fix=f"give {dtype}, or name the format with --format",
        ) from error
    if not exact:
        wanted = "0 and 1" if dtype == pl.Boolean else "whole numbers"
        raise InputError(f"{path}: the column {column.name!r} does not hold {wanted} alone", fix=f"give {dtype}")
    return typed


def _check_whole(path: Path, frame: pl.DataFrame) -> None:
    """Refuses a table that lacks what no event can lack, or has a signal that means nothing."""
    for name in _NEVER_NULL:
        if lacking := frame[name].null_count():
            raise InputError(
                f"{path}: the column {name!r} is null in {lacking} of {frame.height} rows", fix="leave such rows out"
            )
    if not frame["signal"].is_between(-1, 1).all():
        raise InputError(f"{path}: the column 'signal' holds more than -1, 0 and 1", fix="give those alone")
    if "propensity" in frame.columns and not frame["propensity"].is_between(0, 1, closed="right").all():
        raise InputError(f"{path}: the column 'propensity' does not hold chances", fix="give numbers above 0, up to 1")
