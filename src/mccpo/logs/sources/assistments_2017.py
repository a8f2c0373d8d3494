"""ASSISTments 2017 data-mining competition: `anonymized_full_release_competition_dataset.csv`, one row for each action.

The release is of 2004-2007. `attemptCount` and `hintCount` go on counting over a learner's whole work and are no counts
of this problem, so attempts are not known, and hints are `hintTotal`. Times are seconds since 1970. What others made of
the release, with ids renumbered in columns `user_id, item_id, timestamp, correct, skill_id`, is read too.
"""

from __future__ import annotations

from pathlib import Path

from mccpo.logs.reading.delimited import Opened, header_of, open_table
from mccpo.logs.reading.fields import NOT_KNOWN, Epoch, Seconds, Text, Truth, Whole
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.sources.mapped_table import renumbered
from mccpo.logs.sources.registry import register_source

COLUMNS = ("studentId", "skill", "problemId", "startTime", "endTime", "timeTaken", "correct", "hintTotal")
GROUPS = {"school": ("MiddleSchoolId", "SchoolId", "schoolID"), "gender": ("InferredGender",)}
"""Columns that some copies have, under one of several names."""
ACTION = "action_num"


def _release(path: Path, options: ReadOptions) -> Source:
    delimiter, encoding = options.delimiter or ",", options.encoding or "utf-8"
    header = header_of(path, delimiter=delimiter, encoding=encoding)
    groups = {name: next((column for column in names if column in header), None) for name, names in GROUPS.items()}

    def open_(path: Path, _: ReadOptions) -> Opened:
        optional = [ACTION, *(column for column in groups.values() if column is not None)]
        return open_table(path, COLUMNS, delimiter=delimiter, encoding=encoding, optional=optional)

    return Source(
        open=open_,
        fields={
            "learner": Text("studentId", required=True),
            "concept": Text("skill", unknown=(*NOT_KNOWN, "noskill")),
            "item": Text("problemId", required=True),
            "time": Epoch("startTime", required=True),
            "correct": Truth("correct", required=True),
            "hints": Whole("hintTotal", least=0),
            "seconds": Seconds("timeTaken"),
        },
        order=("time", Whole("endTime"), *([Whole(ACTION)] if ACTION in header else [])),
        groups={name: Text(column) for name, column in groups.items() if column is not None},
    )


@register_source("assistments-2017", "ASSISTments 2017 competition (anonymized_full_release_competition_dataset.csv)")
def assistments_2017(path: Path, options: ReadOptions) -> Source:
    """The release, or what others made of it."""
    return renumbered(path, options) or _release(path, options)
