"""A tutor whose graph and demands are numbers like all others, so that one compiled program serves any draw of them."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from mccpo.curriculum import Curriculum
from mccpo.env.concept_graph import Beliefs, ConceptGraph
from mccpo.env.tutor.curricula import dependants
from mccpo.env.tutor.profiles import Tutor
from mccpo.env.tutor.state import TutorState
from mccpo.policy import demand_of


class DrawnTutor(Tutor):
    """`tutor-15` on another graph, with other demands: `needs`, `asks` and `unlocks` are arrays.

    It steps as a `Tutor` of that curriculum does. A policy sees, for each concept, its demand and the share of the
    others that lie behind it, as in `random-curricula`. Make one with `drawn_tutor`.
    """

    name: ClassVar[str] = "tutor-15-drawn"
    case_names: ClassVar[tuple[str, ...]] = ("demand", "unlocks")

    needs: Int[np.ndarray, "concepts concepts"] = eqx.field(kw_only=True)
    asks: Float[np.ndarray, " concepts"] = eqx.field(kw_only=True)
    unlocks: Float[np.ndarray, " concepts"] = eqx.field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.beliefs = Beliefs(((),) * self.concepts)  # would else be part of the program

    @property
    def concept_graph(self) -> ConceptGraph:
        return ConceptGraph.unknown(self.concepts)

    @property
    def demand(self) -> Float[np.ndarray, " actions"]:
        demand: Float[np.ndarray, " actions"] = demand_of(np.asarray(self.asks), self._activities)
        return demand

    def ready(self, state: TutorState[None]) -> Bool[Array, " concepts"]:
        mastered = jnp.append(jnp.greater_equal(state.K, self.theta), True)  # where the padding points
        return mastered[jnp.asarray(self.needs)].all(axis=-1)

    def concept_ready(self, state: TutorState[None], concept: Int[Array, ""]) -> Bool[Array, ""]:
        mastered = jnp.append(jnp.greater_equal(state.K, self.theta), True)
        return mastered[jnp.asarray(self.needs)[concept]].all()

    def demand_in(self, state: TutorState[None]) -> Float[Array, " actions"]:
        demand: Float[Array, " actions"] = demand_of(jnp.asarray(self.asks, jnp.float32), self._activities)
        return demand

    def case_features(self, state: TutorState[None]) -> tuple[Float[Array, " concepts"], ...]:
        return jnp.asarray(self.asks, jnp.float32), jnp.asarray(self.unlocks, jnp.float32)


def drawn_tutor(curriculum: Curriculum, **parameters: object) -> DrawnTutor:
    """The tutor of a curriculum, with parameters of `Tutor`, whose program is that of any other curriculum's size."""
    concepts = len(curriculum)
    sparse = curriculum.prerequisites.sparse
    names = [f"v{v}" for v in range(concepts)]
    return DrawnTutor(
        curriculum=Curriculum.from_edges([], concepts=names, demand=dict.fromkeys(names, 0.5)),  # for the names alone
        needs=np.pad(sparse, ((0, 0), (0, concepts - sparse.shape[1])), constant_values=concepts),
        asks=curriculum.demand.astype(np.float32),
        unlocks=(dependants(curriculum) / max(concepts - 1, 1)).astype(np.float32),
        **parameters,  # type: ignore[arg-type]
    )
