"""`verify`: replays the record from its first event, and finds the first thing that does not hold.

It checks the chain of hashes, rebuilds every learner's mastery from the events alone, derives every gate and
certificate again from that mastery, and compares all other tables with what the events say. It needs nothing but the
database, which also holds the releases that decided.

The record is read twice: in its order for the chain, then learner by learner for everything else, since learners do not
affect each other. Memory holds one learner at a time, plus up to `BATCH` rows of others that are compared together.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.chain import GENESIS, BrokenRecord, Event, Head, link_error, rfc3339
from mccpo.serve.record.consistency import (
    TABLES,
    ExpectedRows,
    NameCheck,
    check_row_counts,
    check_statement_replies,
    compare_tables,
)
from mccpo.serve.record.release_history import ReleaseHistory, ReleaseUse
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
    - `releases`: those that decided, by version.
    - `names_checked`: whether the keyring was there, without which names and words cannot be compared with the events.
    - `keys_erased`: learners whose keys are erased while no event says so, as in a copy from before their erasure.
    """

    events: int = 0
    decisions: int = 0
    outcomes: int = 0
    learners: int = 0
    head: Head = GENESIS
    most_rows: int = 0
    wrong: str | None = None
    releases: dict[str, ReleaseUse] = field(default_factory=dict)
    names_checked: bool = False
    keys_erased: int = 0

    @property
    def last(self) -> str:
        """The time of the last event."""
        return rfc3339(self.head.at)


@dataclass
class _Findings:
    """The earliest event that does not hold; findings about no event come after all others."""

    first: tuple[float, str] | None = None

    def add(self, number: float, what: str) -> None:
        if self.first is None or number < self.first[0]:
            self.first = number, what


async def verify(
    store: Store,
    *,
    anchors: Collection[tuple[int, str]] = (),
    pins: Collection[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Verdict:
    """Replays a record that is open.

    `anchors`: events by number and hash, noted earlier, that must still be so. `pins`: how the hashes begin of the
    releases that may have decided; with None, any may.
    """
    verdict, findings = Verdict(), _Findings()
    async with store.reading() as connection:
        try:
            releases = await _releases(connection)
            history = ReleaseHistory(releases, verdict.releases)
            await _check_chain(connection, verdict, findings, history, anchors, progress or (lambda _: None))
            if pins is not None and (unpinned := history.unpinned(pins)):
                findings.add(math.inf, unpinned)
            names = NameCheck(store.keyring if store.has_keyring else None)
            verdict.names_checked = store.has_keyring
            await _check_learners(connection, releases, verdict, findings, names)
            verdict.keys_erased = names.keys_erased
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
    history: ReleaseHistory,
    anchors: Collection[tuple[int, str]],
    progress: Callable[[int], None],
) -> None:
    """Follows the chain as far as it holds, counts its events, and follows which release was live."""
    noted: dict[int, set[str]] = {}
    for number, hash in anchors:
        noted.setdefault(number, set()).add(hash)
    if other := noted.get(0, set()) - {GENESIS.hash}:
        findings.add(0, f"the record begins with the hash {GENESIS.hash}, not {other.pop()} as noted before")
    async for row in rows.events_after(connection):
        event, wrong = _parse_linked(row, verdict.head)
        if event is not None and (other := noted.get(event.number, set()) - {event.hash}):
            wrong = wrong or f"event {event.number} has the hash {event.hash}, not {other.pop()} as noted before"
        if event is not None and wrong is None and (told := history.follow(event)) is not None:
            findings.add(event.number, f"{_event_name(event.number, event)}: {told}")
        if event is None or wrong is not None:
            findings.add(row.number, str(wrong))
            return
        verdict.head = event.head
        verdict.events += 1
        verdict.decisions += event.kind in ("decision", "override")
        verdict.outcomes += event.kind == "outcome"
        verdict.learners += event.kind == "learner"
        progress(verdict.events)
    heads = (await connection.execute(select(HEAD))).all()
    if noted and (last := max(noted)) > verdict.events:
        what = f"event {last}, noted before, is not there: the record ends with event {verdict.events}"
        findings.add(verdict.events + 1, what)
    elif [Head(row.number, row.hash, row.at) for row in heads] != [verdict.head]:
        what = f"event {verdict.events + 1}: is not there, although the record went on to it"
        findings.add(verdict.events + 1, what)
    elif heads[0].live != (live := None if history.live is None else history.live[0]):
        findings.add(math.inf, f"the service decides by event {heads[0].live}, and {live} is the last about releases")


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
    connection: AsyncConnection,
    releases: Mapping[str, Release],
    verdict: Verdict,
    findings: _Findings,
    names: NameCheck,
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
                await compare_tables(connection, batch, releases, counts, names)
            batch = ExpectedRows()

    async for row in _events_by_learner(connection, verdict.head.number):
        if row.learner != learner:
            await finish_learner(BATCH)
            replay, learner = LearnerReplay(releases), row.learner
        event = rows.event_from_row(row)
        if event.kind == "release":  # followed with the chain: it is about no learner
            continue
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
