"""A gated recurrent network that reads a learner's answers: deep knowledge tracing, as a judge only.

Piech et al. (2015), Deep knowledge tracing, with the gates of Cho et al. (2014). It says of every concept how likely
the next answer is to be right, from all answers so far on any concept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.mastery.model import Number


class Recurrent(NamedTuple):
    """A fitted network.

    **Fields:**

    - `answer`: what a wrong and a right answer on each concept adds to the gates: update, reset, candidate.
    - `recurrent`: what the units themselves add to these; `candidate`: the bias of the candidate's part.
    - `out`, `bias`: the log-odds of a right answer on each concept, from the units.
    """

    answer: Float[np.ndarray, "answers concepts gates"]
    recurrent: Float[np.ndarray, "gates units"]
    candidate: Float[np.ndarray, " units"]
    out: Float[np.ndarray, "concepts units"]
    bias: Float[np.ndarray, " concepts"]
    concepts: tuple[str, ...] = ()


def gated(read: Number, recurrent: Number, candidate: Number, units: Number) -> Number:
    """The units, [..., units], after they have read something, [..., gates]; arrays of NumPy or of JAX."""
    own, size = units @ recurrent.T, units.shape[-1]
    update = squashed(read[..., :size] + own[..., :size])
    reset = squashed(read[..., size : 2 * size] + own[..., size : 2 * size])
    new = 2 * squashed(2 * (read[..., 2 * size :] + reset * (own[..., 2 * size :] + candidate))) - 1
    return update * units + (1 - update) * new


def squashed(logit: Number) -> Number:
    """The chance of these log-odds."""
    return 1 / (1 + math.e**-logit)
