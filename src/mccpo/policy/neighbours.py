"""Means over the neighbours of each concept, by lists of neighbours: what is held and done grows with the edges.

Concepts come first in an array, so that what one of them tells is one stretch of memory, and a neighbour is fetched by
copying it. The mean over prerequisites passes its gradient back along the same edges, as a sum over what needs each
concept: that is again such a list, with other weights, and so no array is ever scattered into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from mccpo.curriculum import Tables, fan_in
from mccpo.policy.arrays import Array

Edge = tuple[int, int]


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """The sum over the neighbours of each concept, each with its weight."""

    tables: Tables
    weights: tuple[Float[np.ndarray, "rows width"], ...]

    def __call__(self, nodes: Float[Array, "concepts node batch"]) -> Float[Array, "concepts node batch"]:
        for table, weights in zip(self.tables, self.weights, strict=True):
            nodes = sum(
                nodes.take(places, axis=0, mode="clip") * weight[:, None, None]
                for places, weight in zip(table.T, weights.T, strict=True)
            )
        return nodes


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean over the neighbours along edges in one direction, 0 where there are none, and how gradients go back."""

    forward: WeightedSum
    backward: WeightedSum


def means(edges: Sequence[Edge], concepts: int) -> tuple[Mean, Mean]:
    """The means over the prerequisites of each concept, and over what needs it.

    >>> before, after = means([(0, 2), (1, 2)], 3)
    >>> before.forward(np.array([1.0, 3.0, 8.0]).reshape(3, 1, 1)).ravel().tolist()
    [0.0, 0.0, 2.0]
    >>> after.forward(np.array([1.0, 3.0, 8.0]).reshape(3, 1, 1)).ravel().tolist()
    [8.0, 8.0, 0.0]
    """
    ends = np.array(edges, np.int32).reshape(-1, 2)
    directions = []
    for to, of in ((1, 0), (0, 1)):
        share = 1 / np.maximum(np.bincount(ends[:, to], minlength=concepts), 1)
        forward = _weighted(ends[:, to], ends[:, of], share[ends[:, to]], concepts)
        backward = _weighted(ends[:, of], ends[:, to], share[ends[:, to]], concepts)
        directions.append(Mean(forward, backward))
    return directions[0], directions[1]


def _weighted(
    to: Int[np.ndarray, " edges"], of: Int[np.ndarray, " edges"], weight: Float[np.ndarray, " edges"], concepts: int
) -> WeightedSum:
    """The sum for each concept `to` over its neighbours `of`."""
    order = np.argsort(to, kind="stable")
    cuts = np.searchsorted(to[order], np.arange(1, concepts))
    lists, shares = (np.split(values[order], cuts) for values in (of, weight))
    tables = fan_in([each.tolist() for each in lists], concepts)
    flat = np.concatenate(shares)  # in the order in which the first table lists neighbours, row by row
    first = np.zeros(tables[0].shape, np.float32)
    first[tables[0] < concepts] = flat
    more = [(table < len(before)).astype(np.float32) for before, table in pairwise(tables)]
    return WeightedSum(tables, (first, *more))
