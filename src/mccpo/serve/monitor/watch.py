"""The monitors of all tenants, told of every event once it is on record, and at the start of the whole record.

The record may be long, and the service need not wait: the monitors catch up while it answers, and say so until they
have. What happens meanwhile waits its turn, so that every monitor hears everything once and in order.

Others may write to the same record. What this service writes itself is told at once, as long as it is the next event;
what is missing is read from the record, where the watch looks every now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Self

from mccpo.serve.monitor.monitor import BOUNDS, Monitor
from mccpo.serve.record.learner_history import Course
from mccpo.serve.service.background import background, pause
from mccpo.serve.service.problems import Problem
from mccpo.serve.service.unit_of_work import Happened

if TYPE_CHECKING:
    from mccpo.serve.service.service import Service

log = logging.getLogger("mccpo.serve")

LOOK = 1.0
"""Seconds between two looks at whether others have written."""
_TURN = 50
"""Events of the record that are told before others get their turn."""


class Watch:
    """One monitor for each tenant that has learners. Used as `async with Watch(service) as watch`."""

    def __init__(self, service: Service, bounds: Mapping[str, float] = BOUNDS) -> None:
        self.service = service
        self.bounds = bounds
        self._monitors: dict[str, Monitor] = {}
        self._courses: dict[str, Course] = {}
        self._last, self._newest = 0, 0  # the events that were told, and those that are known to be there
        self._reading, self._lost = True, False
        self._waiting: list[Happened] = []
        self._labelled: set[str] = set()
        self._changed: set[str] | None = None  # whose labels are to be read: at first all
        self._wake, self._settled = asyncio.Event(), asyncio.Event()
        self._running = AsyncExitStack()
        service.listen(self._heard)
        service.listen_labels(self._labels)

    async def __aenter__(self) -> Self:
        await self._running.enter_async_context(background(self._keep_up))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._running.aclose()

    @property
    def complete(self) -> bool:
        """Whether every event was told that is known to be on record."""
        return not self._reading and self._last >= self._newest

    async def caught_up(self) -> None:
        """Waits until the whole record was told, or cannot be."""
        while not (self.complete or self._lost):
            self._settled.clear()
            self._wake.set()
            await self._settled.wait()

    def report(self, tenant: str) -> dict[str, Any]:
        """What the monitor of a tenant sees; `complete` says whether it has caught up with the record."""
        return {"complete": self.complete, **self._current(tenant).report()}

    def curves(self, tenant: str, span: str, now: int) -> dict[str, list[float | None]]:
        """How what the monitor of a tenant sees has moved."""
        return self._current(tenant).curves(span, now)

    def reports(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every tenant with what its monitor sees."""
        for tenant in list(self._monitors):
            yield tenant, self.report(tenant)

    async def _keep_up(self, stop: asyncio.Event) -> None:
        """Reads the record, and again whenever it goes on without us."""
        try:
            while not stop.is_set():
                with suppress(Problem):  # the database is away: the next look may succeed
                    self._newest = max(self._newest, await self.service.newest())
                    while (self._reading or self._last < self._newest) and not stop.is_set():
                        self._settled.clear()
                        await self._read()
                    self._settled.set()
                self._wake.clear()
                await pause(self._wake, LOOK)
        except Exception:
            log.exception("the monitor cannot read the record, and stays incomplete")
            self._reading = self._lost = True
            self._settled.set()

    async def _read(self) -> None:
        """Tells what is on record and was not told, and then what was heard meanwhile, as far as nothing is missing."""
        self._reading = True
        async for one in self.service.happened(self._last, self._courses):
            self._tell(one)
            if self._changed is not None and one.event.kind in ("learner", "labels"):
                self._changed.add(one.event.learner)
            if self._last % _TURN == 0:
                await asyncio.sleep(0)
        async for who in self.service.identities(self._changed):
            if who.id not in self._labelled:  # by a registration since, which knows better
                self._monitor(who.tenant).registered(who.id, who.labels or {})
        self._changed = set()
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if one.event.number == self._last + 1:
                self._tell(one)
        self._labelled.clear()
        self._reading = False

    def _heard(self, one: Happened) -> None:
        self._newest = max(self._newest, one.event.number)
        if self._reading:
            self._waiting.append(one)
        elif one.event.number == self._last + 1:
            self._tell(one)
        else:
            self._wake.set()  # others have written before it

    def _labels(self, tenant: str, learner: str, labels: Mapping[str, str]) -> None:
        self._monitor(tenant).registered(learner, labels)
        if self._reading:
            self._labelled.add(learner)

    def _tell(self, one: Happened) -> None:
        event, content, before = one.event, one.event.content, one.before
        self._last = event.number
        self._remember(one.after)
        monitor = self._monitor(event.tenant)
        match event.kind:
            case "learner":
                monitor.came(event.learner)
            case "session" if content["change"] == "ended":
                monitor.ended(content["session"])
            case "decision" | "override" if before is not None:
                release = self.service.releases_on_record[content["release"]]
                action, by = release.action(content["concept"], content["activity"]), content["certificate"]["by"]
                chosen = (content["session"], release, before.standing, action, by, event.at, content["decision"])
                monitor.decided(event.learner, *chosen)
                if content.get("shadow") is not None:
                    monitor.looked_on(content["shadow"])
            case "outcome" if content["counted"]:
                change = {name: content[name] for name in ("correct", "before", "after", "decision")}
                monitor.answered(event.learner, at=event.at, **change)
            case "erasure":
                monitor.erased(event.learner)

    def _remember(self, course: Course) -> None:
        """Keeps where learners are, those heard of last: whoever else writes about them goes on from there."""
        self._courses.pop(course.learner, None)
        if not course.erased:
            self._courses[course.learner] = course
        while not self._reading and len(self._courses) > self.service.terms.courses:
            del self._courses[next(iter(self._courses))]

    def _current(self, tenant: str) -> Monitor:
        monitor = self._monitors.get(tenant) or Monitor(self.service.release, self.bounds)
        monitor.release = self.service.release  # the one whose budgets count now
        return monitor

    def _monitor(self, tenant: str) -> Monitor:
        if tenant not in self._monitors:
            self._monitors[tenant] = Monitor(self.service.release, self.bounds)
        return self._monitors[tenant]
