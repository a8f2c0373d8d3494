"""Compares the other tables with what the events say, some learners at a time; a part of `verify`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import Row, Table, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.chain import BrokenRecord, commitment, outcome_fields
from mccpo.serve.record.keyring import KeyErasedError, Keyring
from mccpo.serve.record.learner_history import LearnerHistory, same_history
from mccpo.serve.record.reply_reference import ReplyReference
from mccpo.serve.record.rows import DecisionRow, SessionRow
from mccpo.serve.record.schema import DECISION, EVENT, LEARNER, NOTE, REPLY, SESSION, STANDING

TABLES = (DECISION, SESSION, STANDING, LEARNER, NOTE, REPLY)
"""The tables that can be rebuilt from the events, or must at least agree with them."""


@dataclass
class ExpectedRows:
    """The rows that must exist for some learners, according to the events.

    - `words`: by the number of an override, its learner and the commitment to the teacher's words.
    - `registered`: by learner, the tenant and the time; `erased`: the time and the number of the erasing event.
    - `identities`: by learner, the commitment to the current name and labels.
    """

    histories: dict[str, LearnerHistory] = field(default_factory=dict)
    decisions: dict[str, DecisionRow] = field(default_factory=dict)
    sessions: dict[str, SessionRow] = field(default_factory=dict)
    words: dict[int, tuple[str, str]] = field(default_factory=dict)
    registered: dict[str, tuple[str, int]] = field(default_factory=dict)
    erased: dict[str, tuple[int, int]] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many rows these are."""
        return len(self.histories) + len(self.decisions) + len(self.sessions) + len(self.words)

    def add(self, other: ExpectedRows) -> None:
        """Adds the rows of other learners."""
        for entry in fields(self):
            getattr(self, entry.name).update(getattr(other, entry.name))


@dataclass
class NameCheck:
    """By which names and words are read, if at all, and for how many learners they cannot be.

    A key that is erased while no event says so is not held against the record: it may be a copy from before the
    erasure.
    """

    keyring: Keyring | None
    keys_erased: int = 0


async def compare_tables(
    connection: AsyncConnection,
    expected: ExpectedRows,
    releases: Mapping[str, Release],
    counts: dict[Table, int],
    names: NameCheck,
) -> None:
    """Compares the stored rows of some learners with the expected ones; adds the stored rows to `counts`."""
    counts[DECISION] += await _check_rows(connection, DECISION, expected.decisions, DecisionRow._make, "decision")
    counts[SESSION] += await _check_rows(connection, SESSION, expected.sessions, SessionRow._make, "session")
    counts[STANDING] += await _check_histories(connection, expected.histories, releases)
    counts[LEARNER] += await _check_identities(connection, expected, names)
    counts[NOTE] += await _check_notes(connection, expected, names)
    counts[REPLY] += await _check_replies(connection, expected)


async def check_row_counts(connection: AsyncConnection, counts: Mapping[Table, int]) -> None:
    """Checks that no table has rows of which the events do not speak."""
    for table, expected in counts.items():
        query = select(func.count()).select_from(table)
        if table is REPLY:  # replies about no learner belong to requests that leave no event
            query = query.where(REPLY.c.learner != "")
        stored = (await connection.execute(query)).scalar_one()
        if stored != expected:
            raise BrokenRecord(f"the table {table.name} has {stored} rows, and the events speak of {expected}")


async def check_statement_replies(connection: AsyncConnection) -> None:
    """Checks the stored answers to xAPI statements, which hold whole outcomes, against the events."""
    query = select(REPLY).where(REPLY.c.learner == "").order_by(REPLY.c.id).limit(rows.CHUNK)
    last = ""
    while replies := (await connection.execute(query.where(REPLY.c.id > last))).all():
        for row in replies:
            await _check_statement_reply(connection, row.answer)
        last = replies[-1].id


async def _check_rows(
    connection: AsyncConnection, table: Table, expected: Mapping[str, Any], make: Callable[[Any], Any], word: str
) -> int:
    stored = {row.id: make(row) for row in await rows.select_rows(connection, table, "id", expected)}
    for id, row in expected.items():
        if id not in stored:
            raise BrokenRecord(f"{word} {id}: is on record, and no longer kept")
        if stored[id] != row:
            raise BrokenRecord(f"{word} {id}: is not kept as the events say")
    return len(stored)


async def _check_histories(
    connection: AsyncConnection, histories: Mapping[str, LearnerHistory], releases: Mapping[str, Release]
) -> int:
    stored = {row.learner: row for row in await rows.select_rows(connection, STANDING, "learner", histories)}
    for learner, history in histories.items():
        if learner not in stored:
            raise BrokenRecord(f"learner {learner}: the standing is not there")
        try:
            same = same_history(history, rows.history_from_row(stored[learner], len(releases[history.release].actions)))
        except (ValueError, TypeError):
            same = False
        if not same:
            raise BrokenRecord(f"learner {learner}: the standing is not what the events say")
    return len(stored)


async def _check_identities(connection: AsyncConnection, expected: ExpectedRows, names: NameCheck) -> int:
    """Checks that every learner either has the identity that the events commit to, or is erased."""
    stored = {row.id: row for row in await rows.select_rows(connection, LEARNER, "id", expected.registered)}
    for learner, (tenant, registered) in expected.registered.items():
        if learner not in stored:
            raise BrokenRecord(f"learner {learner}: is on record, and no longer kept")
        row = stored[learner]
        erased, _ = expected.erased.get(learner, (None, 0))
        if (row.tenant, row.registered, row.erased) != (tenant, registered, erased):
            raise BrokenRecord(f"learner {learner}: is not registered or erased as the events say")
        if erased is not None:
            _check_erased(row, names)
        elif row.sealed is None or row.name_hash is None:
            raise BrokenRecord(f"learner {learner}: has no name or labels, and was not erased")
        elif names.keyring is not None:
            _check_name(row, expected.identities.get(learner), names.keyring, names)
    return len(stored)


def _check_erased(row: Row[Any], names: NameCheck) -> None:
    if row.sealed is not None or row.name_hash is not None:
        raise BrokenRecord(f"learner {row.id}: is erased and still has a name or labels")
    if names.keyring is not None and row.slot is not None and names.keyring.has_key(row.id, row.slot):
        raise BrokenRecord(f"learner {row.id}: is erased and still has a key")


def _check_name(row: Row[Any], committed: str | None, keyring: Keyring, names: NameCheck) -> None:
    try:
        identity = rows.identity_from_row(row, keyring)
    except KeyErasedError:
        names.keys_erased += 1
        return
    except (ValueError, TypeError) as error:
        raise BrokenRecord(f"learner {row.id}: name and labels are damaged ({error})") from error
    if identity.labels is None:
        raise BrokenRecord(f"learner {row.id}: has no name or labels, and was not erased")
    if identity.commitment != committed:
        raise BrokenRecord(f"learner {row.id}: name and labels are not those that the events seal")


async def _check_replies(connection: AsyncConnection, expected: ExpectedRows) -> int:
    """Checks that the replies under idempotency keys refer to events of their learner, and hold no words."""
    replies = await rows.select_rows(connection, REPLY, "learner", expected.registered)
    learner_by_event: dict[int, str] = {}
    for row in replies:
        try:
            number, _ = ReplyReference.parse(row.answer)
        except (ValueError, TypeError) as error:
            raise BrokenRecord(f"learner {row.learner}: a reply about them is not in the form of one") from error
        if row.learner in expected.erased and number != expected.erased[row.learner][1]:
            raise BrokenRecord(f"learner {row.learner}: is erased, and a reply about them is still there")
        if number is not None:
            learner_by_event[number] = row.learner
    events = await rows.select_rows(connection, EVENT, "number", learner_by_event)
    owners = {row.number: row.learner for row in events}
    for number, learner in learner_by_event.items():
        if owners.get(number) != learner:
            raise BrokenRecord(f"learner {learner}: a reply about them refers to event {number}, which is not theirs")
    return len(replies)


async def _check_statement_reply(connection: AsyncConnection, answer: str) -> None:
    try:
        content = json.loads(answer)
        results = content.get("results", []) if isinstance(content, dict) else []
        answered = {result["outcome"]["number"]: result["outcome"] for result in results if result.get("outcome")}
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise BrokenRecord("a reply to statements is not in the form of one") from error
    events = await rows.select_rows(connection, EVENT, "number", answered, EVENT.c.kind == "outcome")
    recorded = {row.number: {**outcome_fields(rows.event_from_row(row)), "hash": row.hash} for row in events}
    for number, outcome in answered.items():
        told = {name: value for name, value in outcome.items() if name != "again"}
        expected = recorded.get(number, {})
        if told not in (expected, {name: expected[name] for name in expected if name != "hash"}):  # old ones had none
            raise BrokenRecord(f"event {number}: a reply to statements tells its outcome otherwise")


async def _check_notes(connection: AsyncConnection, expected: ExpectedRows, names: NameCheck) -> int:
    """Checks that a teacher's words are those that the event commits to, until the learner is erased."""
    notes = {row.number: row for row in await rows.select_rows(connection, NOTE, "number", expected.words)}
    slots = await rows.slots_of(connection, {note.learner for note in notes.values()})
    for number, (learner, committed) in expected.words.items():
        note = notes.get(number)
        if note is None and learner not in expected.erased:
            raise BrokenRecord(f"event {number}: the teacher's words are no longer there")
        if note is None:
            continue
        if learner in expected.erased:
            raise BrokenRecord(f"event {number}: words about an erased learner are still there")
        if note.learner != learner or not _are_words(note, slots.get(learner), committed, names.keyring):
            raise BrokenRecord(f"event {number}: the teacher's words are not those that it seals")
    return len(notes)


def _are_words(row: Row[Any], slot: int | None, committed: str, keyring: Keyring | None) -> bool:
    """Whether a note holds the words that an event commits to, as far as they can be read."""
    if keyring is None:
        return True
    try:
        note = rows.note_from_row(row, -1 if slot is None else slot, keyring)
    except KeyErasedError:
        return True
    except (ValueError, TypeError, OSError):
        return False
    return commitment(note.salt, note.teacher, note.reason) == committed
