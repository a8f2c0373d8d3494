"""The rows of the tables as types, and how they are read: in bulk, since one commit carries many requests."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Row, Table, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.files import canonical_json
from mccpo.serve.policy.learner_state import LearnerState
from mccpo.serve.policy.release import Release, build_release
from mccpo.serve.record.chain import Event, commitment, parse_event
from mccpo.serve.record.keyring import Keyring
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.schema import DECISION, EVENT, LEARNER, NOTE, RELEASE

CLASS = "class"
"""The label that says which class a learner is in."""
IDENTITY = "identity"
"""What name, labels and salt are sealed as."""
CHUNK = 500
"""Rows or ids in one statement; databases limit how many they accept."""


class Identity(NamedTuple):
    """Who a learner is, by the tenant's own name; name and labels are None once erased.

    `salt` belongs to the commitment to name and labels in the events. It is erased with them; old records have none.
    `slot` is where the learner's key is in the keyring; None for one who is not written yet.
    """

    id: str
    tenant: str
    name: str | None
    labels: Mapping[str, str] | None
    registered: int
    erased: int | None = None
    salt: str | None = None
    slot: int | None = None

    @property
    def commitment(self) -> str | None:
        """The commitment to name and labels that the event holds; None if it holds none."""
        if self.salt is None or self.name is None or self.labels is None:
            return None
        return commitment(self.salt, self.name, canonical_json(self.labels))


class DecisionRow(NamedTuple):
    """A decision in short.

    `outcome` is the number of the event that reported it; `statement` is the id of the xAPI statement that brought it.
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

    @classmethod
    def of_event(cls, event: Event) -> DecisionRow:
        """The row of a decision or an override that was just taken."""
        content = event.content
        return cls(
            content["decision"],
            event.number,
            event.tenant,
            event.learner,
            event.at,
            content["concept"],
            content["activity"],
        )


class SessionRow(NamedTuple):
    """A session in short."""

    id: str
    tenant: str
    learner: str
    began: int
    ended: int | None = None
    cause: str | None = None


class NoteRow(NamedTuple):
    """A teacher's words about an override, and the salt of the event's commitment to them."""

    number: int
    learner: str
    teacher: str
    reason: str
    salt: str


class ReplyRow(NamedTuple):
    """What is stored under an idempotency key: the hash of its request, and the answer or a reference to its event."""

    id: str
    request: str
    answer: str
    learner: str
    at: int


# ---- reading


async def select_rows(
    connection: AsyncConnection, table: Table, column: str, values: Collection[Any], *conditions: ColumnElement[bool]
) -> list[Row[Any]]:
    """The rows of a table whose column has one of the values."""
    return await _select_in_chunks(connection, table, table.c[column], values, *conditions)


async def learners_named(
    connection: AsyncConnection, keyring: Keyring, names: Collection[tuple[str, str]]
) -> dict[tuple[str, str], Row[Any]]:
    """The rows of the learners of (tenant, name), as far as there are any.

    Names in other code points or with spaces around them are the same; old records may hold one as it was given.
    """
    wanted = {each: _name_hashes(keyring, *each) for each in names}
    hashes = {(tenant, hash) for (tenant, _), both in wanted.items() for hash in both}
    column = tuple_(LEARNER.c.tenant, LEARNER.c.name_hash)
    found = {(row.tenant, row.name_hash): row for row in await _select_in_chunks(connection, LEARNER, column, hashes)}
    matching = {
        each: [found[each[0], hash] for hash in both if (each[0], hash) in found] for each, both in wanted.items()
    }
    return {each: theirs[0] for each, theirs in matching.items() if theirs}


def normal_name(name: str) -> str:
    """A name as it is compared and stored: in composed characters (NFC), without spaces around it.

    >>> normal_name(" Zoe\u0308 ") == "Zo\xeb"
    True
    """
    return unicodedata.normalize("NFC", name).strip()


def _name_hashes(keyring: Keyring, tenant: str, name: str) -> list[str]:
    return [name_hash(keyring, tenant, each) for each in dict.fromkeys((name, normal_name(name)))]


def class_hash(keyring: Keyring, tenant: str, of: str | None) -> str | None:
    """What the database has of a class, to ask for its learners by."""
    return None if of is None else keyring.keyed_hash(CLASS, tenant, normal_name(of))


def name_hash(keyring: Keyring, tenant: str, name: str) -> str:
    """What the database has of a name, to find it by."""
    return keyring.keyed_hash("name", tenant, name)


async def read_notes(
    connection: AsyncConnection, keyring: Keyring, column: str, values: Collection[Any]
) -> list[NoteRow]:
    """The notes whose column has one of the values; those that cannot be read are left out."""
    notes = await select_rows(connection, NOTE, column, values)
    slots = await slots_of(connection, {row.learner for row in notes})
    readable = []
    for row in notes:
        with suppress(ValueError, TypeError, LookupError):
            readable.append(note_from_row(row, slots[row.learner], keyring))
    return readable


async def slots_of(connection: AsyncConnection, learners: Collection[str]) -> dict[str, int]:
    """Where the keys of learners are in the keyring."""
    matching = await select_rows(connection, LEARNER, "id", learners, LEARNER.c.slot.is_not(None))
    return {row.id: row.slot for row in matching}


async def decisions_by_statement(
    connection: AsyncConnection, statements: Collection[tuple[str, str]]
) -> list[DecisionRow]:
    """The decisions whose outcomes came by xAPI statements, each given by (tenant, id)."""
    columns = tuple_(DECISION.c.tenant, DECISION.c.statement)
    return [DecisionRow._make(row) for row in await _select_in_chunks(connection, DECISION, columns, statements)]


async def _select_in_chunks(
    connection: AsyncConnection, table: Table, key: Any, values: Collection[Any], *conditions: ColumnElement[bool]
) -> list[Row[Any]]:
    rows: list[Row[Any]] = []
    wanted = list(values)
    for start in range(0, len(wanted), CHUNK):
        matching = key.in_(wanted[start : start + CHUNK])
        rows += (await connection.execute(select(table).where(matching, *conditions))).all()
    return rows


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


async def learners_between(connection: AsyncConnection, after: int, last: int) -> Sequence[str]:
    """The learners whom the events after a number are about, up to another."""
    query = select(EVENT.c.learner).where(EVENT.c.number > after, EVENT.c.number <= last).distinct()
    return (await connection.execute(query)).scalars().all()


async def release_versions(connection: AsyncConnection) -> Sequence[str]:
    """The versions of all releases on record."""
    return (await connection.execute(select(RELEASE.c.version))).scalars().all()


async def read_releases(connection: AsyncConnection, versions: Collection[str]) -> dict[str, Release]:
    """Releases on record by version, rebuilt from their rows and checked against their hashes."""
    rows = await select_rows(connection, RELEASE, "version", versions)
    return {row.version: build_release(row.description, row.weights, version=row.version) for row in rows}


def identity_from_row(row: Row[Any], keyring: Keyring) -> Identity:
    """Who a learner is; ValueError or TypeError if that is damaged, or its key is gone."""
    name = labels = salt = None
    if row.sealed is not None:
        name, labels, salt = keyring.unseal(row.id, row.slot, IDENTITY, row.sealed)
        if row.name_hash != name_hash(keyring, row.tenant, name):
            raise ValueError("is found by another name")
        if row.class_hash != class_hash(keyring, row.tenant, labels.get(CLASS)):
            raise ValueError("is found in another class")
    return Identity(row.id, row.tenant, name, labels, row.registered, row.erased, salt, row.slot)


def note_from_row(row: Row[Any], slot: int, keyring: Keyring) -> NoteRow:
    """A teacher's words; ValueError or TypeError if they are damaged, or their key is gone."""
    teacher, reason, salt = keyring.unseal(row.learner, slot, note_name(row.number), row.sealed)
    return NoteRow(row.number, row.learner, teacher, reason, salt)


def note_name(number: int) -> str:
    """What a note is sealed as: it cannot be read as that of another override."""
    return f"note {number}"


def event_from_row(row: Row[Any]) -> Event:
    """The event in a row; `BrokenRecord` if its text is damaged."""
    return parse_event(row.text, row.hash)


def history_from_row(row: Row[Any], actions: int) -> LearnerHistory:
    """The learner's history in a row; `actions` are those of its release. ValueError or TypeError if it is damaged."""
    previous = None
    if row.previous is not None:
        if len(row.previous) != -(-actions // 8):
            raise ValueError("the ready actions are of another curriculum")
        previous = np.unpackbits(np.frombuffer(row.previous, np.uint8), count=actions).astype(bool)
    state = LearnerState(
        K=np.frombuffer(row.mastery, "<f8").astype(np.float64),
        practised=np.frombuffer(row.practised, "<i8").astype(np.int64),
        t=row._mapping["t"],  # `row.t` is the row itself
        last=row.last,
        previous=previous,
    )
    if not 0 < len(state.K) == len(state.practised) or actions % len(state.K):
        raise ValueError("the mastery is of another curriculum")
    if not all(isinstance(number, int) for number in (state.t, state.last or 0, row.began, row.active)):
        raise TypeError("a number is none")
    return LearnerHistory(
        row.learner,
        row.tenant,
        row.release,
        state,
        row.session,
        row.began,
        row.active,
        row.decision,
        row.erased,
        row.draws,
    )
