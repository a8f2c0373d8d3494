"""How often something happens: of all times, and of the most recent ones."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from mccpo.serve.monitor.report import RateReport, ShadowReport

RECENT = 1_000
"""How many of the last events a recent rate covers."""


@dataclass(slots=True)
class Rate:
    """Counts how often something happened, and remembers the most recent times."""

    count: int = 0
    of: int = 0
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))

    def add(self, happened: bool) -> None:
        self.count += happened
        self.of += 1
        self.recent.append(happened)

    def report(self) -> RateReport:
        return {
            "count": self.count,
            "of": self.of,
            "rate": self.count / self.of if self.of else None,
            "recent": sum(self.recent) / len(self.recent) if self.recent else None,
        }


@dataclass(slots=True)
class ShadowRates:
    """How often a shadow would have done what was served, and how often it failed."""

    agrees: Rate = field(default_factory=Rate)
    failed: Rate = field(default_factory=Rate)

    def report(self) -> ShadowReport:
        return {"agrees": self.agrees.report(), "failed": self.failed.report()}
