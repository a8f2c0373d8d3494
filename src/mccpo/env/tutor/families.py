"""The tutor of many curricula: every learner has one of a family of graphs, and no two families share one."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.curriculum import Curriculum
from mccpo.env.concept_graph import ConceptGraph
from mccpo.env.finite.random_finite import random_curriculum
from mccpo.env.registry import register
from mccpo.env.tutor.curricula import dependants
from mccpo.env.tutor.profiles import Tutor
from mccpo.env.tutor.state import TutorState
from mccpo.errors import InputError
from mccpo.policy import demand_of


class Graphs(NamedTuple):
    """The curricula of a family as arrays: `needs` lists prerequisites as `Curriculum.prerequisites.sparse` does.

    `unlocks` is the share of all other concepts that lie behind a concept, directly or not.
    """

    needs: Int[np.ndarray, "graphs concepts most"]
    demand: Float[np.ndarray, "graphs concepts"]
    unlocks: Float[np.ndarray, "graphs concepts"]


@register("random-curricula", test={"family": 1})
class RandomCurricula(Tutor):
    """Learners on random curricula of as many concepts, so that what is learnt has to hold on graphs never seen.

    At reset a learner is given one of `graphs` curricula, each alike. They are drawn by `family`: train on one family
    and test on another, and no graph of the test was trained on. The concepts `k1`, `k2`, … come after their
    prerequisites in all of them; who needs whom and the demands differ. The policy sees what `tutor-15`'s does, and two
    numbers more for each concept in this learner's graph: its demand, and the share of the other concepts that lie
    behind it. It does not see which graph it is. Gate, lessons, engagement and costs go by the learner's own graph,
    under the rules of `tutor-15`. The budgets are on c2 (too little gain), c3 (too little demand) and c4 (engagement
    without gain).

    **Parameters:** those of `tutor-15` but for a curriculum, and

    - `graphs`: how many curricula there are in the family; `family`: its seed.

    `curricula` holds them, and `state.case` the number of the learner's. `curriculum` is the first one, for the names.
    """

    name: ClassVar[str] = "random-curricula"
    case_names: ClassVar[tuple[str, ...]] = ("demand", "unlocks")

    graphs: int = eqx.field(static=True, default=256)
    family: int = eqx.field(static=True, default=0)
    curriculum_seed: int | None = eqx.field(static=True, default=None, init=False)
    curriculum: Curriculum = eqx.field(static=True, init=False)

    def __post_init__(self) -> None:
        for name, least in (("concepts", 2), ("graphs", 1), ("family", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InputError(f"{name} is {value}", fix=f"give a whole number of at least {least}")
        self.curriculum = self.curricula[0]
        super().__post_init__()

    @property
    def concept_graph(self) -> ConceptGraph:
        return ConceptGraph.unknown(self.concepts)  # each learner has its own, whose demands are among its features

    @property
    def curricula(self) -> tuple[Curriculum, ...]:
        return family_of(self.family, self.graphs, self.concepts)

    @property
    def demand(self) -> Float[np.ndarray, " actions"]:
        """The least that each action asks of a learner, in whichever graph; what it asks in one, see `demand_in`."""
        demand: Float[np.ndarray, " actions"] = demand_of(self._graphs.demand.min(axis=0), self._activities)
        return demand

    def start(self, key: PRNGKeyArray) -> TutorState[None]:
        learner, drawing = jax.random.split(key)
        graph = jax.random.randint(drawing, (), 0, self.graphs, jnp.int32)
        return super().start(learner)._replace(case=graph)

    def ready(self, state: TutorState[None]) -> Bool[Array, " concepts"]:
        mastered = jnp.append(jnp.greater_equal(state.K, self.theta), True)  # where the padding points
        return mastered[jnp.asarray(self._graphs.needs)[state.case]].all(axis=-1)

    def concept_ready(self, state: TutorState[None], concept: Int[Array, ""]) -> Bool[Array, ""]:
        mastered = jnp.append(jnp.greater_equal(state.K, self.theta), True)
        return mastered[jnp.asarray(self._graphs.needs)[state.case, concept]].all()

    def demand_in(self, state: TutorState[None]) -> Float[Array, " actions"]:
        demand: Float[Array, " actions"] = demand_of(
            jnp.asarray(self._graphs.demand, jnp.float32)[state.case], self._activities
        )
        return demand

    def case_features(self, state: TutorState[None]) -> tuple[Float[Array, " concepts"], ...]:
        kinds = (self._graphs.demand, self._graphs.unlocks)
        return tuple(jnp.asarray(kind, jnp.float32)[state.case] for kind in kinds)

    @property
    def _graphs(self) -> Graphs:
        return graphs_of(self.curricula)


@cache
def family_of(family: int, graphs: int, concepts: int) -> tuple[Curriculum, ...]:
    """The curricula of a family: the first ones are the same however many there are, and differ from one another."""
    found: dict[Curriculum, None] = {}
    draw = np.random.default_rng([family, concepts])
    while len(found) < graphs:
        found[random_curriculum(draw, concepts)] = None
    return tuple(found)


@cache
def graphs_of(curricula: tuple[Curriculum, ...]) -> Graphs:
    """Curricula of the same concepts as arrays."""
    concepts = len(curricula[0])
    sparse = [curriculum.prerequisites.sparse for curriculum in curricula]
    width = max(needs.shape[1] for needs in sparse)
    padded = [np.pad(needs, ((0, 0), (0, width - needs.shape[1])), constant_values=concepts) for needs in sparse]
    return Graphs(
        needs=np.stack(padded),
        demand=np.stack([curriculum.demand for curriculum in curricula]),
        unlocks=np.stack([dependants(curriculum) for curriculum in curricula]) / max(concepts - 1, 1),
    )
