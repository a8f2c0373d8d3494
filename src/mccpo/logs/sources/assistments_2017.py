"""ASSISTments 2017 data-mining competition: `anonymized_full_release_competition_dataset.csv`, one row for each action.

The release is of 2004-2007. `attemptCount` and `hintCount` go on counting over a learner's whole work and are no counts
of this problem, so attempts are not known, and hints are `hintTotal`. Times are seconds since 1970. What others made of
the release, with ids renumbered in columns `user_id, item_id, timestamp, correct, skill_id`, is read too.
"""

from __future__ import annotations

from pathlib import Path

from mccpo.logs.reading.fields import NOT_KNOWN, Epoch, Seconds, Text, Truth, Whole
from mccpo.logs.reading.opening import Opened, header_of, open_table
from mccpo.logs.sources.columns import renumbered
from mccpo.logs.sources.source import Opening, Source, SourceOf

NAME = "assistments-2017"
TITLE = "ASSISTments 2017 competition (anonymized_full_release_competition_dataset.csv)"
COLUMNS = ("studentId", "skill", "problemId", "startTime", "endTime", "timeTaken", "correct", "hintTotal")
GROUPS = {"school": ("MiddleSchoolId", "SchoolId", "schoolID"), "gender": ("InferredGender",)}
"""Columns that some copies have, under one of several names."""
ACTION = "action_num"


def _source(path: Path, opening: Opening) -> Source:
    delimiter, encoding = opening.delimiter or ",", opening.encoding or "utf-8"
    header = header_of(path, delimiter=delimiter, encoding=encoding)
    groups = {name: next((each for each in names if each in header), None) for name, names in GROUPS.items()}

    def opened(path: Path, _: Opening) -> Opened:
        optional = [ACTION, *(column for column in groups.values() if column is not None)]
        return open_table(path, COLUMNS, delimiter=delimiter, encoding=encoding, optional=optional)

    return Source(
        name=NAME,
        title=TITLE,
        opened=opened,
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


ASSISTMENTS_2017 = SourceOf(
    NAME, TITLE, lambda path, opening: renumbered(path, opening, NAME, TITLE) or _source(path, opening)
)
