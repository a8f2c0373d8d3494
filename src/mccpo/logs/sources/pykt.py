"""pyKT: `data.txt`, six lines for a learner, or the sequence files made from it.

The six lines are `learner,length`, questions, concepts, responses, times in milliseconds, and milliseconds taken; a
line that says `NA` says nothing. Several concepts of one question are joined by `_`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from mccpo.logs.reading.delimited import Opened, Ragged
from mccpo.logs.reading.fields import Concepts
from mccpo.logs.reading.headers import LINE
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.reading.text_files import check_file, open_text, reading
from mccpo.logs.sources.registry import register_source
from mccpo.logs.sources.sequences import EVENT, FIELDS, NONE, UNEVEN, exploded, files_in, open_sequences

FILES = (
    ("data.txt",),
    ("train_valid_sequences.csv", "test.csv"),
    ("train_valid_sequences.csv", "test_sequences.csv"),
    ("train_valid_sequences_quelevel.csv", "test_quelevel.csv"),
)
LINES = ("uid", "questions", "concepts", "responses", "timestamps", "usetimes")


def _open(path: Path, options: ReadOptions) -> Opened:
    files = files_in(path, FILES)
    encoding = options.encoding or "utf-8"
    for file in files:
        check_file(file)
    with reading(files[0]), open_text(files[0], encoding) as handle:
        first = handle.readline()
        if "responses" in first:
            return open_sequences(files, options)
        lines = [line.rstrip("\r\n") for line in (first, *handle)]
    return exploded(_six_lines(lines), by_concept=False)


def _six_lines(lines: list[str]) -> Opened:
    """A learner for each six lines; those whose length is not the one they state are no rows."""
    while lines and not lines[-1]:
        lines.pop()
    rows, ragged = [], []
    for start in range(0, len(lines), len(LINES)):
        learner, *lists = lines[start : start + len(LINES)]
        uid, _, length = learner.lstrip("\ufeff").rpartition(",")
        if len(lists) < len(LINES) - 1:
            ragged.append(Ragged(start + 1, f"{len(lists) + 1} of a learner's six lines"))
        elif str(len(lists[2].split(","))) != length.strip():
            ragged.append(Ragged(start + 1, UNEVEN))
        else:
            rows.append((start + 1, uid, *lists))
    return Opened(pl.LazyFrame(rows, {LINE: pl.UInt32, **dict.fromkeys(LINES, pl.String)}, orient="row"), ragged)


@register_source("pykt", "pyKT (data.txt, or its sequence files)")
def pykt(_: Path, __: ReadOptions) -> Source:
    """The columns of the release."""
    return Source(
        open=_open,
        fields={**FIELDS, "concept": Concepts("concepts", unknown=(NONE,), between="_")},
        event=EVENT,
    )
