"""Sequences of answers kept as lists, one row for a learner or a stretch of one: what XES3G5M and pyKT share.

`responses`, `questions`, `concepts`, `timestamps` and the others are lists joined by commas, all of one length.
Stretches shorter than the others are padded with -1, and padding is no row. `is_repeat` is 1 where a question goes on
with a further concept; without it, a question goes on where one of the same time, answered alike, follows with another
concept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from mccpo.errors import InputError
from mccpo.logs.reading.delimited import Opened, Ragged, open_table
from mccpo.logs.reading.fields import Epoch, Field, Seconds, Text, Truth
from mccpo.logs.reading.headers import FILE, LINE
from mccpo.logs.reading.source import ReadOptions

LISTS = ("questions", "concepts", "responses", "timestamps", "usetimes", "selectmasks", "is_repeat")
NEEDED = ("uid", "concepts", "responses")
_ALIKE = ("questions", "timestamps", "responses")
NONE = "NA"
UNEVEN = "lists of different lengths"
FIELDS: dict[str, Field] = {
    "learner": Text("uid", required=True),
    "item": Text("questions", unknown=(NONE,)),
    "time": Epoch("timestamps", unknown=(NONE,), per_second=1000),
    "correct": Truth("responses", required=True),
    "seconds": Seconds("usetimes", unit=1e-3),
}
EVENT = Text("event")


def open_sequences(files: Sequence[Path], options: ReadOptions) -> Opened:
    """The answers in some sequence files, one row each, with the line of their sequence."""
    parts = [_open_one(path, options) for path in files]
    if len(parts) == 1:
        return parts[0]
    named = [
        # Events are counted in each file by itself.
        part.frame.with_columns(
            pl.lit(path.name).alias(FILE), pl.concat_str(EVENT.column, pl.lit(f" of {path.name}")).alias(EVENT.column)
        )
        for part, path in zip(parts, files, strict=True)
    ]
    ragged = [line._replace(file=path.name) for part, path in zip(parts, files, strict=True) for line in part.ragged]
    return Opened(pl.concat(named), ragged)


def files_in(path: Path, sets: Sequence[Sequence[str]]) -> list[Path]:
    """A file itself, or the files of the first set of which a folder has any."""
    if not path.is_dir():
        return [path]
    for names in sets:
        files = [path / name for name in names if (path / name).exists()]
        if files:
            return files
    wanted = " or ".join(name for names in sets for name in names[:1])
    raise InputError(f"{path} has no {wanted}", fix="name the folder of the release, or a file")


def _open_one(path: Path, options: ReadOptions) -> Opened:
    optional = [name for name in LISTS if name not in NEEDED]
    table = open_table(
        path, NEEDED, delimiter=options.delimiter or ",", encoding=options.encoding or "utf-8", optional=optional
    )
    return table.apply(exploded)


def exploded(table: Opened, *, by_concept: bool = True) -> Opened:
    """One row for each answer of the sequences of a table; sequences whose lists do not fit together are no rows.

    Where answers can have rows `by_concept`, a question may go on in the next row.
    """
    columns = table.frame.collect_schema().names()
    split = table.frame.select(
        LINE, "uid", *(_list(name).alias(name) if name in columns else _nothing(name) for name in LISTS)
    )
    length = pl.col("responses").list.len()
    uneven = pl.any_horizontal(pl.col(name).list.len() != length for name in LISTS).fill_null(False)
    uneven = uneven | pl.col("responses").is_null()
    lines = split.filter(uneven).select(LINE).collect(engine="streaming")[LINE]
    whole = split.filter(~uneven).with_columns(
        pl.when(pl.col(name).is_null()).then(pl.lit(None, pl.String).repeat_by(length)).otherwise(name).alias(name)
        for name in LISTS
    )
    same = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in ("uid", *_ALIKE))
    alike = (same & (pl.col("concepts") != pl.col("concepts").shift())).fill_null(False)
    goes_on = pl.coalesce(pl.col("is_repeat") == "1", alike) & by_concept
    event = (~goes_on).cum_sum().cast(pl.String)
    padding = (pl.col("selectmasks") == "-1").fill_null(False) | (pl.col("responses") == "-1").fill_null(False)
    rows = whole.explode(LISTS).filter(~padding).with_columns(event.alias(EVENT.column))
    return Opened(rows, [*table.ragged, *(Ragged(line, UNEVEN) for line in lines)], locate=table.locate)


def _list(name: str) -> pl.Expr:
    return pl.when((pl.col(name) != "") & (pl.col(name) != NONE)).then(pl.col(name).str.split(","))


def _nothing(name: str) -> pl.Expr:
    return pl.lit(None, pl.List(pl.String)).alias(name)
