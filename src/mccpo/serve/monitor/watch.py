"""The monitors of all tenants: they get every event once it is on record, and at the start the whole record.

The record may be long, and the service does not wait: the monitors catch up while it answers, and report that they are
incomplete until they have. New events wait meanwhile, so that every monitor gets every event once and in order.

Other services may write to the same record. An event of this service is passed on at once if it is the next one;
missing events are read from the record, which the watch checks every now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Self

from mccpo.serve.monitor.lesson_costs import Lesson
from mccpo.serve.monitor.monitor import BOUNDS, Monitor
from mccpo.serve.monitor.report import MonitorReport
from mccpo.serve.problems import Problem
from mccpo.serve.record.learner_history import LearnerHistory
from mccpo.serve.service.background import background, pause
from mccpo.serve.service.unit_of_work import RecordedEvent

if TYPE_CHECKING:
    from mccpo.serve.service.service import Service

log = logging.getLogger("mccpo.serve")

LOOK = 1.0
"""Seconds between two checks whether others have written."""
_TURN = 50
"""Events that are replayed before other tasks get their turn."""


class Watch:
    """One monitor for each tenant that has learners. Used as `async with Watch(service) as watch`."""

    def __init__(self, service: Service, bounds: Mapping[str, float] = BOUNDS) -> None:
        self.service = service
        self.bounds = bounds
        self._monitors: dict[str, Monitor] = {}
        self._histories: dict[str, LearnerHistory] = {}
        self._last, self._newest = 0, 0  # the last event that was dispatched, and the last one known to be on record
        self._reading, self._failed = True, False
        self._waiting: list[RecordedEvent] = []
        self._labelled: set[str] = set()
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

    @property
    def complete(self) -> bool:
        """Whether the monitors have every event that is known to be on record."""
        return not self._reading and self._last >= self._newest

    async def caught_up(self) -> None:
        """Waits until the monitors have the whole record, or cannot read it."""
        while not (self.complete or self._failed):
            self._settled.clear()
            self._wake.set()
            await self._settled.wait()

    def report(self, tenant: str) -> MonitorReport:
        """What the monitor of a tenant sees."""
        return {"complete": self.complete, **self._current(tenant).report()}

    def curves(self, tenant: str, span: str, now: int) -> dict[str, list[float | None]]:
        """How what the monitor of a tenant sees has moved."""
        return self._current(tenant).curves(span, now)

    def reports(self) -> Iterator[tuple[str, MonitorReport]]:
        """Every tenant with what its monitor sees."""
        for tenant in list(self._monitors):
            yield tenant, self.report(tenant)

    async def _keep_up(self, stop: asyncio.Event) -> None:
        """Reads the record, and reads on whenever others have written to it."""
        try:
            while not stop.is_set():
                with suppress(Problem):  # the database is away: the next attempt may succeed
                    self._newest = max(self._newest, await self.service.feed.last_number())
                    while (self._reading or self._last < self._newest) and not stop.is_set():
                        self._settled.clear()
                        await self._catch_up()
                    self._settled.set()
                self._wake.clear()
                await pause(self._wake, LOOK)
        except Exception:
            log.exception("the monitor cannot read the record, and stays incomplete")
            self._reading = self._failed = True
            self._settled.set()

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
            if identity.id not in self._labelled:  # a registration since then has newer labels
                self._monitor(identity.tenant).set_labels(identity.id, identity.labels or {})
        self._changed = set()
        waiting, self._waiting = self._waiting, []
        for recorded in waiting:
            if recorded.event.number == self._last + 1:
                self._dispatch(recorded)
        self._labelled.clear()
        self._reading = False

    def _on_event(self, recorded: RecordedEvent) -> None:
        self._newest = max(self._newest, recorded.event.number)
        if self._reading:
            self._waiting.append(recorded)
        elif recorded.event.number == self._last + 1:
            self._dispatch(recorded)
        else:
            self._wake.set()  # others have written before it

    def _on_labels(self, tenant: str, learner: str, labels: Mapping[str, str]) -> None:
        self._monitor(tenant).set_labels(learner, labels)
        if self._reading:
            self._labelled.add(learner)

    def _dispatch(self, recorded: RecordedEvent) -> None:
        """Passes an event on to the monitor of its tenant."""
        event, content, before = recorded.event, recorded.event.content, recorded.before
        self._last = event.number
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
