"""ASSISTments 2012-2013: `2012-2013-data-with-predictions-4-final.csv`, one row for each problem that a learner did.

More than half of the rows name no skill; they stay, without a concept. `correct` is whether the first try was right;
problems with partial credit (0.25 to 0.95) have no such answer, and are rejected. The column of actions holds text over
several lines. Times are local, and taken as they stand. What others made of the release, with ids renumbered in columns
`user_id, item_id, timestamp, correct, skill_id`, is read too.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from mccpo.logs.reading.delimited import Opened, open_table
from mccpo.logs.reading.fields import ISO, NOT_KNOWN, SPREADSHEET, Clock, Seconds, Text, Truth, Whole
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.sources.mapped_table import renumbered
from mccpo.logs.sources.registry import register_source

COLUMNS = (
    "problem_log_id", "skill", "problem_id", "user_id", "start_time", "end_time", "correct", "hint_count",
    "attempt_count", "ms_first_response", "teacher_id", "school_id",
)  # fmt: skip


def _open(path: Path, options: ReadOptions) -> Opened:
    return open_table(path, COLUMNS, delimiter=options.delimiter or ",", encoding=options.encoding or "utf-8")


_RELEASE = Source(
    open=_open,
    fields={
        "learner": Text("user_id", required=True),
        "concept": Text("skill", unknown=NOT_KNOWN),
        "item": Text("problem_id", required=True),
        "time": Clock("start_time", required=True, formats=(*ISO, *SPREADSHEET)),
        "correct": Truth("correct", required=True),
        "attempts": Whole("attempt_count", least=0),
        "hints": Whole("hint_count", least=0),
        "seconds": Seconds("ms_first_response", unit=1e-3),
    },
    order=("time", Whole("problem_log_id", required=True, dtype=pl.Int64)),
    event=Whole("problem_log_id", required=True, dtype=pl.Int64),
    groups={"school": Text("school_id"), "teacher": Text("teacher_id")},
)


@register_source("assistments-2012", "ASSISTments 2012-2013 with affect (2012-2013-data-with-predictions-4-final.csv)")
def assistments_2012(path: Path, options: ReadOptions) -> Source:
    """The release, or what others made of it."""
    return renumbered(path, options) or _RELEASE
