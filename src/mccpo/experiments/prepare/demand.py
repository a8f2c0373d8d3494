"""What logs say of demand, concept by concept.

Demand is the mean of what there is of three shares, each from 0 to 1: wrong first answers, events with a hint, and
t/(t + t̄), the median time on the concept against the median over all.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import polars as pl
from jaxtyping import Float

_LEAST, _MOST = 0.05, 0.95
"""Demands are held to this: a concept that asks nothing at all, or all that can be asked, is too little seen."""


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
    by_share = np.full((len(shares), len(concepts)), np.nan)
    code_of = {name: at for at, name in enumerate(concepts)}
    for at, frame in enumerate(shares.values()):
        for name, share in frame.select(pl.col("concept").cast(pl.String), "share").iter_rows():
            by_share[at, code_of[name]] = share
    means = np.nanmean(by_share, axis=1, keepdims=True)
    demand = np.where(np.isnan(by_share), means, by_share).mean(axis=0)
    return np.clip(demand, _LEAST, _MOST), list(shares)
