"""`verify`: replays the record from its first event, and finds the first thing that does not hold.

It checks the chain of hashes; rebuilds every learner's mastery from the events alone; derives every gate and every
certificate again, from the mastery so rebuilt; and compares all that the service keeps besides the events with what the
events say. It needs nothing but the database: the releases that decided are kept in it.

The record is read twice: in its order for the chain, then learner after learner for all else, since what happens to one
does not depend on another. What is in memory at a time is about one learner, and about as many more as `BATCH` allows,
whose rows are compared together.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, Table, func, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.decision import recheck
from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.chain import GENESIS, Broken, Event, Head, continues
from mccpo.serve.record.consistency import TABLES, Said, check_statements, compare
from mccpo.serve.record.learner_history import Course, follow
from mccpo.serve.record.rows import Decided, Sitting
from mccpo.serve.record.schema import EVENT, HEAD, RELEASE, REPLY
from mccpo.serve.record.store import Store

BATCH = 2_000
"""Rows that the events speak of, after which they are compared with those that are kept."""


@dataclass
class Verdict:
    """What was found.

    - `events`, `decisions`, `outcomes`, `learners`: what was replayed.
    - `head`: the end of the chain. Kept elsewhere, it shows later whether the record was cut or rewritten.
    - `held`: the most rows that were in memory at a time.
    - `wrong`: the first thing that does not hold, in words; None where all does.
    """

    events: int = 0
    decisions: int = 0
    outcomes: int = 0
    learners: int = 0
    head: Head = GENESIS
    held: int = 0
    wrong: str | None = None


@dataclass
class _Findings:
    """The earliest event that does not hold; what is not about an event comes after all that are."""

    first: tuple[float, str] | None = None

    def add(self, number: float, what: str) -> None:
        if self.first is None or number < self.first[0]:
            self.first = number, what


@dataclass
class _Replay:
    """All that the events of one learner say, up to now; `broken` once one of them does not hold."""

    releases: Mapping[str, Release]
    course: Course | None = None
    said: Said = field(default_factory=Said)
    broken: bool = False


async def verify(
    store: Store, *, anchor: tuple[int, str] | None = None, progress: Callable[[int], None] | None = None
) -> Verdict:
    """Replays a record that is open. `anchor`: an event by number and hash, noted earlier, that must still be so."""
    verdict, findings = Verdict(), _Findings()
    async with store.reading() as connection:
        try:
            releases = await _releases(connection)
            await _chain(connection, verdict, findings, anchor, progress or (lambda _: None))
            await _learners(connection, releases, verdict, findings)
        except Broken as finding:
            findings.add(math.inf, str(finding))
    verdict.wrong = None if findings.first is None else findings.first[1]
    return verdict


async def _releases(connection: AsyncConnection) -> dict[str, Release]:
    versions = (await connection.execute(select(RELEASE.c.version))).scalars().all()
    try:
        return await rows.read_releases(connection, versions)
    except InputError as error:
        raise Broken(error.what) from error


# ---- the chain


async def _chain(
    connection: AsyncConnection,
    verdict: Verdict,
    findings: _Findings,
    anchor: tuple[int, str] | None,
    progress: Callable[[int], None],
) -> None:
    """Follows the chain as far as it holds, and counts what is on it."""
    if anchor is not None and anchor[0] == 0 and anchor[1] != GENESIS.hash:
        findings.add(0, f"the record begins with the hash {GENESIS.hash}, not {anchor[1]} as noted before")
    async for row in rows.events_after(connection):
        event, wrong = _linked(row, verdict.head)
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


def _linked(row: Row[Any], head: Head) -> tuple[Event | None, str | None]:
    """The event of a row, and what is wrong with it as the one that comes after `head`."""
    try:
        event = rows.event_of(row)
    except Broken as finding:
        return None, f"event {row.number}: {finding}"
    wrong = continues(head, event)
    if (row.number, row.kind, row.tenant, row.learner) != (event.number, event.kind, event.tenant, event.learner):
        wrong = "is filed as another"
    return event, None if wrong is None else f"{_named(row.number, event)}: {wrong}"


def _named(number: int, event: Event) -> str:
    """An event as a finding names it: a decision by its id as well."""
    decision = event.content.get("decision")
    return f"event {number}" + ("" if decision is None else f" ({event.kind} {decision})")


# ---- learner after learner


async def _learners(
    connection: AsyncConnection, releases: Mapping[str, Release], verdict: Verdict, findings: _Findings
) -> None:
    """Replays what happened to each learner, and compares what is kept of them with what it comes to."""
    replay, batch, learner = _Replay(releases), Said(), ""
    counts = dict.fromkeys(TABLES, 0)

    async def finish(most: int) -> None:
        nonlocal batch
        if replay.course is not None:
            replay.said.courses[learner] = replay.course
        batch.add(replay.said)
        verdict.held = max(verdict.held, batch.held)
        if batch.held > most:
            if findings.first is None:
                await compare(connection, batch, releases, counts)
            batch = Said()

    async for row in _by_learner(connection, verdict.head.number):
        if row.learner != learner:
            await finish(BATCH)
            replay, learner = _Replay(releases), row.learner
        event = rows.event_of(row)
        if replay.broken:  # nothing that comes after can be told to be right or wrong
            continue
        wrong = _followed(event, replay)
        if wrong is not None:
            replay.broken = True
            findings.add(event.number, f"{_named(event.number, event)}: {wrong}")
    await finish(0)
    if findings.first is None:
        await _totals(connection, counts)
        await check_statements(connection)


async def _by_learner(connection: AsyncConnection, last: int) -> AsyncIterator[Row[Any]]:
    """The rows of events up to a number, learner after learner, each in order, a chunk at a time."""
    key = tuple_(EVENT.c.learner, EVENT.c.number)
    query = select(EVENT).where(EVENT.c.number <= last).order_by(EVENT.c.learner, EVENT.c.number).limit(rows.CHUNK)
    after: tuple[str, int] = ("", 0)
    while True:
        found = (await connection.execute(query.where(key > tuple_(literal(after[0]), literal(after[1]))))).all()
        for row in found:
            yield row
        if len(found) < rows.CHUNK:
            return
        after = found[-1].learner, found[-1].number


def _followed(event: Event, replay: _Replay) -> str | None:
    """What of an event cannot be derived again from those before it; nothing where all can."""
    try:
        wrong = _gate(event, replay)
        if wrong is None:
            replay.course = follow(replay.course, event, replay.releases)
            _FOLLOWED[event.kind](event, replay.said)
        return wrong
    except Broken as finding:
        return str(finding)
    except (InputError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return f"cannot be read ({error!r})"


def _gate(event: Event, replay: _Replay) -> str | None:
    """What of a decision's gate and certificate cannot be derived again."""
    if event.kind not in ("decision", "override"):
        return None
    content, course = event.content, replay.course
    release = replay.releases.get(content["release"])
    if course is None or release is None:
        return "is about a learner, or by a release, that is not on record"
    certificate = content["certificate"]
    if (certificate["by"] == "teacher") is not (event.kind == "override"):
        return f"is a {event.kind} by {certificate['by']!r}"
    return recheck(release, course.standing, content["concept"], content["activity"], certificate)


# ---- what each kind of event says of the other tables


def _on_learner(event: Event, said: Said) -> None:
    said.registered[event.learner] = event.tenant, event.at
    _on_labels(event, said)


def _on_labels(event: Event, said: Said) -> None:
    if "who" in event.content:  # records of old do not seal names
        said.sealed[event.learner] = event.content["who"]


def _on_session(event: Event, said: Said) -> None:
    session = event.content["session"]
    if event.content["change"] == "ended":
        said.sessions[session] = said.sessions[session]._replace(ended=event.at, cause=event.content["cause"])
    elif session in said.sessions:
        raise Broken(f"begins the session {session} once more")
    else:
        said.sessions[session] = Sitting(session, event.tenant, event.learner, event.at)


def _on_decision(event: Event, said: Said) -> None:
    content = event.content
    if content["decision"] in said.decisions:
        raise Broken(f"takes the decision {content['decision']} once more")
    said.decisions[content["decision"]] = Decided(
        content["decision"],
        event.number,
        event.tenant,
        event.learner,
        event.at,
        content["concept"],
        content["activity"],
    )
    if event.kind == "override":
        said.words[event.number] = (event.learner, content["words"])


def _on_outcome(event: Event, said: Said) -> None:
    content = event.content
    decided = said.decisions.get(content["decision"])
    if decided is None:
        raise Broken("reports on a decision that is not on record")
    if decided.outcome is not None:
        raise Broken(f"reports once more on a decision that event {decided.outcome} has reported on")
    if (decided.concept, decided.activity) != (content["concept"], content["activity"]):
        raise Broken("is about another activity than was decided")
    said.decisions[decided.id] = decided._replace(outcome=event.number, statement=content.get("statement"))


def _on_erasure(event: Event, said: Said) -> None:
    said.erased[event.learner] = event.at, event.number


_FOLLOWED: dict[str, Callable[[Event, Said], None]] = {
    "learner": _on_learner,
    "labels": _on_labels,
    "session": _on_session,
    "decision": _on_decision,
    "override": _on_decision,
    "outcome": _on_outcome,
    "erasure": _on_erasure,
}


# ---- the whole


async def _totals(connection: AsyncConnection, counts: Mapping[Table, int]) -> None:
    """That nothing is kept of which the events do not speak."""
    for table, count in counts.items():
        query = select(func.count()).select_from(table)
        if table is REPLY:  # those about no learner are of requests that leave no event
            query = query.where(REPLY.c.learner != "")
        kept = (await connection.execute(query)).scalar_one()
        if kept != count:
            raise Broken(f"the table {table.name} has {kept} rows, and the events speak of {count}")
