"""Junyi Academy 2012-2015: `junyi_ProblemLog_original.csv`, one row for each problem that a learner did.

The exercise is the concept, and a problem type of it the item: problems are made from templates. `correct` is whether
the first try was right, without hints. `earned_proficiency` is the platform's own signal of mastery; it has no word for
a loss. Times are in microseconds, and the times of single tries and hints, joined by `&`, are not kept.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from mccpo.logs.reading.delimited import Opened, open_table
from mccpo.logs.reading.fields import Epoch, Given, Seconds, Signal, Text, Truth, Whole
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.sources.registry import register_source

LOG = "junyi_ProblemLog_original.csv"
COLUMNS = (
    "user_id", "exercise", "problem_type", "problem_number", "suggested", "review_mode", "time_done", "time_taken",
    "time_taken_attempts", "correct", "count_attempts", "count_hints", "earned_proficiency", "points_earned",
)  # fmt: skip


def _open(path: Path, options: ReadOptions) -> Opened:
    log = path / LOG if path.is_dir() else path
    return open_table(log, COLUMNS, delimiter=options.delimiter or ",", encoding=options.encoding or "utf-8")


_ITEM = pl.concat_str(pl.col("exercise"), pl.col("problem_type"), separator="/", ignore_nulls=True)


@register_source("junyi-2015", "Junyi Academy 2012-2015 (junyi_ProblemLog_original.csv)")
def junyi_2015(_: Path, __: ReadOptions) -> Source:
    """The columns of the release."""
    return Source(
        open=_open,
        fields={
            "learner": Text("user_id", required=True),
            "concept": Text("exercise", required=True),
            "item": Given("exercise", expression=_ITEM),
            "time": Epoch("time_done", required=True, per_second=10**6),
            "correct": Truth("correct", required=True),
            "attempts": Whole("count_attempts", least=0),
            "hints": Whole("count_hints", least=0),
            "seconds": Seconds("time_taken"),
            "signal": Signal("earned_proficiency"),
        },
        order=("time", "concept", Whole("problem_number")),
        # The last column is never empty: a line that lacks it was cut short.
        checks=(Text("points_earned", required=True),),
        groups={"suggested": Text("suggested"), "review_mode": Text("review_mode")},
    )
