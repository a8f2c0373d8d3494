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


@dataclass(slots=True)
class Spending:
    """Sums over sessions of costs x, weights w and their products."""

    sessions: int = 0
    x: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    w: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    xx: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    xw: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))
    ww: Float[np.ndarray, " costs"] = field(default_factory=lambda: np.zeros(len(TRACKED)))


class Ledger:
    """What sessions have cost so far, by one way of pricing lessons: `total` is kept as lessons are given.

    `open` are the costs and weights of the sessions that may still cost more.
    """

    def __init__(self) -> None:
        self.total = Spending()
        self.open: dict[str, tuple[Float[np.ndarray, " costs"], Float[np.ndarray, " costs"]]] = {}

    def spend(self, session: str, costs: Float[np.ndarray, " costs"], weights: Float[np.ndarray, " costs"]) -> None:
        """A lesson of a session costs so much, each cost counted by its weight already."""
        total = self.total
        if session not in self.open:
            total.sessions += 1
            self.open[session] = np.zeros(len(TRACKED)), np.zeros(len(TRACKED))
        x, w = self.open[session]
        more_x, more_w = x + costs, w + weights
        total.x += costs
        total.w += weights
        total.xx += more_x * more_x - x * x
        total.xw += more_x * more_w - x * w
        total.ww += more_w * more_w - w * w
        self.open[session] = more_x, more_w

    def end(self, session: str) -> None:
        """A session is over."""
        self.open.pop(session, None)
