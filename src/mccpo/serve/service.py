"""The service: what a tutoring platform asks of it, whatever the request came by.

What writes goes through the one writer. What reads sees what is committed. Every call names its tenant, to whom nothing
of another exists.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Any, Self, TypeVar

from sqlalchemy import delete, func, select
from sqlalchemy.exc import SQLAlchemyError

from mccpo.serve import reads, rows
from mccpo.serve.commands import Lapse, Request
from mccpo.serve.course import Course, follow
from mccpo.serve.desk import Happened, Terms
from mccpo.serve.messages import (
    BeginSession,
    DecisionView,
    EndSession,
    Erase,
    ErasureView,
    LearnerView,
    Next,
    Outcome,
    OutcomeView,
    Override,
    PresenceView,
    Register,
    SessionView,
    StateView,
)
from mccpo.serve.problems import Missing, Unavailable
from mccpo.serve.release import Release
from mccpo.serve.releases import Releases, check_compatible
from mccpo.serve.rows import Identity
from mccpo.serve.schema import LEARNER, RELEASE, REPLY, STANDING
from mccpo.serve.store import Store, cause
from mccpo.serve.writer import Writer

ViewT = TypeVar("ViewT")
_RANDOM = random.SystemRandom()


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Service:
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
        self._label_listeners: list[Callable[[str, str, Mapping[str, str]], None]] = []

    async def __aenter__(self) -> Self:
        await self.store.open()
        try:
            async with self.store.reading() as connection:
                version = (await connection.execute(select(RELEASE.c.version).limit(1))).scalar()
                kept = await rows.read_releases(connection, [] if version is None else [version])
            for release in kept.values():  # all that are on record are alike in this
                check_compatible(release, self.release)
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
        """The live releases. Others may be set at any time; the next batch of requests is decided by them."""
        return self._writer.live

    @releases.setter
    def releases(self, live: Releases) -> None:
        check_compatible(self._writer.live.current, live.current)
        self._writer.live = live

    @property
    def release(self) -> Release:
        return self.releases.current

    # ---- what writes

    async def register(self, tenant: str, request: Register, key: str | None = None) -> LearnerView:
        """Registers a learner by the tenant's own name; one who is known gets these labels."""
        answer = await self._write(LearnerView, tenant, request, key)
        for listener in self._label_listeners:
            listener(tenant, answer.id, answer.labels)
        return answer

    async def begin_session(self, tenant: str, request: BeginSession, key: str | None = None) -> SessionView:
        return await self._write(SessionView, tenant, request, key)

    async def end_session(self, tenant: str, request: EndSession, key: str | None = None) -> SessionView:
        return await self._write(SessionView, tenant, request, key)

    async def next(self, tenant: str, request: Next, key: str | None = None) -> DecisionView:
        """Decides what comes next, or repeats the decision that waits for its outcome."""
        return await self._write(DecisionView, tenant, request, key)

    async def outcome(self, tenant: str, request: Outcome, key: str | None = None) -> OutcomeView:
        """Takes how an activity went, and updates mastery by it, once."""
        return await self._write(OutcomeView, tenant, request, key)

    async def override(self, tenant: str, request: Override, key: str | None = None) -> DecisionView:
        return await self._write(DecisionView, tenant, request, key)

    async def erase(self, tenant: str, request: Erase, key: str | None = None) -> ErasureView:
        return await self._write(ErasureView, tenant, request, key)

    async def tidy(self) -> int:
        """Ends sessions that were left, erases whom retention names, drops old replies; counts the first two."""
        now, terms = self._writer.clock(), self.terms
        async with self._reading() as connection:
            left = STANDING.c.session.is_not(None) & (STANDING.c.active < now - terms.session_seconds * 1000)
            requests: list[tuple[str, Request]] = [
                (row.tenant, Lapse(row.learner)) for row in await connection.execute(select(STANDING).where(left))
            ]
            if terms.retention_seconds is not None:
                old = ~STANDING.c.erased & (STANDING.c.active < now - terms.retention_seconds * 1000)
                found = await connection.execute(select(STANDING).where(old))
                requests += [(row.tenant, Erase(row.learner, "retention")) for row in found]
        for tenant, request in requests:
            await self._writer.submit(tenant, request)
        try:
            async with self.store.writing() as (writing, _):
                await writing.execute(delete(REPLY).where(REPLY.c.at < now - terms.reply_seconds * 1000))
        except (SQLAlchemyError, OSError) as error:
            raise Unavailable(f"the database failed: {cause(error)}") from error
        return len(requests)

    # ---- what reads

    async def learner(self, tenant: str, learner: str) -> LearnerView:
        async with self._reading() as connection:
            return reads.learner_view(await reads.identity(connection, tenant, learner))

    async def named(self, tenant: str, name: str) -> LearnerView:
        """The learner of a tenant's own name."""
        async with self._reading() as connection:
            found = await rows.identities_named(connection, [(tenant, name)])
        if not found:
            raise Missing("there is no learner of that name")
        return reads.learner_view(found[0])

    async def learners(self, tenant: str, *, after: str = "", limit: int = 100) -> list[LearnerView]:
        """A tenant's learners in the order of their ids, from the one after `after`."""
        mine = (LEARNER.c.tenant == tenant) & LEARNER.c.erased.is_(None) & (LEARNER.c.id > after)
        async with self._reading() as connection:
            found = await connection.execute(select(LEARNER).where(mine).order_by(LEARNER.c.id).limit(limit))
            return [reads.learner_view(rows.identity_of(row)) for row in found]

    async def present(self, tenant: str, part: str = "", *, skip: int = 0, limit: int = 50) -> list[PresenceView]:
        """A tenant's learners whose name has `part` in it, who was heard of last first."""
        async with self._reading() as connection:
            return await reads.presences(connection, tenant, self.release.theta, part, skip, limit)

    async def names(self, tenant: str, learners: Collection[str]) -> dict[str, str]:
        """The names of a tenant's learners by id; those who were erased have none."""
        async with self._reading() as connection:
            found = await rows.rows_of(connection, LEARNER, "id", learners, LEARNER.c.tenant == tenant)
        return {row.id: row.name for row in found if row.name is not None}

    async def state(self, tenant: str, learner: str) -> StateView:
        """Where a learner stands: mastery, what is ready, and what is locked by which prerequisites."""
        async with self._reading() as connection:
            course = await reads.course(connection, tenant, learner, self._writer.releases)
            return reads.state_view(course, self._writer.releases[course.release])

    async def decision(self, tenant: str, decision: str) -> DecisionView:
        async with self._reading() as connection:
            found = await reads.decisions(connection, tenant, ids=[decision])
        if not found:
            raise Missing(f"there is no decision {decision}")
        return found[0]

    async def decisions(
        self, tenant: str, *, learner: str | None = None, after: int = 0, limit: int = 100
    ) -> list[DecisionView]:
        """Decisions in the order of the record, from the one after number `after`."""
        async with self._reading() as connection:
            return await reads.decisions(connection, tenant, learner=learner, after=after, limit=limit)

    async def latest(
        self, tenant: str, *, learner: str | None = None, after: int = 0, before: int | None = None, limit: int = 50
    ) -> list[DecisionView]:
        """The newest decisions between two numbers of the record, the newest first."""
        async with self._reading() as connection:
            return await reads.decisions(
                connection, tenant, learner=learner, after=after, before=before, limit=limit, newest=True
            )

    async def among(self, tenant: str, ids: Collection[str]) -> list[DecisionView]:
        """Those of a tenant's decisions that have one of the ids."""
        async with self._reading() as connection:
            return await reads.decisions(connection, tenant, ids=ids, limit=len(ids))

    async def export(self, tenant: str, *, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """One row a decision: the columns of a log, and what off-policy evaluation needs."""
        while True:  # a connection for each chunk: who reads slowly must not keep one from the others
            async with self._reading() as connection:
                chunk = await reads.decisions(connection, tenant, after=after, limit=rows.CHUNK)
                found = await reads.exported(connection, chunk)
            for row in found:
                yield row
            if len(chunk) < rows.CHUNK:
                return
            after = chunk[-1].number

    async def export_learner(self, tenant: str, learner: str) -> dict[str, Any]:
        """All that is kept about one learner."""
        state = await self.state(tenant, learner)
        async with self._reading() as connection:
            return await reads.everything(connection, tenant, learner, state)

    async def ready(self) -> None:
        """Raises `Unavailable` unless the database can be written to now."""
        try:
            async with self.store.writing() as (connection, head):
                await rows.write_head(connection, head)
        except (SQLAlchemyError, OSError) as error:
            raise Unavailable(f"the database failed: {cause(error)}") from error

    # ---- who listens

    def listen(self, listener: Callable[[Happened], None]) -> None:
        """Calls `listener` with every event once it is on record, in order."""
        self._writer.listeners.append(listener)

    def listen_labels(self, listener: Callable[[str, str, Mapping[str, str]], None]) -> None:
        """Calls `listener` with tenant, learner and labels at every registration: events do not tell them."""
        self._label_listeners.append(listener)

    @property
    def releases_on_record(self) -> Mapping[str, Release]:
        """The releases of all events that were heard or replayed so far, by version."""
        return self._writer.releases

    async def identities(self) -> AsyncIterator[Identity]:
        """Who all learners are that were not erased."""
        async with self._reading() as connection:
            for row in await connection.execute(select(LEARNER).where(LEARNER.c.erased.is_(None))):
                yield rows.identity_of(row)

    async def happened(self) -> AsyncIterator[Happened]:
        """Replays the record from its beginning."""
        courses: dict[str, Course] = {}
        async with self._reading() as connection:
            versions = (await connection.execute(select(RELEASE.c.version))).scalars().all()
            missing = set(versions) - self._writer.releases.keys()
            self._writer.releases |= await rows.read_releases(connection, missing)
            async for row in rows.events_after(connection):
                event = rows.event_of(row)
                before = courses.get(event.learner)
                courses[event.learner] = follow(before, event, self._writer.releases)
                yield Happened(event, before, courses[event.learner])

    async def count(self) -> int:
        """The learners on record, over all tenants."""
        async with self._reading() as connection:
            return int((await connection.execute(select(func.count()).select_from(LEARNER))).scalar_one())

    # ---- within

    async def _write(self, kind: type[ViewT], tenant: str, request: Request, key: str | None) -> ViewT:
        answer = await self._writer.submit(tenant, request, key)
        if not isinstance(answer, kind):
            raise TypeError(f"a {type(request).__name__} was answered by {answer!r}")
        return answer

    def _reading(self) -> reads.Reading:
        return reads.Reading(self.store)
