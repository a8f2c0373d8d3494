"""The gain of mastery with each answer, as a model of knowledge tracing sees it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from mccpo.mastery.bkt import BKT, BKTForget
from mccpo.mastery.fitting.trajectories import trajectories
from mccpo.mastery.model import codes
from mccpo.mastery.responses import Responses


def gains_by_event(model: BKT | BKTForget, responses: Responses, events: int) -> Float[np.ndarray, " events"]:
    """The mean gain over the concepts of each event, of so many events; NaN where an event has no response."""
    before = trajectories(model, responses).mastery
    # In both kinds of knowledge tracing the state is the mastery itself; what a pause took is in `before` already.
    after = model.update(codes(model, responses.concepts)[responses.concept], before, responses.correct)
    total = np.bincount(responses.event, after - before, minlength=events)
    with np.errstate(invalid="ignore"):
        return total / np.bincount(responses.event, minlength=events)
