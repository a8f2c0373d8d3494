"""How the monitor's counts have moved: sums over buckets of time, fine for the last hour, coarse for the last year.

A time series sees the same events as the monitor, so a replay after a restart rebuilds it too. It keeps a few hundred
rows, however much happens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

Sums = dict[str, float]


class Span(NamedTuple):
    """A stretch of time up to now: how long each of its buckets is, in milliseconds, and how many there are."""

    bucket: int
    buckets: int


SPANS: Mapping[str, Span] = {
    "hour": Span(30_000, 120),
    "day": Span(600_000, 144),
    "year": Span(86_400_000, 366),
}


class TimeSeries:
    """Sums by bucket, for each span.

    >>> series = TimeSeries()
    >>> series.add(60_000, answers=1, right=1)
    >>> series.add(61_000, answers=1)
    >>> list(series.buckets("hour", now=65_000))
    [(60000, {'answers': 2, 'right': 1})]
    """

    def __init__(self) -> None:
        self.by_span: dict[str, deque[tuple[int, Sums]]] = {
            name: deque(maxlen=span.buckets) for name, span in SPANS.items()
        }

    def add(self, at: int, **amounts: float) -> None:
        """Adds amounts at a time, which is never before that of the last call."""
        for name, span in SPANS.items():
            buckets, begins = self.by_span[name], at - at % span.bucket
            if not buckets or buckets[-1][0] != begins:
                buckets.append((begins, {}))
            sums = buckets[-1][1]
            for what, amount in amounts.items():
                sums[what] = sums.get(what, 0) + amount

    def buckets(self, name: str, now: int) -> Iterator[tuple[int, Sums | None]]:
        """When each bucket of a span began, and its sums. A time in which nothing happened is one entry of None."""
        span, before = SPANS[name], None
        for begins, sums in self.by_span[name]:
            if begins <= now - span.bucket * span.buckets:
                continue
            if before is not None and begins > before + span.bucket:
                yield before + span.bucket, None
            yield begins, sums
            before = begins
