"""From a log to the canonical table, with every row accounted for.

A row is rejected with its line and reason, or skipped as no answer at all, or repeats another, or adds a concept to an
event that is there already, or is an event of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from mccpo import files
from mccpo.errors import InputError, MccpoError
from mccpo.logs.reading.events import MergedEvents, in_order, merged_events, numbers_in_learner, with_groups
from mccpo.logs.reading.headers import LINE
from mccpo.logs.reading.row_account import RowAccount, table_contents
from mccpo.logs.reading.rows import EMPTY_LINE, REASON, ParsedRows, parse_rows, rejected_rows, with_codes
from mccpo.logs.reading.source import ReadOptions, Source
from mccpo.logs.reading.text_files import reading
from mccpo.logs.table import COLUMNS, beside

MOST_REJECTED = 0.01
"""The share of rejected rows above which reading stops, unless the user says otherwise."""


@dataclass(frozen=True, eq=False)
class Logs:
    """A canonical table, its account, and the rows that were rejected: line, reason and what they held."""

    table: pl.DataFrame
    account: RowAccount
    rejects: pl.DataFrame
    format: str
    """The name of the format that it was read as."""
    models: Sequence[str] = ()
    """The models of knowledge components that it has; concepts are those of the first."""


def read_source(
    name: str, source: Source, path: Path, options: ReadOptions, *, most_rejected: float = MOST_REJECTED
) -> Logs:
    """Reads a log of the format of this name by its source.

    More rejected rows than the stated share are an error: the format is then wrong.
    """
    if not 0 <= most_rejected <= 1:
        raise InputError(f"the share of rejects is {most_rejected}", fix="give a number from 0 to 1")
    with reading(path):
        parsed = parse_rows(source, path, options)
        rows = parsed.rows.height + len(parsed.opened.ragged)
        reasons, skips = parsed.counts()
        skipped = sum(skips.values())
        if rows == skips.get(EMPTY_LINE, 0):
            raise InputError(f"{path} has no rows", fix="give a file with rows")
        if sum(reasons.values()) > most_rejected * (rows - skipped):
            raise _too_many(path, parsed, rows - skipped, most_rejected)
        rejects = rejected_rows(parsed)
    good = with_codes(parsed.good) if reasons or skips else parsed.rows  # names of rejected rows are in no table
    del parsed
    if not good.height:
        raise InputError(f"{path} holds no answers, only {_listed(skips | reasons)}", fix="check the format")
    events, out_of_order, duplicates = in_order(good.drop(REASON))
    del good
    events, merged, repeated = merged_events(events) if source.event is not None else MergedEvents(events, 0, 0)
    table = events.with_columns(numbers_in_learner(events["learner"])).select(*COLUMNS, *beside(events.columns))
    table = with_groups(source, path, table)
    account = RowAccount(
        **table_contents(table)._asdict(), rows=rows, rejected=rejects.height, skipped=skipped,
        duplicates=duplicates + repeated, merged=merged, out_of_order=out_of_order, reasons=reasons, skips=skips,
    )  # fmt: skip
    if not account.reconciles:
        raise MccpoError(f"{path}: the counts do not reconcile ({account.as_json()}), which is a fault of mccpo")
    return Logs(table, account, rejects, name, source.models)


def write_rejects(logs: Logs, path: str | Path) -> None:
    """Writes the rejected rows as CSV: line, reason, then their columns as they stood."""
    with files.replacing(path) as scratch:
        logs.rejects.write_csv(scratch)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counts.items()) or "rejected rows"


def _too_many(path: Path, parsed: ParsedRows, rows: int, most: float) -> InputError:
    reasons, _ = parsed.counts()
    reason, count = next(iter(reasons.items()))
    lines = [bad.line for bad in parsed.opened.ragged if bad.reason == reason]
    fix = "check the format, or allow more with --most-rejected"
    if not lines:
        number = parsed.labels.index(reason) + 1
        first = parsed.rows.filter(pl.col(REASON) == number)[LINE].min()
        row = parsed.opened.frame.filter(pl.col(LINE) == first).head(1).collect(engine="streaming")
        lines = (parsed.opened.locate(row) if parsed.opened.locate is not None else row)[LINE].to_list()
        fault = parsed.fields[reason]
        if reason.startswith("unreadable") and fault.column in row.columns:
            fix = f"{row[fault.column][0]!r} is not {fault.takes}; {fix}"
    return InputError(
        f"{path}: {sum(reasons.values())} of {rows} rows cannot be used, more than the {most:.2%} allowed "
        f"(most often: {reason}, {count} times, first in line {min(lines)})",
        fix=fix,
    )
