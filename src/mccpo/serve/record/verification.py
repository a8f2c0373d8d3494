"""`verify`: replays the record from its first event, and finds the first thing that does not hold.

It checks the chain of hashes, rebuilds every learner's mastery from the events alone, derives every gate and
certificate again from that mastery, and compares all other tables with what the events say. It needs nothing but the
database, which also holds the releases that decided.

The record is read twice: in its order for the chain, then learner by learner for everything else, since learners do not
affect each other. Memory holds one learner at a time, plus up to `BATCH` rows of others that are compared together.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.chain import GENESIS, BrokenRecord, Event, Head, link_error
from mccpo.serve.record.consistency import (
    TABLES,
    ExpectedRows,
    check_row_counts,
    check_statement_replies,
    compare_tables,
)
from mccpo.serve.record.replay import LearnerReplay
from mccpo.serve.record.schema import EVENT, HEAD
from mccpo.serve.record.store import Store

BATCH = 2_000
"""Expected rows after which they are compared with the stored ones."""


@dataclass
class Verdict:
    """What `verify` came to.

    - `events`, `decisions`, `outcomes`, `learners`: what was replayed.
    - `head`: the end of the chain. Noted elsewhere, it shows later whether the record was cut or rewritten.
    - `most_rows`: the most expected rows that were in memory at a time.
    - `wrong`: the first thing that does not hold, in words; None where all does.
    """

    events: int = 0
    decisions: int = 0
    outcomes: int = 0
    learners: int = 0
    head: Head = GENESIS
    most_rows: int = 0
    wrong: str | None = None


@dataclass
class _Findings:
    """The earliest event that does not hold; findings about no event come after all others."""

    first: tuple[float, str] | None = None

    def add(self, number: float, what: str) -> None:
        if self.first is None or number < self.first[0]:
            self.first = number, what


async def verify(
    store: Store, *, anchor: tuple[int, str] | None = None, progress: Callable[[int], None] | None = None
) -> Verdict:
    """Replays a record that is open. `anchor`: an event by number and hash, noted earlier, that must still be so."""
    verdict, findings = Verdict(), _Findings()
    async with store.reading() as connection:
        try:
            releases = await _releases(connection)
            await _check_chain(connection, verdict, findings, anchor, progress or (lambda _: None))
            await _check_learners(connection, releases, verdict, findings)
        except BrokenRecord as finding:
            findings.add(math.inf, str(finding))
    verdict.wrong = None if findings.first is None else findings.first[1]
    return verdict


async def _releases(connection: AsyncConnection) -> dict[str, Release]:
    try:
        return await rows.read_releases(connection, await rows.release_versions(connection))
    except InputError as error:
        raise BrokenRecord(error.what) from error


# ---- the chain


async def _check_chain(
    connection: AsyncConnection,
    verdict: Verdict,
    findings: _Findings,
    anchor: tuple[int, str] | None,
    progress: Callable[[int], None],
) -> None:
    """Follows the chain as far as it holds, and counts its events."""
    if anchor is not None and anchor[0] == 0 and anchor[1] != GENESIS.hash:
        findings.add(0, f"the record begins with the hash {GENESIS.hash}, not {anchor[1]} as noted before")
    async for row in rows.events_after(connection):
        event, wrong = _parse_linked(row, verdict.head)
        if event is not None and anchor is not None and anchor[0] == event.number and anchor[1] != event.hash:
            wrong = wrong or f"event {event.number} has the hash {event.hash}, not {anchor[1]} as noted before"
        if event is None or wrong is not None:
            findings.add(row.number, str(wrong))
            return
        verdict.head = event.head
        verdict.events += 1
        verdict.decisions += event.kind in ("decision", "override")
        verdict.outcomes += event.kind == "outcome"
        verdict.learners += event.kind == "learner"
        progress(verdict.events)
    heads = (await connection.execute(select(HEAD.c.number, HEAD.c.hash, HEAD.c.at))).all()
    if anchor is not None and anchor[0] > verdict.events:
        what = f"event {anchor[0]}, noted before, is not there: the record ends with event {verdict.events}"
        findings.add(verdict.events + 1, what)
    elif [Head._make(row) for row in heads] != [verdict.head]:
        what = f"event {verdict.events + 1}: is not there, although the record went on to it"
        findings.add(verdict.events + 1, what)


def _parse_linked(row: Row[Any], head: Head) -> tuple[Event | None, str | None]:
    """The event of a row, and why it cannot come directly after `head`, if it cannot."""
    try:
        event = rows.event_from_row(row)
    except BrokenRecord as finding:
        return None, f"event {row.number}: {finding}"
    wrong = link_error(head, event)
    if (row.number, row.kind, row.tenant, row.learner) != (event.number, event.kind, event.tenant, event.learner):
        wrong = "is filed as another"
    return event, None if wrong is None else f"{_event_name(row.number, event)}: {wrong}"


def _event_name(number: int, event: Event) -> str:
    """How a finding names an event: by its number, and a decision by its id as well."""
    decision = event.content.get("decision")
    return f"event {number}" + ("" if decision is None else f" ({event.kind} {decision})")


# ---- learner by learner


async def _check_learners(
    connection: AsyncConnection, releases: Mapping[str, Release], verdict: Verdict, findings: _Findings
) -> None:
    """Replays the events of each learner, and compares the tables with the result."""
    replay, batch, learner = LearnerReplay(releases), ExpectedRows(), ""
    counts = dict.fromkeys(TABLES, 0)

    async def finish_learner(most: int) -> None:
        """Adds the learner to the batch; compares the batch once it has more than `most` rows."""
        nonlocal batch
        if replay.history is not None:
            replay.expected.histories[learner] = replay.history
        batch.add(replay.expected)
        verdict.most_rows = max(verdict.most_rows, batch.count)
        if batch.count > most:
            if findings.first is None:
                await compare_tables(connection, batch, releases, counts)
            batch = ExpectedRows()

    async for row in _events_by_learner(connection, verdict.head.number):
        if row.learner != learner:
            await finish_learner(BATCH)
            replay, learner = LearnerReplay(releases), row.learner
        event = rows.event_from_row(row)
        if replay.broken:  # whether later events of this learner hold can no longer be decided
            continue
        wrong = replay.replay(event)
        if wrong is not None:
            findings.add(event.number, f"{_event_name(event.number, event)}: {wrong}")
    await finish_learner(0)
    if findings.first is None:
        await check_row_counts(connection, counts)
        await check_statement_replies(connection)


async def _events_by_learner(connection: AsyncConnection, last: int) -> AsyncIterator[Row[Any]]:
    """The rows of events up to a number, learner by learner, each in order, a chunk at a time."""
    key = tuple_(EVENT.c.learner, EVENT.c.number)
    query = select(EVENT).where(EVENT.c.number <= last).order_by(EVENT.c.learner, EVENT.c.number).limit(rows.CHUNK)
    after: tuple[str, int] = ("", 0)
    while True:
        chunk = (await connection.execute(query.where(key > tuple_(literal(after[0]), literal(after[1]))))).all()
        for row in chunk:
            yield row
        if len(chunk) < rows.CHUNK:
            return
        after = chunk[-1].learner, chunk[-1].number
