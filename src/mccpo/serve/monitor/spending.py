"""What sessions cost and reach: sums with their weights, so that means and their errors are known at any time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

COSTS = ("c2", "c3", "c4")
"""Too little gain; too little demand; engagement without gain."""
REACHED = ("learning", "engagement", "learning-total")
"""What floors can be about that adds up over lessons: the mastery gained by the tutor's estimate, and the reward.

All but the last are discounted, as costs are."""
TRACKED = (*COSTS, *REACHED)


@dataclass(frozen=True, slots=True)
class Spending:
    """Sums over sessions of costs x, weights w and their products."""

    sessions: int = 0
    x: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    w: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    xx: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    xw: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    ww: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))

    def with_sessions(
        self, costs: Float[np.ndarray, "sessions costs"], weights: Float[np.ndarray, "sessions costs"]
    ) -> Spending:
        """These sums with those of more sessions."""
        return Spending(
            self.sessions + len(weights),
            self.x + costs.sum(axis=0),
            self.w + weights.sum(axis=0),
            self.xx + (costs * costs).sum(axis=0),
            self.xw + (weights * costs).sum(axis=0),
            self.ww + (weights * weights).sum(axis=0),
        )


@dataclass(slots=True)
class _Session:
    """A session that is open: its costs, and the sum of the weights of each."""

    costs: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    weights: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))


class Ledger:
    """What sessions have cost so far, by one way of pricing lessons."""

    def __init__(self) -> None:
        self._ended = Spending()
        self._open: dict[str, _Session] = {}

    def spend(self, session: str, costs: Float[np.ndarray, " costs"], weights: Float[np.ndarray, " costs"]) -> None:
        """A lesson of a session costs so much, each cost counted by its weight already."""
        spent = self._open.setdefault(session, _Session())
        spent.costs += costs
        spent.weights += weights

    def end(self, session: str) -> None:
        """A session is over."""
        if (spent := self._open.pop(session, None)) is not None:
            self._ended = self._ended.with_sessions(spent.costs[None], spent.weights[None])

    def total(self) -> Spending:
        """The sums over all sessions, open ones so far."""
        sessions = list(self._open.values())
        costs, weights = (
            np.array(rows).reshape(-1, len(TRACKED))
            for rows in ([session.costs for session in sessions], [session.weights for session in sessions])
        )
        return self._ended.with_sessions(costs, weights)
