"""A made-up log with a line for each answer, and what a reader must find in it."""

from __future__ import annotations

import abc
import csv
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from jaxtyping import Int

from mccpo.logs.synthetic.faults import Fault, Layout, lay_out, out_of_order
from mccpo.logs.synthetic.item_bank import ItemBank
from mccpo.logs.synthetic.simulation import Answers

FrameOf: TypeAlias = Callable[[ItemBank, Answers, Int[np.ndarray, " rows"]], pl.DataFrame]
"""The columns of a log for some answers, of which the last argument gives the places among all of them."""

_AT_ONCE = 250_000  # lines that are in memory as text


@dataclass(frozen=True)
class Contents:
    """What a reader must find in a made-up log, in the words of a log's account."""

    rows: int
    interactions: int
    learners: int
    duplicates: int = 0
    merged: int = 0
    out_of_order: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The contents as plain values, for JSON."""
        return {
            "rows": self.rows, "interactions": self.interactions, "learners": self.learners,
            "rejected": sum(self.reasons.values()), "skipped": 0, "duplicates": self.duplicates,
            "merged": self.merged, "out_of_order": self.out_of_order, "reasons": dict(self.reasons), "skips": {},
        }  # fmt: skip


@dataclass(frozen=True)
class LineLog(abc.ABC):
    """A log with a line for each answer.

    **Fields:**

    - `by_concept`: whether there is a line for each concept of an answer instead.
    """

    frame: FrameOf
    by_concept: bool = False

    @abc.abstractmethod
    def text(self, frame: pl.DataFrame) -> str:
        """The lines of some answers."""

    @abc.abstractmethod
    def header(self, frame: pl.DataFrame) -> str:
        """What stands before all lines."""

    @abc.abstractmethod
    def damaged(self, line: str, fault: Fault, columns: list[str]) -> str:
        """A line with a fault in it."""

    @abc.abstractmethod
    def reason(self, fault: Fault, columns: list[str]) -> str:
        """What a reader says of such a line."""

    def encoded(self, text: str) -> bytes:
        return text.encode()

    def write(self, bank: ItemBank, answers: Answers, path: Path, faulty: int, seed: int) -> Contents:
        """Writes the log with so many faulty lines in it, some lines at a time."""
        layout = lay_out(answers, faulty, seed)
        added = 0
        columns: list[str] = []
        with path.open("wb") as handle:
            for begin in range(0, layout.rows, _AT_ONCE):
                part = Layout(layout.answer[begin : begin + _AT_ONCE], layout.fault[begin : begin + _AT_ONCE])
                if self.by_concept:
                    part, some, more = _a_row_for_each_concept(bank, answers, part)
                    added += more
                else:
                    some = answers.take(part.answer)
                frame = self.frame(bank, some, part.answer)
                columns = frame.columns
                if not begin:
                    handle.write(self.encoded(self.header(frame)))
                handle.write(self.encoded(self._with_faults(self.text(frame), part, columns)))
        reasons: Counter[str] = Counter()
        for fault in list(Fault)[Fault.AGAIN + 1 :]:
            reasons[self.reason(fault, columns)] += layout.count(fault)
        return Contents(
            rows=layout.rows + added,
            interactions=layout.count(Fault.SOUND),
            learners=int(answers.learner[-1]) + 1,
            duplicates=layout.count(Fault.AGAIN),
            merged=added,
            out_of_order=out_of_order(layout, answers),
            reasons={reason: count for reason, count in reasons.items() if count},
        )

    def _with_faults(self, text: str, part: Layout, columns: list[str]) -> str:
        wrong = np.flatnonzero(part.fault > Fault.AGAIN)
        if not len(wrong):
            return text
        lines = text.split("\n")
        for at in wrong:
            lines[at] = self.damaged(lines[at], Fault(part.fault[at]), columns)
        return "\n".join(lines)


@dataclass(frozen=True)
class DelimitedLog(LineLog):
    """A delimited log; faults are planted in the columns of the learner, the answer, and the order of events."""

    learner: str = ""
    correct: str = ""
    order: str = ""
    delimiter: str = ","
    encoding: str = "utf-8"

    def text(self, frame: pl.DataFrame) -> str:
        return frame.write_csv(include_header=False, separator=self.delimiter)

    def header(self, frame: pl.DataFrame) -> str:
        return self.delimiter.join(frame.columns) + "\n"

    def encoded(self, text: str) -> bytes:
        return text.encode(self.encoding)

    def damaged(self, line: str, fault: Fault, columns: list[str]) -> str:
        fields = next(csv.reader([line], delimiter=self.delimiter))
        match fault:
            case Fault.TOO_LONG:
                fields.append("")
            case Fault.CUT_SHORT:
                fields = fields[: columns.index(self.correct)]
            case Fault.NO_LEARNER:
                fields[columns.index(self.learner)] = ""
            case Fault.STRANGE_ANSWER:
                fields[columns.index(self.correct)] = "perhaps"
            case Fault.STRANGE_ORDER:
                fields[columns.index(self.order)] = "later"
        return self.delimiter.join(fields)

    def reason(self, fault: Fault, columns: list[str]) -> str:
        return {
            Fault.TOO_LONG: f"{len(columns) + 1} fields, where the header has {len(columns)}",
            Fault.CUT_SHORT: f"missing {self.correct}",
            Fault.NO_LEARNER: f"missing {self.learner}",
            Fault.STRANGE_ANSWER: f"unreadable {self.correct}",
            Fault.STRANGE_ORDER: f"unreadable {self.order}",
        }[fault]


def _a_row_for_each_concept(bank: ItemBank, answers: Answers, part: Layout) -> tuple[Layout, Answers, int]:
    """The rows, a second one after each that is sound and asks for two concepts, and how many those are."""
    two = bank.asks_for_two(answers.item[part.answer]) & (part.fault == Fault.SOUND)
    rows = np.repeat(np.arange(part.rows), 1 + two)
    second = np.append(False, rows[1:] == rows[:-1])
    part = Layout(part.answer[rows], part.fault[rows])
    some = answers.take(part.answer)
    return part, some._replace(exercise=some.exercise + second.astype(np.int16)), int(two.sum())
