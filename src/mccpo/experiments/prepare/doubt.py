"""How far what few learners say of the start can be trusted.

A concept that three learners met, and all three knew, is not known to everyone. The chance that a new learner knows it
has a lower bound, and a gate that must be confident goes by that bound until the learner's own answers say more.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv  # not scipy.stats, whose import takes a second

from mccpo.experiments.prepare.learners import learners_of
from mccpo.mastery import BKT, Responses

BOUND = 0.95
"""How sure the lower bound is."""
PRIOR_LEARNERS = 1.0
"""The weight of the mean over concepts: without it, a concept that nobody met would have no bound."""


def doubt_of(model: BKT, responses: Responses) -> Float[np.ndarray, " entries"]:
    """The share of each concept's odds at the start that lies above their lower bound; last, that of one not seen.

    The bound is the lower 5 % point of the Beta posterior of the chance, of as many learners as met the concept. An
    answer tells less than the knowledge behind it: by guess and slip, n learners count as n·(1 − guess − slip)².
    Drawing learners again, as a bootstrap does, would find no doubt at all where a single learner answered.
    """
    told = np.maximum(1 - model.guess - model.slip, 0.0) ** 2
    learners = np.append(learners_of(model, responses), 0.0) * told
    mean = model.prior[-1]
    known = learners * model.prior + PRIOR_LEARNERS * mean
    unknown = learners * (1 - model.prior) + PRIOR_LEARNERS * (1 - mean)
    least = np.minimum(betaincinv(known, unknown, 1 - BOUND), model.prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = least * (1 - model.prior) / (model.prior * (1 - least))
    return 1 - np.nan_to_num(kept, nan=1.0)  # of a start that is certain, whichever way, nothing is in doubt
