"""Where every row of a log went, and what the table made of it holds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, cast

import polars as pl

from mccpo.logs.table import BETWEEN_CONCEPTS


class Account(NamedTuple):
    """Where every row went, and what the table holds.

    rows = rejected + skipped + duplicates + merged + interactions. `reasons` tells why rows were rejected, `skips` what
    the skipped ones were instead of answers.
    """

    rows: int
    interactions: int
    learners: int
    concepts: int
    items: int
    without_concept: int
    rejected: int
    skipped: int
    duplicates: int
    merged: int
    out_of_order: int
    first: str | None
    last: str | None
    reasons: Mapping[str, int]
    skips: Mapping[str, int]

    @property
    def reconciles(self) -> bool:
        """Whether no row is lost and none counted twice."""
        return self.rows == self.rejected + self.skipped + self.duplicates + self.merged + self.interactions

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "reasons": dict(self.reasons), "skips": dict(self.skips)}


def contents(table: pl.DataFrame) -> dict[str, Any]:
    """What a canonical table holds, by the names that an account gives it."""
    first, last = (cast(datetime | None, end) for end in (table["time"].min(), table["time"].max()))
    named = table["concept"].null_count() < table.height
    several = table["concept"].unique().drop_nulls().cast(pl.String) if named else None
    concepts = 0 if several is None else several.str.split(BETWEEN_CONCEPTS).explode().n_unique()
    return {
        "learners": table["learner"].n_unique(),
        "concepts": concepts,
        "items": table["item"].drop_nulls().n_unique(),
        "without_concept": table["concept"].null_count(),
        "first": None if first is None else f"{first:%Y-%m-%dT%H:%M:%SZ}",
        "last": None if last is None else f"{last:%Y-%m-%dT%H:%M:%SZ}",
    }
