"""What learners know, as an estimator of graphs takes it: one score for each learner and concept that met."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # whose parts load when they are used
from jaxtyping import Float, Int

from mccpo.errors import InputError


class Scores(NamedTuple):
    """One entry for each learner and concept of whom there is an answer; pairs that never met have none."""

    learner: Int[np.ndarray, " entries"]
    """Codes from 0."""
    concept: Int[np.ndarray, " entries"]
    """Positions in `concepts`."""
    score: Float[np.ndarray, " entries"]
    """From 0, nothing right, to 1: of the first answer, or the mean of all."""
    first: Float[np.ndarray, " entries"] | None
    """When the learner first answered, as a position in the learner's own order; None where there is no order."""
    concepts: tuple[str, ...]


def check_scores(scores: Scores) -> None:
    """Refuses scores that do not say one thing about each learner and concept."""
    n = len(scores.concepts)
    if not len(scores.learner):
        raise InputError("there are no responses to learn from", fix="give logs in which answers name a concept")
    if not np.all((scores.score >= 0) & (scores.score <= 1)):
        raise InputError("a score is outside 0 to 1", fix="give the share of right answers")
    pairs = scores.learner.astype(np.int64) * n + scores.concept
    if len(np.unique(pairs)) != len(pairs):
        raise InputError("a learner has two scores for one concept", fix="give one, such as that of the first answer")


def in_order(scores: Scores) -> Scores:
    """The scores by learner and concept: sums of floats depend on their order, and results must not."""
    order = np.lexsort((scores.concept, scores.learner))
    first = None if scores.first is None else scores.first[order]
    return Scores(scores.learner[order], scores.concept[order], scores.score[order], first, scores.concepts)


def incidence(scores: Scores, known_from: float) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    """Who knows what and who does not, both [learners, concepts]: a score of `known_from` or more counts as knowing."""
    shape = (int(scores.learner.max()) + 1, len(scores.concepts))
    known = scores.score >= known_from
    matrices = []
    for chosen in (known, ~known):
        ones = np.ones(int(chosen.sum()), dtype=np.float32)
        matrices.append(scipy.sparse.csr_array((ones, (scores.learner[chosen], scores.concept[chosen])), shape=shape))
    return matrices[0], matrices[1]


def answered_before(scores: Scores) -> npt.NDArray[np.float64]:
    """[V, V]: how many learners first answered the row's concept before the column's; ties count for neither."""
    n = len(scores.concepts)
    counts = np.zeros(n * n)
    if scores.first is None:
        raise InputError("the responses have no order", fix="orient by responses alone")
    order = np.lexsort((scores.first, scores.learner))
    learner, concept, first = scores.learner[order], scores.concept[order].astype(np.int64), scores.first[order]
    at = np.arange(len(order))  # entries that have another of the same learner `lag` places later
    for lag in range(1, len(order)):
        at = at[at + lag < len(order)]
        at = at[learner[at] == learner[at + lag]]
        if not len(at):
            break
        strictly = at[first[at] < first[at + lag]]
        counts += np.bincount(concept[strictly] * n + concept[strictly + lag], minlength=n * n)
    return counts.reshape(n, n)
