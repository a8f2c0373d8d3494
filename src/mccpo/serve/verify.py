"""`verify`: replays the record from its first event, and finds the first thing that does not hold.

It checks the chain of hashes; rebuilds every learner's mastery from the events alone; derives every gate and every
certificate again, from the mastery so rebuilt; and compares all that the service keeps besides the events with what the
events say. It needs nothing but the database: the releases that decided are kept in it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve import rows
from mccpo.serve.course import Course, follow, same
from mccpo.serve.deciding import recheck
from mccpo.serve.record import GENESIS, Broken, Event, Head, commitment, continues
from mccpo.serve.release import Release
from mccpo.serve.rows import Decided, Identity, Note, Sitting
from mccpo.serve.schema import DECISION, HEAD, LEARNER, NOTE, RELEASE, SESSION, STANDING
from mccpo.serve.store import Store


@dataclass
class Verdict:
    """What was found.

    - `events`, `decisions`, `outcomes`, `learners`: what was replayed.
    - `head`: the end of the chain. Kept elsewhere, it shows later whether the record was cut or rewritten.
    - `wrong`: the first thing that does not hold, in words; None where all does.
    """

    events: int = 0
    decisions: int = 0
    outcomes: int = 0
    learners: int = 0
    head: Head = GENESIS
    wrong: str | None = None


@dataclass
class _Replay:
    """All that the events say, up to now."""

    releases: dict[str, Release]
    head: Head = GENESIS
    courses: dict[str, Course] = field(default_factory=dict)
    decisions: dict[str, Decided] = field(default_factory=dict)
    sessions: dict[str, Sitting] = field(default_factory=dict)
    words: dict[int, tuple[str, str]] = field(default_factory=dict)
    erased: dict[str, int] = field(default_factory=dict)
    registered: dict[str, int] = field(default_factory=dict)


async def verify(
    store: Store, *, anchor: tuple[int, str] | None = None, progress: Callable[[int], None] | None = None
) -> Verdict:
    """Replays a record that is open. `anchor`: an event by number and hash, noted earlier, that must still be so."""
    verdict = Verdict()
    async with store.reading() as connection:
        try:
            await _replay(connection, verdict, anchor, progress or (lambda _: None))
        except Broken as finding:
            verdict.wrong = str(finding)
    return verdict


async def _replay(
    connection: AsyncConnection, verdict: Verdict, anchor: tuple[int, str] | None, progress: Callable[[int], None]
) -> None:
    replay = _Replay(await _releases(connection))
    async for row in rows.events_after(connection):
        event = _checked(row, replay)
        replay.head = verdict.head = event.head
        verdict.events += 1
        verdict.decisions += event.kind in ("decision", "override")
        verdict.outcomes += event.kind == "outcome"
        verdict.learners += event.kind == "learner"
        if anchor is not None and anchor[0] == event.number and anchor[1] != event.hash:
            raise Broken(f"event {event.number} has the hash {event.hash}, not {anchor[1]} as noted before")
        progress(verdict.events)
    if anchor is not None and anchor[0] > verdict.events:
        raise Broken(f"event {anchor[0]}, noted before, is not there: the record ends with event {verdict.events}")
    await _kept(connection, replay)


async def _releases(connection: AsyncConnection) -> dict[str, Release]:
    versions = (await connection.execute(select(RELEASE.c.version))).scalars().all()
    try:
        return await rows.read_releases(connection, versions)
    except InputError as error:
        raise Broken(error.what) from error


def _checked(row: Row[Any], replay: _Replay) -> Event:
    """The event of a row, once everything it says has been derived again."""
    try:
        event = rows.event_of(row)
        if (row.number, row.kind, row.tenant, row.learner) != (event.number, event.kind, event.tenant, event.learner):
            raise Broken("is filed as another")
        wrong = continues(replay.head, event) or _gate(event, replay)
        if wrong is not None:
            raise Broken(wrong)
        replay.courses[event.learner] = follow(replay.courses.get(event.learner), event, replay.releases)
        _FOLLOWED[event.kind](event, replay)
    except Broken as finding:
        raise Broken(f"{_named(row)}: {finding}") from finding
    except (InputError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Broken(f"{_named(row)}: cannot be read ({error!r})") from error
    return event


def _named(row: Row[Any]) -> str:
    """An event as a finding names it: a decision by its id as well."""
    try:
        decision = rows.event_of(row).content.get("decision")
    except Broken:
        decision = None
    return f"event {row.number}" + ("" if decision is None else f" ({row.kind} {decision})")


def _gate(event: Event, replay: _Replay) -> str | None:
    """What of a decision's gate and certificate cannot be derived again."""
    if event.kind not in ("decision", "override"):
        return None
    content, course = event.content, replay.courses.get(event.learner)
    release = replay.releases.get(content["release"])
    if course is None or release is None:
        return "is about a learner, or by a release, that is not on record"
    certificate = content["certificate"]
    if (certificate["by"] == "teacher") is not (event.kind == "override"):
        return f"is a {event.kind} by {certificate['by']!r}"
    return recheck(release, course.standing, content["concept"], content["activity"], certificate)


# ---- what each kind of event says of the other tables


def _on_learner(event: Event, replay: _Replay) -> None:
    replay.registered[event.learner] = event.at


def _on_session(event: Event, replay: _Replay) -> None:
    session = event.content["session"]
    if event.content["change"] == "ended":
        replay.sessions[session] = replay.sessions[session]._replace(ended=event.at, cause=event.content["cause"])
    elif session in replay.sessions:
        raise Broken(f"begins the session {session} once more")
    else:
        replay.sessions[session] = Sitting(session, event.tenant, event.learner, event.at)


def _on_decision(event: Event, replay: _Replay) -> None:
    content = event.content
    if content["decision"] in replay.decisions:
        raise Broken(f"takes the decision {content['decision']} once more")
    replay.decisions[content["decision"]] = Decided(
        content["decision"],
        event.number,
        event.tenant,
        event.learner,
        event.at,
        content["concept"],
        content["activity"],
    )
    if event.kind == "override":
        replay.words[event.number] = (event.learner, content["words"])


def _on_outcome(event: Event, replay: _Replay) -> None:
    content = event.content
    decided = replay.decisions.get(content["decision"])
    if decided is None or decided.learner != event.learner:
        raise Broken("reports on a decision that is not on record")
    if decided.outcome is not None:
        raise Broken(f"reports once more on a decision that event {decided.outcome} has reported on")
    if (decided.concept, decided.activity) != (content["concept"], content["activity"]):
        raise Broken("is about another activity than was decided")
    replay.decisions[decided.id] = decided._replace(outcome=event.number)


def _on_erasure(event: Event, replay: _Replay) -> None:
    replay.erased[event.learner] = event.at


_FOLLOWED: dict[str, Callable[[Event, _Replay], None]] = {
    "learner": _on_learner,
    "session": _on_session,
    "decision": _on_decision,
    "override": _on_decision,
    "outcome": _on_outcome,
    "erasure": _on_erasure,
}


# ---- the other tables


async def _kept(connection: AsyncConnection, replay: _Replay) -> None:
    """Compares what the service keeps besides the events with what they say."""
    heads = (await connection.execute(select(HEAD.c.number, HEAD.c.hash, HEAD.c.at))).all()
    if [Head._make(row) for row in heads] != [replay.head]:
        raise Broken(f"event {replay.head.number + 1}: is not there, although the record went on to it")
    await _compare(connection, DECISION, "number", replay.decisions, Decided._make, "decision")
    await _compare(connection, SESSION, "began", replay.sessions, Sitting._make, "session")
    async for row in _rows(connection, STANDING, "learner"):
        course = replay.courses.pop(row.learner, None)
        actions = 0 if course is None else len(replay.releases[course.release].actions)
        try:
            alike = course is not None and same(course, rows.course_of(row, actions))
        except (ValueError, TypeError):
            alike = False
        if not alike:
            raise Broken(f"learner {row.learner}: the standing is not what the events say")
    if replay.courses:
        raise Broken(f"learner {next(iter(replay.courses))}: the standing is not there")
    await _identities(connection, replay)
    await _notes(connection, replay)


async def _compare(
    connection: AsyncConnection, table: Table, order: str, said: dict[str, Any], made: Callable[[Any], Any], word: str
) -> None:
    async for row in _rows(connection, table, order):
        found = made(row)
        if said.pop(found.id, None) != found:
            raise Broken(f"{word} {found.id}: is not kept as the events say")
    if said:
        raise Broken(f"{word} {next(iter(said))}: is on record, and no longer kept")


async def _identities(connection: AsyncConnection, replay: _Replay) -> None:
    """That every learner is somebody or erased, and never both."""
    async for row in _rows(connection, LEARNER, "id"):
        try:
            found: Identity = rows.identity_of(row)
        except ValueError as error:
            raise Broken(f"learner {row.id}: the labels are damaged") from error
        if found.registered != replay.registered.pop(found.id, None) or found.erased != replay.erased.get(found.id):
            raise Broken(f"learner {found.id}: is not registered or erased as the events say")
        if (found.name is None) is not (found.erased is not None):
            raise Broken(f"learner {found.id}: is erased and has a name, or neither")
    if replay.registered:
        raise Broken(f"learner {next(iter(replay.registered))}: is on record, and no longer kept")


async def _notes(connection: AsyncConnection, replay: _Replay) -> None:
    """That a teacher's words are those that the event seals, until the learner is erased."""
    async for row in _rows(connection, NOTE, "number"):
        note = Note._make(row)
        sealed = replay.words.pop(note.number, None)
        if sealed != (note.learner, commitment(note.salt, note.teacher, note.reason)):
            raise Broken(f"event {note.number}: the teacher's words are not those that it seals")
        if note.learner in replay.erased:
            raise Broken(f"event {note.number}: words about an erased learner are still there")
    for number, (learner, _) in replay.words.items():
        if learner not in replay.erased:
            raise Broken(f"event {number}: the teacher's words are no longer there")


async def _rows(connection: AsyncConnection, table: Table, order: str) -> AsyncIterator[Row[Any]]:
    result = await connection.stream(select(table).order_by(table.c[order]))
    async for row in result:
        yield row
