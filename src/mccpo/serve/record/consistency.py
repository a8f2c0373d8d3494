"""What the events say of the other tables, and whether these say the same: for `verify`, some learners at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Broken, commitment
from mccpo.serve.record.learner_history import Course, same
from mccpo.serve.record.rows import Decided, Note, Sitting
from mccpo.serve.record.schema import DECISION, EVENT, LEARNER, NOTE, REPLY, SESSION, STANDING
from mccpo.serve.service.idempotency import reference_of
from mccpo.serve.service.views import outcome_view

TABLES = (DECISION, SESSION, STANDING, LEARNER, NOTE, REPLY)
"""What can be rebuilt from the events, or must at least agree with them."""


@dataclass
class Said:
    """The rows that the events of some learners speak of.

    - `words`: by the number of an override, its learner and what seals the teacher's words.
    - `registered`, `erased`: when learners were, and of which tenant; the number of the event that erased them.
    - `sealed`: what seals a learner's name and labels now.
    """

    courses: dict[str, Course] = field(default_factory=dict)
    decisions: dict[str, Decided] = field(default_factory=dict)
    sessions: dict[str, Sitting] = field(default_factory=dict)
    words: dict[int, tuple[str, str]] = field(default_factory=dict)
    registered: dict[str, tuple[str, int]] = field(default_factory=dict)
    erased: dict[str, tuple[int, int]] = field(default_factory=dict)
    sealed: dict[str, str] = field(default_factory=dict)

    @property
    def held(self) -> int:
        """How many rows these are."""
        return len(self.courses) + len(self.decisions) + len(self.sessions) + len(self.words)

    def add(self, other: Said) -> None:
        """Adds what was said of others."""
        for one in fields(self):
            getattr(self, one.name).update(getattr(other, one.name))


async def compare(
    connection: AsyncConnection, said: Said, releases: Mapping[str, Release], counts: dict[Table, int]
) -> None:
    """Compares what is kept of some learners with what the events say; `counts` grows by the rows that there are."""
    counts[DECISION] += await _alike(connection, DECISION, said.decisions, Decided._make, "decision")
    counts[SESSION] += await _alike(connection, SESSION, said.sessions, Sitting._make, "session")
    counts[STANDING] += await _standings(connection, said.courses, releases)
    counts[LEARNER] += await _identities(connection, said)
    counts[NOTE] += await _notes(connection, said)
    counts[REPLY] += await _replies(connection, said)


async def _alike(
    connection: AsyncConnection, table: Table, said: Mapping[str, Any], made: Callable[[Any], Any], word: str
) -> int:
    found = {row.id: made(row) for row in await rows.rows_of(connection, table, "id", said)}
    for id, one in said.items():
        if id not in found:
            raise Broken(f"{word} {id}: is on record, and no longer kept")
        if found[id] != one:
            raise Broken(f"{word} {id}: is not kept as the events say")
    return len(found)


async def _standings(
    connection: AsyncConnection, courses: Mapping[str, Course], releases: Mapping[str, Release]
) -> int:
    found = {row.learner: row for row in await rows.rows_of(connection, STANDING, "learner", courses)}
    for learner, course in courses.items():
        if learner not in found:
            raise Broken(f"learner {learner}: the standing is not there")
        try:
            alike = same(course, rows.course_of(found[learner], len(releases[course.release].actions)))
        except (ValueError, TypeError):
            alike = False
        if not alike:
            raise Broken(f"learner {learner}: the standing is not what the events say")
    return len(found)


async def _identities(connection: AsyncConnection, said: Said) -> int:
    """That every learner is somebody, whom the events seal, or erased, and never both."""
    found = {row.id: row for row in await rows.rows_of(connection, LEARNER, "id", said.registered)}
    for learner, (tenant, registered) in said.registered.items():
        if learner not in found:
            raise Broken(f"learner {learner}: is on record, and no longer kept")
        try:
            kept = rows.identity_of(found[learner])
        except (ValueError, TypeError) as error:
            raise Broken(f"learner {learner}: the labels are damaged") from error
        erased, _ = said.erased.get(learner, (None, 0))
        if (kept.tenant, kept.registered, kept.erased) != (tenant, registered, erased):
            raise Broken(f"learner {learner}: is not registered or erased as the events say")
        who = (kept.name, kept.labels, kept.salt)
        if erased is not None and who != (None, None, None):
            raise Broken(f"learner {learner}: is erased and still has a name or labels")
        if erased is None and None in who[:2]:
            raise Broken(f"learner {learner}: has no name or labels, and was not erased")
        if erased is None and kept.seal != said.sealed.get(learner):
            raise Broken(f"learner {learner}: name and labels are not those that the events seal")
    return len(found)


async def _replies(connection: AsyncConnection, said: Said) -> int:
    """That what is kept under idempotency keys refers to events of its learner, and holds no words."""
    found = await rows.rows_of(connection, REPLY, "learner", said.registered)
    told_by: dict[int, str] = {}
    for row in found:
        try:
            number, _ = reference_of(row.answer)
        except (ValueError, TypeError) as error:
            raise Broken(f"learner {row.learner}: a reply about them is not in the form of one") from error
        if row.learner in said.erased and number != said.erased[row.learner][1]:
            raise Broken(f"learner {row.learner}: is erased, and a reply about them is still there")
        if number is not None:
            told_by[number] = row.learner
    owners = {row.number: row.learner for row in await rows.rows_of(connection, EVENT, "number", told_by)}
    for number, learner in told_by.items():
        if owners.get(number) != learner:
            raise Broken(f"learner {learner}: a reply about them refers to event {number}, which is not theirs")
    return len(found)


async def check_statements(connection: AsyncConnection) -> None:
    """That the answers to statements of xAPI, which are kept as they were given, tell outcomes as the events do."""
    query = select(REPLY).where(REPLY.c.learner == "").order_by(REPLY.c.id).limit(rows.CHUNK)
    last = ""
    while found := (await connection.execute(query.where(REPLY.c.id > last))).all():
        for row in found:
            await _check_told(connection, row.answer)
        last = found[-1].id


async def _check_told(connection: AsyncConnection, answer: str) -> None:
    try:
        content = json.loads(answer)
        results = content.get("results", []) if isinstance(content, dict) else []
        given = {one["outcome"]["number"]: one["outcome"] for one in results if one.get("outcome")}
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise Broken("a reply to statements is not in the form of one") from error
    found = await rows.rows_of(connection, EVENT, "number", given, EVENT.c.kind == "outcome")
    said = {row.number: asdict(outcome_view(rows.event_of(row))) for row in found}
    for number, outcome in given.items():
        if outcome | {"again": False} != said.get(number):
            raise Broken(f"event {number}: a reply to statements tells its outcome otherwise")


async def _notes(connection: AsyncConnection, said: Said) -> int:
    """That a teacher's words are those that the event seals, until the learner is erased."""
    found = {row.number: Note._make(row) for row in await rows.rows_of(connection, NOTE, "number", said.words)}
    for number, (learner, sealed) in said.words.items():
        note = found.get(number)
        if note is None and learner not in said.erased:
            raise Broken(f"event {number}: the teacher's words are no longer there")
        if note is not None and learner in said.erased:
            raise Broken(f"event {number}: words about an erased learner are still there")
        if note is not None and (learner, sealed) != (note.learner, commitment(note.salt, note.teacher, note.reason)):
            raise Broken(f"event {number}: the teacher's words are not those that it seals")
    return len(found)
