"""Learners of whom nothing is simply known or not known: all there is to tell of them is how likely they answer right.

What counts as mastered, ready and gained is said here once, for every kind of such learners, with p the chance of a
right answer on a concept (on an item as the logs have them, where items differ):

- **mastered**: p is at least `mastered_at`. **Ready in truth**: p of all prerequisites is at least that. It is the θ
  that the learners were made with, and stays what it is behind a gate with another θ.
- **gained**, ΔK: the change of p on the concept taught that is to be expected before its answer is known. A right
  answer also tells of a learner who knows more, and a wrong one of a learner who knows less. Over both answers that
  evens out, and what is left is what the lesson brings. Where p is expected to fall, ΔK is below 0.
- **priced**: c2 and c4 go by that expected change, or by 0 where it is less: a lesson harms nobody.
- **felt**: r_E goes by p in place of K.

A lesson that the learner is not ready for in truth counts as `unready_gain` of a lesson.
"""

from __future__ import annotations

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.tutor.bkt import posterior
from mccpo.env.tutor.state import LatentT, Lesson, Progress, TutorState
from mccpo.env.tutor.tutoring import Tutoring
from mccpo.errors import InputError


class Answering(Tutoring[LatentT]):
    """Learners by the chance of a right answer, seen by a tutor who believes in knowledge tracing.

    The tutor's estimate goes by its own K0, eta, guess and slip, as in training.

    **Parameters:** those of a tutor, and `mastered_at`: the chance of a right answer that counts as mastery in truth; θ
    where it is not given.
    """

    estimates: ClassVar[bool] = True

    mastered_at: float = eqx.field(default=None, kw_only=True)  # θ, once it is known

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mastered_at is None:
            self.mastered_at = self.theta  # type: ignore[unreachable]  # a float from here on
        if not 0 < self.mastered_at <= 1:
            raise InputError(f"mastered_at is {self.mastered_at}", fix="give a chance of a right answer, such as 0.7")

    @abc.abstractmethod
    def chances(self, latent: LatentT) -> Float[Array, " concepts"]:
        """The chance of a right answer on each concept, on an item as the logs have them."""

    @abc.abstractmethod
    def practised(self, latent: LatentT, lesson: Lesson, correct: Bool[Array, ""], weight: Float[Array, ""]) -> LatentT:
        """The learner after an answer, to a lesson of which the share `weight` reaches it."""

    def chance(self, latent: LatentT, concept: Int[Array, ""]) -> Float[Array, ""]:
        """What `chances` says of one concept."""
        return self.chances(latent)[concept]

    def chance_now(self, key: PRNGKeyArray, latent: LatentT, concept: Int[Array, ""]) -> Float[Array, ""]:
        """The chance of a right answer on the item that is met, which may be an easy or a hard one."""
        del key
        return self.chance(latent, concept)

    def teach(self, key: PRNGKeyArray, state: TutorState[LatentT], lesson: Lesson) -> Progress[LatentT]:
        before, at = state.latent, lesson.concept
        chances = self.chances(before)
        answering, meeting = jax.random.split(key)
        correct = jax.random.uniform(answering) < self.chance_now(meeting, before, at)
        weight = jnp.where(self.prerequisites_hold(chances >= self.mastered_at, at), 1.0, self.unready_gain)
        right, wrong = (self.practised(before, lesson, jnp.asarray(answer), weight) for answer in (True, False))
        expected = chances[at] * self.chance(right, at) + (1 - chances[at]) * self.chance(wrong, at) - chances[at]
        acts = lesson.taught.any()
        after = jax.tree.map(lambda r, w, b: jnp.where(acts, jnp.where(correct, r, w), b), right, wrong, before)
        K = posterior(lesson.K, correct, self.each(self.guess)[at], self.each(self.slip)[at])
        rate = self.slowed(lesson.rate, lesson.ready)
        return Progress(
            K=K + rate * (1 - K),
            gain=jnp.maximum(expected, 0.0),
            learnt=expected,
            felt=chances[at],
            correct=correct,
            latent=after,
        )

    def knows(self, state: TutorState[LatentT]) -> Bool[Array, "concepts ..."]:
        chances: Float[Array, "concepts ..."] = self.chances(state.latent)
        return chances >= self.mastered_at

    def truly_ready(self, state: TutorState[LatentT]) -> Bool[Array, " actions"]:
        return self._over_activities(self.curriculum.ready(self.chances(state.latent), self.mastered_at))

    def right_chances(self, state: TutorState[LatentT]) -> Float[Array, " concepts"]:
        return self.chances(state.latent)

    @property
    def largest_fall(self) -> float:
        return 0.0  # no lesson is priced by a fall

    @property
    @abc.abstractmethod
    def widest(self) -> float:
        """The most that the chance on a concept can change in one lesson."""

    @property
    def gain_bound(self) -> float:
        return self.widest

    @property
    def loss_bound(self) -> float:
        return self.widest
