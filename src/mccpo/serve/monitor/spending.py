"""What sessions cost and reach: discounted sums, so that means and their errors are known at any time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

COSTS = ("c2", "c3", "c4")
"""Too little gain; too little demand; engagement without gain."""
REACHED = ("learning", "engagement")
"""What floors can be about that adds up over lessons: the mastery gained by the tutor's estimate, and the reward."""
TRACKED = (*COSTS, *REACHED)


@dataclass(frozen=True, slots=True)
class Spending:
    """Sums over sessions of costs x, weights w and their products."""

    sessions: int = 0
    x: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    w: float = 0.0
    xx: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    xw: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    ww: float = 0.0

    def with_sessions(
        self, costs: Float[np.ndarray, "sessions costs"], weights: Float[np.ndarray, " sessions"]
    ) -> Spending:
        """These sums with those of more sessions."""
        return Spending(
            self.sessions + len(weights),
            self.x + costs.sum(axis=0),
            self.w + float(weights.sum()),
            self.xx + (costs * costs).sum(axis=0),
            self.xw + weights @ costs,
            self.ww + float(weights @ weights),
        )


@dataclass(slots=True)
class _Session:
    """A session that is open: its discounted costs, and the sum of their weights."""

    costs: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    weight: float = 0.0


class Ledger:
    """What sessions have cost so far, by one way of pricing lessons."""

    def __init__(self) -> None:
        self._ended = Spending()
        self._open: dict[str, _Session] = {}

    def spend(self, session: str, costs: Float[np.ndarray, " costs"], weight: float) -> None:
        """A lesson of a session costs so much, discounted by a weight."""
        spent = self._open.setdefault(session, _Session())
        spent.costs += costs
        spent.weight += weight

    def end(self, session: str) -> None:
        """A session is over."""
        if (spent := self._open.pop(session, None)) is not None:
            self._ended = self._ended.with_sessions(spent.costs[None], np.array([spent.weight]))

    def total(self) -> Spending:
        """The sums over all sessions, open ones so far."""
        sessions = list(self._open.values())
        costs = np.array([session.costs for session in sessions]).reshape(-1, len(TRACKED))
        return self._ended.with_sessions(costs, np.array([session.weight for session in sessions]))
