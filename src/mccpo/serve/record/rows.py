"""The rows of the tables as types, and how they are read: in bulk, since one commit carries many requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Row, Table, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.files import canonical_json
from mccpo.serve.policy.learner_state import LearnerState
from mccpo.serve.policy.release import Release, build_release
from mccpo.serve.record.chain import Event, commitment, parse_event
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.schema import DECISION, EVENT, LEARNER, RELEASE

CHUNK = 500
"""Rows or ids in one statement; databases limit how many they accept."""


class Identity(NamedTuple):
    """Who a learner is, by the tenant's own name; name and labels are None once erased.

    `salt` belongs to the commitment to name and labels in the events. It is erased with them; old records have none.
    """

    id: str
    tenant: str
    name: str | None
    labels: Mapping[str, str] | None
    registered: int
    erased: int | None = None
    salt: str | None = None

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


async def learners_named(connection: AsyncConnection, names: Collection[tuple[str, str]]) -> list[Row[Any]]:
    """The rows of the learners of (tenant, name)."""
    return await _select_in_chunks(connection, LEARNER, tuple_(LEARNER.c.tenant, LEARNER.c.name), names)


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


async def release_versions(connection: AsyncConnection) -> Sequence[str]:
    """The versions of all releases on record."""
    return (await connection.execute(select(RELEASE.c.version))).scalars().all()


async def read_releases(connection: AsyncConnection, versions: Collection[str]) -> dict[str, Release]:
    """Releases on record by version, rebuilt from their rows and checked against their hashes."""
    rows = await select_rows(connection, RELEASE, "version", versions)
    return {row.version: build_release(row.description, row.weights, version=row.version) for row in rows}


def identity_from_row(row: Row[Any]) -> Identity:
    """Who a learner is; ValueError or TypeError if the labels are damaged."""
    labels = None if row.labels is None else json.loads(row.labels)
    return Identity(row.id, row.tenant, row.name, labels, row.registered, row.erased, row.salt)


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
        row.learner, row.tenant, row.release, state, row.session, row.began, row.active, row.decision, row.erased
    )
