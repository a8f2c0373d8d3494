"""Writes rows in bulk, inside the transaction of one commit."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Table, delete, insert, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.files import canonical_json
from mccpo.serve.policy.release import Release
from mccpo.serve.record.chain import Event, Head
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.rows import DecisionRow, Identity, NoteRow, ReplyRow, SessionRow
from mccpo.serve.record.schema import DECISION, EVENT, HEAD, LEARNER, NOTE, RELEASE, REPLY, SESSION, STANDING


async def write_events(connection: AsyncConnection, events: Sequence[Event]) -> None:
    """Appends events, and moves the head."""
    columns = ("number", "kind", "tenant", "learner", "text", "hash")
    await connection.execute(insert(EVENT), [{name: getattr(event, name) for name in columns} for event in events])
    await write_head(connection, events[-1].head)


async def write_head(connection: AsyncConnection, head: Head) -> None:
    await connection.execute(update(HEAD).values(head._asdict()))


async def write_releases(connection: AsyncConnection, releases: Iterable[Release]) -> None:
    """Stores releases that are not stored yet."""
    rows = [
        {"version": release.version, "description": release.description, "weights": release.weights}
        for release in releases
    ]
    if rows:
        await connection.execute(_insert(connection, RELEASE).on_conflict_do_nothing(), rows)


async def write_and_remove(connection: AsyncConnection, size: int) -> None:
    """Writes so many bytes to the table of replies and removes them; both reach the disk with the commit."""
    id = secrets.token_hex(16)
    await connection.execute(
        insert(REPLY).values(id=id, request="", answer=secrets.token_hex(size // 2), learner="", at=0)
    )
    await connection.execute(delete(REPLY).where(REPLY.c.id == id))


async def write_histories(connection: AsyncConnection, histories: Iterable[LearnerHistory]) -> None:
    await _upsert(connection, STANDING, "learner", [_history_row(history) for history in histories])


async def write_identities(connection: AsyncConnection, identities: Iterable[Identity]) -> None:
    rows = [
        identity._asdict() | {"labels": None if identity.labels is None else canonical_json(identity.labels)}
        for identity in identities
    ]
    await _upsert(connection, LEARNER, "id", rows)


async def write_decisions(connection: AsyncConnection, decisions: Iterable[DecisionRow]) -> None:
    await _upsert(connection, DECISION, "id", [row._asdict() for row in decisions])


async def write_sessions(connection: AsyncConnection, sessions: Iterable[SessionRow]) -> None:
    await _upsert(connection, SESSION, "id", [row._asdict() for row in sessions])


async def write_notes(connection: AsyncConnection, notes: Iterable[NoteRow]) -> None:
    await _upsert(connection, NOTE, "number", [row._asdict() for row in notes])


async def write_replies(connection: AsyncConnection, replies: Iterable[ReplyRow]) -> None:
    await _upsert(connection, REPLY, "id", [row._asdict() for row in replies])


async def erase_words(connection: AsyncConnection, learners: Collection[str]) -> None:
    """Removes all words about learners that are stored outside the table of identities."""
    for table in (NOTE, REPLY):
        await connection.execute(delete(table).where(table.c.learner.in_(learners)))


def _history_row(history: LearnerHistory) -> dict[str, Any]:
    state = history.state
    return {
        "learner": history.learner,
        "tenant": history.tenant,
        "release": history.release,
        "mastery": state.K.astype("<f8").tobytes(),
        "practised": state.practised.astype("<i8").tobytes(),
        "previous": None if state.previous is None else np.packbits(state.previous).tobytes(),
        "t": state.t,
        "last": state.last,
        "session": history.session,
        "began": history.began,
        "active": history.active,
        "decision": history.decision,
        "erased": history.erased,
    }


def _insert(connection: AsyncConnection, table: Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


async def _upsert(connection: AsyncConnection, table: Table, key: str, rows: list[dict[str, Any]]) -> None:
    """Writes rows, replacing those with the same key."""
    if not rows:
        return
    statement = _insert(connection, table)
    changes = {column.name: statement.excluded[column.name] for column in table.c if column.name != key}
    await connection.execute(statement.on_conflict_do_update(index_elements=[key], set_=changes), rows)
