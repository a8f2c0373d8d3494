"""What logs say of engagement, event by event.

Engagement is whether the answer was right and, where there is a clock, whether the learner went on within half an hour,
each counting half. How it depends on demand, mastery and novelty is fitted by least squares with coefficients of at
least 0, in the form that the tutors have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import nnls

from mccpo.mastery import Responses, sequences, within

NOVELTY_SPAN = 5.0
SITTING = 1800.0
"""Seconds within which a learner who goes on has not left."""


class Engagement(NamedTuple):
    """r_E = base − difficulty·demand·(1 − K) + novelty·exp(−n/span), and how much of what was seen it explains."""

    base: float
    difficulty: float
    novelty: float
    r_squared: float
    mean: float


def novelty_of(responses: Responses) -> Float[np.ndarray, " rows"]:
    """exp(−n/span), n the times that the learner met the concept before."""
    grouped = sequences(responses)
    novelty = np.empty(responses.rows)
    novelty[grouped.order] = np.exp(-within(grouped.length) / NOVELTY_SPAN)
    return novelty


def engaged(responses: Responses) -> Float[np.ndarray, " rows"]:
    """Whether the answer was right and, where there is a clock, whether the learner went on; each counts half.

    To go on is to answer again within `SITTING`. The last answer of a learner is one after which nobody went on.
    """
    right = responses.correct.astype(float)
    _, first, event = np.unique(responses.event, return_index=True, return_inverse=True)
    learner, time = responses.learner[first], responses.time[first]
    pause = np.append(np.where(np.diff(learner) == 0, np.diff(time), np.inf), np.inf)
    pause[np.isnan(time)] = np.nan
    went_on = (pause <= SITTING)[event]
    return np.where(np.isnan(pause)[event], right, 0.5 * right + 0.5 * went_on)


def engagement_of(
    responses: Responses, mastery: Float[np.ndarray, " rows"], demand: Float[np.ndarray, " concepts"]
) -> Engagement:
    """How engagement depends on demand, mastery and novelty."""
    seen = engaged(responses)
    hard = demand[responses.concept] * (1 - mastery)
    novel = novelty_of(responses)
    if np.ptp(novel) == 0:
        novel = np.zeros(responses.rows)  # everyone met everything once: novelty cannot be told from the rest
    columns = np.stack([np.ones(responses.rows), -hard, novel], axis=1)
    q, r = np.linalg.qr(columns)  # of any number of rows, three are left
    base, difficulty, novelty = nnls(r, q.T @ seen)[0]
    spread = seen.var() * responses.rows
    missed = ((seen - columns @ [base, difficulty, novelty]) ** 2).sum()
    explained = float(1 - missed / spread) if spread > 0 else 0.0
    return Engagement(min(float(base), 1.0), float(difficulty), float(novelty), explained, float(seen.mean()))


def first_answers(responses: Responses) -> Float[np.ndarray, " concepts"]:
    """The share of right first answers on each concept, NaN where there are none."""
    grouped = sequences(responses)
    right = responses.correct[grouped.order[grouped.start]]
    learners: Int[np.ndarray, " concepts"] = np.bincount(grouped.concept, minlength=len(responses.concepts))
    with np.errstate(invalid="ignore"):
        return np.bincount(grouped.concept, right, len(responses.concepts)) / learners
