"""The service: what a tutoring platform asks of it, however the request came.

Requests that change something go through the one writer. Every call names its tenant, who never sees anything of
another.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.release import Release
from mccpo.serve.policy.releases import Releases, check_compatible, check_gate, gate_text
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Event
from mccpo.serve.record.engine import failure_text
from mccpo.serve.record.live_releases import (
    ReleaseChange,
    StoredReleases,
    read_live_releases,
    record_releases,
    resume_releases,
)
from mccpo.serve.record.schema import HEAD, LEARNER, RELEASE, REPLY, STANDING
from mccpo.serve.record.store import Store
from mccpo.serve.service import messages as msg
from mccpo.serve.service.commands import Request
from mccpo.serve.service.database import Readiness, unavailable_on_failure
from mccpo.serve.service.feed import EventFeed
from mccpo.serve.service.reader import Reader
from mccpo.serve.service.replies import IdempotentRequest, ReplyStore
from mccpo.serve.service.roll import NameSearch
from mccpo.serve.service.sessions import Lapse
from mccpo.serve.service.terms import Terms
from mccpo.serve.service.unit_of_work import RecordedEvent
from mccpo.serve.service.writer import Writer

log = logging.getLogger("mccpo.serve")

ViewT = TypeVar("ViewT")
_RANDOM = random.SystemRandom()


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _told(stored: StoredReleases) -> tuple[str, dict[str, Any]]:
    return stored.named, stored.live.told()


class Service(Reader):
    """Decides, and keeps the record. Used as `async with Service(store, releases) as service`.

    With `lower_gate` the release that it starts with may open its gate earlier than the one that decided last.
    """

    def __init__(
        self,
        store: Store,
        releases: Releases,
        terms: Terms | None = None,
        *,
        clock: Callable[[], int] = wall_clock,
        draw: Callable[[], float] = _RANDOM.random,
        lower_gate: bool = False,
    ) -> None:
        self.store = store
        self.terms = terms or Terms()
        self.clock = clock
        self._writer = Writer(store, releases, self.terms, clock, draw)
        self._given, self._lower_gate = releases, lower_gate
        self._changing = asyncio.Lock()
        self._classes = {}
        self._readiness = Readiness(self._check_room, lambda: self._writer.changes)
        self.feed = EventFeed(store, self._writer)
        self.names_held = NameSearch(store)
        self.feed.listen(self.names_held.on_event)
        self.replies = ReplyStore(store, clock, self.terms.reply_seconds)

    async def __aenter__(self) -> Self:
        await self.store.open()
        try:
            await self._resume()
        except (SQLAlchemyError, OSError) as error:
            await self.store.close()
            what = f"cannot write to the database {self.store.name}: {failure_text(error)}"
            raise InputError(what, fix="see what holds it") from None
        except BaseException:
            await self.store.close()
            raise
        self._writer.start()
        try:
            await self._finish_erasures()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._writer.stop()
        await self.store.close()

    # ---- what decides

    @property
    def releases(self) -> Releases:
        """The live releases."""
        return self._writer.live

    @property
    def release(self) -> Release:
        return self.releases.current

    @property
    def releases_on_record(self) -> dict[str, Release]:
        return self._writer.releases

    async def change_releases(
        self,
        change: Callable[[Releases], Releases],
        request: IdempotentRequest | None = None,
        *,
        what: ReleaseChange = "loaded",
        key: Mapping[str, str] | None = None,
        lower_gate: bool = False,
    ) -> dict[str, Any]:
        """Makes other releases live, for every process of the record and after a restart too; returns them.

        The change is an event that names the `key` it came by. One that lets a looser gate decide is refused without
        `lower_gate`; one that changes nothing leaves no event. With `request` the change is made once, and a repeated
        request gets the first answer, which is stored with the change.
        """
        async with self._changing:
            event = None
            with unavailable_on_failure():
                async with self.store.turn() as (connection, head, number):
                    answered = None if request is None else await self.replies.lookup(connection, request)
                    if answered is not None:
                        return dict(answered)
                    before = await self._live_on_record(connection, number)
                    stored = StoredReleases(before.named, change(before.live))
                    check_compatible(before.live.current, stored.live.current)
                    if not lower_gate:
                        check_gate(before.live.current, stored.live.current, "send lower_gate: true if that is meant")
                    answer = stored.live.told()
                    if answer != before.live.told():
                        event = await record_releases(connection, head, self.clock(), what, stored, key)
                    if request is not None:
                        await self.replies.save(connection, request, answer)
            if event is not None:
                self._changed(stored, event)
            return answer

    async def refresh(self) -> None:
        """Reads which releases are live, as another process may have changed it."""
        async with self._reading() as connection:
            await self._refresh(connection)

    def _changed(self, stored: StoredReleases, event: Event) -> None:
        self._writer.adopt(stored, event.number)
        self._writer.pass_on(RecordedEvent(event, None, None))
        log.info(
            "release %s decides, by %s (%s, key %s)",
            stored.live.current.version,
            gate_text(stored.live.current),
            event.content["change"],
            (event.content["key"] or {}).get("id", "none"),
        )

    async def _live_on_record(self, connection: AsyncConnection, number: int | None) -> StoredReleases:
        stored = await read_live_releases(connection, number, self._writer.releases)
        if stored is None:
            raise RuntimeError("which releases are live was not put on record at the start")
        return stored

    async def _refresh(self, connection: AsyncConnection) -> None:
        number = (await connection.execute(select(HEAD.c.live))).scalar_one()
        await self._writer.follow(connection, number)

    # ---- what changes something

    async def register(self, tenant: str, request: msg.Register, key: str | None = None) -> msg.LearnerView:
        """Registers a learner by the tenant's own name; a learner of that name gets these labels."""
        return await self._submit(msg.LearnerView, tenant, request, key)

    async def begin_session(self, tenant: str, request: msg.BeginSession, key: str | None = None) -> msg.SessionView:
        return await self._submit(msg.SessionView, tenant, request, key)

    async def end_session(self, tenant: str, request: msg.EndSession, key: str | None = None) -> msg.SessionView:
        return await self._submit(msg.SessionView, tenant, request, key)

    async def next(self, tenant: str, request: msg.Next, key: str | None = None) -> msg.DecisionView:
        """Decides what comes next, or repeats the decision that waits for its outcome."""
        return await self._submit(msg.DecisionView, tenant, request, key)

    async def outcome(self, tenant: str, request: msg.Outcome, key: str | None = None) -> msg.OutcomeView:
        """Records how an activity went, and updates mastery by it, once."""
        return await self._submit(msg.OutcomeView, tenant, request, key)

    async def override(self, tenant: str, request: msg.Override, key: str | None = None) -> msg.DecisionView:
        return await self._submit(msg.DecisionView, tenant, request, key)

    async def erase(self, tenant: str, request: msg.Erase, key: str | None = None) -> msg.ErasureView:
        return await self._submit(msg.ErasureView, tenant, request, key)

    async def tidy(self) -> int:
        """Ends sessions that timed out, erases learners past retention; counts these two. Drops old replies, and names
        that are no longer searched.

        A learner whose rows are damaged is passed over, so the others are still tidied.
        """
        now = self._writer.clock()
        requests = await self._overdue(now)
        results: list[Any] = []
        for start in range(
            0, len(requests), self.terms.batch
        ):  # each share of them is one commit, with what else waits
            due = requests[start : start + self.terms.batch]
            submitted = (self._writer.submit(tenant, request) for tenant, request in due)
            results += await asyncio.gather(*submitted, return_exceptions=True)
        failed = [result for result in results if isinstance(result, Exception)]
        done = sum(result is not None for result in results) - len(failed)
        if failed:
            log.warning("%d of %d left as they are, the last because: %s", len(failed), len(requests), failed[-1])
        oldest = now - self.terms.reply_seconds * 1000
        with unavailable_on_failure():
            async with self.store.writing() as (connection, _):
                await connection.execute(delete(REPLY).where(REPLY.c.at < oldest))
        await self.names_held.tidy()
        return done

    async def check_ready(self) -> None:
        """Raises `Unavailable` unless the database can be written to, and has room for what comes next.

        That is tried every few seconds at most, and anew once a commit has failed.
        """
        await self._readiness.check()

    async def _check_room(self) -> None:
        with unavailable_on_failure():
            await self.store.check_room()

    # ---- within

    async def _overdue(self, now: int) -> list[tuple[str, Request]]:
        """What is due by the clock: the end of sessions that timed out, and erasures by retention."""
        terms = self.terms
        async with self._reading() as connection:
            timed_out = STANDING.c.session.is_not(None) & (STANDING.c.active < now - terms.session_seconds * 1000)
            sessions = await connection.execute(select(STANDING).where(timed_out))
            requests: list[tuple[str, Request]] = [(row.tenant, Lapse(row.learner)) for row in sessions]
            if terms.retention_seconds is not None:
                expired = ~STANDING.c.erased & (STANDING.c.active < now - terms.retention_seconds * 1000)
                learners = await connection.execute(select(STANDING).where(expired))
                requests += [(row.tenant, msg.Erase(row.learner, "retention")) for row in learners]
        return requests

    async def _resume(self) -> None:
        """Continues with the releases that were live, or puts on record that others are from now on."""
        event = None
        async with self.store.turn() as (connection, head, number):
            version = (await connection.execute(select(RELEASE.c.version).limit(1))).scalar()
            recorded = await rows.read_releases(connection, [] if version is None else [version])
            for release in recorded.values():  # one stands for all: those on record are compatible with each other
                check_compatible(release, self._given.current)
            before = await read_live_releases(connection, number, {})
            stored = StoredReleases(self._given.current.version, resume_releases(before, self._given), number)
            if before is not None and not self._lower_gate:
                check_gate(before.live.current, stored.live.current, "give --lower-gate if that is meant")
            self._writer.check_clock(head)
            if before is None or number is None or _told(before) != _told(stored):
                event = await record_releases(connection, head, self.clock(), "started", stored, None)
        if event is not None:
            self._changed(stored, event)
        elif number is not None:
            self._writer.adopt(stored, number)

    async def _finish_erasures(self) -> None:
        """Erases the keys of who is erased on record, and on record whose key is erased: a crash or an older copy that
        was restored may have left one without the other."""
        keyring = self.store.keyring
        async with self._reading() as connection:
            erased = LEARNER.c.erased.is_not(None) & LEARNER.c.slot.is_not(None)
            query = select(LEARNER.c.id, LEARNER.c.slot).where(erased)
            await asyncio.to_thread(keyring.erase, [(row.id, row.slot) for row in await connection.execute(query)])
            not_erased = LEARNER.c.erased.is_(None)
            without_key = await rows.select_rows(connection, LEARNER, "id", set(keyring.erased()), not_erased)
        for row in without_key:
            await self._writer.submit(row.tenant, msg.Erase(row.id, "restored"))
        if without_key:
            log.warning("%d learners were erased once more: this is an older copy of the record", len(without_key))

    async def _submit(self, kind: type[ViewT], tenant: str, request: Request, key: str | None) -> ViewT:
        answer = await self._writer.submit(tenant, request, key)
        if not isinstance(answer, kind):
            raise TypeError(f"a {type(request).__name__} was answered by {answer!r}")
        return answer
