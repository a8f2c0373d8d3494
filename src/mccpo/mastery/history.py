"""What a learner answered before, in counts that the next answer updates in constant time."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

FAST, SLOW = 0.7, 0.9
"""What an answer weighs of the one after it, in the counts that fade."""
WINDOWS = (3_600.0, 86_400.0, 7 * 86_400.0, 30 * 86_400.0)
"""An hour, a day, a week and a month, in seconds."""
PRACTICE = ("wins", "fails", "fast_wins", "fast_fails", "slow_wins", "slow_fails")
"""What a tally tells: the logarithms of 1 + right and wrong answers, then those counted so that they fade."""


@dataclass(slots=True)
class Tally:
    """Right and wrong answers: all of them, fading ones, and the times of those within the longest window."""

    wins: int = 0
    fails: int = 0
    fast_wins: float = 0.0
    fast_fails: float = 0.0
    slow_wins: float = 0.0
    slow_fails: float = 0.0
    win_times: list[float] = field(default_factory=list)
    fail_times: list[float] = field(default_factory=list)

    def count(self, correct: bool) -> None:
        """Counts an answer."""
        right = 1 if correct else 0
        self.wins += right
        self.fails += 1 - right
        self.fast_wins = FAST * self.fast_wins + right
        self.fast_fails = FAST * self.fast_fails + 1 - right
        self.slow_wins = SLOW * self.slow_wins + right
        self.slow_fails = SLOW * self.slow_fails + 1 - right

    def practice(self) -> list[float]:
        """What is to be told of the answers, named in `PRACTICE`."""
        return [
            math.log1p(self.wins), math.log1p(self.fails),
            self.fast_wins, self.fast_fails, self.slow_wins, self.slow_fails,
        ]  # fmt: skip

    def recent(self, now: float) -> list[float]:
        """Of each window, the logarithms of 1 + right and wrong answers in it."""
        return [
            math.log1p(len(times) - bisect_right(times, now - window))
            for window in WINDOWS
            for times in (self.win_times, self.fail_times)
        ]

    def stamp(self, correct: bool, now: float) -> None:
        """Keeps the time of an answer, and forgets those that no window will reach again."""
        (self.win_times if correct else self.fail_times).append(now)
        for times in (self.win_times, self.fail_times):
            del times[: bisect_right(times, now - WINDOWS[-1])]


NOTHING = Tally()
"""The tally of what was never answered; it is read only."""


@dataclass(slots=True)
class History:
    """All that a learner answered: in total, by concept and by item. `now` is the last time that is known."""

    total: Tally = field(default_factory=Tally)
    concepts: dict[str, Tally] = field(default_factory=dict)
    items: dict[str, Tally] = field(default_factory=dict)
    now: float = -math.inf

    def at(self, time: float) -> float:
        """The time of an event: a clock does not go back, and without one no time has passed."""
        return time if time > self.now else self.now

    def record(self, item: str | None, concepts: Sequence[str], correct: bool, time: float) -> None:
        """Puts an answer in the history."""
        self.now = self.at(time)
        self.total.count(correct)
        for name in concepts:
            tally = self.concepts.setdefault(name, Tally())
            tally.count(correct)
            if not math.isnan(time):
                tally.stamp(correct, self.now)
        if item is not None:
            self.items.setdefault(item, Tally()).count(correct)

    def as_json(self) -> dict[str, Any]:
        """The history as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> History:
        """The history of `as_json`, also by way of JSON, which has no infinity."""
        tallies = {
            kind: {name: Tally(**tally) for name, tally in document[kind].items()} for kind in ("concepts", "items")
        }
        now = document["now"]
        return cls(Tally(**document["total"]), tallies["concepts"], tallies["items"], -math.inf if now is None else now)
