"""What a network may know of the concepts that an environment teaches, once and for all."""

from __future__ import annotations

from typing import NamedTuple

from mccpo.curriculum import Curriculum


class ConceptGraph(NamedTuple):
    """The concepts of a curriculum, in its order, and how they depend on each other.

    **Fields:**

    - `edges`: (prerequisite, concept), by position.
    - `demand`: how much each concept asks of a learner; `depth`: how far up each lies, from 0 to 1.
    """

    edges: tuple[tuple[int, int], ...]
    demand: tuple[float, ...]
    depth: tuple[float, ...]

    @staticmethod
    def of(curriculum: Curriculum) -> ConceptGraph:
        """The graph of a curriculum."""
        at = {name: position for position, name in enumerate(curriculum.concepts)}
        height = {name: layer for layer, names in enumerate(curriculum.layers) for name in names}
        return ConceptGraph(
            edges=tuple((at[prerequisite], at[concept]) for prerequisite, concept in curriculum.edges),
            demand=tuple(curriculum.demand.tolist()),
            depth=tuple(height[name] / max(curriculum.depth, 1) for name in curriculum.concepts),
        )

    @staticmethod
    def unknown(concepts: int) -> ConceptGraph:
        """So many concepts of which nothing is known: each learner may have a graph of its own."""
        nothing = (0.0,) * concepts
        return ConceptGraph((), nothing, nothing)
