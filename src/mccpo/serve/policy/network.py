"""The network of a release: `mccpo.policy` for one learner at a time, in double precision, without jax.

Training ran in single precision. Here every step is worked out in double, so that two machines differ in the last few
of sixteen digits only, and agree once probabilities are told in single precision.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from mccpo.policy import FILTERS, Filter, Layers, PolicyNetwork, masked_probabilities


class ServedNetwork(Layers):
    """The layers of a network with its policy head alone; what estimated values in training is left out."""

    def logits(self, features: Float[np.ndarray, " features"]) -> Float[np.ndarray, " actions"]:
        """What the policy head says of one learner."""
        logits: Float[np.ndarray, " actions"] = self.forward(features[:, None])[:, 0]
        return logits


def served_network(network: PolicyNetwork, parameters: Float[np.ndarray, " parameters"]) -> ServedNetwork:
    """The network of a flat vector of parameters."""
    w1, b1, w2, b2, w3, b3 = network.layers(np.asarray(parameters, np.float64))
    return ServedNetwork(w1, b1, w2, b2, w3[: network.actions].copy(), b3[: network.actions].copy())


def executed(
    logits: Float[np.ndarray, " actions"], ready: Bool[np.ndarray, " actions"], *, masked: bool, rule: Filter
) -> Float[np.ndarray, " actions+1"] | None:
    """The chances with which the trained policy acts, through its method's filter; the last is that of the no-op.

    None where the logits give no distribution.
    """
    probs = masked_probabilities(logits, ready if masked else np.ones_like(ready))
    return None if probs is None else FILTERS[rule](probs, ready)
