"""The canonical table: one row for each event, sorted by learner and then in the order in which things happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from mccpo import files
from mccpo.errors import InputError
from mccpo.logs.reading.opening import check_columns, check_file, reading

BETWEEN_CONCEPTS = "~~"
"""Joins the concepts of an event that has several, sorted."""
GROUP = "group_"
"""What the names of group columns begin with."""

NAMES = ("learner", "concept", "item")
COLUMNS: Mapping[str, pl.DataType] = {
    "learner": pl.String(),
    "concept": pl.String(),
    "item": pl.String(),
    "order": pl.Int32(),
    "time": pl.Datetime("ms"),
    "correct": pl.Boolean(),
    "attempts": pl.Int32(),
    "hints": pl.Int32(),
    "seconds": pl.Float32(),
    "signal": pl.Int8(),
}
"""The columns and what they hold; names are kept as codes (`pl.Enum`) of the sorted names."""
OPTIONAL: Mapping[str, pl.DataType] = {"propensity": pl.Float32()}
"""Columns that a table has only where its source knows them: the chance with which what was taught was chosen."""
_NEEDED = ("learner", "concept", "order", "correct")
_NEVER_NULL = ("learner", "order", "correct")


def encode(names: pl.Series) -> pl.Series:
    """Names as codes that sort as the names do, and are the same whatever order they were met in."""
    if isinstance(names.dtype, pl.Enum) and _is_tight(names, names.dtype.categories):
        return names
    coded = isinstance(names.dtype, pl.Enum | pl.Categorical)
    met = names if coded else names.cast(pl.String).cast(pl.Categorical(pl.Categories.random()))
    distinct = met.drop_nulls().unique()
    found = pl.DataFrame({"name": distinct.cast(pl.String), "code": distinct.to_physical()}).sort("name")
    if not found.height:
        return pl.Series(names.name, [None] * len(names), dtype=pl.Enum([]))
    codes = found["code"].to_numpy()
    rank = np.zeros(int(codes.max()) + 1, np.uint32)
    rank[codes] = np.arange(len(codes), dtype=np.uint32)
    physical = met.to_physical()
    ranked = pl.Series(names.name, rank[physical.fill_null(codes[0]).to_numpy()])
    if physical.null_count():
        ranked = pl.select(pl.when(physical.is_not_null()).then(ranked)).to_series().alias(names.name)
    return ranked.cat.to(pl.Enum(found["name"]))


def tidied(cells: pl.Series, between: str = BETWEEN_CONCEPTS, names: Mapping[str, str] | None = None) -> pl.Series:
    """Cells of concepts: each once, by its name where `names` has one, sorted and joined; null where there is none."""
    met = cells.unique().drop_nulls().cast(pl.String)
    if not names and not met.str.contains(between, literal=True).any():
        return cells
    parts = met.str.split(between).list.eval(pl.element().filter(pl.element() != "").replace(names or {}))
    joined = parts.list.unique().list.sort().list.join(BETWEEN_CONCEPTS)
    told = pl.select(pl.when(joined != "").then(joined)).to_series()
    return cells.cast(pl.String).replace_strict(met, told, return_dtype=pl.String)


def _is_tight(names: pl.Series, categories: pl.Series) -> bool:
    """Whether codes are those that `encode` would give: of sorted names, all of which are there."""
    return categories.is_sorted() and names.drop_nulls().n_unique() == len(categories)


def beside(columns: Iterable[str]) -> list[str]:
    """Of some columns, those that not every table has: optional ones, then groups."""
    found = list(columns)
    return [name for name in OPTIONAL if name in found] + [name for name in found if name.startswith(GROUP)]


def write(table: pl.DataFrame, path: str | Path) -> None:
    """Writes a canonical table as parquet, whole or not at all."""
    with files.replacing(path) as scratch:
        _write(table, scratch)


@contextmanager
def writing(table: pl.DataFrame, path: str | Path) -> Iterator[None]:
    """Writes a canonical table while something else is done with it, and puts it in place if that succeeds."""
    with files.replacing(path) as scratch, ThreadPoolExecutor(1) as pool:
        written = pool.submit(_write, table, scratch)
        yield
        written.result()


def _write(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path, compression="zstd", compression_level=1, statistics=False)


def read(path: str | Path) -> pl.DataFrame:
    """Reads a canonical table; one that others wrote may hold its names as text."""
    source = Path(path)
    check_file(source)
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
        kept = not (column.dtype.is_numeric() and (dtype.is_integer() or dtype == pl.Boolean)) or bool(
            (typed.cast(column.dtype) == column).all()
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{path}: the column {column.name!r} holds {column.dtype}",
            fix=f"give {dtype}, or name the format with --format",
        ) from error
    if not kept:
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
