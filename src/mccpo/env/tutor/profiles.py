"""The paper's tutors, deterministic in K: fifteen concepts and twenty-five, and fifteen with a choice of activities."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from mccpo.env.registry import register
from mccpo.env.tutor.state import Lesson, Progress, TutorState
from mccpo.env.tutor.tutoring import Tutoring
from mccpo.policy import ACTIVITIES, Activity


@register("tutor-15")
class Tutor(Tutoring[None]):
    """Fifteen concepts in three strands, whose mastery grows by a fixed share of what is missing each time.

    Teaching v raises K_v by η(1 − K_v), by a tenth of that where v is not ready: mastery never falls and the ready set
    never shrinks. Answers are drawn from guess and slip, right with chance K_v(1 − slip) + (1 − K_v)·guess, and go into
    the learner's record only. Engagement is highest where a concept is easy or known already, so the tutor that
    maximises it repeats the first concept for ever. The budgets are on c2 (too little gain), c3 (too little demand) and
    c4 (engagement without gain).

    **Where its numbers come from:** the paper states fifteen concepts, η = 0.08, θ = 0.7, γ = 0.99 and 100 steps. It
    does not state r_E, c2, c4, the graph, the demands or K₀. These were worked out from the paper's unconstrained row:
    its return, raw RHSI, J_c2, J_c3 and J_c4, and the ΔK of a row equal to it. The policy that repeats the first
    concept has these numbers. So the agreement of this row is no evidence. Everything else that is measured here is a
    prediction. Many other tutors fit that row as well: `mccpo reproduce parameterisations` draws 32 of them.

    >>> tutor = Tutor(horizon=40, eta=0.2)
    >>> len(tutor.curriculum), tutor.horizon
    (15, 40)
    """

    name: ClassVar[str] = "tutor-15"

    @property
    def largest_fall(self) -> float:
        return 0.0

    def latent(self, key: PRNGKeyArray) -> None:
        return None

    def teach(self, key: PRNGKeyArray, state: TutorState[None], lesson: Lesson) -> Progress[None]:
        gain = self.slowed(lesson.rate, lesson.ready) * (1 - lesson.K)
        guess, slip = self.each(self.guess)[lesson.concept], self.each(self.slip)[lesson.concept]
        right = lesson.K * (1 - slip) + (1 - lesson.K) * guess
        correct = jax.random.uniform(key) < right
        K = lesson.K + gain
        return Progress(K=K, gain=gain, learnt=K - lesson.K, felt=lesson.K, correct=correct, latent=None)


@register("tutor-25")
class Tutor25(Tutor):
    """Twenty-five concepts under the rules of `tutor-15`: a deeper graph, the same span of demands.

    Teaching v raises K_v by η(1 − K_v), by a tenth of that where v is not ready. The budgets are on c2 (too little
    gain), c3 (too little demand) and c4 (engagement without gain). Its numbers are those of `tutor-15`, whose page says
    where they come from; none was fitted to what the paper reports for 25 concepts.
    """

    name: ClassVar[str] = "tutor-25"

    concepts: int = eqx.field(static=True, default=25)


@register("tutor-15-activities")
class TutorActivities(Tutor):
    """The fifteen concepts of `tutor-15`, each with a choice of five activities: what to teach, and how.

    Encouragement, hint, worked example, practice and challenge trade demand and gain against engagement: see
    `ACTIVITIES`. There are seventy-five actions, `concept/activity`; a concept that is ready is so for all of its
    activities. Teaching v raises K_v by η(1 − K_v) times the activity's gain. The tutor that maximises engagement
    encourages for ever what is known already. The budgets are on c2 (too little gain), c3 (too little demand) and c4
    (engagement without gain).
    """

    name: ClassVar[str] = "tutor-15-activities"

    activities: tuple[Activity, ...] = eqx.field(static=True, default=tuple(ACTIVITIES.values()))
