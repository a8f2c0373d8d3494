"""Between the tables and what they hold: rows are read and written in bulk, since one commit carries many requests."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Row, Table, delete, insert, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.policy.release import Release, build_release
from mccpo.serve.record.chain import Event, Head, canonical, commitment, unseal
from mccpo.serve.record.learner_history import Course
from mccpo.serve.record.learner_state import Standing
from mccpo.serve.record.schema import DECISION, EVENT, HEAD, LEARNER, NOTE, RELEASE, REPLY, SESSION, STANDING

CHUNK = 500
"""Rows or ids in one statement; databases bound how many they take."""


class Identity(NamedTuple):
    """Who a learner is, by the tenant's own name; name and labels are None once erased.

    `salt` is that with which an event seals the two. It goes with them, and records of old have none.
    """

    id: str
    tenant: str
    name: str | None
    labels: Mapping[str, str] | None
    registered: int
    erased: int | None = None
    salt: str | None = None

    @property
    def seal(self) -> str | None:
        """What the event says of name and labels, None where it says nothing."""
        if self.salt is None or self.name is None or self.labels is None:
            return None
        return commitment(self.salt, self.name, canonical(self.labels))


class Decided(NamedTuple):
    """A decision in short.

    `outcome` is the number of the event that reported it, `statement` the id of the xAPI statement it came by, if any.
    """

    id: str
    number: int
    tenant: str
    learner: str
    at: int
    concept: str
    activity: str
    outcome: int | None = None
    statement: str | None = None


class Sitting(NamedTuple):
    """A session in short."""

    id: str
    tenant: str
    learner: str
    began: int
    ended: int | None = None
    cause: str | None = None


class Note(NamedTuple):
    """A teacher's words about an override, and the salt with which the event seals them."""

    number: int
    learner: str
    teacher: str
    reason: str
    salt: str


class Reply(NamedTuple):
    """What is kept under an idempotency key: the hash of its request, and what was answered or which event tells it."""

    id: str
    request: str
    answer: str
    learner: str
    at: int


# ---- reading


async def rows_of(
    connection: AsyncConnection, table: Table, column: str, values: Collection[Any], *more: ColumnElement[bool]
) -> list[Row[Any]]:
    """The rows of a table whose column has one of the values."""
    found: list[Row[Any]] = []
    wanted = list(values)
    for start in range(0, len(wanted), CHUNK):
        chunk = wanted[start : start + CHUNK]
        found += (await connection.execute(select(table).where(table.c[column].in_(chunk), *more))).all()
    return found


async def learners_named(connection: AsyncConnection, names: Collection[tuple[str, str]]) -> list[Row[Any]]:
    """The rows of the learners of (tenant, name)."""
    found: list[Row[Any]] = []
    wanted = list(names)
    for start in range(0, len(wanted), CHUNK):
        chunk = wanted[start : start + CHUNK]
        matching = select(LEARNER).where(tuple_(LEARNER.c.tenant, LEARNER.c.name).in_(chunk))
        found += (await connection.execute(matching)).all()
    return found


async def decisions_by_statement(connection: AsyncConnection, statements: Collection[tuple[str, str]]) -> list[Decided]:
    """The decisions whose outcomes came by statements, each given by (tenant, id)."""
    found: list[Decided] = []
    wanted = list(statements)
    for start in range(0, len(wanted), CHUNK):
        matching = tuple_(DECISION.c.tenant, DECISION.c.statement).in_(wanted[start : start + CHUNK])
        found += map(Decided._make, (await connection.execute(select(DECISION).where(matching))).all())
    return found


async def events_after(
    connection: AsyncConnection, number: int = 0, *conditions: ColumnElement[bool]
) -> AsyncIterator[Row[Any]]:
    """The rows of events after a number, in order, a chunk at a time."""
    query = select(EVENT).where(*conditions).order_by(EVENT.c.number).limit(CHUNK)
    while True:
        chunk = (await connection.execute(query.where(EVENT.c.number > number))).all()
        for row in chunk:
            yield row
        if len(chunk) < CHUNK:
            return
        number = chunk[-1].number


async def read_releases(connection: AsyncConnection, versions: Collection[str]) -> dict[str, Release]:
    """Releases on record by version, rebuilt from what is kept and checked against it."""
    rows = await rows_of(connection, RELEASE, "version", versions)
    return {row.version: build_release(row.description, row.weights, version=row.version) for row in rows}


def identity_of(row: Row[Any]) -> Identity:
    labels = None if row.labels is None else json.loads(row.labels)
    return Identity(row.id, row.tenant, row.name, labels, row.registered, row.erased, row.salt)


def event_of(row: Row[Any]) -> Event:
    return unseal(row.text, row.hash)


def course_of(row: Row[Any], actions: int) -> Course:
    """The course in a row; `actions` are those of its release. ValueError or TypeError where it cannot be one."""
    previous = None
    if row.previous is not None:
        if len(row.previous) != -(-actions // 8):
            raise ValueError("the ready actions are of another curriculum")
        previous = np.unpackbits(np.frombuffer(row.previous, np.uint8), count=actions).astype(bool)
    standing = Standing(
        K=np.frombuffer(row.mastery, "<f8").astype(np.float64),
        practised=np.frombuffer(row.practised, "<i8").astype(np.int64),
        t=row._mapping["t"],  # `row.t` is the row itself
        last=row.last,
        previous=previous,
    )
    if not 0 < len(standing.K) == len(standing.practised) or actions % len(standing.K):
        raise ValueError("the mastery is of another curriculum")
    if not all(isinstance(number, int) for number in (standing.t, standing.last or 0, row.began, row.active)):
        raise TypeError("a number is none")
    return Course(
        row.learner, row.tenant, row.release, standing, row.session, row.began, row.active, row.decision, row.erased
    )


# ---- writing


async def write_events(connection: AsyncConnection, events: Sequence[Event]) -> None:
    """Appends events, and moves the head."""
    columns = ("number", "kind", "tenant", "learner", "text", "hash")
    await connection.execute(insert(EVENT), [{name: getattr(one, name) for name in columns} for one in events])
    await write_head(connection, events[-1].head)


async def write_head(connection: AsyncConnection, head: Head) -> None:
    await connection.execute(update(HEAD).values(head._asdict()))


async def write_releases(connection: AsyncConnection, releases: Iterable[Release]) -> None:
    """Keeps releases that are not kept yet."""
    rows = [{"version": one.version, "description": one.description, "weights": one.weights} for one in releases]
    if rows:
        await connection.execute(_insert(connection, RELEASE).on_conflict_do_nothing(), rows)


async def write_and_remove(connection: AsyncConnection, size: int) -> None:
    """Writes so many bytes where replies are kept, and removes them: both are on the disk with the commit."""
    id = secrets.token_hex(16)
    await connection.execute(
        insert(REPLY).values(id=id, request="", answer=secrets.token_hex(size // 2), learner="", at=0)
    )
    await connection.execute(delete(REPLY).where(REPLY.c.id == id))


async def write_courses(connection: AsyncConnection, courses: Iterable[Course]) -> None:
    await _replace(connection, STANDING, "learner", [_course_row(course) for course in courses])


async def write_identities(connection: AsyncConnection, identities: Iterable[Identity]) -> None:
    rows = [one._asdict() | {"labels": None if one.labels is None else canonical(one.labels)} for one in identities]
    await _replace(connection, LEARNER, "id", rows)


async def write_decisions(connection: AsyncConnection, decisions: Iterable[Decided]) -> None:
    await _replace(connection, DECISION, "id", [one._asdict() for one in decisions])


async def write_sessions(connection: AsyncConnection, sessions: Iterable[Sitting]) -> None:
    await _replace(connection, SESSION, "id", [one._asdict() for one in sessions])


async def write_notes(connection: AsyncConnection, notes: Iterable[Note]) -> None:
    await _replace(connection, NOTE, "number", [one._asdict() for one in notes])


async def write_replies(connection: AsyncConnection, replies: Iterable[Reply]) -> None:
    await _replace(connection, REPLY, "id", [one._asdict() for one in replies])


async def erase_words(connection: AsyncConnection, learners: Collection[str]) -> None:
    """Removes all words about learners that are kept outside the table of identities."""
    for table in (NOTE, REPLY):
        await connection.execute(delete(table).where(table.c.learner.in_(learners)))


def _course_row(course: Course) -> dict[str, Any]:
    standing = course.standing
    return {
        "learner": course.learner,
        "tenant": course.tenant,
        "release": course.release,
        "mastery": standing.K.astype("<f8").tobytes(),
        "practised": standing.practised.astype("<i8").tobytes(),
        "previous": None if standing.previous is None else np.packbits(standing.previous).tobytes(),
        "t": standing.t,
        "last": standing.last,
        "session": course.session,
        "began": course.began,
        "active": course.active,
        "decision": course.decision,
        "erased": course.erased,
    }


def _insert(connection: AsyncConnection, table: Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


async def _replace(connection: AsyncConnection, table: Table, key: str, rows: list[dict[str, Any]]) -> None:
    """Writes rows, in the place of those with the same key."""
    if not rows:
        return
    statement = _insert(connection, table)
    given = {column.name: statement.excluded[column.name] for column in table.c if column.name != key}
    await connection.execute(statement.on_conflict_do_update(index_elements=[key], set_=given), rows)
