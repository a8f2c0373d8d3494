"""Logs of their course: `answers.csv`, one row for each answer, in the columns pupil, topic, asked_at, was_right."""

from __future__ import annotations

from pathlib import Path

from mccpo.logs import ReadOptions, Source, register_source
from mccpo.logs.reading import Clock, Text, Truth, open_table


@register_source("their-format", "Their course (answers.csv)")
def their_format(path: Path, options: ReadOptions) -> Source:
    return Source(
        open=lambda path, _: open_table(path, ("pupil", "topic", "asked_at", "was_right")),
        fields={
            "learner": Text("pupil", required=True),
            "concept": Text("topic"),
            "time": Clock("asked_at", required=True),
            "correct": Truth("was_right", required=True),
        },
    )
