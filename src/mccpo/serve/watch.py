"""The monitors of all tenants, told of every event once it is on record, and at the start of the whole record.

The record may be long, and the service need not wait: the monitors catch up while it answers, and say so until they
have. What happens meanwhile waits its turn, so that every monitor hears everything once and in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from mccpo.serve.desk import Happened
from mccpo.serve.monitor import BOUNDS, Monitor

if TYPE_CHECKING:
    from mccpo.serve.service import Service

log = logging.getLogger("mccpo.serve")

_TURN = 50
"""Events of the record that are told before others get their turn."""


class Watch:
    """One monitor for each tenant that has learners. Used as `async with Watch(service) as watch`."""

    def __init__(self, service: Service, bounds: Mapping[str, float] = BOUNDS) -> None:
        self.service = service
        self.bounds = bounds
        self.complete = False
        self._monitors: dict[str, Monitor] = {}
        self._waiting: list[Happened] = []
        self._labelled: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        service.listen(self._heard)
        service.listen_labels(self._labels)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._catch_up())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def caught_up(self) -> None:
        """Waits until the whole record was told."""
        if self._task is not None:
            await asyncio.shield(self._task)

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

    async def _catch_up(self) -> None:
        last = 0
        try:
            async for one in self.service.happened():
                self._tell(one)
                last = one.event.number
                if last % _TURN == 0:
                    await asyncio.sleep(0)
            async for who in self.service.identities():
                if who.id not in self._labelled:  # by a registration since, which knows better
                    self._monitor(who.tenant).registered(who.id, who.labels or {})
        except Exception:
            log.exception("the monitor cannot read the record, and stays incomplete")
            return
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if one.event.number > last:
                self._tell(one)
        self._labelled.clear()
        self.complete = True

    def _heard(self, one: Happened) -> None:
        if self.complete:
            self._tell(one)
        else:
            self._waiting.append(one)

    def _labels(self, tenant: str, learner: str, labels: Mapping[str, str]) -> None:
        self._monitor(tenant).registered(learner, labels)
        if not self.complete:
            self._labelled.add(learner)

    def _tell(self, one: Happened) -> None:
        event, content, before = one.event, one.event.content, one.before
        monitor = self._monitor(event.tenant)
        match event.kind:
            case "session" if content["change"] == "ended":
                monitor.ended(content["session"])
            case "decision" | "override" if before is not None:
                release = self.service.releases_on_record[content["release"]]
                action, by = release.action(content["concept"], content["activity"]), content["certificate"]["by"]
                monitor.decided(event.learner, content["session"], release, before.standing, action, by, event.at)
            case "outcome" if content["counted"]:
                right, change = content["correct"], (content["before"], content["after"])
                monitor.answered(event.learner, correct=right, before=change[0], after=change[1], at=event.at)
            case "erasure":
                monitor.erased(event.learner)

    def _current(self, tenant: str) -> Monitor:
        monitor = self._monitors.get(tenant) or Monitor(self.service.release, self.bounds)
        monitor.release = self.service.release  # the one whose budgets count now
        return monitor

    def _monitor(self, tenant: str) -> Monitor:
        if tenant not in self._monitors:
            self._monitors[tenant] = Monitor(self.service.release, self.bounds)
        return self._monitors[tenant]
