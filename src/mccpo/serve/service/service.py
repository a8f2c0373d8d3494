"""The service: what a tutoring platform asks of it, whatever the request came by.

What writes goes through the one writer. What reads sees what is committed. Every call names its tenant, to whom nothing
of another exists.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Any, Self, TypeVar

from sqlalchemy import delete, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.policy import stored_releases as releases_kept
from mccpo.serve.policy.release import Release
from mccpo.serve.policy.releases import Releases, check_compatible
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Head
from mccpo.serve.record.learner_history import Course, follow
from mccpo.serve.record.rows import Identity
from mccpo.serve.record.schema import EVENT, HEAD, LEARNER, RELEASE, REPLY, STANDING
from mccpo.serve.record.store import Store, cause
from mccpo.serve.service import queries as reads
from mccpo.serve.service.commands import Lapse, Request
from mccpo.serve.service.messages import (
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
from mccpo.serve.service.problems import Missing, Unavailable
from mccpo.serve.service.replies import Once, Replies
from mccpo.serve.service.unit_of_work import Happened, Terms
from mccpo.serve.service.writer import Writer

log = logging.getLogger("mccpo.serve")

ViewT = TypeVar("ViewT")
_RANDOM = random.SystemRandom()
_HEAD = select(HEAD.c.number, HEAD.c.hash, HEAD.c.at)


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
        self._changing = asyncio.Lock()
        self.replies = Replies(store, clock, self.terms.reply_seconds)

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

    async def change_releases(self, change: Callable[[Releases], Releases], once: Once | None = None) -> dict[str, Any]:
        """Makes other releases live, for the next batch of requests on and after a restart too; tells them.

        With `once` the change is made once, and asked for again it is answered as the first time: the answer is kept
        with the change.
        """
        async with self._changing:
            try:
                async with self.store.writing() as (connection, _):
                    found = None if once is None else await self.replies.found(connection, once)
                    if found is not None:
                        return dict(found)
                    live = change(self.releases)
                    check_compatible(self.release, live.current)
                    await releases_kept.keep(connection, self._writer.named, live)
                    answer = live.told()
                    if once is not None:
                        await self.replies.keep(connection, once, answer)
            except (SQLAlchemyError, OSError) as error:
                raise Unavailable(f"the database failed: {cause(error)}") from error
            self._writer.live = live
            return answer

    @property
    def release(self) -> Release:
        return self.releases.current

    # ---- what writes

    async def register(self, tenant: str, request: Register, key: str | None = None) -> LearnerView:
        """Registers a learner by the tenant's own name; one who is known gets these labels."""
        return await self._write(LearnerView, tenant, request, key)

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
        """Ends sessions that were left, erases whom retention names, drops old replies; counts the first two.

        Who cannot be tidied, because what is kept of them is damaged, keeps nobody else from it.
        """
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
        done, failed = 0, []
        for tenant, request in requests:
            try:
                done += await self._writer.submit(tenant, request) is not None
            except Exception as error:
                failed.append(error)
        if failed:
            log.warning("%d of %d left as they are, the last because: %s", len(failed), len(requests), failed[-1])
        try:
            async with self.store.writing() as (writing, _):
                await writing.execute(delete(REPLY).where(REPLY.c.at < now - terms.reply_seconds * 1000))
        except (SQLAlchemyError, OSError) as error:
            raise Unavailable(f"the database failed: {cause(error)}") from error
        return done

    # ---- what reads

    async def learner(self, tenant: str, learner: str) -> LearnerView:
        async with self._reading() as connection:
            return reads.learner_view(await reads.identity(connection, tenant, learner))

    async def named(self, tenant: str, name: str) -> LearnerView:
        """The learner of a tenant's own name."""
        async with self._reading() as connection:
            found = await rows.learners_named(connection, [(tenant, name)])
        if not found:
            raise Missing("there is no learner of that name")
        return reads.learner_view(reads.who(found[0]))

    async def learners(self, tenant: str, *, after: str = "", limit: int = 100) -> list[LearnerView]:
        """A tenant's learners in the order of their ids, from the one after `after`."""
        mine = (LEARNER.c.tenant == tenant) & LEARNER.c.erased.is_(None) & (LEARNER.c.id > after)
        async with self._reading() as connection:
            found = await connection.execute(select(LEARNER).where(mine).order_by(LEARNER.c.id).limit(limit))
            return [reads.learner_view(reads.who(row)) for row in found]

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
        return reads.state_view(course, self.release)  # by the gate that the next decision will pass

    async def decision(self, tenant: str, decision: str) -> DecisionView:
        async with self._reading() as connection:
            found = await reads.decisions(connection, tenant, ids=[decision])
        if not found:
            raise Missing(f"there is no decision {decision}")
        return found[0]

    async def told_by(self, tenant: str, statement: str) -> str | None:
        """The decision whose outcome an xAPI statement has reported, if it has."""
        async with self._reading() as connection:
            found = await rows.decisions_by_statement(connection, [(tenant, statement)])
        return found[0].id if found else None

    async def decisions(
        self, tenant: str, *, learner: str | None = None, after: int = 0, limit: int = 100
    ) -> list[DecisionView]:
        """Decisions in the order of the record, from the one after number `after`, of one learner or of all."""
        async with self._reading() as connection:
            if learner is not None:
                await reads.check_learner(connection, tenant, learner)
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

    async def export_columns(self, tenant: str) -> list[str]:
        """The columns of an export: those that all rows have, and one for each label that learners have now."""
        async with self._reading() as connection:
            return [*reads.EXPORTED, *(f"group_{name}" for name in await reads.labels(connection, tenant))]

    async def export_learner(self, tenant: str, learner: str) -> dict[str, Any]:
        """All that is kept about one learner."""
        state = await self.state(tenant, learner)
        async with self._reading() as connection:
            return await reads.everything(connection, tenant, learner, state)

    async def ready(self) -> None:
        """Raises `Unavailable` unless the database can be written to now, and has room for what comes next."""
        try:
            await self.store.check_room()
        except (SQLAlchemyError, OSError) as error:
            raise Unavailable(f"the database failed: {cause(error)}") from error

    # ---- who listens

    def listen(self, listener: Callable[[Happened], None]) -> None:
        """Calls `listener` with every event once it is on record, in order."""
        self._writer.listeners.append(listener)

    def listen_labels(self, listener: Callable[[str, str, Mapping[str, str]], None]) -> None:
        """Calls `listener` with tenant, learner and labels once they are kept: events do not tell them.

        An answer that is given again for its idempotency key keeps nothing, and is not told.
        """
        self._writer.label_listeners.append(listener)

    @property
    def releases_on_record(self) -> Mapping[str, Release]:
        """The releases of all events that were heard or replayed so far, by version."""
        return self._writer.releases

    async def identities(self, learners: Collection[str] | None = None) -> AsyncIterator[Identity]:
        """Who learners are that were not erased: all of them, or some by id."""
        present = LEARNER.c.erased.is_(None)
        async with self._reading() as connection:
            if learners is None:
                found = (await connection.execute(select(LEARNER).where(present))).all()
            else:
                found = await rows.rows_of(connection, LEARNER, "id", learners, present)
        for row in found:
            yield rows.identity_of(row)

    async def newest(self) -> int:
        """The number of the last event on record, whoever wrote it."""
        async with self._reading() as connection:
            return int((await connection.execute(select(HEAD.c.number))).scalar_one())

    async def happened(self, after: int = 0, courses: dict[str, Course] | None = None) -> AsyncIterator[Happened]:
        """Replays the record from the event after a number on.

        `courses` are where learners were at that event. They follow what happens; who is not among them is looked up.
        """
        courses = {} if courses is None else courses
        async with self._reading() as connection:
            versions = (await connection.execute(select(RELEASE.c.version))).scalars().all()
            missing = set(versions) - self._writer.releases.keys()
            self._writer.releases |= await rows.read_releases(connection, missing)
            async for row in rows.events_after(connection, after):
                event = rows.event_of(row)
                before = courses.get(event.learner)
                if before is None and after:
                    before = await self._course_at(connection, event.learner, after)
                courses[event.learner] = follow(before, event, self._writer.releases)
                yield Happened(event, before, courses[event.learner])

    async def count(self) -> int:
        """The learners on record, over all tenants."""
        async with self._reading() as connection:
            return int((await connection.execute(select(func.count()).select_from(LEARNER))).scalar_one())

    # ---- within

    async def _course_at(self, connection: AsyncConnection, learner: str, number: int) -> Course | None:
        """Where a learner was at an event, by all that had happened to them."""
        found: Course | None = None
        theirs = (EVENT.c.learner == learner) & (EVENT.c.number <= number)
        async for row in rows.events_after(connection, 0, theirs):
            found = follow(found, rows.event_of(row), self._writer.releases)
        return found

    async def _resume(self) -> None:
        """Goes on with the releases that were live, if there is a record already."""
        async with self.store.reading() as connection:
            version = (await connection.execute(select(RELEASE.c.version).limit(1))).scalar()
            found = await rows.read_releases(connection, [] if version is None else [version])
            for release in found.values():  # all that are on record are alike in this
                check_compatible(release, self.release)
            live = releases_kept.resumed(await releases_kept.kept(connection), self.releases)
            self._writer.check_clock(Head._make((await connection.execute(_HEAD)).one()))
        self._writer.live = live

    async def _write(self, kind: type[ViewT], tenant: str, request: Request, key: str | None) -> ViewT:
        answer = await self._writer.submit(tenant, request, key)
        if not isinstance(answer, kind):
            raise TypeError(f"a {type(request).__name__} was answered by {answer!r}")
        return answer

    def _reading(self) -> reads.Reading:
        return reads.Reading(self.store)
