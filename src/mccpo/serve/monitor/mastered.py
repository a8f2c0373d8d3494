"""How many concepts learners have mastered when a session ends, by the estimate that the gate goes by."""

from __future__ import annotations

import math
from typing import NamedTuple

from mccpo.serve.monitor.estimates import Estimate
from mccpo.serve.monitor.report import CostReport


class Counts(NamedTuple):
    """A number of sessions, the sum of their counts, and that of the squares."""

    sessions: int = 0
    total: float = 0.0
    squares: float = 0.0

    def with_session(self, count: int, sign: int = 1) -> Counts:
        """With one more session, or with one less."""
        return Counts(self.sessions + sign, self.total + sign * count, self.squares + sign * count * count)

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

    A count does not grow at a pace, so that only sessions of the whole horizon are comparable with a floor. `all` and
    `whole` count the sessions that are `open` too, as they are so far.
    """

    def __init__(self) -> None:
        self.all, self.whole = Counts(), Counts()
        self.open: dict[str, tuple[int, bool]] = {}

    def begin(self, session: str, count: int, *, last: bool) -> None:
        """A lesson begins with so many concepts mastered; `last` says that the horizon ends with it."""
        if session in self.open:
            self._count(*self.open[session], -1)
        self.open[session] = (count, last)
        self._count(count, last, 1)

    def end(self, session: str) -> None:
        """A session is over."""
        self.open.pop(session, None)

    def _count(self, count: int, whole: bool, sign: int) -> None:
        self.all = self.all.with_session(count, sign)
        self.whole = self.whole.with_session(count, sign) if whole else self.whole

    def report(self, floor: float) -> CostReport:
        """The count beside the floor: of all sessions, and of those that lasted for the whole horizon."""
        every, whole = self.all, self.whole
        return {
            "session": every.mean,
            "full": whole.mean,
            "interval": whole.interval,
            "budget": floor,
            "within": None if whole.mean is None else whole.mean >= floor,
        }
