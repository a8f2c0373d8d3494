"""Writes rows in bulk, inside the transaction of one commit."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import Table, delete, insert, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.policy.release import Release
from mccpo.serve.record import bulk
from mccpo.serve.record.chain import Event, Head
from mccpo.serve.record.keyring import Keyring
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.rows import (
    CLASS,
    IDENTITY,
    DecisionRow,
    Identity,
    NoteRow,
    ReplyRow,
    SessionRow,
    class_hash,
    name_hash,
    note_name,
    slots_of,
)
from mccpo.serve.record.schema import DECISION, EVENT, HEAD, LEARNER, NOTE, RELEASE, REPLY, SESSION, STANDING


async def write_events(connection: AsyncConnection, events: Sequence[Event]) -> None:
    """Appends events, and moves the head."""
    columns = ("number", "kind", "tenant", "learner", "text", "hash")
    rows = [{name: getattr(event, name) for name in columns} for event in events]
    if bulk.is_postgres(connection):
        await bulk.write_rows(connection, EVENT, rows)
    else:
        await connection.execute(insert(EVENT), rows)
    await write_head(connection, events[-1].head)


async def write_head(connection: AsyncConnection, head: Head) -> None:
    if bulk.is_postgres(connection):
        await bulk.update_one(connection, HEAD, head._asdict())
    else:
        await connection.execute(update(HEAD).values(head._asdict()))


async def write_releases(connection: AsyncConnection, releases: Iterable[Release]) -> None:
    """Stores releases that are not stored yet."""
    rows = [
        {"version": release.version, "description": release.description, "weights": release.weights}
        for release in releases
    ]
    if rows:
        await connection.execute(_insert(connection.dialect.name, RELEASE).on_conflict_do_nothing(), rows)


async def write_and_remove(connection: AsyncConnection, size: int) -> None:
    """Writes so many bytes to the table of replies and removes them; both reach the disk with the commit."""
    id = secrets.token_hex(16)
    await connection.execute(
        insert(REPLY).values(id=id, request="", answer=secrets.token_hex(size // 2), learner="", at=0)
    )
    await connection.execute(delete(REPLY).where(REPLY.c.id == id))


async def write_histories(connection: AsyncConnection, histories: Iterable[LearnerHistory]) -> None:
    await _upsert(connection, STANDING, "learner", [_history_row(history) for history in histories])


async def write_identities(connection: AsyncConnection, keyring: Keyring, identities: Sequence[Identity]) -> None:
    """Writes who learners are, sealed. A new one gets a key first, which is on the disk before anything is sealed."""
    new = [identity.id for identity in identities if identity.slot is None and identity.erased is None]
    slots = dict(zip(new, await asyncio.to_thread(keyring.add, new), strict=True)) if new else {}
    rows = [_identity_row(identity, slots.get(identity.id, identity.slot), keyring) for identity in identities]
    await _upsert(connection, LEARNER, "id", rows)


def _identity_row(identity: Identity, slot: int | None, keyring: Keyring) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(identity, name) for name in ("id", "tenant", "registered", "erased")}
    row |= {"slot": slot, "name_hash": None, "class_hash": None, "sealed": None}
    if identity.name is not None and slot is not None:
        words = [identity.name, identity.labels, identity.salt]
        row["name_hash"] = name_hash(keyring, identity.tenant, identity.name)
        row["class_hash"] = class_hash(keyring, identity.tenant, (identity.labels or {}).get(CLASS))
        row["sealed"] = keyring.seal(identity.id, slot, IDENTITY, words)
    return row


async def write_decisions(connection: AsyncConnection, decisions: Iterable[DecisionRow]) -> None:
    await _upsert(connection, DECISION, "id", [row._asdict() for row in decisions])


async def write_sessions(connection: AsyncConnection, sessions: Iterable[SessionRow]) -> None:
    await _upsert(connection, SESSION, "id", [row._asdict() for row in sessions])


async def write_notes(connection: AsyncConnection, keyring: Keyring, notes: Sequence[NoteRow]) -> None:
    """Writes teachers' words, sealed with the keys of the learners they are about."""
    slots = await slots_of(connection, {note.learner for note in notes})
    rows = []
    for note in notes:
        words = [note.teacher, note.reason, note.salt]
        sealed = keyring.seal(note.learner, slots[note.learner], note_name(note.number), words)
        rows.append({"number": note.number, "learner": note.learner, "sealed": sealed})
    await _upsert(connection, NOTE, "number", rows)


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
        "draws": history.draws,
    }


def _insert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


@lru_cache
def _upserting(dialect: str, table: Table, key: str) -> sqlite.Insert | postgresql.Insert:
    """The statement that writes a row, replacing the one with the same key; making it costs more than running it."""
    statement = _insert(dialect, table)
    changes = {column.name: statement.excluded[column.name] for column in table.c if column.name != key}
    return statement.on_conflict_do_update(index_elements=[key], set_=changes)


async def _upsert(connection: AsyncConnection, table: Table, key: str, rows: list[dict[str, Any]]) -> None:
    """Writes rows, replacing those with the same key."""
    if rows and bulk.is_postgres(connection):
        await bulk.write_rows(connection, table, rows, key)
    elif rows:
        await connection.execute(_upserting(connection.dialect.name, table, key), rows)
