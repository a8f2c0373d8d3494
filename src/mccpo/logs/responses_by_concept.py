"""A canonical table summed up by learner and concept, as the estimator of prerequisite graphs takes it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from mccpo.curriculum.derive import Scores
from mccpo.errors import InputError
from mccpo.logs.table import BETWEEN_CONCEPTS

Score: TypeAlias = Literal["first", "mean"]
"""The score of a learner at a concept: whether the first answer was right, or the share of right answers."""


def responses_by_concept(table: pl.DataFrame, score: Score = "first") -> Scores:
    """One score for each learner and concept that met, and the position at which they first did.

    Events of several concepts are left out: one answer says the same of each of them, and would make concepts that
    share items look as if knowing one meant knowing the other. A concept that has no events of its own is still named.
    """
    named = table.lazy().filter(pl.col("concept").is_not_null()).with_columns(pl.col("concept").cast(pl.String))
    every = named.select(pl.col("concept").unique().str.split(BETWEEN_CONCEPTS).explode().unique().sort())
    scored = pl.col("correct").sort_by("order").first() if score == "first" else pl.col("correct").mean()
    rows, names = pl.collect_all(
        (
            named.filter(~pl.col("concept").str.contains(BETWEEN_CONCEPTS, literal=True))
            .group_by("learner", "concept")
            .agg(scored.cast(pl.Float64).alias("score"), pl.col("order").min().cast(pl.Float64).alias("first"))
            .sort("learner", "concept"),
            every,
        )
    )
    if not rows.height:
        raise InputError("no answer names one concept", fix="give logs whose events have concepts of their own")
    concepts = tuple(names["concept"])
    return Scores(
        learner=rows["learner"].rank("dense").to_numpy().astype(np.int32) - 1,
        concept=rows["concept"].cast(pl.Enum(concepts)).to_physical().to_numpy().astype(np.int32),
        score=rows["score"].to_numpy(),
        first=rows["first"].to_numpy(),
        concepts=concepts,
    )
