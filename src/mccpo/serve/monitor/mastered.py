"""How many concepts learners have mastered when a session ends, by the estimate that the gate goes by."""

from __future__ import annotations

import math
from typing import NamedTuple

from mccpo.serve.monitor.equity import Estimate
from mccpo.serve.monitor.report import CostReport


class _Counts(NamedTuple):
    """A number of sessions, the sum of their counts, and that of the squares."""

    sessions: int = 0
    total: float = 0.0
    squares: float = 0.0

    def with_session(self, count: int) -> _Counts:
        return _Counts(self.sessions + 1, self.total + count, self.squares + count * count)

    @property
    def mean(self) -> float | None:
        return self.total / self.sessions if self.sessions else None

    @property
    def interval(self) -> list[float] | None:
        if self.sessions < 2 or self.mean is None:
            return None
        spread = max(0.0, self.squares / self.sessions - self.mean**2) / (self.sessions - 1)
        return list(Estimate(self.mean, math.sqrt(spread)).interval())


class MasteredConcepts:
    """What was mastered when the newest lesson of every session began; its answer may still add one.

    A count does not grow at a pace, so that only sessions of the whole horizon are comparable with a floor.
    """

    def __init__(self) -> None:
        self._all, self._whole = _Counts(), _Counts()
        self._open: dict[str, tuple[int, bool]] = {}

    def begin(self, session: str, count: int, *, last: bool) -> None:
        """A lesson begins with so many concepts mastered; `last` says that the horizon ends with it."""
        self._open[session] = (count, last)

    def end(self, session: str) -> None:
        """A session is over."""
        if (found := self._open.pop(session, None)) is not None:
            count, whole = found
            self._all = self._all.with_session(count)
            self._whole = self._whole.with_session(count) if whole else self._whole

    def report(self, floor: float) -> CostReport:
        """The count beside the floor: of all sessions, and of those that lasted for the whole horizon."""
        every, whole = self._all, self._whole
        for count, ended in self._open.values():
            every = every.with_session(count)
            whole = whole.with_session(count) if ended else whole
        return {
            "session": every.mean,
            "full": whole.mean,
            "interval": whole.interval,
            "budget": floor,
            "within": None if whole.mean is None else whole.mean >= floor,
        }
