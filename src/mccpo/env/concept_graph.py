"""What a network may know of the concepts that an environment teaches, once and for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.curriculum import Curriculum
from mccpo.policy import PerConcept


@dataclass(frozen=True)
class Beliefs:
    """What a tutor believes of learning each concept when its environment is built, such as η: a row for each."""

    rows: tuple[tuple[float, ...], ...]

    @staticmethod
    def of(concepts: int, *parameters: PerConcept) -> Beliefs:
        """Parameters that each concept has of its own or shares with all; 0 for one that is no such numbers."""

        def column(each: PerConcept) -> Float[np.ndarray, " concepts"]:
            try:
                return np.broadcast_to(np.asarray(each, np.float32).astype(float), concepts)  # as it is kept
            except (TypeError, ValueError):  # which the environment refuses in words of its own
                return np.zeros(concepts)

        columns = [column(each) for each in parameters]
        return Beliefs(tuple(map(tuple, np.stack(columns, axis=1).tolist())))


class ConceptGraph(NamedTuple):
    """The concepts of a curriculum, in its order, and how they depend on each other.

    **Fields:**

    - `edges`: (prerequisite, concept), by position.
    - `demand`: how much each concept asks of a learner; `depth`: how far up each lies, from 0 to 1.
    - `learning`: what the tutor believes of learners, a row for each concept: η, K₀, guess and slip; rows are empty
      where nothing is believed of single concepts.
    """

    edges: tuple[tuple[int, int], ...]
    demand: tuple[float, ...]
    depth: tuple[float, ...]
    learning: tuple[tuple[float, ...], ...]

    @staticmethod
    def of(curriculum: Curriculum, beliefs: Beliefs | None = None) -> ConceptGraph:
        """The graph of a curriculum, with what is believed of learning each concept."""
        at = {name: position for position, name in enumerate(curriculum.concepts)}
        height = {name: layer for layer, names in enumerate(curriculum.layers) for name in names}
        return ConceptGraph(
            edges=tuple((at[prerequisite], at[concept]) for prerequisite, concept in curriculum.edges),
            demand=tuple(curriculum.demand.tolist()),
            depth=tuple(height[name] / max(curriculum.depth, 1) for name in curriculum.concepts),
            learning=((),) * len(curriculum) if beliefs is None else beliefs.rows,
        )

    @staticmethod
    def unknown(concepts: int) -> ConceptGraph:
        """So many concepts of which nothing is known: each learner may have a graph of its own."""
        nothing = (0.0,) * concepts
        return ConceptGraph((), nothing, nothing, ((),) * concepts)
