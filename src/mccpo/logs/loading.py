"""Reading a log by the name of its format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from mccpo.logs.reading.read import MOST_REJECTED, Logs, read_source
from mccpo.logs.reading.source import ReadOptions
from mccpo.logs.sources import SOURCES
from mccpo.logs.table_files import read_table


def load(
    path: str | Path, format: str, options: ReadOptions | None = None, *, most_rejected: float = MOST_REJECTED
) -> Logs:
    """Reads a log of a named format, with the account of its rows.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     _ = path.write_text("student,skill,right\\nAna,adding,1\\nAna,adding,0\\nBo,adding,\\n")
    ...     mapping = {"learner": "student", "concept": "skill", "correct": "right"}
    ...     logs = load(path, "table", ReadOptions(mapping=mapping), most_rejected=0.5)
    >>> logs.account.interactions, logs.account.reasons
    (2, {'missing right': 1})
    """
    options = options or ReadOptions()
    source = SOURCES[format].source(Path(path), options)
    return read_source(format, source, Path(path), options, most_rejected=most_rejected)


def read(path: str | Path, format: str | None = None, mapping: Mapping[str, str] | None = None) -> pl.DataFrame:
    """The canonical table of a log: of a named format, or, without one, of a canonical parquet file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     _ = path.write_text("student,right\\nAna,1\\nAna,0\\n")
    ...     read(path, "table", {"learner": "student", "correct": "right"})["correct"].to_list()
    [True, False]
    """
    if format is None:
        return read_table(path)
    return load(path, format, ReadOptions(mapping=mapping or {})).table
