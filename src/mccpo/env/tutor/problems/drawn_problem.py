"""A tutor all of whose numbers are drawn: the graph, the learners, what engages them, the gate and the horizon."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.curriculum import Curriculum, trusted
from mccpo.env.tutor.bkt import posterior
from mccpo.env.tutor.problems.graphs import DrawnGraph, draw_graph
from mccpo.env.tutor.problems.ranges import LONGEST, DrawnNumbers, draw_numbers
from mccpo.env.tutor.state import Lesson, Progress, TutorState
from mccpo.env.tutor.tutoring import Tutoring


class DrawnLearner(NamedTuple):
    """What no tutor sees: which concepts are mastered in truth, and how fast the learner is beside what is believed."""

    mastered: Bool[Array, " concepts"]
    pace: Float[Array, ""]


class DrawnProblem(Tutoring[DrawnLearner]):
    """A problem of the distribution that `pretrained` is trained on; make one with `draw_problem`.

    It steps as `tutor-15` does on the drawn graph where mastery is known, and as `tutor-15-bkt` where it is estimated,
    with costs on the gain that the estimate expects. Concepts that are padding are never ready.

    **Parameters:** those of a tutor, all of them arrays, and those of `DrawnGraph` and `DrawnNumbers`.
    """

    name: ClassVar[str] = "drawn-problem"
    estimates: ClassVar[bool] = True

    graph: DrawnGraph = eqx.field(kw_only=True)
    known: Bool[Array, ""] = eqx.field(kw_only=True)
    by_chance: Bool[Array, ""] = eqx.field(kw_only=True)
    spread: Float[Array, ""] = eqx.field(kw_only=True)
    length: Float[Array, ""] = eqx.field(kw_only=True)

    @property
    def largest_fall(self) -> float:
        return 0.0

    @property
    def unready_allowed(self) -> None:
        """Nothing is promised: which gate a problem has is drawn."""
        return None

    @property
    def bounds(self) -> Float[Array, " costs"]:
        """What `cost_bounds` is elsewhere, as arrays of the program."""
        fun = jnp.minimum(self.r_base + self.r_novelty, 1.0)
        return jnp.stack([self.c2_gain, jnp.maximum(self.c3_demand - self.graph.demand.min(), 1e-6), fun])

    def latent(self, key: PRNGKeyArray) -> DrawnLearner:
        knowing, pacing = jax.random.split(key)
        pace = 1.0 + self.spread * jax.random.uniform(pacing, minval=-1.0, maxval=1.0)
        return DrawnLearner(jax.random.uniform(knowing, (self.concepts,)) < pace * self.each(self.K0), pace)

    def teach(self, key: PRNGKeyArray, state: TutorState[DrawnLearner], lesson: Lesson) -> Progress[DrawnLearner]:
        answer, learning = jax.random.uniform(key, (2,))
        mastered, pace = state.latent
        guess, slip = self.each(self.guess)[lesson.concept], self.each(self.slip)[lesson.concept]
        knows = mastered[lesson.concept]
        right = lesson.K * (1 - slip) + (1 - lesson.K) * guess
        correct = answer < jnp.where(self.known, right, jnp.where(knows, 1 - slip, guess))
        believed = jnp.where(self.known, lesson.K, posterior(lesson.K, correct, guess, slip))
        rate = self.slowed(lesson.rate, lesson.ready)
        gain = rate * (1 - lesson.K)
        held = (mastered | ~self.graph.needs[lesson.concept]).all()
        chance = jnp.minimum(pace * self.slowed(lesson.rate, held), 1.0)
        return Progress(
            K=believed + rate * (1 - believed),
            gain=gain,
            learnt=jnp.where(self.known, gain, jnp.where(knows, 0.0, chance)),
            felt=lesson.K,
            correct=correct,
            latent=DrawnLearner(mastered | (lesson.taught & (learning < chance)), pace),
        )

    def ready(self, state: TutorState[DrawnLearner]) -> Bool[Array, " concepts"]:
        counted = jnp.where(self.graph.needs, trusted(state.K, self.each(self.doubt)), 1.0).prod(axis=-1)
        reached = (jnp.greater_equal(state.K, self.theta) | ~self.graph.needs).all(axis=-1)
        return self.graph.there & jnp.where(self.by_chance, counted >= jnp.asarray(self.confidence), reached)

    def concept_ready(self, state: TutorState[DrawnLearner], concept: Int[Array, ""]) -> Bool[Array, ""]:
        return self.ready(state)[concept]

    def knows(self, state: TutorState[DrawnLearner]) -> Bool[Array, "concepts ..."]:
        return jnp.where(self.known, jnp.greater_equal(state.K, self.theta), state.latent.mastered)

    def truly_ready(self, state: TutorState[DrawnLearner]) -> Bool[Array, " concepts"]:
        return self.graph.there & (self.knows(state) | ~self.graph.needs).all(axis=-1)

    def demand_in(self, state: TutorState[DrawnLearner]) -> Float[Array, " actions"]:
        del state
        return self.graph.demand

    def observe(self, state: TutorState[DrawnLearner]) -> Any:
        """What a policy sees, with the time as a share of this problem's own length."""
        shown = super().observe(state)
        return shown._replace(features=shown.features.at[-1].set(state.t / self.length))

    def step(self, key: PRNGKeyArray, state: TutorState[DrawnLearner], action: Int[Array, ""]) -> Any:
        step = super().step(key, state, action)
        return step._replace(terminated=step.state.t >= self.length)


def draw_problem(key: PRNGKeyArray, most: int) -> DrawnProblem:
    """A problem of at most so many concepts; runs under `jit` and `vmap`."""
    graphing, numbering = jax.random.split(key)
    graph = draw_graph(graphing, most)
    return with_numbers(graph, draw_numbers(numbering, graph.demand, graph.there))


def with_numbers(graph: DrawnGraph, numbers: DrawnNumbers) -> DrawnProblem:
    """The problem of a graph and numbers."""
    blank = _blank(len(graph.there))
    return eqx.tree_at(
        lambda env: (env.graph, *(getattr(env, name) for name in DrawnNumbers._fields)), blank, (graph, *numbers)
    )


def _blank(most: int) -> DrawnProblem:
    """A problem whose numbers are yet to be drawn: what is checked of them is checked here, and holds in the ranges."""
    names = [f"v{v}" for v in range(most)]
    nothing, all_there = np.zeros(most), np.ones(most, bool)
    graph = DrawnGraph(np.zeros((most, most), bool), all_there, *[nothing] * 4)  # type: ignore[arg-type]
    return DrawnProblem(
        curriculum=Curriculum.from_edges([], concepts=names, demand=dict.fromkeys(names, 0.5)),
        confidence=0.9,
        horizon=LONGEST,
        graph=graph,
        known=jnp.zeros((), bool),
        by_chance=jnp.zeros((), bool),
        spread=jnp.zeros(()),
        length=jnp.asarray(100.0),
    )
