"""The events of the record for those who follow it: replayed from the database, and passed on as they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.learner_history import LearnerHistory, apply_event
from mccpo.serve.record.rows import Identity
from mccpo.serve.record.schema import EVENT, HEAD, LEARNER
from mccpo.serve.record.store import Store
from mccpo.serve.service.database import Reading
from mccpo.serve.service.unit_of_work import RecordedEvent
from mccpo.serve.service.writer import EventListener, LabelListener, Writer


class EventFeed:
    """Over all tenants, and over all services that write to the same record."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store, self._writer = store, writer

    @property
    def releases(self) -> Mapping[str, Release]:
        """The releases of all events that were passed on or replayed so far, by version."""
        return self._writer.releases

    def listen(self, listener: EventListener) -> None:
        """Calls `listener` with every event that this service writes, once it is on record, in order."""
        self._writer.listeners.append(listener)

    def listen_to_labels(self, listener: LabelListener) -> None:
        """Calls `listener` with tenant, learner and labels once they are stored: events do not contain them.

        An answer that is repeated for its idempotency key stores nothing, so nobody is called.
        """
        self._writer.label_listeners.append(listener)

    async def identities(self, learners: Collection[str] | None = None) -> AsyncIterator[Identity]:
        """The identities of learners who are not erased: all of them, or some by id."""
        not_erased = LEARNER.c.erased.is_(None)
        async with Reading(self._store) as connection:
            if learners is None:
                matching = list((await connection.execute(select(LEARNER).where(not_erased))).all())
            else:
                matching = await rows.select_rows(connection, LEARNER, "id", learners, not_erased)
        for row in matching:
            yield rows.identity_from_row(row)

    async def last_number(self) -> int:
        """The number of the last event on record, whichever service wrote it."""
        async with Reading(self._store) as connection:
            return int((await connection.execute(select(HEAD.c.number))).scalar_one())

    async def replay(
        self, after: int = 0, histories: dict[str, LearnerHistory] | None = None
    ) -> AsyncIterator[RecordedEvent]:
        """Replays the record from the event after a number on.

        `histories` are those of learners as of that event, and are kept up to date. The history of any other learner is
        rebuilt from their events.
        """
        histories = {} if histories is None else histories
        async with Reading(self._store) as connection:
            missing = set(await rows.release_versions(connection)) - self._writer.releases.keys()
            self._writer.releases |= await rows.read_releases(connection, missing)
            async for row in rows.events_after(connection, after):
                event = rows.event_from_row(row)
                before = histories.get(event.learner)
                if before is None and after:
                    before = await self._history_at(connection, event.learner, after)
                histories[event.learner] = apply_event(before, event, self._writer.releases)
                yield RecordedEvent(event, before, histories[event.learner])

    async def _history_at(self, connection: AsyncConnection, learner: str, number: int) -> LearnerHistory | None:
        """A learner's history up to an event."""
        history: LearnerHistory | None = None
        theirs = (EVENT.c.learner == learner) & (EVENT.c.number <= number)
        async for row in rows.events_after(connection, 0, theirs):
            history = apply_event(history, rows.event_from_row(row), self._writer.releases)
        return history
