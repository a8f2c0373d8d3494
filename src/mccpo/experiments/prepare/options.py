"""What `prepare` leaves open."""

from __future__ import annotations

from dataclasses import dataclass

from mccpo.curriculum import check_confidence, check_theta
from mccpo.errors import InputError
from mccpo.logs import MINIMUM, MOST

SIMULATED = ("bkt", "pfa", "best-lr", "recurrent")
"""The models whose learners an environment can simulate."""
BEST = "best"
"""In place of a model: the one that predicts held-out learners best."""
FEWEST_LEARNERS = 10
"""Five in each half. What fewer than that know and learn cannot be told from chance."""


@dataclass(frozen=True)
class PrepareOptions:
    """What `prepare` leaves open.

    **Fields:**

    - `minimum`: events that a learner must have; `episodes`: how many learners to retain at most.
    - `horizon`: of the environment; the mean length of the episodes where it is None.
    - `group`: the group column by which learners are told apart.
    - `theta`: the mastery that opens the gate; `ready`: the least chance that a learner is ready that opens it instead.
    - `robust`: whether learners to train with are drawn from an ensemble, not from one model: from knowledge tracing
      of resampled learners, and from models of other kinds.
    - `model`: what the learners to train with are, from `SIMULATED`, or `BEST`. What the tutor believes of them, and
      the gate goes by, is knowledge tracing in any case.
    - `restarts`, `seed`: of the fits, of the sample of episodes and of the split.
    """

    minimum: int = MINIMUM
    episodes: int = MOST
    horizon: int | None = None
    group: str | None = None
    theta: float = 0.7
    ready: float | None = None
    robust: bool = False
    restarts: int = 5
    seed: int = 0
    model: str = "bkt"

    def __post_init__(self) -> None:
        check_theta(self.theta)
        if self.model not in (*SIMULATED, BEST):
            raise InputError(
                f"no environment simulates learners of {self.model!r}",
                fix=f"choose from {', '.join(SIMULATED)}, {BEST}",
            )
        if self.robust and self.model != "bkt":
            raise InputError("robust draws learners of several kinds", fix="leave the model out, or robust")
        if self.ready is not None:
            check_confidence(self.ready)
        for name, least in (("minimum", 1), ("episodes", FEWEST_LEARNERS), ("horizon", 1), ("restarts", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name} is {value}", fix=f"give at least {least}")
