"""The one writer: it takes all requests that wait, carries them out, and answers them after one commit.

A commit to disk costs the same for one request as for a hundred. Requests gather while a commit is under way, so the
busier the service is, the more of them share a commit. No request is answered before its commit has succeeded. If the
commit fails, all of its requests are told that nothing was done.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.errors import InputError
from mccpo.serve.policy.release import Release
from mccpo.serve.policy.releases import Releases
from mccpo.serve.problems import Conflict, Problem, Unavailable, Unprocessable
from mccpo.serve.record import rows, writes
from mccpo.serve.record.bulk import together
from mccpo.serve.record.chain import BrokenRecord, Head, rfc3339
from mccpo.serve.record.engine import failure_text
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.record.live_releases import StoredReleases, read_live_releases
from mccpo.serve.record.rows import Identity, ReplyRow
from mccpo.serve.record.store import Store
from mccpo.serve.service.commands import Request, check_still_ready, draft_decision, perform
from mccpo.serve.service.idempotency import rebuild_answer, reply_reference
from mccpo.serve.service.loading import load_unit_of_work, replies_in
from mccpo.serve.service.messages import Answer, LearnerView, Next, Outcome, Register
from mccpo.serve.service.replies import KEY_REUSED, reply_id
from mccpo.serve.service.request_values import check_values, request_digest
from mccpo.serve.service.terms import Terms
from mccpo.serve.service.unit_of_work import Drafts, RecordedEvent, RequestWork, UnitOfWork

log = logging.getLogger("mccpo.serve")

EventListener: TypeAlias = Callable[[RecordedEvent], None]
LabelListener: TypeAlias = Callable[[str, str, Mapping[str, str]], None]
AHEAD = 60_000
"""Milliseconds by which the record may be ahead of the clock before a warning is logged."""


class BatchReport(NamedTuple):
    """What became of a batch: how many requests it had, how long it took, and the kinds of events that it wrote.

    `failed` if the database failed, so that nothing was done; `head` is the last event on record otherwise.
    """

    requests: int
    seconds: float
    kinds: Sequence[str] = ()
    head: int = 0
    failed: bool = False


class PendingRequest(NamedTuple):
    """A request that waits for its answer. `reply` is the id of its idempotency key, `digest` the hash of its body."""

    tenant: str
    request: Request
    reply: str | None
    digest: str
    answer: asyncio.Future[Answer | None]


class Writer:
    """Carries out requests in the order in which they come, by the releases that the record says are live.

    `live` are those of the last batch or reading; `live_number` is the event that says so.
    """

    def __init__(
        self, store: Store, live: Releases, terms: Terms, clock: Callable[[], int], draw: Callable[[], float]
    ) -> None:
        self.store, self.live, self.terms, self.clock, self.draw = store, live, terms, clock, draw
        self.live_number = 0
        self.releases: dict[str, Release] = {}
        self.listeners: list[EventListener] = []
        self.label_listeners: list[LabelListener] = []
        self.batch_listeners: list[Callable[[BatchReport], None]] = []
        self._histories: OrderedDict[str, LearnerHistory] = OrderedDict()
        self._head: Head | None = None
        self._queue: deque[PendingRequest] = deque()
        self._under_way: set[str] = set()
        self._wake = asyncio.Event()
        self._stopping = self._log_to_clear = self._ahead = self._failing = False
        self._keys_to_erase: set[tuple[str, int]] = set()
        self.changes = 0  # how often commits began to fail, or to succeed again
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        # Not by `background`, which cancels: this task ends by itself once it has carried out all that waits.
        self._stopping = False
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Carries out what waits, and takes nothing more."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task

    @property
    def waiting(self) -> int:
        """How many requests wait to be carried out."""
        return len(self._queue)

    async def submit(self, tenant: str, request: Request, key: str | None = None) -> Answer | None:
        """Carries out a request: once for an idempotency key, however often it is asked."""
        check_values([tenant, key or "", *(getattr(request, entry.name) for entry in fields(request))])
        if self._stopping or self._task is None or self._task.done():
            raise Unavailable("the service is stopping")
        if len(self._queue) >= self.terms.waiting:
            raise Unavailable("too many requests wait", retry_after=1)
        keyring = self.store.keyring
        reply = None if key is None else reply_id(keyring, tenant, key)
        if reply is not None and reply in self._under_way:
            raise Conflict("a request with this idempotency key is under way", retry_after=1)
        digest = "" if key is None else request_digest(keyring, request)
        pending = PendingRequest(tenant, request, reply, digest, asyncio.get_running_loop().create_future())
        if reply is not None:
            self._under_way.add(reply)
        self._queue.append(pending)
        self._wake.set()
        return await pending.answer

    async def _run(self) -> None:
        while self._queue or not self._stopping:
            if not self._queue:
                self._wake.clear()
                await self._wake.wait()
                continue
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), self.terms.batch))]
            began = time.perf_counter()
            try:
                unit = await self._carry_out(batch)
                kinds = [recorded.event.kind for recorded in unit.recorded]
                self._report(BatchReport(len(batch), time.perf_counter() - began, kinds, unit.head.number))
            except BaseException as error:
                self._fail(batch, error)
                self._report(BatchReport(len(batch), time.perf_counter() - began, failed=True))
                if not isinstance(error, Exception):
                    raise
            finally:
                self._release_keys(batch)

    def _report(self, report: BatchReport) -> None:
        for listener in self.batch_listeners:
            _notify(listener, [(report,)])

    def _release_keys(self, batch: list[PendingRequest]) -> None:
        self._under_way.difference_update(pending.reply for pending in batch if pending.reply is not None)

    def _fail(self, batch: list[PendingRequest], error: BaseException) -> None:
        """Answers a batch that nothing was done, and drops the caches, which may be ahead of the database."""
        self._histories.clear()
        self._head = None
        self._note_failing(True)
        problem: Exception = Unavailable("the service is stopping")
        if isinstance(error, SQLAlchemyError | OSError | TimeoutError | InputError):
            log.error("the database failed: %s", failure_text(error))
            problem = Unavailable("the database cannot keep this now; nothing was done", retry_after=1)
        elif isinstance(error, Exception):
            log.error("a batch of requests failed", exc_info=error)
            problem = error
        for pending in batch:
            if not pending.answer.done():
                pending.answer.set_exception(problem)

    def _note_failing(self, failing: bool) -> None:
        self.changes += failing is not self._failing
        self._failing = failing

    async def _carry_out(self, batch: list[PendingRequest]) -> UnitOfWork:
        async with self.store.connected() as connection:
            prepared = None if self.store.is_sqlite else await self._prepare(connection, batch)
            head, live = await self.store.lock(connection)
            await self.follow(connection, live)
            unit = await self._settle(connection, head, batch, prepared)
            answers = [self._perform(unit, pending) for pending in batch]
            await self._write(connection, unit)
        self._head = unit.head
        self._note_failing(False)
        self._cache(unit.histories)
        await self._remove_erased([unit.identities[learner] for learner in unit.erased])
        self._release_keys(batch)
        for pending, answer in zip(batch, answers, strict=True):
            if pending.answer.done():  # the client has gone
                continue
            if isinstance(answer, Exception):
                pending.answer.set_exception(answer)
            else:
                pending.answer.set_result(answer)
        self._notify_listeners(unit.recorded, unit.changes("identities"))
        return unit

    async def _prepare(self, connection: AsyncConnection, batch: list[PendingRequest]) -> UnitOfWork:
        """Reads what a batch is about and drafts its decisions, while other processes may write.

        `_settle` finds out under the lock what they have changed since.
        """
        head = await self.store.read_head(connection)
        if head != self._head:
            await self._forget_changed(connection, self._head, head)
            self._head = head
        unit = await self._load(connection, head, batch)
        for pending in batch:
            if isinstance(pending.request, Next) and pending.reply not in unit.replies:
                with suppress(Problem, BrokenRecord):  # what is refused is refused under the lock
                    draft_decision(pending.request, RequestWork(unit, pending.tenant))
        return unit

    async def _settle(
        self, connection: AsyncConnection, head: Head, batch: list[PendingRequest], unit: UnitOfWork | None
    ) -> UnitOfWork:
        """What a batch is about as of the head that is locked: as it was prepared, or read anew if it has changed."""
        self.check_clock(head)
        changed: Collection[str] = ()
        if head != self._head:
            changed = await self._forget_changed(connection, self._head, head)
        if unit is None:
            return await self._load(connection, head, batch)
        if unit.live is not self.live:  # what its mastery is to be restated by is another
            return await self._load(connection, head, batch, unit.drafts)
        moved = head != unit.head
        if moved and (not unit.learners.isdisjoint(changed) or any(_by_name(pending.request) for pending in batch)):
            return await self._load(connection, head, batch, unit.drafts)
        # A reply may be stored without an event: where nothing new happened, and the answer was repeated.
        if await replies_in(connection, self._reply_ids(batch)) != unit.replies:
            return await self._load(connection, head, batch, unit.drafts)
        unit.head, unit.now, unit.live = head, self.clock(), self.live
        return unit

    async def _load(
        self, connection: AsyncConnection, head: Head, batch: list[PendingRequest], drafts: Drafts | None = None
    ) -> UnitOfWork:
        unit = UnitOfWork(head, self.clock(), self.terms, self.live, self.releases, self.draw, drafts or {})
        requests = [(pending.tenant, pending.request) for pending in batch]
        await load_unit_of_work(
            connection, unit, requests, self._reply_ids(batch), self._histories, self.releases, self.store.keyring
        )
        return unit

    def _reply_ids(self, batch: list[PendingRequest]) -> set[str]:
        return {pending.reply for pending in batch if pending.reply is not None}

    async def _forget_changed(self, connection: AsyncConnection, since: Head | None, head: Head) -> Collection[str]:
        """Drops the histories of learners about whom another process has written since a head; returns all these."""
        if since is None or head.number - since.number > self.terms.cached_learners:
            self._histories.clear()
        if since is None:
            return ()
        changed = await rows.learners_between(connection, since.number, head.number)
        for learner in changed:
            self._histories.pop(learner, None)
        return changed

    async def follow(self, connection: AsyncConnection, number: int | None) -> None:
        """Goes over to the releases that an event says are live, unless these are known already."""
        if number is None or number <= self.live_number:
            return
        stored = await read_live_releases(connection, number, self.releases)
        if stored is not None:
            self.adopt(stored, number)

    def adopt(self, stored: StoredReleases, number: int) -> None:
        """Decides by a live set from now on, which event `number` has put on record."""
        live = stored.live
        if number > self.live_number:
            self.live, self.live_number = live, number
        deciding = (live.current, live.previous, live.shadow)
        self.releases |= {release.version: release for release in deciding if release is not None}

    def check_clock(self, head: Head) -> None:
        """Warns, once, if the record is ahead of the clock: its time then stands still until the clock catches up.

        Either the clock is slow, or it was once ahead, here or at another service of the same record.
        """
        ahead = head.at - self.clock() > AHEAD
        if ahead and not self._ahead:
            log.warning(
                "the record goes up to %s, and by the clock it is %s: until then events have that time, and no session "
                "and no outcome gets too old; set the clock right",
                rfc3339(head.at),
                rfc3339(self.clock()),
            )
        self._ahead = ahead

    def _perform(self, unit: UnitOfWork, pending: PendingRequest) -> Answer | Exception | None:
        """Carries out one request; its failure does not affect the others."""
        try:
            work = RequestWork(unit, pending.tenant, getattr(pending.request, "key", None))
            reply = unit.replies.get(pending.reply) if pending.reply is not None else None
            if reply is not None and reply.at >= unit.now - self.terms.reply_seconds * 1000:
                return self._repeat(pending, reply, work)
            answer = perform(pending.request, work)
            if pending.reply is not None and answer is not None:
                learner = answer.id if isinstance(answer, LearnerView) else answer.learner
                reference = reply_reference(answer).to_text()
                work.write(
                    "replies", pending.reply, ReplyRow(pending.reply, pending.digest, reference, learner, work.now)
                )
            unit.merge(work)
            return answer
        except Problem as problem:
            return problem
        except Exception as error:
            log.error("a %s failed", type(pending.request).__name__, exc_info=error)
            return error

    def _repeat(self, pending: PendingRequest, reply: ReplyRow, work: RequestWork) -> Answer:
        """The answer that the same request has had before."""
        if reply.request != pending.digest:
            raise Unprocessable(KEY_REUSED)
        answer = rebuild_answer(pending.request, reply, work)
        check_still_ready(answer, work)
        return answer

    async def _write(self, connection: AsyncConnection, unit: UnitOfWork) -> None:
        if unit.erased:
            await writes.erase_words(connection, unit.erased)
        await writes.write_notes(connection, self.store.keyring, unit.changes("notes"))
        await writes.write_identities(connection, self.store.keyring, unit.changes("identities"))
        async with together(connection):
            if unit.recorded:
                await writes.write_events(connection, [recorded.event for recorded in unit.recorded])
            await writes.write_histories(connection, unit.changes("histories"))
            await writes.write_decisions(connection, unit.changes("decisions"))
            await writes.write_sessions(connection, unit.changes("sessions"))
            await writes.write_replies(connection, unit.changes("replies"))

    def _cache(self, histories: Mapping[str, LearnerHistory]) -> None:
        for learner, history in histories.items():
            self._histories[learner] = history
            self._histories.move_to_end(learner)
        while len(self._histories) > self.terms.cached_learners:
            self._histories.popitem(last=False)

    async def _remove_erased(self, erased: Collection[Identity]) -> None:
        """Erases the keys of who was erased, and what the database's log of writes has of them, now or later."""
        self._keys_to_erase |= {(identity.id, identity.slot) for identity in erased if identity.slot is not None}
        if self._keys_to_erase:
            try:
                await asyncio.to_thread(self.store.keyring.erase, self._keys_to_erase)
                self._keys_to_erase = set()
            except OSError as error:  # the erasure is on record all the same; the next batch or start tries again
                log.error("the keys of erased learners cannot be erased: %s", failure_text(error))
        self._log_to_clear = self._log_to_clear or bool(erased)
        if self._log_to_clear:
            try:
                self._log_to_clear = not await self.store.clear_log()
            except (SQLAlchemyError, sqlite3.Error, OSError) as error:  # the batch is committed all the same
                log.error("the log of the database cannot be emptied: %s", failure_text(error))

    def pass_on(self, recorded: RecordedEvent) -> None:
        """Tells the listeners of an event that was written elsewhere than by a batch."""
        self._notify_listeners([recorded], [])

    def _notify_listeners(self, recorded: list[RecordedEvent], identities: list[Identity]) -> None:
        labels = [
            (identity.tenant, identity.id, identity.labels) for identity in identities if identity.labels is not None
        ]
        for listener in self.listeners:
            _notify(listener, [(event,) for event in recorded])
        for label_listener in self.label_listeners:
            _notify(label_listener, labels)


def _by_name(request: Request) -> bool:
    """Whether a request is about what other learners' events may change: who has a name, or reported a statement."""
    return isinstance(request, Register) or (isinstance(request, Outcome) and request.statement is not None)


def _notify(listener: Callable[..., None], calls: Sequence[tuple[Any, ...]]) -> None:
    try:
        for arguments in calls:
            listener(*arguments)
    except Exception:  # the events are on record, whatever a listener makes of them
        log.exception("a listener failed")
