"""Answers as arrays: who answered on which concept, rightly or not, in which order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int64

from mccpo.errors import InputError


class Responses(NamedTuple):
    """One row for each concept of each event, sorted by learner, then in the order in which things happened.

    **Fields:**

    - `learner`, `concept`: codes, positions in `learners` and `concepts`.
    - `event`: the same number for the rows of one event, which stand next to each other.
    - `time`: seconds since the epoch, NaN where unknown.
    - `item`: what was answered, a position in `items`, −1 where unknown; None where no item is known.

    >>> columns = [[0, 0], [0, 1], [True, False], [0, 1], [0.0, 9.0]]
    >>> Responses(*map(np.array, columns), learners=("ana",), concepts=("counting", "adding")).rows
    2
    """

    learner: Int[np.ndarray, " rows"]
    concept: Int[np.ndarray, " rows"]
    correct: Bool[np.ndarray, " rows"]
    event: Int64[np.ndarray, " rows"]
    time: Float[np.ndarray, " rows"]
    learners: tuple[str, ...]
    concepts: tuple[str, ...]
    item: Int[np.ndarray, " rows"] | None = None
    items: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return len(self.concept)

    def where(self, chosen: Bool[np.ndarray, " rows"]) -> Responses:
        """The chosen rows; codes and names stay as they are."""
        return self._replace(
            learner=self.learner[chosen],
            concept=self.concept[chosen],
            correct=self.correct[chosen],
            event=self.event[chosen],
            time=self.time[chosen],
            item=None if self.item is None else self.item[chosen],
        )

    @property
    def event_starts(self) -> Int64[np.ndarray, " events"]:
        """The first row of each event."""
        return np.flatnonzero((np.diff(self.event, prepend=-1) != 0) | (np.diff(self.learner, prepend=-1) != 0))


def split_learners(responses: Responses, share: float, seed: int) -> tuple[Responses, Responses]:
    """The responses of most learners, and those of a `share` of them that is held out; a learner is never in both.

    >>> columns = [[0, 1], [0, 0], [True, False], [0, 1], [0.0, 0.0]]
    >>> answers = Responses(*map(np.array, columns), learners=("ana", "ben"), concepts=("adding",))
    >>> [part.rows for part in split_learners(answers, share=0.5, seed=0)]
    [1, 1]
    """
    present = np.unique(responses.learner)
    held = round(share * len(present))
    if not 0 < held < len(present):
        raise InputError(
            f"{share:g} of {len(present)} learners cannot be held out",
            fix="let at least one learner be held out and one be left",
        )
    drawn = np.random.default_rng(seed).permutation(present)[:held]
    out = np.isin(responses.learner, drawn)
    return responses.where(~out), responses.where(out)


class Sequences(NamedTuple):
    """The rows of responses put in sequences: what one learner answered on one concept, one answer after the other.

    **Fields:**

    - `order`: positions of the rows, sequence after sequence, sorted by concept and then by learner.
    - `start`: where in `order` each sequence begins.
    - `length`, `concept`: of each sequence.
    """

    order: Int64[np.ndarray, " rows"]
    start: Int64[np.ndarray, " sequences"]
    length: Int64[np.ndarray, " sequences"]
    concept: Int[np.ndarray, " sequences"]


def sequences(responses: Responses) -> Sequences:
    """Sorts the rows into sequences. An event has one row for a concept, so no sequence holds an event twice.

    >>> columns = [[0, 0, 0], [0, 1, 0], [True, False, True], [0, 1, 2], [0.0, 9.0, 60.0]]
    >>> answers = Responses(*map(np.array, columns), learners=("ana",), concepts=("counting", "adding"))
    >>> sequences(answers).length.tolist()
    [2, 1]
    """
    key = responses.concept.astype(np.int64) * max(len(responses.learners), 1) + responses.learner
    order = np.argsort(key, kind="stable")
    key = key[order]
    start = np.flatnonzero(np.diff(key, prepend=-1))
    length = np.diff(start, append=len(key))
    return Sequences(order, start, length, responses.concept[order[start]])


def within(length: Int64[np.ndarray, " groups"]) -> Int64[np.ndarray, " members"]:
    """0, 1, 2, … within each of the groups that stand one after the other.

    >>> within(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    first = np.cumsum(length) - length
    return np.arange(int(length.sum())) - np.repeat(first, length)


def elapsed(responses: Responses, grouped: Sequences) -> Float[np.ndarray, " rows"]:
    """Seconds since the learner's last answer on the concept, row by row in `grouped.order`.

    0 before the first answer, NaN where there is no clock.

    >>> columns = [[0, 0, 0], [0, 1, 0], [True, False, True], [0, 1, 2], [0.0, 9.0, 60.0]]
    >>> answers = Responses(*map(np.array, columns), learners=("ana",), concepts=("counting", "adding"))
    >>> elapsed(answers, sequences(answers)).tolist()
    [0.0, 60.0, 0.0]
    """
    time = responses.time[grouped.order]
    since = np.diff(time, prepend=np.nan)
    since[grouped.start] = 0.0
    return np.maximum(since, 0.0)
