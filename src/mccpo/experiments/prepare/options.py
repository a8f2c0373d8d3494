"""What `prepare` leaves open."""

from __future__ import annotations

from dataclasses import dataclass

from mccpo.curriculum import check_confidence, check_theta
from mccpo.errors import InputError
from mccpo.logs import MINIMUM, MOST


@dataclass(frozen=True)
class PrepareOptions:
    """What `prepare` leaves open.

    **Fields:**

    - `minimum`: events that a learner must have; `episodes`: how many learners to retain at most.
    - `horizon`: of the environment; the mean length of the episodes where it is None.
    - `group`: the group column by which learners are told apart.
    - `theta`: the mastery that opens the gate; `ready`: the least chance that a learner is ready that opens it instead.
    - `restarts`, `seed`: of the fits, of the sample of episodes and of the split.
    """

    minimum: int = MINIMUM
    episodes: int = MOST
    horizon: int | None = None
    group: str | None = None
    theta: float = 0.7
    ready: float | None = None
    restarts: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_theta(self.theta)
        if self.ready is not None:
            check_confidence(self.ready)
        for name in ("minimum", "episodes", "horizon", "restarts"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}", fix="give at least 1")
