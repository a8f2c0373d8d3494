"""How the weights of a policy's network start, and the step of the optimiser that changes them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.policy import PolicyNetwork


class Network(PolicyNetwork):
    """A policy's network that is to be trained: it also says how its weights start."""

    def init(self, key: PRNGKeyArray) -> Float[Array, " parameters"]:
        """Normal weights, the policy head so small that the first policy is near uniform, value heads at zero."""
        # Not orthogonal ones, as PPO often has: their QR factorisation, batched under jit, can hang jax on CPU.
        keys = jax.random.split(key, 3)
        trunk = jax.nn.initializers.variance_scaling(2.0, "fan_in", "normal", in_axis=-1, out_axis=-2)
        policy = 0.01 * trunk(keys[2], (self.actions, self.hidden[1]))
        values = jnp.zeros((self.signals, self.hidden[1]))
        first, _, second, _, _, heads = self.shapes
        parts = [
            trunk(keys[0], first),
            jnp.zeros(first[0]),
            trunk(keys[1], second),
            jnp.zeros(second[0]),
            jnp.concatenate([policy, values]),
            jnp.zeros(heads),
        ]
        return jnp.concatenate([part.ravel() for part in parts])


def adam(
    gradient: Float[Array, " parameters"],
    mean: Float[Array, " parameters"],
    square: Float[Array, " parameters"],
    step: Float[Array, ""],
    rate: Float[Array, ""],
) -> tuple[Float[Array, " parameters"], Float[Array, " parameters"], Float[Array, " parameters"]]:
    """One step of Adam on a flat vector: what to add to the parameters, and the new moments."""
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient**2
    corrected = mean / (1 - 0.9**step)
    scale = jnp.sqrt(square / (1 - 0.999**step)) + 1e-5
    return -rate * corrected / scale, mean, square
