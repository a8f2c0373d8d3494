"""More kinds of learners to judge policies by: a regression on all that was practised, and a recurrent network."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.registry import register
from mccpo.env.tutor.answering import Answering
from mccpo.env.tutor.learner_weights import (
    PRACTICE_FEATURES,
    PracticeWeights,
    RecurrentWeights,
    as_weights,
    weights_or_example,
)
from mccpo.env.tutor.state import Lesson
from mccpo.errors import InputError
from mccpo.mastery import FAST, SLOW, gated

_FADING = np.array([1.0, 1.0, FAST, FAST, SLOW, SLOW], np.float32)
_OF_RIGHT = np.array([True, False] * 3)


class Tallies(NamedTuple):
    """What no tutor sees: the answers so far on each concept, as `mccpo.mastery.History` counts them, and ability."""

    concepts: Float[Array, "practice concepts"]
    ability: Float[Array, ""]


@register("prepared-best-lr")
class PreparedBestLR(Answering[Tallies]):
    """Learners as Best-LR sees them: a regression on the item, the concept, and the answers so far.

    The log-odds of a right answer are those of `PracticeWeights`. Every lesson meets an item of its concept that is new
    to the learner, drawn as often as the logs have items so easy or hard. Time does not pass between lessons, so that
    nothing is counted by the clock. What Best-LR concludes from all answers together is how able a learner is; that is
    drawn at the start, as the logs have it, and stays. Were it to move with every answer, a tutor who teaches what is
    hard would make learners less able. What counts as mastered, ready and gained is the same for all learners by their
    answers (`mccpo.env.tutor.answering`), with p the mean over items.
    The costs are c2 (too little gain), c3 (too little demand) and c4 (engagement without gain).
    """

    name: ClassVar[str] = "prepared-best-lr"

    weights: PracticeWeights = eqx.field(default=None, converter=partial(as_weights, PracticeWeights))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.weights = weights_or_example(PracticeWeights, self.weights, len(self.curriculum))

    def __check_init__(self) -> None:
        _check(self.weights, len(self.curriculum))

    def latent(self, key: PRNGKeyArray) -> Tallies:
        ability = jnp.asarray(self.weights.ability)
        level = jax.random.randint(key, (), 0, ability.shape[0])
        return Tallies(jnp.zeros((PRACTICE_FEATURES, len(self.curriculum)), jnp.float32), ability[level])

    def chances(self, latent: Tallies) -> Float[Array, " concepts"]:
        return self._over_items(self._log_odds(latent, latent.concepts, slice(None)), slice(None))

    def chance(self, latent: Tallies, concept: Int[Array, ""]) -> Float[Array, ""]:
        return self._over_items(self._log_odds(latent, latent.concepts[:, concept], concept), concept)

    def chance_now(self, key: PRNGKeyArray, latent: Tallies, concept: Int[Array, ""]) -> Float[Array, ""]:
        of_items = jnp.asarray(self.weights.items)[concept]
        item = jax.random.randint(key, (), 0, of_items.shape[-1])
        return jax.nn.sigmoid(self._log_odds(latent, latent.concepts[:, concept], concept) + of_items[item])

    def practised(self, latent: Tallies, lesson: Lesson, correct: Bool[Array, ""], weight: Float[Array, ""]) -> Tallies:
        # Of a lesson that hardly reaches the learner, little is added and little fades.
        kept, added = 1 - weight * (1 - _FADING), weight * (correct == _OF_RIGHT)
        taught = kept[:, None] * latent.concepts + added[:, None]
        return latent._replace(concepts=jnp.where(lesson.taught, taught, latent.concepts))

    @property
    def widest(self) -> float:
        wins, fails = (
            np.abs(np.asarray(own) + shared)
            for own, shared in zip((self.weights.wins, self.weights.fails), self.weights.concept, strict=False)
        )
        # An answer adds at most log 2 to one of the logarithms, and moves each count that fades by at most 1.
        moved = math.log(2) * np.maximum(wins, fails).max() + np.abs(self.weights.concept[2:]).sum()
        return math.tanh(moved / 4)  # the most that log-odds so far apart can differ as chances

    def _log_odds(
        self, latent: Tallies, practice: Float[Array, "practice ..."], at: Int[Array, ""] | slice
    ) -> Float[Array, "*concepts"]:
        """The log-odds of a right answer on concepts, on an item that adds nothing."""
        own = self.weights
        told = jnp.concatenate([jnp.log1p(practice[:2]), practice[2:]])  # as in `mccpo.mastery.history.PRACTICE`
        logit = jnp.asarray(own.ease)[at] + jnp.asarray(own.wins)[at] * told[0] + jnp.asarray(own.fails)[at] * told[1]
        shared: Float[Array, "*concepts"] = jnp.tensordot(jnp.asarray(own.concept), told, axes=1)
        return logit + shared + latent.ability

    def _over_items(self, log_odds: Float[Array, "*concepts"], at: Int[Array, ""] | slice) -> Float[Array, "*concepts"]:
        """The mean chance over items, each level of which is met as often."""
        return jax.nn.sigmoid(log_odds[..., None] + jnp.asarray(self.weights.items)[at]).mean(axis=-1)


@register("prepared-recurrent")
class PreparedRecurrent(Answering[Float[Array, " units"]]):
    """Learners as a recurrent network sees them, which reads their answers one by one (deep knowledge tracing).

    Its units are what a learner is; an answer moves them, and the log-odds of a right answer on every concept are read
    off them. Nothing holds the network to what a person would be like: practice may lower the chance of a right answer,
    and practice of one concept that of another. So it is there to judge and not to be learnt from. What counts as
    mastered, ready and gained is the same for all learners by their answers (`mccpo.env.tutor.answering`).
    The costs are c2 (too little gain), c3 (too little demand) and c4 (engagement without gain).
    """

    name: ClassVar[str] = "prepared-recurrent"

    weights: RecurrentWeights = eqx.field(default=None, converter=partial(as_weights, RecurrentWeights))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.weights = weights_or_example(RecurrentWeights, self.weights, len(self.curriculum))

    def __check_init__(self) -> None:
        _check(self.weights, len(self.curriculum))

    def latent(self, key: PRNGKeyArray) -> Float[Array, " units"]:
        del key  # learners begin alike, and their answers set them apart
        return jnp.zeros(self.weights.units, jnp.float32)

    def chances(self, latent: Float[Array, " units"]) -> Float[Array, " concepts"]:
        return jax.nn.sigmoid(jnp.asarray(self.weights.out) @ latent + jnp.asarray(self.weights.bias))

    def chance(self, latent: Float[Array, " units"], concept: Int[Array, ""]) -> Float[Array, ""]:
        log_odds = jnp.dot(jnp.asarray(self.weights.out)[concept], latent) + jnp.asarray(self.weights.bias)[concept]
        return jax.nn.sigmoid(log_odds)

    def practised(
        self, latent: Float[Array, " units"], lesson: Lesson, correct: Bool[Array, ""], weight: Float[Array, ""]
    ) -> Float[Array, " units"]:
        read = jnp.asarray(self.weights.answer)[correct.astype(jnp.int32), lesson.concept]
        after = gated(read, jnp.asarray(self.weights.recurrent), jnp.asarray(self.weights.candidate), latent)
        return latent + weight * (after - latent)

    @property
    def widest(self) -> float:
        return 1.0  # nothing is known of how far a network may swing


def _check(weights: PracticeWeights | RecurrentWeights, concepts: int) -> None:
    weights.check()
    if weights.concepts != concepts:
        raise InputError(f"the weights are of {weights.concepts} concepts", fix=f"give those of {concepts}")
