"""The canonical table: one row for each event, sorted by learner and then in the order in which things happened.

Here are its columns and what they hold; `table_files` reads and writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Int

BETWEEN_CONCEPTS = "~~"
"""Joins the concepts of an event that has several, sorted."""
GROUP = "group_"
"""What the names of group columns begin with."""

NAMES = ("learner", "concept", "item")
COLUMNS: Mapping[str, pl.DataType] = {
    "learner": pl.String(),
    "concept": pl.String(),
    "item": pl.String(),
    "order": pl.Int32(),
    "time": pl.Datetime("ms"),
    "correct": pl.Boolean(),
    "attempts": pl.Int32(),
    "hints": pl.Int32(),
    "seconds": pl.Float32(),
    "signal": pl.Int8(),
}
"""The columns and what they hold; names are kept as codes (`pl.Enum`) of the sorted names."""
OPTIONAL: Mapping[str, pl.DataType] = {"propensity": pl.Float32()}
"""Columns that a table has only where its source knows them: the chance with which what was taught was chosen."""


def encode(names: pl.Series) -> pl.Series:
    """Names as codes that sort as the names do, and are the same whatever order they were met in.

    >>> encode(pl.Series(["b", "a", "b"])).to_physical().to_list()
    [1, 0, 1]
    """
    if isinstance(names.dtype, pl.Enum) and _is_tight(names, names.dtype.categories):
        return names
    coded = isinstance(names.dtype, pl.Enum | pl.Categorical)
    met = names if coded else names.cast(pl.String).cast(pl.Categorical(pl.Categories.random()))
    distinct = met.drop_nulls().unique()
    distinct_names = pl.DataFrame({"name": distinct.cast(pl.String), "code": distinct.to_physical()}).sort("name")
    if not distinct_names.height:
        return pl.Series(names.name, [None] * len(names), dtype=pl.Enum([]))
    codes = distinct_names["code"].to_numpy()
    rank = np.zeros(int(codes.max()) + 1, np.uint32)
    rank[codes] = np.arange(len(codes), dtype=np.uint32)
    physical = met.to_physical()
    ranked = pl.Series(names.name, rank[physical.fill_null(codes[0]).to_numpy()])
    if physical.null_count():
        ranked = pl.select(pl.when(physical.is_not_null()).then(ranked)).to_series().alias(names.name)
    return ranked.cat.to(pl.Enum(distinct_names["name"]))


def tidied(cells: pl.Series, between: str = BETWEEN_CONCEPTS, names: Mapping[str, str] | None = None) -> pl.Series:
    """Cells of concepts: each once, by its name where `names` has one, sorted and joined; null where there is none."""
    met = cells.unique().drop_nulls().cast(pl.String)
    if not names and not met.str.contains(between, literal=True).any():
        return cells
    parts = met.str.split(between).list.eval(pl.element().filter(pl.element() != "").replace(names or {}))
    joined = parts.list.unique().list.sort().list.join(BETWEEN_CONCEPTS)
    tidy = pl.select(pl.when(joined != "").then(joined)).to_series()
    return cells.cast(pl.String).replace_strict(met, tidy, return_dtype=pl.String)


class SplitConcepts(NamedTuple):
    """Cells of concepts taken apart.

    **Fields:**

    - `concepts`: every concept once, sorted.
    - `counts`: of each cell, how many concepts it names.
    - `codes`: the concepts of all cells in turn, as positions in `concepts`.
    """

    concepts: tuple[str, ...]
    counts: Int[np.ndarray, " cells"]
    codes: Int[np.ndarray, " entries"]

    @property
    def starts(self) -> Int[np.ndarray, " cells"]:
        """Where the concepts of each cell begin in `codes`."""
        return np.cumsum(self.counts) - self.counts

    @property
    def single(self) -> bool:
        """Whether each cell is one concept, and another one than all other cells."""
        return len(self.concepts) == len(self.counts) and bool((self.counts == 1).all())


def split_concepts(cells: Sequence[str]) -> SplitConcepts:
    """Takes cells of concepts apart; a concept that a cell names twice counts once.

    >>> split_concepts(["adding", "adding~~counting"]).concepts
    ('adding', 'counting')
    """
    parts = [sorted(set(cell.split(BETWEEN_CONCEPTS))) for cell in cells]
    concepts = tuple(sorted({concept for cell in parts for concept in cell}))
    code_of = {concept: code for code, concept in enumerate(concepts)}
    counts = np.array([len(cell) for cell in parts], np.int64)
    return SplitConcepts(concepts, counts, np.array([code_of[concept] for cell in parts for concept in cell], np.int64))


def _is_tight(names: pl.Series, categories: pl.Series) -> bool:
    """Whether codes are those that `encode` would give: of sorted names, all of which are there."""
    return categories.is_sorted() and names.drop_nulls().n_unique() == len(categories)


def beside(columns: Iterable[str]) -> list[str]:
    """Of some columns, those that not every table has: optional ones, then groups."""
    present = list(columns)
    return [name for name in OPTIONAL if name in present] + [name for name in present if name.startswith(GROUP)]
