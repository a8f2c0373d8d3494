"""ASSISTments 2009-2010 skill builder: `skill_builder_data.csv`, corrected or not, in ISO-8859-15, or as parquet.

An answer to a problem of several skills has one row for each of them: rows of one `order_id` are one event. The
original release holds many rows twice, which are counted as duplicates. `order_id` goes up with time; there is no
clock. `correct` is whether the first try was right. Seconds are those to the first response, be it an answer or a call
for help.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from mccpo.logs.reading.delimited import Opened, open_table
from mccpo.logs.reading.fields import NOT_KNOWN, Seconds, Text, Truth, Whole
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.sources.registry import register_source

COLUMNS = (
    "order_id", "user_id", "problem_id", "correct", "attempt_count", "ms_first_response", "skill_name", "hint_count",
    "school_id", "teacher_id",
)  # fmt: skip


def _open(path: Path, options: ReadOptions) -> Opened:
    return open_table(path, COLUMNS, delimiter=options.delimiter or ",", encoding=options.encoding or "iso-8859-15")


@register_source("assistments-2009", "ASSISTments 2009-2010 skill builder (skill_builder_data.csv)")
def assistments_2009(_: Path, __: ReadOptions) -> Source:
    """The columns of the release."""
    return Source(
        open=_open,
        fields={
            "learner": Text("user_id", required=True),
            "concept": Text("skill_name", unknown=NOT_KNOWN),
            "item": Text("problem_id", required=True),
            "correct": Truth("correct", required=True),
            "attempts": Whole("attempt_count", least=0),
            "hints": Whole("hint_count", least=0),
            "seconds": Seconds("ms_first_response", unit=1e-3),
        },
        order=(Whole("order_id", required=True, dtype=pl.Int64),),
        event=Whole("order_id", required=True, dtype=pl.Int64),
        groups={"school": Text("school_id"), "teacher": Text("teacher_id")},
    )
