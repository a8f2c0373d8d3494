"""How much a caller may ask for: requests in a while, and bytes in a request."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_CALLERS = 10_000
"""Buckets kept at most. Who has not called for longest is forgotten first, and then has a full bucket again."""


class RateLimit:
    """A bucket for each caller, which fills at `rate` a second up to `burst`; a request takes one out.

    >>> limit = RateLimit(rate=1.0, burst=2, clock=lambda: 0.0)
    >>> [limit.wait("a"), limit.wait("a"), limit.wait("a"), limit.wait("b")]
    [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        if not (0 < rate < math.inf and burst >= 1):
            raise ValueError(f"a rate of {rate} and a burst of {burst} let nobody through")
        self.rate, self.burst, self.clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str) -> float:
        """0 where the caller may go on, which is then counted; else the seconds after which it may."""
        now = self.clock()
        level, then = self._buckets.pop(caller, (float(self.burst), now))
        level = min(float(self.burst), level + max(0.0, now - then) * self.rate)
        granted = level >= 1.0
        self._buckets[caller] = (level - granted, now)
        while len(self._buckets) > MOST_CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if granted else (1.0 - level) / self.rate
