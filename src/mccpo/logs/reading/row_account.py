"""Where every row of a log went, and what the table made of it holds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, cast

import polars as pl

from mccpo.logs.table import BETWEEN_CONCEPTS


class TableContents(NamedTuple):
    """What a canonical table holds; `first` and `last` are the times of its events, where they have any."""

    interactions: int
    learners: int
    concepts: int
    items: int
    without_concept: int
    first: str | None
    last: str | None


class RowAccount(NamedTuple):
    """Where every row went, and what the table holds, as in `TableContents`.

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

    def as_json(self) -> dict[str, Any]:
        """The account as plain values, for JSON."""
        return {**self._asdict(), "reasons": dict(self.reasons), "skips": dict(self.skips)}


def table_contents(table: pl.DataFrame) -> TableContents:
    """Counts what a canonical table holds."""
    first, last = (cast(datetime | None, end) for end in (table["time"].min(), table["time"].max()))
    named = table["concept"].null_count() < table.height
    combinations = table["concept"].unique().drop_nulls().cast(pl.String) if named else None
    return TableContents(
        interactions=table.height,
        learners=table["learner"].n_unique(),
        concepts=0 if combinations is None else combinations.str.split(BETWEEN_CONCEPTS).explode().n_unique(),
        items=table["item"].drop_nulls().n_unique(),
        without_concept=table["concept"].null_count(),
        first=None if first is None else f"{first:%Y-%m-%dT%H:%M:%SZ}",
        last=None if last is None else f"{last:%Y-%m-%dT%H:%M:%SZ}",
    )
