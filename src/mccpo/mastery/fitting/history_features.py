"""What every learner's history was before each answer, for all answers at once: `History` in arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int64
from scipy.signal import lfilter
from scipy.sparse import csr_array

from mccpo.mastery.best_lr import BestLR
from mccpo.mastery.fitting.sparse_logistic import Design
from mccpo.mastery.history import FAST, PRACTICE, SLOW, WINDOWS
from mccpo.mastery.response_model import Weights
from mccpo.mastery.responses import Responses, within


class Places(NamedTuple):
    """Where the weights of each row's concept and of each event's item are; −1 where there are none."""

    concept: Int[np.ndarray, " rows"]
    item: Int[np.ndarray, " events"]
    concepts: int
    items: int


def places_of(weights: Weights, responses: Responses) -> Places:
    """The places of responses among the weights of a model that was fitted to others."""
    starts = responses.event_starts
    item = np.full(len(starts), -1, np.int64)
    if responses.item is not None:
        item = np.append(weights.item_places(responses.items), -1)[responses.item[starts]]
    concept = weights.concept_rows(responses.concepts)[responses.concept]
    return Places(concept, item, len(weights.concepts), len(weights.items))


def history_design(responses: Responses, places: Places) -> Design:
    """One row for each event: the features of `BestLR.SHARED`, then those of each concept, then the items."""
    starts = responses.event_starts
    event = np.repeat(np.arange(len(starts)), np.diff(starts, append=responses.rows))
    pair = responses.learner.astype(np.int64) * max(len(responses.concepts), 1) + responses.concept
    on_concept = _Sequences.by(pair)
    practice = on_concept.practice(responses.correct)
    recent = on_concept.recent(responses.correct, responses.time, _now(responses))
    dense = np.concatenate(
        [
            np.ones((len(starts), 1)),
            _item_practice(responses, starts),
            total_practice(responses),
            np.add.reduceat(np.concatenate([practice, recent], axis=1), starts, axis=0),
        ],
        axis=1,
    )
    own = np.concatenate([np.ones((responses.rows, 1)), practice[:, : len(BestLR.OWN) - 1]], axis=1)
    return Design(dense, sparse_weights(own, event, places))


def total_practice(responses: Responses) -> Float[np.ndarray, "events practice"]:
    """Before each event, what all answers of its learner so far tell."""
    starts = responses.event_starts
    return _Sequences.by(responses.learner[starts].astype(np.int64)).practice(responses.correct[starts])


def sparse_weights(own: Float[np.ndarray, "rows own"], event: Int64[np.ndarray, " rows"], places: Places) -> csr_array:
    """The features of each concept, one after the other, then an indicator of each item."""
    size = own.shape[1]
    shape = len(places.item), places.concepts * size + places.items
    column = places.concept[:, None] * size + np.arange(size)
    used = np.broadcast_to(places.concept[:, None] >= 0, column.shape) & (own != 0)
    named = np.flatnonzero(places.item >= 0)
    values = np.concatenate([own[used], np.ones(len(named))])
    rows = np.concatenate([np.broadcast_to(event[:, None], column.shape)[used], named])
    columns = np.concatenate([column[used], places.concepts * size + places.item[named]])
    return csr_array((values, (rows, columns)), shape=shape)


def weights_of(
    coefficients: Float[np.ndarray, " features"],
    shared: int,
    own: int,
    concepts: tuple[str, ...],
    items: tuple[str, ...],
) -> Weights:
    """The coefficients of a design as weights; concepts and items that were not there have none."""
    cut = shared + own * len(concepts)
    table = coefficients[shared:cut].reshape(len(concepts), own)
    return Weights(
        shared=coefficients[:shared],
        own=np.concatenate([table, np.zeros((1, own))]),
        ease=np.append(coefficients[cut:], 0.0),
        concepts=concepts,
        items=items,
    )


def coefficients_of(weights: Weights) -> Float[np.ndarray, " features"]:
    """The weights as coefficients of a design."""
    return np.concatenate([weights.shared, weights.own[:-1].ravel(), weights.ease[:-1]])


def _item_practice(responses: Responses, starts: Int64[np.ndarray, " events"]) -> Float[np.ndarray, "events practice"]:
    practice = np.zeros((len(starts), len(PRACTICE)))
    if responses.item is None:
        return practice
    named = starts[responses.item[starts] >= 0]
    pair = responses.learner[named].astype(np.int64) * len(responses.items) + responses.item[named]
    practice[responses.item[starts] >= 0] = _Sequences.by(pair).practice(responses.correct[named])
    return practice


def _now(responses: Responses) -> Float[np.ndarray, " rows"]:
    """The last time that is known of each row's learner, from 0; below all windows where there is none."""
    known = np.isfinite(responses.time)
    if not known.any():
        return np.full(responses.rows, -np.inf)
    origin = responses.time[known].min()
    time = np.where(known, responses.time - origin, -2 * WINDOWS[-1])
    span = float(time.max()) + 3 * WINDOWS[-1]  # learners one after the other on one clock, so far apart that none meet
    turn = np.cumsum(np.diff(responses.learner, prepend=responses.learner[:1]) != 0) * span
    return np.maximum.accumulate(time + turn) - turn


class _Sequences(NamedTuple):
    """Rows sorted into sequences, each in the order in which things happened."""

    order: Int64[np.ndarray, " rows"]
    start: Int64[np.ndarray, " sequences"]
    length: Int64[np.ndarray, " sequences"]

    @classmethod
    def by(cls, key: Int64[np.ndarray, " rows"]) -> _Sequences:
        """The rows of each key."""
        order = np.argsort(key, kind="stable")
        start = np.flatnonzero(np.diff(key[order], prepend=-1))
        return cls(order, start, np.diff(start, append=len(key)))

    def practice(self, correct: Bool[np.ndarray, " rows"]) -> Float[np.ndarray, "rows practice"]:
        """Before each row, what `Tally.practice` tells of its sequence."""
        right = correct[self.order].astype(float)
        told = np.empty((len(right), len(PRACTICE)))
        for side, answer in enumerate((right, 1 - right)):
            told[self.order, side] = np.log1p(self._before(answer, 1.0))
            told[self.order, 2 + side] = self._before(answer, FAST)
            told[self.order, 4 + side] = self._before(answer, SLOW)
        return told

    def recent(
        self, correct: Bool[np.ndarray, " rows"], time: Float[np.ndarray, " rows"], now: Float[np.ndarray, " rows"]
    ) -> Float[np.ndarray, "rows windows"]:
        """Before each row, what `Tally.recent` tells of its sequence."""
        told = np.zeros((len(correct), 2 * len(WINDOWS)))
        if not np.isfinite(now).any():
            return told
        right, stamped = correct[self.order], np.isfinite(time[self.order])
        turn = np.repeat(np.arange(len(self.start)), self.length) * (float(now.max()) + 4 * WINDOWS[-1])
        clock = now[self.order] + turn
        counts = [np.concatenate([[0], np.cumsum(stamped & answer)]) for answer in (right, ~right)]
        first, at = np.repeat(self.start, self.length), np.arange(len(clock))
        for number, window in enumerate(WINDOWS):
            since = np.maximum(np.searchsorted(clock, clock - window, side="right"), first)
            for side, count in enumerate(counts):
                told[self.order, 2 * number + side] = np.log1p(count[at] - count[np.minimum(since, at)])
        return told

    def _before(self, values: Float[np.ndarray, " rows"], decay: float) -> Float[np.ndarray, " rows"]:
        """Of each row, the values before it in its sequence, each weighing `decay` of the next one."""
        if decay == 1.0:
            total = np.cumsum(values) - values
            return total - np.repeat(total[self.start], self.length)
        # One filter over all sequences, less what it carried over from those before.
        carried = lfilter([0.0, 1.0], [1.0, -decay], values)
        return carried - np.repeat(carried[self.start], self.length) * decay ** within(self.length)


def item_logits(weights: Weights, design: Design, places: Places) -> Float[np.ndarray, " events"]:
    """What the item adds to the log-odds of each event: its ease, and what the learner answered on it before."""
    return design.dense[:, BestLR.ITEM] @ weights.shared[BestLR.ITEM] + weights.ease[places.item]
