"""Mastery over time as the paper estimates it: a moving average of what each learner shows of each concept.

K ← K + α(x − K) with every event of the concept, x being whether the answer was right, or what the platform registered.
Millions of such short recurrences are worked out side by side, without a loop over learners.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Bool, Float, Int

from mccpo.errors import InputError
from mccpo.logs.reading.ordering import pack
from mccpo.logs.table import split_concepts

ALPHA = 0.08
K0 = 0.2
_CHUNK = 500_000  # small enough for the processor to keep at hand


class ConceptEntries(NamedTuple):
    """The events by concept: one entry for each concept of each event, as the events stand in the table.

    `row` is the event's place in the table, `concept` a place in `concepts`; events without a concept have no entry.
    """

    row: Int[np.ndarray, " entries"]
    concept: Int[np.ndarray, " entries"]
    concepts: tuple[str, ...]


def concept_entries(table: pl.DataFrame) -> ConceptEntries:
    """Takes the events of several concepts apart."""
    names = table["concept"].dtype.categories.to_list()  # type: ignore[attr-defined]  # an Enum
    codes = table["concept"].to_physical()
    row = np.flatnonzero(codes.is_not_null().to_numpy())
    code = codes.drop_nulls().to_numpy().astype(np.int64)
    split = split_concepts(names)
    if split.single:
        return ConceptEntries(row, code, split.concepts)
    repeats = split.counts[code]
    within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    concept = split.codes[np.repeat(split.starts[code], repeats) + within]
    return ConceptEntries(np.repeat(row, repeats), concept, split.concepts)


def ema(
    table: pl.DataFrame, of: Literal["correct", "signal"] = "correct", alpha: float = ALPHA, start: float = K0
) -> pl.DataFrame:
    """The mastery of each event's concept just `before` and just `after` it, row by row; null without a concept.

    Of `correct`, a right answer pulls it to 1 and a wrong one to 0; of the `signal`, a registered gain pulls it to 1, a
    loss to 0, and neither leaves it as it was. An event of several concepts has the mean over them.
    """
    if of == "signal" and table["signal"].null_count() == table.height:
        raise InputError("the logs have no signal of mastery", fix="take the moving average of correct answers")
    if not 0 < alpha <= 1 or not 0 <= start <= 1:
        raise InputError(
            f"alpha is {alpha} and K0 is {start}", fix="give alpha above 0 and K0 from 0 to 1, both at most 1"
        )
    row, concept, _ = concept_entries(table)
    learner = table["learner"].to_physical().to_numpy()
    if of == "correct":
        shown, speaks = table["correct"].to_numpy().astype(np.float64), None
    else:
        signal = table["signal"].fill_null(0).to_numpy()
        shown, speaks = (signal > 0).astype(np.float64), signal != 0
    before, after = np.empty(len(row), np.float32), np.empty(len(row), np.float32)
    for part in _chunks(learner[row]):
        rows = row[part]
        rate = alpha if speaks is None else alpha * speaks[rows]
        order = _sequence(learner[rows], concept[part])
        before[part], after[part] = _recur(learner[rows], concept[part], shown[rows], rate, start, order)
    return _by_event(table.height, row, before, after)


def shards(table: pl.DataFrame, count: int) -> list[slice]:
    """The rows in at most `count` parts of whole learners, of which `ema` gives the same bits as of the whole table.

    They end where parts end that `ema` works out by themselves: a small table is one shard.
    """
    learner = table["learner"].to_physical().to_numpy()
    row, _, _ = concept_entries(table)
    # A learner's events without a concept go with the others.
    begins = [int(np.searchsorted(learner, learner[row[part.start]])) for part in _chunks(learner[row])]
    cuts = {begins[at * len(begins) // count] for at in range(1, count)} - {begins[0]} if begins else set[int]()
    return [slice(begin, end) for begin, end in pairwise([0, *sorted(cuts), table.height])]


def _sequence(
    learner: Int[np.ndarray, " entries"], concept: Int[np.ndarray, " entries"]
) -> Int[np.ndarray, " entries"]:
    """The order of entries by learner, concept and time."""
    packed = pack([learner, concept, np.arange(len(concept))])
    if packed is None:  # of learners and concepts without number, that is
        return np.lexsort((concept, learner))
    return pl.Series(packed).arg_sort().to_numpy()


def _chunks(learner: Int[np.ndarray, " entries"]) -> Iterator[slice]:
    """Parts of some millions of entries, each with whole learners."""
    ends = np.append(np.flatnonzero(np.diff(learner)) + 1, len(learner))
    begin = 0
    while begin < len(learner):
        at = min(int(np.searchsorted(ends, begin + _CHUNK)), len(ends) - 1)
        end = int(ends[at])
        yield slice(begin, end)
        begin = end


def _recur(
    learner: Int[np.ndarray, " entries"],
    concept: Int[np.ndarray, " entries"],
    shown: Float[np.ndarray, " entries"],
    rate: Float[np.ndarray, " entries"] | float,
    start: float,
    order: Int[np.ndarray, " entries"],
) -> tuple[Float[np.ndarray, " entries"], Float[np.ndarray, " entries"]]:
    first = np.ones(len(order), bool)
    who, what = learner[order], concept[order]
    first[1:] = (who[1:] != who[:-1]) | (what[1:] != what[:-1])
    rates = np.broadcast_to(rate, len(order))[order]
    after = recurrence(1 - rates, rates * shown[order], first, start)
    before = np.where(first, start, np.append(start, after[:-1]))
    back = np.empty((2, len(order)), np.float32)
    back[:, order] = before, after
    return back[0], back[1]


def recurrence(
    keep: Float[np.ndarray, " entries"],
    add: Float[np.ndarray, " entries"],
    first: Bool[np.ndarray, " entries"],
    start: float,
) -> Float[np.ndarray, " entries"]:
    """y = keep·y' + add, y' being the entry before, or `start` where a sequence begins.

    The entries are cut into as many blocks as a block is long, and all blocks are worked out together from 0; what
    each then lacks is what comes in from the block before, times what of it is left.

    >>> recurrence(np.full(3, 0.5), np.array([0.5, 0.5, 0.0]), np.array([True, False, True]), 0.0)
    array([0.5 , 0.75, 0.  ])
    """
    size = len(keep)
    length = max(1, int(np.sqrt(size)))
    blocks = -(-size // length)
    pad = blocks * length - size
    k = np.pad(np.where(first, 0.0, keep), (0, pad)).reshape(blocks, length).T.copy()
    y = np.pad(np.where(first, add + keep * start, add), (0, pad)).reshape(blocks, length).T.copy()
    for at in range(1, length):
        y[at] += k[at] * y[at - 1]
        k[at] *= k[at - 1]
    carried = np.zeros(blocks)
    for block in range(1, blocks):
        carried[block] = y[-1, block - 1] + k[-1, block - 1] * carried[block - 1]
    return (y + k * carried).T.ravel()[:size]


def _by_event(
    height: int,
    row: Int[np.ndarray, " entries"],
    before: Float[np.ndarray, " entries"],
    after: Float[np.ndarray, " entries"],
) -> pl.DataFrame:
    if len(row) == height and (np.diff(row) == 1).all():
        return pl.DataFrame({"before": before, "after": after})  # every event has one concept
    count = np.bincount(row, minlength=height)
    with np.errstate(invalid="ignore"):
        means = [(np.bincount(row, values, minlength=height) / count).astype(np.float32) for values in (before, after)]
    return pl.DataFrame({"before": means[0], "after": means[1]}).fill_nan(None)
