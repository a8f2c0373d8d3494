"""The tutor as plain NumPy, many learners at once: what a peer is given, so that its environment does not hold it up.

Imports `mccpo.policy` alone, which brings in no jax: the peer's script imports this module by its file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from mccpo.policy import engagement_of, learning_rate


class Played(NamedTuple):
    """What one step brought, one entry a learner; the costs are left out, because no peer reads them."""

    features: Float[np.ndarray, "learners features"]
    reward: Float[np.ndarray, " learners"]
    ended: Bool[np.ndarray, " learners"]


class PlainTutors:
    """Learners side by side under the rules of a deterministic tutor without activities; all end an episode together.

    `features` holds what a policy sees, laid out as in training, and is updated in place.
    """

    def __init__(self, tutor: Any, learners: int) -> None:
        concepts = len(tutor.curriculum)
        self.tutor = tutor
        self.features = np.zeros((learners, tutor.layout.size), np.float32)
        self._K, self._novelty, self._last, self._ready, _, self._time = tutor.layout.split(self.features)  # views
        self._sparse = np.asarray(tutor.curriculum.prerequisites.sparse)
        self._mastered = np.ones((learners, concepts + 1), bool)  # the last is where the sparse form's padding points
        self._demand = tutor.demand.astype(np.float32)
        self._prices = tutor.prices
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
        K = self._K[at]
        reward = engagement_of(self._prices, self._demand[action], K, self._novelty[at])
        self._K[at] += learning_rate(tutor.eta, self._ready[at] > 0, tutor.unready_gain) * (1 - K)
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
