"""The actor–critic network: a shared trunk of two layers, a policy head, and one value head per reward and cost.

Parameters are one flat vector, so that the optimiser is a handful of operations whatever the network's shape, and
activations are feature-major (features × batch), which keeps the inner loop of every operation on the long axis. A
network is applied to NumPy and JAX arrays alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray


@dataclass(frozen=True)
class Network:
    """The shape of the network: what its flat parameter vector means."""

    features: int
    actions: int
    signals: int
    hidden: tuple[int, int] = (64, 64)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        first, second = self.hidden
        heads = self.actions + self.signals
        return (first, self.features), (first,), (second, first), (second,), (heads, second), (heads,)

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def unpack(self, parameters: Float[Array, " parameters"]) -> list[Float[Array, ...]]:
        """The weights and biases of the three layers."""
        ends = list(accumulate(int(np.prod(shape)) for shape in self.shapes))[:-1]
        parts = parameters.__array_namespace__().split(parameters, ends)
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

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

    def apply(
        self, parameters: Float[Array, " parameters"], features: Float[Array, "features batch"]
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"]]:
        """The logits and the values of a batch of observations."""
        xp: Any = parameters.__array_namespace__()
        w1, b1, w2, b2, w3, b3 = self.unpack(parameters)
        hidden = xp.tanh(w1 @ features + b1[:, None])
        hidden = xp.tanh(w2 @ hidden + b2[:, None])
        heads = w3 @ hidden + b3[:, None]
        return heads[: self.actions], heads[self.actions :]


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
