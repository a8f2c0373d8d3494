"""Tables by which each concept takes something from others, such as whether its prerequisites are mastered.

A table that lists all prerequisites of each concept is as wide as the longest list, so one concept with a thousand
prerequisites would make every row a thousand wide. Here a row has at most `WIDTH` entries. A longer list is taken in
parts, and a second table takes the parts together. All tables together have at most `WIDTH` entries for each concept
and two for each edge or so, whatever the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

WIDTH = 8

Tables: TypeAlias = tuple[Int[np.ndarray, "rows width"], ...]
"""Each table lists places among what the table before it gave, the first among the concepts; rows are padded with the
number of places, one past the last. The last table has a row for each concept."""


def fan_in(lists: Sequence[Sequence[int]], size: int) -> Tables:
    """The tables of what each concept takes, by place among `size` others.

    >>> [table.tolist() for table in fan_in([[], [0], [0, 1]], size=3)]
    [[[3, 3], [0, 3], [0, 1]]]
    >>> [table.shape for table in fan_in([list(range(20)), [3]], size=20)]
    [(4, 8), (2, 3)]
    """
    tables = []
    while max(map(len, lists), default=0) > WIDTH:
        parts = [[taken[at : at + WIDTH] for at in range(0, len(taken), WIDTH)] for taken in lists]
        rows = [part for each in parts for part in each]
        tables.append(_padded(rows, size))
        firsts = np.cumsum([0, *map(len, parts)])
        lists = [list(range(first, first + len(each))) for first, each in zip(firsts, parts, strict=False)]
        size = len(rows)
    return (*tables, _padded(lists, size))


def _padded(lists: Sequence[Sequence[int]], size: int) -> Int[np.ndarray, "rows width"]:
    table = np.full((len(lists), max(map(len, lists), default=0)), size, dtype=np.int32)
    for row, taken in zip(table, lists, strict=True):
        row[: len(taken)] = taken
    table.setflags(write=False)
    return table
