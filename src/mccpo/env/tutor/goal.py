"""The tutor of a learner who comes with a goal: some concepts to master, and the sooner the better."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.contract import TimeStep
from mccpo.env.registry import register
from mccpo.env.tutor.profiles import Tutor
from mccpo.env.tutor.state import TutorState
from mccpo.errors import InputError
from mccpo.policy import check_probability


@register("tutor-15-goal")
class TutorGoal(Tutor):
    """Fifteen concepts in three strands, taught to learners of whom each has targets of its own.

    A learner's targets are one to three concepts, drawn at reset, each number and each set of a number alike. They are
    seen by the policy, one number for each concept. The learner already knows what is easy: concepts whose demand, and
    that of all before them, is below `basics`. Their mastery starts at `known`, that of everything else at K₀. The
    rules of learning, the gate and the costs are those of `tutor-15`, with c4 on its engagement r_E. The reward is
    another: how far a step takes the targets towards `mastery`, in lessons.

        reward = Σ over targets of Φ(K after) − Φ(K before),   Φ(K) = −log(1 − min(K, mastery)) / −log(1 − η)

    A lesson on a target that is ready and below `mastery` pays 1, less where it reaches `mastery` midway. A lesson on
    anything else pays nothing. So prerequisites are worth their time only as a means. The episode ends when all targets
    are mastered. A target takes a fixed number of lessons, and discounting makes every other step a loss. The best
    tutor brings all targets over `mastery` as early as can be.

    The budgets pull against it. The last lessons to `mastery` teach little and please all the same, which costs c2 and
    c4. An easy target costs c3 as well. New and demanding concepts cost nothing, and are nobody's goal.

    **Parameters:** those of `tutor-15`, and

    - `targets`: the most that a learner can have. `mastery`: at which a target is reached.
    - `basics`, `known`: what is known at the start, and how well.
    """

    name: ClassVar[str] = "tutor-15-goal"
    case_names: ClassVar[tuple[str, ...]] = ("target",)

    mastery: float = 0.95
    known: float = 0.75
    basics: float = eqx.field(static=True, default=0.5)
    targets: int = eqx.field(static=True, default=3)

    def __check_init__(self) -> None:
        for name in ("known", "basics"):
            check_probability(name, getattr(self, name))
        if not 0 < self.mastery < 1:
            raise InputError(f"mastery is {self.mastery}", fix="give a number strictly between 0 and 1, such as 0.95")
        if isinstance(self.targets, bool) or not 1 <= self.targets <= len(self.curriculum):
            raise InputError(f"targets is {self.targets}", fix=f"give a whole number from 1 to {len(self.curriculum)}")

    @property
    def basic(self) -> Bool[np.ndarray, " concepts"]:
        """The concepts that are known at the start."""
        easy = self.curriculum.demand < self.basics
        for concept, needs in enumerate(self.curriculum.prerequisites.lists):  # prerequisites come first
            easy[concept] &= all(easy[need] for need in needs)
        return easy

    def start(self, key: PRNGKeyArray) -> TutorState[None]:
        learner, counting, drawing = jax.random.split(key, 3)
        count = jax.random.randint(counting, (), 1, self.targets + 1)
        chosen = jax.random.permutation(drawing, len(self.curriculum)) < count
        state = super().start(learner)
        return state._replace(K=jnp.where(self.basic, self.known, state.K).astype(jnp.float32), case=chosen)

    def case_features(self, state: TutorState[None]) -> tuple[Float[Array, " concepts"], ...]:
        return (state.case.astype(jnp.float32),)

    def step(self, key: PRNGKeyArray, state: TutorState[None], action: Int[Array, ""]) -> TimeStep[TutorState[None]]:
        step = super().step(key, state, action)
        progress = jnp.where(state.case, self._lessons(state.K, step.state.K), 0.0).sum()
        reached = (~state.case | jnp.greater_equal(step.state.K, self.mastery)).all()
        return step._replace(reward=jnp.clip(progress, 0.0, 1.0), terminated=step.terminated | reached)

    def _lessons(
        self, before: Float[Array, " concepts"], after: Float[Array, " concepts"]
    ) -> Float[Array, " concepts"]:
        """The lessons that lie between two states of mastery, of the activity that teaches most."""
        steepest = max(activity.gain for activity in self._activities)
        longest = -jnp.log1p(-jnp.asarray(self.mastery, jnp.float32))  # all the way, for those who learn at once
        lesson = jnp.minimum(-jnp.log1p(-jnp.minimum(self.each(self.eta) * steepest, 1.0)), longest)
        missing, left = (1 - jnp.minimum(K, self.mastery) for K in (before, after))
        return jnp.log(missing / left) / jnp.maximum(lesson, 1e-6)  # of a ratio, which is 1 where nothing changes
