"""Sorting millions of events: the keys of a row are packed into one whole number, and that is sorted.

A sort by several columns compares rows by all of them; one number is an order of magnitude quicker, and nearly always
enough: learners, quarter hours and exercises of a year of logs fit into its 63 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from jaxtyping import Bool, Int

MOST_BITS = 63


def argsort(keys: Sequence[Int[np.ndarray, " rows"]]) -> tuple[Int[np.ndarray, " rows"], Bool[np.ndarray, " rows"]]:
    """The order of rows by their keys in turn, rows of equal keys as they stand; and who equals the one before."""
    packed = pack(keys)
    if packed is None:
        order = np.lexsort([*keys[::-1]])
        tied = np.ones(len(order), bool)
        tied[:1] = False
        for key in keys:
            tied[1:] &= key[order][1:] == key[order][:-1]
        return order, tied
    order = pl.Series(packed).arg_sort().to_numpy().astype(np.int64)
    ranked = packed[order]
    tied = np.zeros(len(order), bool)
    tied[1:] = ranked[1:] == ranked[:-1]
    if tied.any():
        # Rows of equal keys are few; among them the file's own order decides.
        runs = np.flatnonzero(tied | np.append(tied[1:], False))
        order[runs] = order[runs][np.lexsort((order[runs], ranked[runs]))]
    return order, tied


def pack(keys: Sequence[Int[np.ndarray, " rows"]]) -> Int[np.ndarray, " rows"] | None:
    """The keys as one number a row whose order is theirs, or None when they need more than 63 bits."""
    parts = []
    bits = 0
    for key in keys:
        if not len(key):
            continue
        least = int(key.min())
        span = int(key.max()) - least
        if span.bit_length() > MOST_BITS:
            return None
        step = _step(key, least) if span > 2**20 else 1
        width = (span // step).bit_length()
        bits += width
        if bits > MOST_BITS:
            return None
        parts.append((key, least, step, width))
    packed = np.zeros(len(keys[0]) if keys else 0, np.int64)
    for key, least, step, width in parts:
        packed <<= width
        packed |= (key.astype(np.int64) - least) // step
    return packed


def _step(key: Int[np.ndarray, " rows"], least: int) -> int:
    """The largest number that divides all differences: times are often rounded."""
    some = np.append(key[:4096], key[:: max(1, len(key) // 4096)]).astype(np.int64) - least
    step = int(np.gcd.reduce(some))
    return int(np.gcd.reduce(key.astype(np.int64) - least)) if step > 1 else 1
