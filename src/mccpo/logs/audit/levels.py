"""What an audit is broken down by: concept, group, accuracy, month, hour, and place in the learner's history.

Each way to break down gives every row, or every learner, a level, as a code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Int

from mccpo.errors import InputError
from mccpo.logs.table import GROUP, encode

NOT_KNOWN = "not known"
_HOUR = 3_600_000  # milliseconds
_MONTH = 30  # days, where a clock has no calendar
_CALENDAR = 365 * 20
"""The day since 1970 before which a clock counts from a beginning of its own: nobody logged answers then."""


class Levels(NamedTuple):
    """One way to break down: a code for each row, or for each learner, and what the codes stand for."""

    name: str
    title: str
    codes: Int[np.ndarray, " rows"]
    labels: Sequence[str]


def by_concept(table: pl.DataFrame) -> Levels | None:
    """Concepts, those of an event of several still joined."""
    if table["concept"].null_count() == table.height:
        return None
    return _named(table["concept"], "concept", "Concept")


def by_group(table: pl.DataFrame, column: str) -> Levels:
    """A column of the table that says what group a learner is in; `gender` stands for `group_gender`."""
    present = next((name for name in (column, f"{GROUP}{column}") if name in table.columns), None)
    if present is None:
        groups = ", ".join(name for name in table.columns if name.startswith(GROUP)) or "none"
        raise InputError(f"the logs have no column {column!r} to group by", fix=f"its groups are: {groups}")
    name = present.removeprefix(GROUP)
    return _named(table[present], f"{GROUP}{name}", name.replace("_", " ").capitalize())


def by_time(table: pl.DataFrame, hours_ahead: float = 0.0) -> list[Levels]:
    """The month and the hour of the day of each event, in local time; nothing where there is no clock.

    A clock without a calendar has months of 30 days from its start, and no hours.
    """
    time = table["time"].to_physical()
    if time.null_count() == len(time):
        return []
    known = time.is_not_null().to_numpy()
    # Small numbers are quick to divide, and there are millions.
    hours = ((time.fill_null(time.min()).to_numpy() + round(hours_ahead * _HOUR)) // _HOUR).astype(np.int32)
    day = hours // np.int32(24)
    first, last = int(day.min()), int(day.max())
    day -= np.int32(first)
    days = np.arange(last - first + 1)
    if last < _CALENDAR:
        months = days // _MONTH
        labels = [f"month {at + 1}" for at in range(int(months[-1]) + 1)]
        return [Levels("month", "Month", *_with_unknown(months.astype(np.uint16)[day], known, labels))]
    calendar = (first + days).astype("datetime64[D]").astype("datetime64[M]")
    months = (calendar - calendar[0]).astype(np.uint16)
    labels = [str(calendar[0] + at) for at in range(int(months[-1]) + 1)]
    hour = (hours % np.int32(24)).astype(np.uint8)
    return [
        Levels("month", "Month", *_with_unknown(months[day], known, labels)),
        Levels("hour", "Hour of the day", *_with_unknown(hour, known, [f"{hour:02d}" for hour in range(24)])),
    ]


def by_place(table: pl.DataFrame) -> Levels:
    """The place of the event in the learner's history, in ranges that double: 1, 2–3, 4–7 and so on."""
    order = table["order"].to_numpy()
    doubling = (np.frexp(np.arange(1, int(order.max()) + 2))[1] - 1).astype(np.uint8)
    ranges = [(2**at, 2 ** (at + 1) - 1) for at in range(int(doubling[-1]) + 1)]
    labels = [f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in ranges]
    return Levels("place", "Place in the learner's history", doubling[order], labels)


def by_accuracy(correct: Int[np.ndarray, " learners"], total: Int[np.ndarray, " learners"]) -> Levels:
    """Learners by the share of their answers that is right: below half, then in tenths."""
    tenth = np.minimum(10 * correct // np.maximum(total, 1), 9)
    labels = ["under 50 %", *(f"{low}–{low + 10} %" for low in range(50, 100, 10))]
    return Levels("accuracy", "Right answers of the learner", np.maximum(tenth - 4, 0).astype(np.uint32), labels)


def _named(column: pl.Series, name: str, title: str) -> Levels:
    coded = column if isinstance(column.dtype, pl.Enum) else encode(column.cast(pl.String))
    labels = coded.dtype.categories.to_list()  # type: ignore[attr-defined]  # an Enum
    codes = coded.to_physical()
    known = codes.is_not_null().to_numpy()
    if "" in labels:  # which names nothing
        known = known & (codes.fill_null(0) != labels.index("")).to_numpy()
    return Levels(name, title, *_with_unknown(codes.fill_null(0).to_numpy(), known, labels))


def _with_unknown(
    codes: Int[np.ndarray, " rows"], known: np.ndarray, labels: list[str]
) -> tuple[Int[np.ndarray, " rows"], list[str]]:
    if known.all():
        return codes, labels
    return np.where(known, codes, len(labels)).astype(np.uint32), [*labels, NOT_KNOWN]
