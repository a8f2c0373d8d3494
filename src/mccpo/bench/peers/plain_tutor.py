"""The tutor as plain NumPy, many learners at once: what a peer is given, so that its environment does not hold it up.

Must import nothing that brings in jax: the peer's script imports it by its file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class Played(NamedTuple):
    """What one step brought, one entry a learner; the costs are left out, because no peer reads them."""

    features: Float[np.ndarray, "learners features"]
    reward: Float[np.ndarray, " learners"]
    ended: Bool[np.ndarray, " learners"]


class PlainTutors:
    """Learners side by side under the rules of a deterministic tutor without activities; all end an episode together.

    `features` holds what a policy sees, in the order of `Tutoring.observe`, and is updated in place.
    """

    def __init__(self, tutor: Any, learners: int) -> None:
        concepts = len(tutor.curriculum)
        self.tutor = tutor
        self.features = np.zeros((learners, 4 * concepts + 1), np.float32)
        parts = np.split(self.features, np.arange(1, 5) * concepts, axis=1)
        self._K, self._novelty, self._last, self._ready, self._time = parts
        self._sparse = np.asarray(tutor.curriculum.prerequisites.sparse)
        self._mastered = np.ones((learners, concepts + 1), bool)  # the last is where the sparse form's padding points
        self._demand = tutor.demand.astype(np.float32)
        self._fading = np.float32(np.exp(-1 / tutor.novelty_span))
        self._rows = np.arange(learners)
        self._t = 0

    @property
    def mask(self) -> Bool[np.ndarray, "learners concepts"]:
        """The concepts that each learner is ready for."""
        return self._ready > 0

    def reset(self) -> Float[np.ndarray, "learners features"]:
        """Every learner at the start of an episode."""
        self.features[:] = 0.0
        self._K[:] = self.tutor.K0
        self._novelty[:] = 1.0
        self._t = 0
        self._open_gates()
        return self.features.copy()

    def step(self, action: Int[np.ndarray, " learners"]) -> Played:
        """Teaches each learner a concept; after the last step of an episode, the features are those of the next."""
        tutor, at = self.tutor, (self._rows, action)
        missing = 1 - self._K[at]
        rate = np.where(self._ready[at] > 0, tutor.eta, tutor.eta * tutor.unready_gain)
        reward = tutor.r_base - tutor.r_difficulty * self._demand[action] * missing
        reward = np.clip(reward + tutor.r_novelty * self._novelty[at], 0.0, 1.0)
        self._K[at] += rate * missing
        self._novelty[at] *= self._fading
        self._last[:] = 0.0
        self._last[at] = 1.0
        self._t += 1
        self._time[:] = self._t / tutor.horizon
        self._open_gates()
        ends = self._t >= tutor.horizon
        features = self.reset() if ends else self.features.copy()
        return Played(features, reward.astype(np.float32), np.full(len(action), ends))

    def _open_gates(self) -> None:
        np.greater_equal(self._K, self.tutor.theta, out=self._mastered[:, :-1])
        self._ready[:] = self._mastered[:, self._sparse].all(axis=-1)
