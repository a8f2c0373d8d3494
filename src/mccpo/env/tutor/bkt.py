"""The tutor that cannot look inside the learner: mastery estimated from answers by Bayesian knowledge tracing."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.registry import register
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
    """What no tutor sees: which concepts the learner has mastered in truth, and its group."""

    mastered: Bool[Array, " concepts"]
    group: Int[Array, ""]


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

    In 2, η is a tenth where v is not ready by the estimate, in 3 where it is not ready in truth. The tutor is told no
    group: its K starts from K₀ and rises by η whoever the learner is, so it overrates the slow and underrates the fast.
    K can fall, and the ready set shrink. The gate, engagement, costs and `unready` are all on the estimate; to count
    what it hides, `truly_ready(state)[action]` says whether every prerequisite is mastered in truth. `gain` is the
    learner's: the chance that this lesson makes it master v in truth, 0 where it has already.

    c2 (too little gain), c3 (too little demand) and c4 (engagement without gain) carry the budgets. They price the
    lesson, not the luck of its answer: by the gain that the estimate expects of it, η of what is missing, since the
    posterior is K on average. Priced by the change of K that the answer brings (`costs_on="realised"`), every wrong
    answer is dear, whatever is taught, and a concept long known the cheapest of all: the budgets would then reward the
    very tutor they are meant to stop.
    """

    name: ClassVar[str] = "tutor-15-bkt"

    estimates: ClassVar[bool] = True

    groups: tuple[Group, ...] = eqx.field(static=True, default=GROUPS, converter=tuple)
    costs_on: Literal["expected", "realised"] = eqx.field(static=True, default="expected")

    def __check_init__(self) -> None:
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
    def largest_fall(self) -> float:
        if self.costs_on == "expected":
            return 0.0
        # A wrong answer multiplies the odds of mastery by slip/(1 − guess); K falls most from where the fall is
        # symmetric about one half. What the lesson then teaches only softens it.
        root = math.sqrt(np.min(np.asarray(self.slip) / (1 - np.asarray(self.guess))))
        return (1 - root) / (1 + root)

    def latent(self, key: PRNGKeyArray) -> Latent:
        draw = jax.random.uniform(key, (1 + len(self.curriculum),))
        bounds = jnp.cumsum(jnp.array([group.share for group in self.groups]))
        group = jnp.sum(draw[0] >= bounds[:-1])  # not the last bound, which rounding can leave short of 1
        K0 = self.each(self.K0) * jnp.array([group.K0 for group in self.groups])[group]
        return Latent(mastered=draw[1:] < K0, group=group.astype(jnp.int32))

    def teach(self, key: PRNGKeyArray, state: TutorState[Latent], lesson: Lesson) -> Progress[Latent]:
        answer, learning = jax.random.uniform(key, (2,))
        mastered, group = state.latent
        guess, slip = self.each(self.guess)[lesson.concept], self.each(self.slip)[lesson.concept]
        correct = answer < jnp.where(mastered[lesson.concept], 1 - slip, guess)
        K = posterior(lesson.K, correct, guess, slip)
        ready = self.prerequisites_hold(mastered, lesson.concept)
        eta = lesson.rate * jnp.array([group.eta for group in self.groups])[group]
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
            latent=Latent(mastered | (lesson.taught & learns), group),
        )

    def knows(self, state: TutorState[Latent]) -> Bool[Array, concepts * batch]:
        return state.latent.mastered

    @property
    def gain_bound(self) -> float:
        return float(min(super().gain_bound * max(group.eta for group in self.groups), 1.0))

    def truly_ready(self, state: TutorState[Latent]) -> Bool[Array, " actions"]:
        return self._over_activities(self.curriculum.ready(state.latent.mastered.astype(jnp.float32), self.theta))
