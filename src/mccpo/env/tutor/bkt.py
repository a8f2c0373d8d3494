"""The tutor that cannot look inside the learner: mastery estimated from answers by Bayesian knowledge tracing."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.contract import ONE_MODEL, Ensemble
from mccpo.env.registry import register
from mccpo.env.tutor.population import Population, as_population, check_population
from mccpo.env.tutor.seeing import Sees
from mccpo.env.tutor.state import Lesson, Progress, TutorState
from mccpo.env.tutor.tutoring import Tutoring
from mccpo.errors import InputError
from mccpo.policy import check_probability


class Group(NamedTuple):
    """Learners who differ from what the tutor takes for granted.

    **Fields:**

    - `share`: of all learners.
    - `eta`, `K0`: multiply the environment's learning rate and its mastery at the start.
    """

    name: str
    share: float
    eta: float = 1.0
    K0: float = 1.0


GROUPS = (
    Group("fast", share=1 / 3, eta=1.5, K0=1.5),
    Group("typical", share=1 / 3),
    Group("slow", share=1 / 3, eta=0.5, K0=0.5),
)
"""Three groups of equal size, so that the tutor's η and K₀ are right on average and wrong for two learners in three."""


def check_groups(groups: tuple[Group, ...]) -> None:
    """Refuses groups without a name of their own, and shares that are not those of a whole."""
    names = [group.name for group in groups]
    if not names or len(set(names)) < len(names):
        raise InputError(f"groups is {names}", fix="give at least one, each with a name of its own")
    for group in groups:
        check_probability(f"the share of {group.name}", group.share)
    if not math.isclose(sum(group.share for group in groups), 1.0, abs_tol=1e-6):
        raise InputError(f"the shares are {[group.share for group in groups]}", fix="let them sum to 1")


class Latent(NamedTuple):
    """What no tutor sees: which concepts the learner has mastered in truth, its group, its member of a population."""

    mastered: Bool[Array, " concepts"]
    group: Int[Array, ""]
    member: Int[Array, ""] | None = None


class _True(NamedTuple):
    """What is true of a learner in a lesson: the rate of learning, and the chances of answers."""

    rate: Float[Array, ""]
    guess: Float[Array, ""]
    slip: Float[Array, ""]


def posterior(
    K: Float[Array, ""] | float,
    correct: Bool[Array, ""] | bool,
    guess: Float[Array, ""] | float,
    slip: Float[Array, ""] | float,
) -> Float[Array, ""]:
    """The chance that a concept is mastered once an answer is seen, when it was K before.

    An answer that had no chance at all leaves K as it was.

    >>> round(float(posterior(0.5, True, guess=0.2, slip=0.1)), 4)
    0.8182
    """
    mastered = K * jnp.where(correct, 1 - slip, slip)
    either = mastered + (1 - K) * jnp.where(correct, guess, 1 - guess)
    return jnp.where(either > 0, mastered / jnp.where(either > 0, either, 1.0), K)


@register("tutor-15-bkt")
class TutorBKT(Tutoring[Latent]):
    """Fifteen concepts in three strands, whose mastery the tutor can only estimate from right and wrong answers.

    The learner has mastered a concept or not (`state.latent.mastered`), at the start with the chance K₀ of its group,
    each concept on its own. The group (`state.latent.group`, a position in `group_names`) is drawn at reset. In a step:

    1. The learner answers: right with chance 1 − slip where v is mastered, with chance guess where it is not.
    2. The estimate K_v becomes the posterior given the answer, then rises by η of what is missing to 1.
    3. A learner who has not mastered v now does with chance η of its group.

    In 2, η is a tenth where v is not ready by the estimate, in 3 where it is not ready in truth. The tutor does not
    know the group. Its K starts from K₀ and rises by η for every learner, so it overrates the slow and underrates the
    fast. K can fall, and the ready set shrink. The gate, engagement, costs and `unready` all go by the estimate.
    `truly_ready(state)[action]` says whether every prerequisite is mastered in truth. `gain` is the learner's: the
    chance that this lesson makes it master v in truth. It is 0 where the learner has mastered v already.

    The budgets are on c2 (too little gain), c3 (too little demand) and c4 (engagement without gain). They price the
    lesson, not the luck of its answer. The price goes by the expected gain, η of what is missing, since the posterior
    is K on average. `costs_on="realised"` goes by the change of K that the answer brings. Then every wrong answer is
    dear, and a concept long known is the cheapest of all. Such budgets would reward the very tutor they are meant to
    stop.

    With a `population`, learners are drawn from sets of parameters of their own (`Population`). The tutor still
    believes its K0, eta, guess and slip. So a policy meets learners who are not what its tutor takes them for.
    """

    name: ClassVar[str] = "tutor-15-bkt"

    estimates: ClassVar[bool] = True

    groups: tuple[Group, ...] = eqx.field(static=True, default=GROUPS, converter=tuple)
    costs_on: Literal["expected", "realised"] = eqx.field(static=True, default="expected")
    population: Population | None = eqx.field(default=None, converter=as_population)

    def __check_init__(self) -> None:
        if self.population is not None:
            check_population(self.population, len(self.curriculum))
        if self.costs_on not in ("expected", "realised"):
            raise InputError(f"costs_on is {self.costs_on!r}", fix="choose from expected, realised")
        check_groups(self.groups)
        steepest = max((activity.gain for activity in self.activities), default=1.0)
        for group in self.groups:
            # Of the least of all concepts: where a concept's own is higher, what goes beyond 1 is 1.
            check_probability(f"K0 of {group.name}", np.min(self.K0) * group.K0)
            check_probability(f"eta of {group.name}", np.min(self.eta) * group.eta * steepest)

    @property
    def group_names(self) -> tuple[str, ...]:
        return tuple(group.name for group in self.groups)

    def group(self, state: TutorState[Latent]) -> Int[Array, ...]:
        return state.latent.group

    @property
    def ensemble(self) -> Ensemble:
        if self.population is None:
            return ONE_MODEL
        members = self.population.members
        return Ensemble((0,) * members, (1 / members,) * members)

    def member(self, state: TutorState[Latent]) -> Int[Array, ...]:
        return super().member(state) if state.latent.member is None else state.latent.member

    @property
    def largest_fall(self) -> float:
        if self.costs_on == "expected":
            return 0.0
        # A wrong answer multiplies the odds of mastery by slip/(1 − guess); K falls most from where the fall is
        # symmetric about one half. What the lesson then teaches only softens it.
        root = math.sqrt(np.min(np.asarray(self.slip) / (1 - np.asarray(self.guess))))
        return (1 - root) / (1 + root)

    def latent(self, key: PRNGKeyArray) -> Latent:
        concepts = len(self.curriculum)
        draw = jax.random.uniform(key, (concepts + (1 if self.population is None else 2),))
        bounds = jnp.cumsum(jnp.array([group.share for group in self.groups]))
        group = jnp.sum(draw[0] >= bounds[:-1])  # not the last bound, which rounding can leave short of 1
        start, member = self.each(self.K0), None
        if self.population is not None:
            member = jnp.floor(draw[-1] * self.population.members).astype(jnp.int32)
            start = jnp.asarray(self.population.K0)[member]
        K0 = start * jnp.array([group.K0 for group in self.groups])[group]
        return Latent(draw[1 : concepts + 1] < K0, group.astype(jnp.int32), member)

    def teach(self, key: PRNGKeyArray, state: TutorState[Latent], lesson: Lesson) -> Progress[Latent]:
        answer, learning = jax.random.uniform(key, (2,))
        mastered, group, member = state.latent
        guess, slip = self.each(self.guess)[lesson.concept], self.each(self.slip)[lesson.concept]
        true = self._true_of(member, lesson)
        correct = answer < jnp.where(mastered[lesson.concept], 1 - true.slip, true.guess)
        K = posterior(lesson.K, correct, guess, slip)
        ready = self.truly_held(mastered, lesson.concept)
        eta = true.rate * jnp.array([group.eta for group in self.groups])[group]
        chance = self.slowed(eta, ready)
        learns = learning < chance
        rate = self.slowed(lesson.rate, lesson.ready)
        after = K + rate * (1 - K)
        return Progress(
            K=after,
            gain=rate * (1 - lesson.K) if self.costs_on == "expected" else after - lesson.K,
            learnt=jnp.where(mastered[lesson.concept], 0.0, jnp.minimum(chance, 1.0)),
            felt=lesson.K,
            correct=correct,
            latent=Latent(mastered | (lesson.taught & learns), group, member),
        )

    def _true_of(self, member: Int[Array, ""] | None, lesson: Lesson) -> _True:
        """What is true of a learner in a lesson; what the tutor believes, where all learners are as it believes."""
        at = lesson.concept
        if self.population is None or member is None:
            return _True(lesson.rate, self.each(self.guess)[at], self.each(self.slip)[at])
        own = Population(*(jnp.asarray(values)[member, at] for values in self.population))
        return _True(own.eta * lesson.intensity, own.guess, own.slip)

    def knows(self, state: TutorState[Latent]) -> Bool[Array, "concepts ..."]:
        return state.latent.mastered

    def right_chances(self, state: TutorState[Latent]) -> Float[Array, " concepts"]:
        member = state.latent.member
        if self.population is None or member is None:
            return super().right_chances(state)
        guess, slip = (jnp.asarray(values)[member] for values in (self.population.guess, self.population.slip))
        return jnp.where(state.latent.mastered, 1 - slip, guess)

    @property
    def gain_bound(self) -> float:
        fastest = super().gain_bound
        if self.population is not None:
            steepest = max((activity.gain for activity in self.activities), default=1.0)
            fastest = max(fastest, float(np.max(self.population.eta)) * steepest)
        return float(min(fastest * max(group.eta for group in self.groups), 1.0))

    def truly_held(self, mastered: Bool[Array, " concepts"], concept: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether what a concept needs in truth is mastered."""
        return self.prerequisites_hold(mastered, concept)

    def truly_ready(self, state: TutorState[Latent]) -> Bool[Array, " actions"]:
        return self._over_activities(self.curriculum.ready(state.latent.mastered.astype(jnp.float32), self.theta))


@register("tutor-15-answers")
class TutorAnswers(TutorBKT):
    """The learners of `tutor-15-bkt`, of whom the policy sees the answers and not what the tutor makes of them.

    The policy sees how new each concept is, which action was the last, whether its answer was right, and the time; see
    `mccpo.env.tutor.seeing`. What an answer says of mastery it has to find out, and what earlier answers said it has to
    remember. All else is as in `tutor-15-bkt`: the gate opens by the estimate of knowledge tracing, and engagement and
    costs go by it. The budgets are on c2 (too little gain), c3 (too little demand) and c4 (engagement without gain).
    """

    name: ClassVar[str] = "tutor-15-answers"

    sees: Sees = eqx.field(static=True, default="answers")
