"""The events of the record for those who follow it: replayed from the database, and passed on as they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping

from sqlalchemy import delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.policy.release import Release
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Head
from mccpo.serve.record.learner_history import LearnerHistory, apply_event
from mccpo.serve.record.rows import Identity
from mccpo.serve.record.schema import EVENT, HEAD, LEARNER, MONITOR
from mccpo.serve.record.store import Store
from mccpo.serve.service.database import Reading, unavailable_on_failure
from mccpo.serve.service.unit_of_work import RecordedEvent
from mccpo.serve.service.writer import BatchReport, EventListener, LabelListener, Writer


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

    def listen_to_batches(self, listener: Callable[[BatchReport], None]) -> None:
        """Calls `listener` after every batch of requests that this process has carried out, or failed to."""
        self._writer.batch_listeners.append(listener)

    @property
    def waiting(self) -> int:
        """How many requests wait in this process to be carried out."""
        return self._writer.waiting

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
            yield rows.identity_from_row(row, self._store.keyring)

    async def last_number(self) -> int:
        """The number of the last event on record, whichever service wrote it."""
        async with Reading(self._store) as connection:
            return int((await connection.execute(select(HEAD.c.number))).scalar_one())

    async def load_releases(self) -> None:
        """Reads the releases on record that are not known yet."""
        async with Reading(self._store) as connection:
            await self._load_releases(connection)

    async def _load_releases(self, connection: AsyncConnection) -> None:
        missing = set(await rows.release_versions(connection)) - self._writer.releases.keys()
        self._writer.releases |= await rows.read_releases(connection, missing)

    async def stored_states(self) -> tuple[Head, dict[str, bytes]] | None:
        """What followers had seen up to an event, by tenant; None unless that event is still on record."""
        async with Reading(self._store) as connection:
            stored = (await connection.execute(select(MONITOR))).all()
            heads = {(row.number, row.hash) for row in stored}
            if len(heads) != 1:
                return None
            ((number, hash),) = heads
            for row in await rows.select_rows(connection, EVENT, "number", [number], EVENT.c.hash == hash):
                return rows.event_from_row(row).head, {row.tenant: row.state for row in stored}
        return None

    async def store_states(self, head: Head, states: Mapping[str, bytes]) -> None:
        """Stores what followers have seen up to an event, in the place of what was stored before and has less."""
        entries = [
            {"tenant": tenant, "number": head.number, "hash": head.hash, "state": state}
            for tenant, state in states.items()
        ]
        with unavailable_on_failure():
            async with self._store.writing() as (connection, _):
                stored = (await connection.execute(select(func.max(MONITOR.c.number)))).scalar()
                if (stored or 0) > head.number:  # another process has seen more
                    return
                await connection.execute(delete(MONITOR))
                await connection.execute(insert(MONITOR), entries)

    async def replay(
        self, after: int = 0, histories: dict[str, LearnerHistory] | None = None
    ) -> AsyncIterator[RecordedEvent]:
        """Replays the record from the event after a number on.

        `histories` are those of learners as of that event, and are kept up to date. The history of any other learner is
        rebuilt from their events.
        """
        histories = {} if histories is None else histories
        async with Reading(self._store) as connection:
            await self._load_releases(connection)
            async for row in rows.events_after(connection, after):
                event = rows.event_from_row(row)
                if event.kind == "release":
                    yield RecordedEvent(event, None, None)
                    continue
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
