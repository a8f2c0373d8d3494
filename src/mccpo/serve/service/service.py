"""The service: what a tutoring platform asks of it, however the request came.

Requests that change something go through the one writer. Every call names its tenant, who never sees anything of
another.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Any, Self, TypeVar

from sqlalchemy import delete, select

from mccpo.serve.policy.release import Release
from mccpo.serve.policy.releases import Releases, check_compatible
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Head
from mccpo.serve.record.live_releases import read_live_releases, resume_releases, write_live_releases
from mccpo.serve.record.schema import HEAD, RELEASE, REPLY, STANDING
from mccpo.serve.record.store import Store
from mccpo.serve.service import messages as msg
from mccpo.serve.service.commands import Request
from mccpo.serve.service.database import unavailable_on_failure
from mccpo.serve.service.feed import EventFeed
from mccpo.serve.service.reader import Reader
from mccpo.serve.service.replies import IdempotentRequest, ReplyStore
from mccpo.serve.service.sessions import Lapse
from mccpo.serve.service.terms import Terms
from mccpo.serve.service.writer import Writer

log = logging.getLogger("mccpo.serve")

ViewT = TypeVar("ViewT")
_RANDOM = random.SystemRandom()
_HEAD = select(HEAD.c.number, HEAD.c.hash, HEAD.c.at)


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Service(Reader):
    """Decides, and keeps the record. Used as `async with Service(store, releases) as service`."""

    def __init__(
        self,
        store: Store,
        releases: Releases,
        terms: Terms | None = None,
        *,
        clock: Callable[[], int] = wall_clock,
        draw: Callable[[], float] = _RANDOM.random,
    ) -> None:
        self.store = store
        self.terms = terms or Terms()
        self._writer = Writer(store, releases, self.terms, clock, draw)
        self._changing = asyncio.Lock()
        self.feed = EventFeed(store, self._writer)
        self.replies = ReplyStore(store, clock, self.terms.reply_seconds)

    async def __aenter__(self) -> Self:
        await self.store.open()
        try:
            await self._resume()
        except BaseException:
            await self.store.close()
            raise
        self._writer.start()
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
        self, change: Callable[[Releases], Releases], request: IdempotentRequest | None = None
    ) -> dict[str, Any]:
        """Makes other releases live, from the next batch of requests on and after a restart too; returns them.

        With `request` the change is made once, and a repeated request gets the first answer, which is stored with the
        change.
        """
        async with self._changing:
            with unavailable_on_failure():
                async with self.store.writing() as (connection, _):
                    stored = None if request is None else await self.replies.lookup(connection, request)
                    if stored is not None:
                        return dict(stored)
                    live = change(self.releases)
                    check_compatible(self.release, live.current)
                    await write_live_releases(connection, self._writer.named, live)
                    answer = live.told()
                    if request is not None:
                        await self.replies.save(connection, request, answer)
            self._writer.live = live
            return answer

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
        """Ends sessions that timed out, erases learners past retention, drops old replies; counts the first two.

        A learner whose rows are damaged is passed over, so the others are still tidied.
        """
        now = self._writer.clock()
        requests = await self._overdue(now)
        done, failed = 0, []
        for tenant, request in requests:
            try:
                done += await self._writer.submit(tenant, request) is not None
            except Exception as error:
                failed.append(error)
        if failed:
            log.warning("%d of %d left as they are, the last because: %s", len(failed), len(requests), failed[-1])
        oldest = now - self.terms.reply_seconds * 1000
        with unavailable_on_failure():
            async with self.store.writing() as (connection, _):
                await connection.execute(delete(REPLY).where(REPLY.c.at < oldest))
        return done

    async def check_ready(self) -> None:
        """Raises `Unavailable` unless the database can be written to now, and has room for what comes next."""
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
        """Continues with the releases that were live, if there is a record already."""
        async with self.store.reading() as connection:
            version = (await connection.execute(select(RELEASE.c.version).limit(1))).scalar()
            recorded = await rows.read_releases(connection, [] if version is None else [version])
            for release in recorded.values():  # one stands for all: those on record are compatible with each other
                check_compatible(release, self.release)
            live = resume_releases(await read_live_releases(connection), self.releases)
            self._writer.check_clock(Head._make((await connection.execute(_HEAD)).one()))
        self._writer.live = live

    async def _submit(self, kind: type[ViewT], tenant: str, request: Request, key: str | None) -> ViewT:
        answer = await self._writer.submit(tenant, request, key)
        if not isinstance(answer, kind):
            raise TypeError(f"a {type(request).__name__} was answered by {answer!r}")
        return answer
