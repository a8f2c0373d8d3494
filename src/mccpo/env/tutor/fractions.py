"""A small curriculum that a teacher knows: fractions, from equal parts to dividing them."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

import equinox as eqx

from mccpo.curriculum import Curriculum
from mccpo.env.registry import register
from mccpo.env.tutor.profiles import Tutor

# What is needed and how demanding it is, in the order in which it is taught.
_CONCEPTS: dict[str, tuple[float, tuple[str, ...]]] = {
    "equal parts": (0.20, ()),
    "times tables": (0.30, ()),
    "unit fractions": (0.25, ("equal parts",)),
    "number line": (0.30, ("unit fractions",)),
    "comparing": (0.35, ("number line",)),
    "factors, multiples": (0.45, ("times tables",)),
    "adding, like": (0.40, ("unit fractions",)),
    "equivalent": (0.45, ("comparing", "times tables")),
    "mixed numbers": (0.45, ("adding, like", "number line")),
    "decimals": (0.55, ("number line", "equivalent")),
    "simplifying": (0.55, ("equivalent", "factors, multiples")),
    "common denominator": (0.60, ("equivalent", "factors, multiples")),
    "adding, unlike": (0.70, ("common denominator", "adding, like")),
    "multiplying": (0.70, ("simplifying", "mixed numbers")),
    "dividing": (0.90, ("multiplying",)),
}


@cache
def fractions_curriculum() -> Curriculum:
    """Fifteen concepts of fractions, after the Common Core State Standards for Mathematics, grades 3 to 6.

    The order is that of the domain "Number and Operations: Fractions" of the standards (2010). The edges and the
    demands are ours: the standards state neither.

    >>> len(fractions_curriculum()), fractions_curriculum().concepts[0]
    (15, 'equal parts')
    """
    edges = [(need, concept) for concept, (_, needs) in _CONCEPTS.items() for need in needs]
    return Curriculum.from_edges(
        edges, concepts=list(_CONCEPTS), demand={concept: demand for concept, (demand, _) in _CONCEPTS.items()}
    )


@register("fractions")
class Fractions(Tutor):
    """Fifteen concepts of school fractions, from equal parts to dividing, under the rules of `tutor-15`.

    Teaching v raises K_v by η(1 − K_v), by a tenth of that where v is not ready. The budgets are on c2 (too little
    gain), c3 (too little demand) and c4 (engagement without gain). The curriculum follows the Common Core State
    Standards for Mathematics, grades 3 to 6; learners and engagement are those of `tutor-15`, and are of no real
    school.
    """

    name: ClassVar[str] = "fractions"

    curriculum: Curriculum = eqx.field(static=True, default_factory=fractions_curriculum)
