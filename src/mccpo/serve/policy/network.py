"""The network of a release: `mccpo.policy` for one learner at a time, in double precision, without jax.

Training ran in single precision. Here every step is worked out in double, so that two machines differ in the last few
of sixteen digits only, and agree once probabilities are told in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from mccpo.policy import FILTERS, Filter, PolicyNetwork, masked_probabilities


@dataclass(frozen=True, eq=False)
class ServedNetwork:
    """A network with its parameters; what estimated values in training is left out, where that is quicker."""

    network: PolicyNetwork
    parameters: Float[np.ndarray, " parameters"]

    def logits(self, features: Float[np.ndarray, " features"]) -> Float[np.ndarray, " actions"]:
        """What the policy head says of one learner."""
        logits: Float[np.ndarray, "actions 1"] = self.network.apply(self.parameters, features[:, None])[0]
        return logits[:, 0]


def served_network(network: PolicyNetwork, parameters: Float[np.ndarray, " parameters"]) -> ServedNetwork:
    """The network of a flat vector of parameters, whatever its kind."""
    exact = np.asarray(parameters, np.float64)
    return ServedNetwork(replace(network, signals=1), network.without_values(exact, 1))


def executed(
    logits: Float[np.ndarray, " actions"], ready: Bool[np.ndarray, " actions"], *, masked: bool, rule: Filter
) -> Float[np.ndarray, " actions+1"] | None:
    """The chances with which the trained policy acts, through its method's filter; the last is that of the no-op.

    None where the logits give no distribution.
    """
    probs = masked_probabilities(logits, ready if masked else np.ones_like(ready))
    return None if probs is None else FILTERS[rule](probs, ready)
