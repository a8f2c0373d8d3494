"""How what the monitor counts has moved: sums over spells of time, fine for the last hour, coarse for the last year.

A history is told the same events as the monitor, so that it too is there again after a restart. It keeps a few hundred
rows, however much happens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

Sums = dict[str, float]


class Span(NamedTuple):
    """A stretch of time up to now: how long each of its spells is, in milliseconds, and how many there are."""

    spell: int
    spells: int


SPANS: Mapping[str, Span] = {
    "hour": Span(30_000, 120),
    "day": Span(600_000, 144),
    "year": Span(86_400_000, 366),
}


class History:
    """Sums by spell, for each span.

    >>> history = History()
    >>> history.add(60_000, answers=1, right=1)
    >>> history.add(61_000, answers=1)
    >>> list(history.spells("hour", now=65_000))
    [(60000, {'answers': 2, 'right': 1})]
    """

    def __init__(self) -> None:
        self._kept: dict[str, deque[tuple[int, Sums]]] = {
            name: deque(maxlen=span.spells) for name, span in SPANS.items()
        }

    def add(self, at: int, **amounts: float) -> None:
        """Adds amounts at a time, which is never before that of the last call."""
        for name, span in SPANS.items():
            kept, begins = self._kept[name], at - at % span.spell
            if not kept or kept[-1][0] != begins:
                kept.append((begins, {}))
            sums = kept[-1][1]
            for what, amount in amounts.items():
                sums[what] = sums.get(what, 0) + amount

    def spells(self, name: str, now: int) -> Iterator[tuple[int, Sums | None]]:
        """When each spell of a span began, and its sums. A time in which nothing happened is one entry of None."""
        span, before = SPANS[name], None
        for begins, sums in self._kept[name]:
            if begins <= now - span.spell * span.spells:
                continue
            if before is not None and begins > before + span.spell:
                yield before + span.spell, None
            yield begins, sums
            before = begins
