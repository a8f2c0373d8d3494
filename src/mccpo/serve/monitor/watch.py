"""The monitors of all tenants: they get every event once it is on record, and at the start the whole record.

The record may be long, and the service does not wait: the monitors catch up while it answers, and report that they are
incomplete until they have. New events wait meanwhile, so that every monitor gets every event once and in order.

What they have seen is stored every now and then, and when the service stops, so that the next start goes on from there.
A report is made from sums that are kept as events come, and told again while nothing has happened.

Other processes may write to the same record. An event of this one is passed on at once if it is the next one; missing
events are read from the record. Reading what others wrote costs as much as writing it, so a process does so only while
somebody asks it for reports, and for a minute after, or once it is far behind.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple, Self
from zipfile import BadZipFile

from mccpo.serve.monitor.lesson_costs import Lesson
from mccpo.serve.monitor.monitor import BOUNDS, Monitor
from mccpo.serve.monitor.report import MonitorReport, TenantReport
from mccpo.serve.monitor.snapshot import collect, pack, unpack
from mccpo.serve.problems import Problem
from mccpo.serve.record.chain import Head
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.service.background import background, pause
from mccpo.serve.service.unit_of_work import RecordedEvent

if TYPE_CHECKING:
    from mccpo.serve.service.service import Service

log = logging.getLogger("mccpo.serve")

LOOK = 1.0
"""Seconds between two checks whether others have written."""
ASKED, FAR = 60.0, 20_000
"""Seconds after a question for which others' events are read as they come; events behind which they are anyway."""
STORE_EVERY, STORE_AT_END = 30_000, 1_000
"""Events after which what the monitors have seen is stored: while the service runs, and when it stops."""
COSTLY, SHARE = 0.01, 0.05
"""A report that took longer than so many seconds is told again until making reports takes no more than this share."""
_TURN = 50
"""Events that are replayed before other tasks get their turn."""


class _MadeReport(NamedTuple):
    """A report, what it was made from, and until when it is told again whatever happens."""

    report: TenantReport
    changes: int
    release: str
    until: float


class Watch:
    """One monitor for each tenant that has learners. Used as `async with Watch(service) as watch`."""

    def __init__(self, service: Service, bounds: Mapping[str, float] = BOUNDS) -> None:
        self.service = service
        self.bounds = bounds
        self._monitors: dict[str, Monitor] = {}
        self._histories: dict[str, LearnerHistory] = {}
        self._last, self._newest = 0, 0  # the last event that was dispatched, and the last one known to be on record
        self._hash, self._stored = "", 0  # the hash of the last event, and the event up to which all is stored
        self._changes = 0  # of what reports tell
        self._made: dict[str, _MadeReport] = {}
        self._reading, self._failed = True, False
        self._asked = -math.inf  # when somebody last asked for a report
        self._waiting: list[RecordedEvent] = []
        self._waiting_labels: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._prepared = False  # whether groups can be compared without making their sums first
        self._changed: set[str] | None = None  # the learners whose labels are to be read: at first all
        self._wake, self._settled = asyncio.Event(), asyncio.Event()
        self._running = AsyncExitStack()
        service.feed.listen(self._on_event)
        service.feed.listen_to_labels(self._on_labels)

    async def __aenter__(self) -> Self:
        await self._running.enter_async_context(background(self._keep_up))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._running.aclose()
        if not self._reading and self._last - self._stored >= STORE_AT_END:
            with suppress(Problem):  # the next start reads more of the record
                await self._store()

    @property
    def complete(self) -> bool:
        """Whether the monitors have every event that is known to be on record."""
        return not self._reading and self._last >= self._newest

    @property
    def lag(self) -> int:
        """How many events are known to be on record that the monitors have not seen yet."""
        return max(0, self._newest - self._last)

    async def caught_up(self) -> None:
        """Waits until the monitors have the whole record, or cannot read it."""
        while not (self.complete or self._failed):
            self._asked = time.monotonic()
            self._settled.clear()
            self._wake.set()
            await self._settled.wait()

    def report(self, tenant: str) -> MonitorReport:
        """What the monitor of a tenant sees."""
        self._ask()
        release, now, made = self.service.release.version, time.monotonic(), self._made.get(tenant)
        if made is None or made.release != release or (made.changes != self._changes and now >= made.until):
            report, changes = self._current(tenant).report(groups=self._prepared), self._changes
            took = time.monotonic() - now
            until = now + (took / SHARE if took > COSTLY else 0.0)
            made = self._made[tenant] = _MadeReport(report, changes, release, until)
        return {"complete": self.complete, **made.report}

    def curves(self, tenant: str, span: str, now: int) -> dict[str, list[float | None]]:
        """How what the monitor of a tenant sees has moved."""
        self._ask()
        return self._current(tenant).curves(span, now)

    def reports(self) -> Iterator[tuple[str, MonitorReport]]:
        """Every tenant with what its monitor sees."""
        for tenant in list(self._monitors):
            yield tenant, self.report(tenant)

    def _ask(self) -> None:
        """Notes that somebody wants to know, and reads what others have written if nobody did for long."""
        slept = not self._wanted
        self._asked = time.monotonic()
        if slept:
            self._wake.set()

    @property
    def _wanted(self) -> bool:
        """Whether what others write is to be read as it comes."""
        return time.monotonic() - self._asked < ASKED

    async def _keep_up(self, stop: asyncio.Event) -> None:
        """Reads the record, and reads on whenever others have written to it."""
        try:
            await self._restore()
            while not stop.is_set():
                with suppress(Problem):  # the database is away: the next attempt may succeed
                    self._newest = max(self._newest, await self.service.feed.last_number())
                    while self._behind and not stop.is_set():
                        self._settled.clear()
                        await self._catch_up()
                    self._settled.set()
                    if self._last - self._stored >= STORE_EVERY and not stop.is_set():
                        await self._store()
                self._wake.clear()
                await pause(self._wake, LOOK)
        except Exception:
            log.exception("the monitor cannot read the record, and stays incomplete")
            self._reading = self._failed = True
            self._settled.set()

    @property
    def _behind(self) -> bool:
        """Whether there is something to be read now."""
        return self._reading or self._last < self._newest - (0 if self._wanted else FAR)

    async def _restore(self) -> None:
        """Goes on from what was stored, if it can be read and belongs to this record."""
        try:
            stored = await self.service.feed.stored_states()
            if stored is None:
                return
            await self.service.feed.load_releases()
            releases, release = self.service.feed.releases, self.service.release
            head, states = stored
            monitors = {}
            for tenant, state in states.items():
                monitors[tenant] = await asyncio.to_thread(unpack, state, release, self.bounds, releases)
        except (Problem, ValueError, KeyError, TypeError, IndexError, AttributeError, OSError, BadZipFile) as error:
            log.warning("what the monitor had seen cannot be read, so that it reads the whole record: %r", error)
            return
        self._monitors = monitors
        self._last, self._hash, self._stored = head.number, head.hash, head.number

    async def _store(self) -> None:
        """Stores what the monitors have seen so far."""
        head, states = Head(self._last, self._hash, 0), {}
        for tenant, state in [(tenant, collect(monitor)) for tenant, monitor in self._monitors.items()]:
            states[tenant] = await asyncio.to_thread(pack, state)
        if states:
            await self.service.feed.store_states(head, states)
        self._stored = head.number

    async def _catch_up(self) -> None:
        """Dispatches the events on record that are missing, then those that waited, as far as there is no gap."""
        self._reading = True
        async for recorded in self.service.feed.replay(self._last, self._histories):
            self._dispatch(recorded)
            if self._changed is not None and recorded.event.kind in ("learner", "labels"):
                self._changed.add(recorded.event.learner)
            if self._last % _TURN == 0:
                await asyncio.sleep(0)
        async for identity in self.service.feed.identities(self._changed):
            self._monitor(identity.tenant).set_labels(identity.id, identity.labels or {})
            self._changes += 1
            if self._changes % _TURN == 0:
                await asyncio.sleep(0)
        self._changed = set()
        if not self._prepared:
            for monitor in list(self._monitors.values()):
                await asyncio.to_thread(monitor.prepare)  # nothing else touches it: what comes waits
            self._prepared = True
            self._changes += 1
        labelled, self._waiting_labels = self._waiting_labels, {}
        for learner, (tenant, labels) in labelled.items():  # of registrations since the labels were read
            self._monitor(tenant).set_labels(learner, labels)
        waiting, self._waiting = self._waiting, []
        for recorded in waiting:
            if recorded.event.number == self._last + 1:
                self._dispatch(recorded)
        self._reading = False

    def _on_event(self, recorded: RecordedEvent) -> None:
        self._newest = max(self._newest, recorded.event.number)
        if self._reading:
            self._waiting.append(recorded)
        elif recorded.event.number == self._last + 1:
            self._dispatch(recorded)
        elif self._wanted:
            self._wake.set()  # others have written before it

    def _on_labels(self, tenant: str, learner: str, labels: Mapping[str, str]) -> None:
        self._changes += 1
        if self._reading:
            self._waiting_labels[learner] = tenant, labels
        else:
            self._monitor(tenant).set_labels(learner, labels)

    def _dispatch(self, recorded: RecordedEvent) -> None:
        """Passes an event on to the monitor of its tenant."""
        event, content, before = recorded.event, recorded.event.content, recorded.before
        self._last, self._hash = event.number, event.hash
        self._changes += 1
        if recorded.after is None:  # which releases are live is no tenant's: `_current` asks for it
            return
        self._remember(recorded.after)
        monitor = self._monitor(event.tenant)
        match event.kind:
            case "learner":
                monitor.add_learner(event.learner)
            case "session" if content["change"] == "ended":
                monitor.end_session(content["session"])
            case "decision" | "override" if before is not None:
                release = self.service.feed.releases[content["release"]]
                action = release.action(content["concept"], content["activity"])
                lesson, certificate = Lesson(content["session"], release, before.state, action), content["certificate"]
                chosen = {"by": certificate["by"], "reason": certificate["reason"], "decision": content["decision"]}
                monitor.record_decision(event.learner, lesson, at=event.at, **chosen)
                if content.get("shadow") is not None:
                    monitor.record_shadow(content["shadow"])
            case "outcome" if content["counted"]:
                outcome = {name: content[name] for name in ("correct", "before", "after", "decision")}
                monitor.record_outcome(event.learner, at=event.at, **outcome)
            case "erasure":
                monitor.erase_learner(event.learner)

    def _remember(self, history: LearnerHistory) -> None:
        """Keeps the histories of the most recent learners: an event of another service continues from there."""
        self._histories.pop(history.learner, None)
        if not history.erased:
            self._histories[history.learner] = history
        while not self._reading and len(self._histories) > self.service.terms.cached_learners:
            del self._histories[next(iter(self._histories))]

    def _current(self, tenant: str) -> Monitor:
        monitor = self._monitors.get(tenant) or Monitor(self.service.release, self.bounds)
        monitor.release = self.service.release  # the one whose budgets count now
        return monitor

    def _monitor(self, tenant: str) -> Monitor:
        if tenant not in self._monitors:
            self._monitors[tenant] = Monitor(self.service.release, self.bounds)
        return self._monitors[tenant]
