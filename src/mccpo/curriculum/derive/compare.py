"""Sets a derived graph beside one that an expert stated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy  # whose parts load when they are used
from jaxtyping import Bool

from mccpo.curriculum.derive.pruning import closure
from mccpo.curriculum.graph import Curriculum
from mccpo.errors import InputError


@dataclass(frozen=True)
class Agreement:
    """How well one set of directed pairs finds another."""

    found: int
    """Pairs of the derived graph."""
    expert: int
    """Pairs of the expert's."""
    right: int
    """Pairs of both."""
    precision: float | None
    recall: float | None
    f1: float | None
    chance_precision: float
    """The precision, on average, of as many pairs drawn at random."""
    chance_recall: float
    chance_p: float
    """The probability that pairs drawn at random are right at least as often."""


@dataclass(frozen=True)
class Comparison:
    """A derived graph beside an expert's, on the concepts that both have."""

    concepts: int
    only_derived: int
    """Concepts that only the derived graph has."""
    only_expert: int
    edges: Agreement
    """Of the edges."""
    closure: Agreement
    """Of everything that must come before something, directly or not."""
    oriented: int
    """Pairs that are edges of both, whichever way they point."""
    orientation: float | None
    """The share of these that point the same way; a coin would get half."""
    orientation_p: float | None
    """The probability that a coin does at least as well."""

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain values, for JSON."""
        return asdict(self)


def compare_graphs(derived: Curriculum, expert: Curriculum) -> Comparison:
    """Precision and recall of a derived graph's edges and of their closure, and how often it has the direction right.

    What must come before what is worked out in the whole of each graph and then looked at among the common concepts.

    >>> expert = Curriculum.from_edges([("a", "b"), ("b", "c")])
    >>> agreement = compare_graphs(Curriculum.from_edges([("a", "b"), ("a", "c")]), expert).edges
    >>> agreement.right, agreement.precision, agreement.recall
    (1, 0.5, 0.5)
    """
    shared = [name for name in derived.concepts if name in set(expert.concepts)]
    if len(shared) < 2:
        raise InputError("the graphs have fewer than two concepts in common", fix="compare graphs of the same concepts")
    (ours, our_closure), (theirs, their_closure) = (_squares(graph, shared) for graph in (derived, expert))
    either_way = np.triu((ours | ours.T) & (theirs | theirs.T), 1)
    oriented, same_way = int(either_way.sum()), int((either_way & (ours == theirs)).sum())
    return Comparison(
        concepts=len(shared),
        only_derived=len(derived) - len(shared),
        only_expert=len(expert) - len(shared),
        edges=_agreement(ours, theirs),
        closure=_agreement(our_closure, their_closure),
        oriented=oriented,
        orientation=same_way / oriented if oriented else None,
        orientation_p=float(scipy.stats.binom.sf(same_way - 1, oriented, 0.5)) if oriented else None,
    )


def _squares(graph: Curriculum, names: list[str]) -> tuple[Bool[np.ndarray, "V V"], Bool[np.ndarray, "V V"]]:
    """The edges and their closure among the named concepts: rows come before columns."""
    edges = graph.prerequisites.dense.T
    chosen = [graph.index(name) for name in names]
    return edges[np.ix_(chosen, chosen)], closure(edges)[np.ix_(chosen, chosen)]


def _agreement(ours: Bool[np.ndarray, "V V"], theirs: Bool[np.ndarray, "V V"]) -> Agreement:
    derived, expert, right = int(ours.sum()), int(theirs.sum()), int((ours & theirs).sum())
    possible = len(ours) * (len(ours) - 1)
    return Agreement(
        found=derived,
        expert=expert,
        right=right,
        precision=right / derived if derived else None,
        recall=right / expert if expert else None,
        f1=2 * right / (derived + expert) if derived + expert else None,
        chance_precision=expert / possible,
        chance_recall=derived / possible,
        chance_p=float(scipy.stats.hypergeom.sf(right - 1, possible, expert, derived)),
    )
