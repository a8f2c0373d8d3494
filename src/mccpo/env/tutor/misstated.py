"""A tutor whose graph is wrong: the gate and the policy go by one curriculum, learners by another."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from mccpo.curriculum import Curriculum
from mccpo.env.tutor.bkt import Latent
from mccpo.env.tutor.prepared import PriorTutor
from mccpo.env.tutor.state import TutorState
from mccpo.errors import InputError


class MisstatedTutor(PriorTutor):
    """A tutor of a prior whose learners need other prerequisites than its curriculum states.

    The gate, the policy's view and what the tutor expects of a lesson go by `curriculum`. Whether a lesson reaches the
    learner, and what is unready in truth, goes by `truth`, which has the same concepts.
    """

    name: ClassVar[str] = "misstated"

    truth: Curriculum = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        if self.truth is None or set(self.truth.concepts) != set(self.curriculum.concepts):
            raise InputError("truth has other concepts than the curriculum", fix="give a curriculum of the same ones")

    def truly_held(self, mastered: Bool[Array, " concepts"], concept: Int[Array, ""]) -> Bool[Array, ""]:
        return jnp.all(jnp.append(mastered, True)[jnp.asarray(self._needed)[concept]])

    def truly_ready(self, state: TutorState[Latent]) -> Bool[Array, " actions"]:
        mastered = jnp.append(state.latent.mastered, True)
        return self._over_activities(mastered[jnp.asarray(self._needed)].all(axis=-1))

    @property
    def _needed(self) -> Int[np.ndarray, "concepts most"]:
        """What each concept needs in truth, as positions in `curriculum`; the padding points one past the end."""
        place = np.array([*map(self.curriculum.index, self.truth.concepts), len(self.truth)])
        rows = place[self.truth.prerequisites.sparse]
        needed: Int[np.ndarray, "concepts most"] = np.empty_like(rows)
        needed[place[:-1]] = rows
        return needed
