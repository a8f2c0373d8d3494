"""The network of a policy: a shared trunk of two layers, a policy head, and one value head per reward and cost.

Parameters are one flat vector, so that an optimiser is a handful of operations whatever the network's shape, and
activations are feature-major (features × batch), which keeps the inner loop of every operation on the long axis. A
network is applied to NumPy and JAX arrays alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from mccpo.policy.arrays import Array, namespace

Memory: TypeAlias = Any
"""What a network remembers of the episodes of a batch, the batch last; () where it remembers nothing."""


class Layers(NamedTuple):
    """The weights and biases of two hidden layers and of the heads; biases are columns, which fit any batch."""

    w1: Float[Array, "first features"]
    b1: Float[Array, "first 1"]
    w2: Float[Array, "second first"]
    b2: Float[Array, "second 1"]
    w3: Float[Array, "heads second"]
    b3: Float[Array, "heads 1"]

    def forward(self, features: Float[Array, "features batch"]) -> Float[Array, "heads batch"]:
        """What the heads say of a batch of observations."""
        xp = namespace(self.w1, features)
        hidden = xp.tanh(self.w1 @ features + self.b1)
        hidden = xp.tanh(self.w2 @ hidden + self.b2)
        return self.w3 @ hidden + self.b3


@dataclass(frozen=True)
class PolicyNetwork:
    """The shape of the network: what its flat parameter vector means.

    >>> network = PolicyNetwork(features=3, actions=2, signals=1, hidden=(4, 4))
    >>> network.size
    51
    >>> logits, values = network.apply(np.zeros(51), np.ones((3, 5)))
    >>> logits.shape, values.shape
    ((2, 5), (1, 5))

    **Fields:**

    - `features`, `actions`: how many numbers an observation has, and how many actions there are to choose from.
    - `signals`: how many values are estimated: that of the reward, and of each cost.
    - `hidden`: the sizes of the two layers of the trunk.
    """

    kind: ClassVar[str] = "plain"

    features: int
    actions: int
    signals: int
    hidden: tuple[int, int] = (64, 64)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the weights and biases, in the order of the flat vector."""
        first, second = self.hidden
        heads = self.actions + self.signals
        return (first, self.features), (first,), (second, first), (second,), (heads, second), (heads,)

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def widest(self) -> int:
        """How many numbers the widest hidden layer has for each observation."""
        return max(self.hidden)

    def unpack(self, parameters: Float[Array, " parameters"]) -> list[Float[Array, ...]]:
        """The weights and biases of all layers."""
        if isinstance(parameters, np.ndarray):  # of a policy that is served: slices are what NumPy is quickest at
            return [parameters[first:end].reshape(shape) for first, end, shape in self._places]
        # The gradient of a split is one concatenation; that of slices is a sum of vectors that are mostly zeros.
        parts = namespace(parameters).split(parameters, [end for _, end, _ in self._places[:-1]])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    @cached_property
    def _places(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """Where the weights and biases lie in the flat vector. A policy that is served is asked thousands of times."""
        ends = list(accumulate(int(np.prod(shape)) for shape in self.shapes))
        return list(zip([0, *ends], ends, self.shapes, strict=False))

    def without_values(
        self, parameters: Float[np.ndarray, "*runs parameters"], signals: int
    ) -> Float[np.ndarray, "*runs parameters"]:
        """The parameters of the same network with value heads for the first `signals` alone: they come last in it."""
        *trunk, (heads, width), _ = self.shapes
        kept, whole = heads - (self.signals - signals), sum(int(np.prod(shape)) for shape in trunk)
        ends = [whole, whole + kept * width, whole + heads * width, whole + heads * width + kept]
        first, weights, _, biases, _ = np.split(parameters, ends, axis=-1)
        return np.concatenate([first, weights, biases], axis=-1)

    def layers(self, parameters: Float[Array, " parameters"]) -> Layers:
        """The three layers."""
        w1, b1, w2, b2, w3, b3 = self.unpack(parameters)
        return Layers(w1, b1[:, None], w2, b2[:, None], w3, b3[:, None])

    def begin(self, batch: int) -> Memory:
        """What is remembered before the first step of so many episodes: nothing, by most networks."""
        del batch
        return ()

    def step(
        self, parameters: Float[Array, " parameters"], memory: Memory, features: Float[Array, "features batch"]
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"], Memory]:
        """The logits and the values of a batch of observations within their episodes, and what is then remembered."""
        return *self.apply(parameters, features), memory

    def remember(
        self, parameters: Float[Array, " parameters"], memory: Memory, features: Float[Array, "features batch"]
    ) -> Memory:
        """What `step` says is then remembered."""
        del parameters, features
        return memory

    @property
    def remembers(self) -> bool:
        """Whether what it says depends on the episode so far, and not only on what is seen now."""
        return bool(np.size(self.begin(1)))

    def apply(
        self, parameters: Float[Array, " parameters"], features: Float[Array, "features batch"]
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"]]:
        """The logits and the values of a batch of observations."""
        heads = self.layers(parameters).forward(features)
        return heads[: self.actions], heads[self.actions :]
