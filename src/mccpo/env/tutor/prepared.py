"""Tutors whose numbers come from logs: one to train policies in, and one of another kind to judge them by."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.contract import ONE_MODEL, Ensemble
from mccpo.env.registry import register
from mccpo.env.tutor.answering import Answering
from mccpo.env.tutor.bkt import Group, TutorBKT, check_groups
from mccpo.env.tutor.state import Lesson, TutorState
from mccpo.errors import InputError
from mccpo.policy import PerConcept, check_length, per_concept

EVERYONE = (Group("all", share=1.0),)


@register("prepared")
class PreparedTutor(TutorBKT):
    """A tutor made from logs: a curriculum, learners as knowledge tracing saw them, engagement as they showed it.

    Each concept has four chances of its own: to be known at the start (K0), to be learnt (eta), of a guess and of a
    slip. They are fitted to the answers of some of the learners. Demand and engagement come from right answers, time
    and hints (see `mccpo prepare`). All else is as in `tutor-15-bkt`. The tutor sees an estimate of mastery from right
    and wrong answers. The budgets are on c2 (too little gain), c3 (too little demand) and c4 (engagement without gain).
    """

    name: ClassVar[str] = "prepared"

    groups: tuple[Group, ...] = eqx.field(static=True, default=EVERYONE, converter=tuple)


@register("prior-tutor")
class PriorTutor(PreparedTutor):
    """A tutor made from a graph without logs: learners of several platforms that are drawn from a stated prior.

    Nothing is known about the learners of the platform at hand. So the tutor believes the means of the prior, and its
    learners come from a `population` of drawn platforms. Floors and budgets are to hold on average over these
    platforms, not on each of them: somewhere in the prior there is always a platform whose learners learn too little.
    All else is as in `prepared`.
    """

    name: ClassVar[str] = "prior-tutor"

    @property
    def ensemble(self) -> Ensemble:
        return ONE_MODEL


class Practised(NamedTuple):
    """What no tutor sees: the right and wrong answers that still count, concept by concept, and the learner's group."""

    successes: Float[Array, " concepts"]
    failures: Float[Array, " concepts"]
    group: Int[Array, ""]


@register("prepared-judge")
class PreparedJudge(Answering[Practised]):
    """Learners of another kind than the tutor believes in, fitted to the answers of other learners.

    The chance of a right answer follows performance factors: its log-odds are the concept's ease, plus what each right
    and each wrong answer so far adds, older ones counting less. The tutor sees what it saw in training, an estimate by
    knowledge tracing with its own K0, eta, guess and slip. What is felt, learnt and priced goes by the chance p of a
    right answer: r_E by p in place of K, ΔK, c2 and c4 by the change of p to be expected. A concept is ready in truth
    where p of all its prerequisites reaches θ. A group's K0 multiplies the odds of a right answer at the start.
    Its eta multiplies what practice adds to their logarithm.
    The costs are c2 (too little gain), c3 (too little demand) and c4 (engagement without gain).
    """

    name: ClassVar[str] = "prepared-judge"

    ease: PerConcept = eqx.field(default=0.0, converter=per_concept)
    success: PerConcept = eqx.field(default=0.2, converter=per_concept)
    failure: PerConcept = eqx.field(default=0.1, converter=per_concept)
    decay: float = 0.8
    groups: tuple[Group, ...] = eqx.field(static=True, default=EVERYONE, converter=tuple)

    def __check_init__(self) -> None:
        check_groups(self.groups)
        for name in ("ease", "success", "failure"):
            check_length(name, getattr(self, name), self.curriculum.concepts)
        if not 0 <= self.decay < 1:
            raise InputError(f"decay is {self.decay}", fix="give a number from 0 up to, not including, 1")
        for group in self.groups:
            if not (0 < group.K0 < math.inf and 0 <= group.eta < math.inf):
                raise InputError(f"{group.name} has K0 {group.K0} and eta {group.eta}", fix="give factors above 0")

    @property
    def group_names(self) -> tuple[str, ...]:
        return tuple(group.name for group in self.groups)

    def group(self, state: TutorState[Practised]) -> Int[Array, ...]:
        return state.latent.group

    @property
    def widest(self) -> float:
        """From the highest chance there is to the lowest."""
        start, pace = self._of_groups()
        ease = np.asarray(self.ease) + start[:, None]
        reach = pace[:, None] / (1 - self.decay)  # what all that still counts can weigh
        best = ease + reach * np.maximum(np.maximum(self.success, self.failure), 0)
        worst = ease + reach * np.minimum(np.minimum(self.success, self.failure), 0)
        return float((1 / (1 + np.exp(-best)) - 1 / (1 + np.exp(-worst))).max())

    def latent(self, key: PRNGKeyArray) -> Practised:
        bounds = jnp.cumsum(jnp.array([group.share for group in self.groups]))
        group = jnp.sum(jax.random.uniform(key) >= bounds[:-1]).astype(jnp.int32)
        none = jnp.zeros(len(self.curriculum), jnp.float32)
        return Practised(none, none, group)

    def chances(self, latent: Practised) -> Float[Array, " concepts"]:
        start, pace = (jnp.asarray(each, jnp.float32)[latent.group] for each in self._of_groups())
        added = self.each(self.success) * latent.successes + self.each(self.failure) * latent.failures
        return jax.nn.sigmoid(self.each(self.ease) + start + pace * added)

    def practised(
        self, latent: Practised, lesson: Lesson, correct: Bool[Array, ""], weight: Float[Array, ""]
    ) -> Practised:
        # Of a lesson that hardly reaches the learner, little is added and little fades.
        kept = 1 - weight * (1 - self.decay)
        return Practised(
            jnp.where(lesson.taught, kept * latent.successes + weight * correct, latent.successes),
            jnp.where(lesson.taught, kept * latent.failures + weight * ~correct, latent.failures),
            latent.group,
        )

    def _of_groups(self) -> tuple[Float[np.ndarray, " groups"], Float[np.ndarray, " groups"]]:
        """What each group adds to the log-odds at the start, and the factor on what practice adds."""
        return np.log([group.K0 for group in self.groups]), np.array([group.eta for group in self.groups])
