"""What logs say of demand and engagement, concept by concept and event by event.

Demand is the mean of what there is of three shares, each from 0 to 1: wrong first answers, events with a hint, and
t/(t + t̄), the median time on the concept against the median over all. Engagement is whether the answer was right and,
where there is a clock, whether the learner went on within half an hour, each counting half. How it depends on demand,
mastery and novelty is fitted by least squares with coefficients of at least 0, in the form that the tutors have.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import polars as pl
from jaxtyping import Float, Int
from scipy.optimize import nnls

from mccpo.mastery import Responses, sequences, within

NOVELTY_SPAN = 5.0
SITTING = 1800.0
"""Seconds within which a learner who goes on has not left."""
_LEAST, _MOST = 0.05, 0.95
"""Demands are held to this: a concept that asks nothing at all, or all that can be asked, is too little seen."""


class Engagement(NamedTuple):
    """r_E = base − difficulty·demand·(1 − K) + novelty·exp(−n/span), and how much of what was seen it explains."""

    base: float
    difficulty: float
    novelty: float
    r_squared: float
    mean: float


def demand_of(events: pl.DataFrame, concepts: tuple[str, ...]) -> tuple[Float[np.ndarray, " concepts"], list[str]]:
    """The demand of each concept, and which shares it is the mean of.

    `events` has one row for each concept of each event: `learner`, `concept`, `order`, `correct`, `hints`, `seconds`.
    A concept that nobody met has the mean of the others.
    """
    first = events.sort("order").unique(["learner", "concept"], keep="first", maintain_order=True)
    shares = {"wrong first answers": first.group_by("concept").agg((~pl.col("correct")).mean().alias("share"))}
    if events["hints"].drop_nulls().sum():
        used = events.drop_nulls("hints").group_by("concept").agg((pl.col("hints") > 0).mean().alias("share"))
        shares["events with a hint"] = used
    overall = cast(float | None, events["seconds"].median())
    if overall:
        taken = pl.col("seconds").median()
        shares["time"] = (
            events.drop_nulls("seconds").group_by("concept").agg((taken / (taken + overall)).alias("share"))
        )
    found = np.full((len(shares), len(concepts)), np.nan)
    place = {name: at for at, name in enumerate(concepts)}
    for at, frame in enumerate(shares.values()):
        for name, share in frame.select(pl.col("concept").cast(pl.String), "share").iter_rows():
            found[at, place[name]] = share
    means = np.nanmean(found, axis=1, keepdims=True)
    demand = np.where(np.isnan(found), means, found).mean(axis=0)
    return np.clip(demand, _LEAST, _MOST), list(shares)


def novelty_of(responses: Responses) -> Float[np.ndarray, " rows"]:
    """exp(−n/span), n the times that the learner met the concept before."""
    found = sequences(responses)
    novelty = np.empty(responses.rows)
    novelty[found.order] = np.exp(-within(found.length) / NOVELTY_SPAN)
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
    found = sequences(responses)
    right = responses.correct[found.order[found.start]]
    learners: Int[np.ndarray, " concepts"] = np.bincount(found.concept, minlength=len(responses.concepts))
    with np.errstate(invalid="ignore"):
        return np.bincount(found.concept, right, len(responses.concepts)) / learners
