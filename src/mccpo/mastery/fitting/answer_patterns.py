"""Answers as distinct patterns: what learners answered on a concept, one answer after the other, each pattern once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from mccpo.mastery.responses import Responses, sequences, within

RIGHT, NOTHING = 1, 2
SHORTEST, LONGER = 8, 4
"""The least number of cells of a pattern; longer ones have four times as many, and four times as many again."""


class PatternSlab(NamedTuple):
    """Patterns of about the same length, sorted by concept: their cells, their concepts, how many learners have each.

    `concept` counts those that were answered.
    """

    cells: Int[np.ndarray, "cells patterns"]
    concept: Int[np.ndarray, " patterns"]
    learners: Int[np.ndarray, " patterns"]


class AnswerPatterns(NamedTuple):
    """All patterns, and the codes of the concepts that were answered."""

    slabs: tuple[PatternSlab, ...]
    answered: Int[np.ndarray, " answered"]


def answer_patterns(responses: Responses) -> AnswerPatterns:
    """The distinct patterns of responses."""
    grouped = sequences(responses)
    answered, concept = np.unique(grouped.concept, return_inverse=True)
    steps = np.ceil(np.log(np.maximum(grouped.length, SHORTEST) / SHORTEST) / np.log(LONGER) - 1e-9).astype(int)
    room = SHORTEST * LONGER**steps
    slabs = []
    for cells in np.unique(room):
        chosen = np.flatnonzero(room == cells)
        length = grouped.length[chosen]
        table = np.full((len(chosen), 1 + cells), NOTHING)
        table[:, 0] = concept[chosen]
        at = np.repeat(np.arange(len(chosen)), length), 1 + within(length)
        rows = np.repeat(grouped.start[chosen], length) + within(length)
        table[at] = responses.correct[grouped.order[rows]]
        patterns, count = np.unique(table, axis=0, return_counts=True)
        # As many as a power of two, so that few programs are compiled: those that nobody has count for nothing.
        more = (0, 2 ** int(np.ceil(np.log2(len(count)))) - len(count))
        patterns = np.pad(patterns, (more, (0, 0)), mode="edge")
        slabs.append(PatternSlab(patterns[:, 1:].T.astype(np.int8), patterns[:, 0], np.pad(count, more)))
    return AnswerPatterns(tuple(slabs), answered)
