"""What all tutors share: actions, observation, engagement and costs; how a learner learns is a child's to say."""

from __future__ import annotations

import abc
from dataclasses import KW_ONLY
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.curriculum import Curriculum
from mccpo.env.concept_graph import Beliefs, ConceptGraph
from mccpo.env.contract import Environment, Filter, Observation, ObservationField, TimeStep
from mccpo.env.tutor.curricula import chosen_curriculum
from mccpo.env.tutor.seeing import MORE, Sees, check_sees, seen_names, spread_features
from mccpo.env.tutor.state import LatentT, Lesson, Progress, TutorState
from mccpo.errors import InputError
from mccpo.policy import (
    Activity,
    Features,
    Layout,
    PerConcept,
    Prices,
    TutorParameters,
    action_names,
    chosen_activities,
    costs_of,
    demand_of,
    engagement_of,
    learning_rate,
    offered,
    per_concept,
)


class Tutoring(Environment[TutorState[LatentT]]):
    """A learner with graded mastery on a curriculum, taught one concept a step.

    Actions are the concepts, or `concept/activity` where activities are given. The observation is K, the novelty of
    each concept, the last action (one-hot), the ready mask and t/T, or what `sees` says. Time is in the observation, so
    the horizon ends an episode as `terminated`. With K_v and n_v, the times v was taught, as they are before the step,
    and ΔK its gain:

        r_E = r_base − r_difficulty·demand·(1 − K_v) + r_novelty·exp(−n_v/novelty_span), held to [0, 1]
        c2  = max(0, c2_gain − ΔK)        insufficient progress
        c3  = max(0, c3_demand − demand)  inadequate demand
        c4  = max(0, r_E − c4_rate·ΔK)    engagement without learning

    Every number is a parameter, and a leaf of the environment, so that `vmap` can run over it (`eqx.tree_at`).

    **Parameters:**

    - `curriculum`: the user's own, with its demands. Without it, `curriculum_seed` draws a random one. Without both it
      is `profile_curriculum`. `concepts`: how many these two have.
    - `activities`: names from `ACTIVITIES`, or `Activity`s of one's own; without them, actions are concepts.
    - `K0`, `eta`: mastery at the start and learning rate, one number for all concepts or one for each.
    - `theta`: the mastery of every prerequisite that opens the gate. `confidence`: where K is a chance, the least
      chance that all are mastered, in place of `theta` (`tutor-15-bkt`, prepared tutors). The gate then does not count
      on the share `doubt` of the odds that K states (`Curriculum.joint_chance`).
    - `unready_gain`: the factor on the learning rate of a concept that is not ready.
    - `guess`, `slip`: the chances of a right answer without mastery and a wrong one with it, again for all or each.
    - `sees`: what a policy sees where K is an estimate. "belief" is K, "spread" adds how unsure it is, "answers" has
      neither (`mccpo.env.tutor.seeing`). Gate, engagement and costs go by K whatever a policy sees.
    """

    cost_names: ClassVar[tuple[str, ...]] = ("c2", "c3", "c4")
    constrained: ClassVar[tuple[str, ...]] = ("c2", "c3", "c4")
    filter: ClassVar[Filter] = "renormalise"
    estimates: ClassVar[bool] = False
    """Whether K is the chance that a concept is mastered, and not its mastery itself."""
    case_names: ClassVar[tuple[str, ...]] = ()
    """What `case_features` gives for each concept, by name."""

    _: KW_ONLY
    K0: PerConcept = eqx.field(default=0.2, converter=per_concept)
    eta: PerConcept = eqx.field(default=0.08, converter=per_concept)
    theta: float = 0.7
    confidence: float | None = None
    doubt: PerConcept = eqx.field(default=0.0, converter=per_concept)
    unready_gain: float = 0.1
    r_base: float = 0.581
    r_difficulty: float = 1.23
    r_novelty: float = 0.03
    novelty_span: float = 5.0
    c2_gain: float = 0.022
    c3_demand: float = 0.5
    c4_rate: float = 10.5
    guess: PerConcept = eqx.field(default=0.2, converter=per_concept)
    slip: PerConcept = eqx.field(default=0.1, converter=per_concept)
    sees: Sees = eqx.field(static=True, default="belief")
    horizon: int = eqx.field(static=True, default=100)
    gamma: float = eqx.field(static=True, default=0.99)
    concepts: int = eqx.field(static=True, default=15)
    curriculum_seed: int | None = eqx.field(static=True, default=None)
    curriculum: Curriculum = eqx.field(static=True, default=None)
    activities: tuple[Activity, ...] = eqx.field(static=True, default=())
    action_names: tuple[str, ...] = eqx.field(static=True, init=False)
    beliefs: Beliefs = eqx.field(static=True, init=False, repr=False)

    def __post_init__(self) -> None:
        self.curriculum = chosen_curriculum(self.curriculum, self.curriculum_seed, self.concepts)
        self.concepts = len(self.curriculum)
        self.activities = chosen_activities(self.activities)
        self.action_names = action_names(self.curriculum.concepts, self.activities)
        self.beliefs = Beliefs.of(self.concepts, self.eta, self.K0, self.guess, self.slip)

    def __check_init__(self) -> None:
        TutorParameters(
            curriculum=self.curriculum,
            activities=self.activities,
            K0=self.K0,
            eta=self.eta,
            guess=self.guess,
            slip=self.slip,
            theta=self.theta,
            confidence=self.confidence,
            doubt=self.doubt,
            unready_gain=self.unready_gain,
            novelty_span=self.novelty_span,
            prices=self.prices,
            horizon=self.horizon,
            gamma=self.gamma,
        )  # refuses those that cannot be
        if self.confidence is not None and not self.estimates:
            raise InputError(
                f"{self.name} knows what is mastered, so that no confidence is needed",
                fix="leave --ready out, or take an environment that estimates, such as tutor-15-bkt",
            )
        check_sees(self.name, self.sees, estimates=self.estimates)

    @property
    def unready_allowed(self) -> float | None:
        return None if self.confidence is None else 1.0 - self.confidence

    @abc.abstractmethod
    def latent(self, key: PRNGKeyArray) -> LatentT:
        """Draws a learner: what it is that no tutor sees."""

    @abc.abstractmethod
    def teach(self, key: PRNGKeyArray, state: TutorState[LatentT], lesson: Lesson) -> Progress[LatentT]:
        """What a lesson brings about; what it says of the no-op's answer and mastery is not used."""

    @property
    @abc.abstractmethod
    def largest_fall(self) -> float:
        """The most that the mastery by which a lesson is priced can fall in one step."""

    @property
    def hack(self) -> Bool[np.ndarray, " actions"]:
        return np.zeros(self.num_actions, bool)  # even where a user's concept goes by that name

    @property
    def layout(self) -> Layout:
        """Where each part of what a policy sees lies among the features."""
        return Layout(len(self.curriculum), self.num_actions, (*self.case_names, *MORE[self.sees]))

    @property
    def concept_graph(self) -> ConceptGraph:
        return ConceptGraph.of(self.curriculum, self.beliefs)

    @property
    def observation_fields(self) -> dict[str, ObservationField]:
        """The parts of what a policy sees: see `mccpo.env.tutor.seeing`."""
        sizes = {"last_action": self.num_actions, "last_right": self.num_actions}
        names = seen_names(self.sees, self.case_names)
        shapes = {name: (sizes.get(name, len(self.curriculum)),) for name in names}
        fields = {name: ObservationField(shape, per_concept=True) for name, shape in shapes.items()}
        return {**fields, "time": ObservationField()}

    @property
    def hidden_fields(self) -> dict[str, ObservationField]:
        """Of each concept K, whether it is ready, and whether it is mastered in truth; the learner's group, one-hot."""
        if not self.estimates:
            return {}
        each = ObservationField((len(self.curriculum),), per_concept=True)
        group = ObservationField((len(self.group_names),))
        return {**dict.fromkeys(("estimate", "opened", "mastered"), each), "group": group}

    def hidden(self, state: TutorState[LatentT]) -> Float[Array, " hidden"]:
        if not self.estimates:
            return super().hidden(state)
        group = jnp.arange(len(self.group_names)) == self.group(state)
        return jnp.concatenate([state.K, self.ready(state), self.knows(state), group], dtype=jnp.float32)

    @property
    def group_names(self) -> tuple[str, ...]:
        """The groups that learners belong to; none where all learners are alike."""
        return ()

    def group(self, state: TutorState[LatentT]) -> Int[Array, ...]:
        """The position of the learner's group in `group_names`, 0 where there are none. No policy sees it."""
        return jnp.zeros_like(state.t)

    def last_answer(self, state: TutorState[LatentT]) -> Bool[Array, ...]:
        return state.correct

    def mastered(self, state: TutorState[LatentT]) -> Float[Array, ...]:
        return self.knows(state).sum(axis=0).astype(jnp.float32)

    def knows(self, state: TutorState[LatentT]) -> Bool[Array, "concepts ..."]:
        """The concepts that the learner has mastered in truth: by K, where it is all there is to know."""
        return jnp.greater_equal(state.K, self.theta)

    def right_chances(self, state: TutorState[LatentT]) -> Float[Array, " concepts"]:
        """The chance that this learner, as it is in truth, answers right on each concept."""
        return jnp.where(self.knows(state), 1 - self.each(self.slip), self.each(self.guess))

    def elapsed(self, state: TutorState[LatentT]) -> Int[Array, ...]:
        return state.t

    @property
    def gain_bound(self) -> float:
        """What the activity that teaches most brings of the concept that is learnt fastest."""
        steepest = max(activity.gain for activity in self._activities)
        return float(min(np.max(np.asarray(self.eta)) * steepest, 1.0))

    @property
    def prices(self) -> Prices:
        """The numbers by which engagement and costs are worked out."""
        return Prices(*(getattr(self, name) for name in Prices._fields))

    @property
    def demand(self) -> Float[np.ndarray, " actions"]:
        """How much each action asks of a learner, in [0, 1]."""
        demand: Float[np.ndarray, " actions"] = demand_of(self.curriculum.demand, self._activities)
        return demand

    @property
    def cost_bounds(self) -> Float[np.ndarray, " costs"]:
        fun = self.r_base + self.r_novelty + max(activity.engagement for activity in self._activities)
        return np.array(
            [
                self.c2_gain + self.largest_fall,
                max(0.0, self.c3_demand - self.demand.min()),
                min(max(fun, 0.0), 1.0) + self.c4_rate * self.largest_fall,
            ]
        )

    def observe(self, state: TutorState[LatentT]) -> Observation:
        """What a policy sees in a state."""
        ready = self.ready(state)
        last = jnp.arange(self.num_actions) == state.last
        time, case = (state.t / self.horizon)[None], self.case_features(state)
        if self.sees == "answers":
            parts = [state.novelty, last, last & state.correct, *case, time]
            features = jnp.concatenate(parts, dtype=jnp.float32)
        else:
            more = spread_features(state.K, self.each(self.doubt)) if self.sees == "spread" else ()
            seen = Features(K=state.K, novelty=state.novelty, last=last, ready=ready, case=(*case, *more), time=time)
            features = self.layout.flatten(seen, jnp.float32)
        return Observation(features=features, action_mask=self._over_activities(ready))

    def ready(self, state: TutorState[LatentT]) -> Bool[Array, " concepts"]:
        """The concepts that the gate opens: by θ on the K of each prerequisite, or by the chance of them all."""
        return self.opens(state.K)

    def opens(self, K: Float[Array, "... concepts"]) -> Bool[Array, "... concepts"]:
        """The concepts that the gate opens at a K."""
        ready: Bool[Array, "... concepts"]
        if self.confidence is None:
            ready = self.curriculum.ready(K, self.theta)
        else:
            ready = self.curriculum.joint_chance(K, self.each(self.doubt)) >= self.confidence
        return ready

    @property
    def enough(self) -> Float[Array, " concepts"]:
        """The K of each concept that opens what needs it, once its other prerequisites have theirs."""
        if self.confidence is None:
            return self.each(self.theta)
        enough: Float[Array, " concepts"] = self.curriculum.enough(self.each(self.confidence), self.each(self.doubt))
        return enough

    def case_features(self, state: TutorState[LatentT]) -> tuple[Float[Array, " concepts"], ...]:
        """What a policy sees of the learner's case: some numbers for each concept, between the ready mask and t/T."""
        del state
        return ()

    def reset(self, key: PRNGKeyArray) -> tuple[TutorState[LatentT], Observation]:
        state = self.start(key)
        return state, self.observe(state)

    def start(self, key: PRNGKeyArray) -> TutorState[LatentT]:
        """A learner before the first lesson."""
        return TutorState(
            K=self.each(self.K0),
            novelty=jnp.ones(len(self.curriculum), jnp.float32),
            last=jnp.full((), self.noop, jnp.int32),
            correct=jnp.zeros((), bool),
            t=jnp.zeros((), jnp.int32),
            latent=self.latent(key),
        )

    def step(
        self, key: PRNGKeyArray, state: TutorState[LatentT], action: Int[Array, ""]
    ) -> TimeStep[TutorState[LatentT]]:
        acts = action < self.num_actions
        choice = jnp.minimum(action, self.num_actions - 1)
        lesson = self._lesson(state, choice, acts)
        progress = self.teach(key, state, lesson)
        demand = self.demand_in(state)[choice]
        prices, novelty = self.prices_in(state), state.novelty[lesson.concept]
        engagement, costs = self._signals(prices, choice, demand, progress.felt, novelty, progress.gain)
        successor = TutorState(
            K=jnp.where(lesson.taught, progress.K, state.K),
            novelty=jnp.where(lesson.taught, state.novelty * jnp.exp(-1 / self.novelty_span), state.novelty),
            last=jnp.where(acts, choice, state.last).astype(jnp.int32),
            correct=jnp.where(acts, progress.correct, state.correct),
            t=state.t + 1,
            latent=progress.latent,
            case=state.case,
        )
        return TimeStep(
            state=successor,
            obs=self.observe(successor),
            reward=jnp.where(acts, engagement, 0.0),
            costs=jnp.where(acts, self.costs_in(state, costs), 0.0),
            gain=jnp.where(acts, progress.learnt, 0.0),
            unready=acts & ~lesson.ready,
            terminated=successor.t >= self.horizon,
            truncated=jnp.zeros((), bool),
        )

    def each(self, value: PerConcept) -> Float[Array, " concepts"]:
        """A parameter as one number for each concept."""
        return jnp.broadcast_to(jnp.asarray(value, jnp.float32), (len(self.curriculum),))

    def slowed(self, rate: Float[Array, ""], ready: Bool[Array, ""]) -> Float[Array, ""]:
        """A rate of learning as it is where the learner is ready, else `unready_gain` of it."""
        slowed: Float[Array, ""] = learning_rate(rate, ready, self.unready_gain)
        return slowed

    def demand_in(self, state: TutorState[LatentT]) -> Float[Array, " actions"]:
        """How much each action asks of this learner."""
        del state
        return jnp.asarray(self.demand, jnp.float32)

    def prices_in(self, state: TutorState[LatentT]) -> Prices:
        """The numbers by which this learner's engagement and costs are worked out."""
        del state
        return self.prices

    def costs_in(self, state: TutorState[LatentT], costs: Float[Array, " costs"]) -> Float[Array, " costs"]:
        """The costs of a lesson in the units of the budgets, where this learner's are others."""
        del state
        return costs

    def concept_ready(self, state: TutorState[LatentT], concept: Int[Array, ""]) -> Bool[Array, ""]:
        """What `ready` says of one concept."""
        ready: Bool[Array, ""]
        if self.confidence is None:
            ready = self.prerequisites_hold(jnp.greater_equal(state.K, self.theta), concept)
        else:
            ready = self.curriculum.concept_chance(state.K, self.each(self.doubt), concept) >= self.confidence
        return ready

    def prerequisites_hold(self, mastered: Bool[Array, " concepts"], concept: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether one concept's prerequisites are all mastered: the gate, without working it out for every concept."""
        hold: Bool[Array, ""] = self.curriculum.prerequisites_hold(mastered, concept)
        return hold

    @property
    def _activities(self) -> tuple[Activity, ...]:
        return offered(self.activities)

    def _over_activities(self, concepts: Bool[Array, " concepts"]) -> Bool[Array, " actions"]:
        """Says of every action what is said of its concept."""
        return jnp.repeat(concepts, len(self._activities))

    def _lesson(self, state: TutorState[LatentT], choice: Int[Array, ""], acts: Bool[Array, ""]) -> Lesson:
        concept, activity = choice // len(self._activities), choice % len(self._activities)
        intensity = jnp.array([entry.gain for entry in self._activities])[activity]
        return Lesson(
            concept=concept,
            taught=acts & (jnp.arange(len(self.curriculum)) == concept),
            K=state.K[concept],
            ready=self.concept_ready(state, concept),
            rate=self.each(self.eta)[concept] * intensity,
            intensity=intensity,
        )

    def _signals(
        self,
        prices: Prices,
        choice: Int[Array, ""],
        demand: Float[Array, ""],
        felt: Float[Array, ""],
        novelty: Float[Array, ""],
        gain: Float[Array, ""],
    ) -> tuple[Float[Array, ""], Float[Array, " costs"]]:
        """The engagement and the costs of an action that is not the no-op."""
        own = jnp.array([activity.engagement for activity in self._activities])[choice % len(self._activities)]
        engagement = engagement_of(prices, demand, felt, novelty, own)
        return engagement, jnp.stack(costs_of(prices, engagement, demand, gain))
