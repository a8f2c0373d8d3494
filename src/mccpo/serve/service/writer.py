"""The one writer: it takes all requests that wait, carries them out, and answers them after one commit.

A commit that is on the disk costs the same for one request as for a hundred. While one is under way requests gather, so
that the busier the service is, the more of them share a commit. No request is answered before its commit has succeeded;
if it does not, all of them are told that nothing was done.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import sqlite3
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, NamedTuple

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy import stored_releases as releases_kept
from mccpo.serve.policy.release import Release
from mccpo.serve.policy.releases import Releases
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Head, canonical, told
from mccpo.serve.record.learner_history import Course
from mccpo.serve.record.rows import Identity, Reply
from mccpo.serve.record.store import Store, cause
from mccpo.serve.service.commands import Request, check_again, perform
from mccpo.serve.service.idempotency import reference, retold
from mccpo.serve.service.loading import lay_out
from mccpo.serve.service.messages import Answer, LearnerView, Outcome
from mccpo.serve.service.problems import Conflict, Problem, Unavailable, Unprocessable
from mccpo.serve.service.replies import OTHER, reply_id
from mccpo.serve.service.unit_of_work import Desk, Happened, Terms, Work

log = logging.getLogger("mccpo.serve")

AHEAD = 60_000
"""Milliseconds by which the record may be ahead of the clock before somebody is told."""
MOST_TEXT = 4096
"""Characters of a text in a request."""


class Waiting(NamedTuple):
    """A request that waits for its answer. `reply` is the id of its idempotency key, `digest` the hash of its body."""

    tenant: str
    request: Request
    reply: str | None
    digest: str
    answer: asyncio.Future[Answer | None]


class Writer:
    """Carries out requests in the order in which they come. `live` may be set to other releases at any time.

    `named` is the version that the service was started with; with the first commit the database keeps what is live.
    """

    def __init__(
        self, store: Store, live: Releases, terms: Terms, clock: Callable[[], int], draw: Callable[[], float]
    ) -> None:
        self.store, self.live, self.terms, self.clock, self.draw = store, live, terms, clock, draw
        self.named = live.current.version
        self.releases: dict[str, Release] = {}
        self.listeners: list[Callable[[Happened], None]] = []
        self.label_listeners: list[Callable[[str, str, Mapping[str, str]], None]] = []
        self._kept: set[str] = set()
        self._courses: OrderedDict[str, Course] = OrderedDict()
        self._head: Head | None = None
        self._queue: deque[Waiting] = deque()
        self._under_way: set[str] = set()
        self._wake = asyncio.Event()
        self._stopping = self._to_clear = self._live_is_kept = self._ahead = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._stopping = False
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Carries out what waits, and takes nothing more."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task

    async def submit(self, tenant: str, request: Request, key: str | None = None) -> Answer | None:
        """Carries out a request: once for an idempotency key, however often it is asked."""
        check_values([tenant, key or "", *(getattr(request, one.name) for one in fields(request))])
        if self._stopping or self._task is None or self._task.done():
            raise Unavailable("the service is stopping")
        if len(self._queue) >= self.terms.waiting:
            raise Unavailable("too many requests wait", retry_after=1)
        reply = None if key is None else reply_id(tenant, key)
        if reply is not None and reply in self._under_way:
            raise Conflict("a request with this idempotency key is under way", retry_after=1)
        digest = "" if key is None else _digest(request)
        waiting = Waiting(tenant, request, reply, digest, asyncio.get_running_loop().create_future())
        if reply is not None:
            self._under_way.add(reply)
        self._queue.append(waiting)
        self._wake.set()
        return await waiting.answer

    async def _run(self) -> None:
        while self._queue or not self._stopping:
            if not self._queue:
                self._wake.clear()
                await self._wake.wait()
                continue
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), self.terms.batch))]
            try:
                await self._carry_out(batch)
            except BaseException as error:
                self._fail(batch, error)
                if not isinstance(error, Exception):
                    raise
            finally:
                self._under_way.difference_update(one.reply for one in batch if one.reply is not None)

    def _fail(self, batch: list[Waiting], error: BaseException) -> None:
        """Tells all of a batch that nothing was done; what is in memory may be ahead of the database, so it goes."""
        self._courses.clear()
        self._head = None
        self._kept.clear()
        problem: Exception = Unavailable("the service is stopping")
        if isinstance(error, SQLAlchemyError | OSError | TimeoutError | InputError):
            log.error("the database failed: %s", cause(error))
            problem = Unavailable("the database cannot keep this now; nothing was done", retry_after=1)
        elif isinstance(error, Exception):
            log.error("a batch of requests failed", exc_info=error)
            problem = error
        for one in batch:
            if not one.answer.done():
                one.answer.set_exception(problem)

    async def _carry_out(self, batch: list[Waiting]) -> None:
        async with self.store.writing() as (connection, head):
            desk = await self._desk(connection, head, batch)
            answers = [self._perform(desk, one) for one in batch]
            await self._write(connection, desk)
        self._head = desk.head
        self._live_is_kept = True
        self._remember(desk.courses)
        await self._clear(bool(desk.erased))
        self._under_way.difference_update(one.reply for one in batch if one.reply is not None)
        for one, answer in zip(batch, answers, strict=True):
            if one.answer.done():  # whoever asked has gone
                continue
            if isinstance(answer, Exception):
                one.answer.set_exception(answer)
            else:
                one.answer.set_result(answer)
        self._tell(desk.happened, desk.changes("identities"))

    async def _desk(self, connection: AsyncConnection, head: Head, batch: list[Waiting]) -> Desk:
        if head != self._head:
            self._courses.clear()  # somebody else has written
        live = self.live
        fresh = [one for one in (live.current, live.shadow) if one is not None and one.version not in self._kept]
        await rows.write_releases(connection, fresh)
        self._kept.update(one.version for one in fresh)
        self.releases |= {one.version: one for one in fresh}
        if not self._live_is_kept:  # once: later changes are kept as they are made
            await releases_kept.keep(connection, self.named, live)
        self.check_clock(head)
        desk = Desk(head, self.clock(), self.terms, live, self.releases, self.draw)
        asked = [(one.tenant, one.request) for one in batch]
        replies = {one.reply for one in batch if one.reply is not None}
        await lay_out(connection, desk, asked, replies, self._courses, self.releases)
        statements = [(tenant, one.statement) for tenant, one in asked if isinstance(one, Outcome) and one.statement]
        for decided in await rows.decisions_by_statement(connection, statements):
            desk.lay_decision(decided)
        return desk

    def check_clock(self, head: Head) -> None:
        """Tells, once, of a record that is ahead of the clock: its time stands still until the clock has come so far.

        Either the clock is slow, or it was once ahead, here or at another service of the same record.
        """
        ahead = head.at - self.clock() > AHEAD
        if ahead and not self._ahead:
            log.warning(
                "the record goes up to %s, and by the clock it is %s: until then events have that time, and no session "
                "and no outcome gets too old; set the clock right",
                told(head.at),
                told(self.clock()),
            )
        self._ahead = ahead

    def _perform(self, desk: Desk, one: Waiting) -> Answer | Exception | None:
        """Carries out one request; whatever goes wrong with it is its own."""
        try:
            kept = desk.replies.get(one.reply) if one.reply is not None else None
            if kept is not None and kept.at >= desk.now - self.terms.reply_seconds * 1000:
                if kept.request != one.digest:
                    raise Unprocessable(OTHER)
                answered = retold(one.request, kept, Work(desk, one.tenant))
                check_again(answered, Work(desk, one.tenant))
                return answered
            work = Work(desk, one.tenant)
            answer = perform(one.request, work)
            if one.reply is not None and answer is not None:
                learner = answer.id if isinstance(answer, LearnerView) else answer.learner
                reply = Reply(one.reply, one.digest, str(reference(answer, work)), learner, work.now)
                work.write("replies", one.reply, reply)
            desk.accept(work)
            return answer
        except Problem as problem:
            return problem
        except Exception as error:
            log.error("a %s failed", type(one.request).__name__, exc_info=error)
            return error

    async def _write(self, connection: AsyncConnection, desk: Desk) -> None:
        if desk.happened:
            await rows.write_events(connection, [one.event for one in desk.happened])
        if desk.erased:
            await rows.erase_words(connection, desk.erased)
        await rows.write_courses(connection, desk.changes("courses"))
        await rows.write_identities(connection, desk.changes("identities"))
        await rows.write_decisions(connection, desk.changes("decisions"))
        await rows.write_sessions(connection, desk.changes("sessions"))
        await rows.write_notes(connection, desk.changes("notes"))
        await rows.write_replies(connection, desk.changes("replies"))

    def _remember(self, courses: Mapping[str, Course]) -> None:
        for learner, course in courses.items():
            self._courses[learner] = course
            self._courses.move_to_end(learner)
        while len(self._courses) > self.terms.courses:
            self._courses.popitem(last=False)

    async def _clear(self, erased: bool) -> None:
        """Takes what was erased out of the database's log too, now or with a later batch."""
        self._to_clear = self._to_clear or erased
        if self._to_clear:
            try:
                self._to_clear = not await self.store.clear_log()
            except (SQLAlchemyError, sqlite3.Error, OSError) as error:  # it is committed, whatever this says
                log.error("the log of the database cannot be emptied: %s", cause(error))

    def _tell(self, happened: list[Happened], identities: list[Identity]) -> None:
        labelled = [(one.tenant, one.id, one.labels) for one in identities if one.labels is not None]
        for listener in self.listeners:
            _heard(listener, [(one,) for one in happened])
        for listener_of_labels in self.label_listeners:
            _heard(listener_of_labels, labelled)


def _heard(listener: Callable[..., None], told: Sequence[tuple[Any, ...]]) -> None:
    try:
        for one in told:
            listener(*one)
    except Exception:  # what is on record is on record, whoever cannot bear to hear of it
        log.exception("a listener failed")


def check_values(value: Any) -> None:
    """Refuses texts that a database cannot hold or that are longer than anybody needs, and numbers that are none."""
    if isinstance(value, str):
        if len(value) > MOST_TEXT:
            raise Unprocessable(f"a text has more than {MOST_TEXT} characters")
        if "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
            raise Unprocessable("a text holds characters that are none")
    elif isinstance(value, float) and not math.isfinite(value):
        raise Unprocessable("a number is not finite")
    elif isinstance(value, Mapping):
        check_values([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for entry in value:
            check_values(entry)


def _digest(request: Request) -> str:
    """The hash of what is asked; whoever sends it again may have another key by then."""
    asked = {name: value for name, value in asdict(request).items() if name != "key"}
    return hashlib.sha256(canonical([type(request).__name__, asked]).encode()).hexdigest()
