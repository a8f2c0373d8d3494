"""The network of a policy that remembers: a gated recurrent unit for each concept, under the network on the graph.

What a policy sees of a learner may say little of what the learner knows: the last answer, and not those before. This
network keeps some numbers of each concept from step to step. The same weights change them whichever concept it is, and
the network of `mccpo.policy.graph_network` then reads them beside what is seen. Parameters are one flat vector and the
batch comes last, as there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from mccpo.policy.arrays import Array, namespace
from mccpo.policy.graph_network import Block, GraphPolicyNetwork


class Cell(NamedTuple):
    """The weights of the gated recurrent unit; its update, its reset and its candidate lie one after the other."""

    seen: Float[Array, "gates inputs"]
    held: Float[Array, "gates memory"]
    bias: Float[Array, " gates"]


@dataclass(frozen=True)
class RecurrentPolicyNetwork(GraphPolicyNetwork):
    """The shape of the network: what its flat parameter vector means. The unit's weights come first in it.

    With x_v what is seen and known of concept v, and m_v what is remembered of it:

        z = σ(W_z x_v + U_z m_v + b_z),   r = σ(W_r x_v + U_r m_v + b_r)
        m_v ← m_v + z·(tanh(W_n x_v + r·(U_n m_v) + b_n) − m_v)    where the last lesson was of v

    >>> sizes = {"concepts": 2, "blocks": ((0, 1), (2, 1)), "fixed": ((0.2,), (0.9,)), "memory": 3, "lesson": (2, 1)}
    >>> network = RecurrentPolicyNetwork(5, 2, 3, (4, 4), **sizes)
    >>> logits, values, memory = network.step(np.zeros(network.size), network.begin(7), np.ones((5, 7)))
    >>> logits.shape, values.shape, memory.shape
    ((2, 7), (3, 7), (2, 3, 7))

    **Fields:** those of `GraphPolicyNetwork`, and

    - `memory`: how many numbers are remembered of each concept.
    - `lesson`: where the features tell which concept the last lesson was of, as `blocks` do; where they do not (a width
      of 0), what is remembered of every concept changes in every step.
    """

    kind: ClassVar[str] = "recurrent"

    memory: int = 16
    lesson: Block = (0, 0)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return (*self.cell_shapes, *self.body.shapes)

    @cached_property
    def cell_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the unit's weights."""
        gates = 3 * self.memory
        return (gates, self._reader.inputs), (gates, self.memory), (gates,)

    @cached_property
    def cell_size(self) -> int:
        """How many parameters the unit has."""
        return sum(int(np.prod(shape)) for shape in self.cell_shapes)

    @cached_property
    def body(self) -> GraphPolicyNetwork:
        """The network that reads what is seen, and after it what is remembered."""
        size = self.features + self.concepts * self.memory
        return self._graph(features=size, blocks=(*self.blocks, (self.features, self.memory)))

    @cached_property
    def _reader(self) -> GraphPolicyNetwork:
        """What the unit sees of a concept: what is its own."""
        return self._graph(sees_neighbours=False)

    def _graph(self, **changes: Any) -> GraphPolicyNetwork:
        return GraphPolicyNetwork(**{f.name: getattr(self, f.name) for f in fields(GraphPolicyNetwork)} | changes)

    def cell(self, parameters: Float[Array, " parameters"]) -> Cell:
        """The unit's weights."""
        seen, held, bias = self.cell_shapes
        first = int(np.prod(seen))
        second = first + int(np.prod(held))
        return Cell(
            parameters[:first].reshape(seen),
            parameters[first:second].reshape(held),
            parameters[second : self.cell_size].reshape(bias),
        )

    def begin(self, batch: int) -> Float[np.ndarray, "concepts memory batch"]:
        return np.zeros((self.concepts, self.memory, batch), np.float32)

    def step(
        self,
        parameters: Float[Array, " parameters"],
        memory: Float[Array, "concepts memory batch"],
        features: Float[Array, "features batch"],
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"], Float[Array, "concepts memory batch"]]:
        memory = self.remember(parameters, memory, features)
        return *self.heads(parameters, features, memory), memory

    def remember(
        self,
        parameters: Float[Array, " parameters"],
        memory: Float[Array, "concepts memory batch"],
        features: Float[Array, "features batch"],
    ) -> Float[Array, "concepts memory batch"]:
        cell = self.cell(parameters)
        return self.changed(cell, memory, self.read(cell, features), self.taught(features))

    def read(self, cell: Cell, features: Float[Array, "features batch"]) -> Float[Array, "concepts gates batch"]:
        """What the unit's gates take from what is seen."""
        seen = features[: self.features]
        return self._reader.first_layer(cell.seen, cell.bias, seen, seen[self._rest])

    def taught(self, features: Float[Array, "features batch"]) -> Bool[Array, "concepts batch"]:
        """The concepts of which what is remembered changes: that of the last lesson."""
        xp = namespace(features)
        first, width = self.lesson
        if not width:
            return xp.ones((self.concepts, features.shape[-1]), dtype=bool)
        last = features[first : first + self.concepts * width].reshape(self.concepts, width, -1)
        return (last > 0).any(axis=1)

    def changed(
        self,
        cell: Cell,
        memory: Float[Array, "concepts memory batch"],
        read: Float[Array, "concepts gates batch"],
        taught: Bool[Array, "concepts batch"],
    ) -> Float[Array, "concepts memory batch"]:
        """What is remembered after a step."""
        xp = namespace(memory, read)
        update, reset, candidate = xp.split(read, 3, axis=1)
        held_update, held_reset, held = xp.split(self.on_nodes(cell.held, memory), 3, axis=1)
        new = xp.tanh(candidate + _sigmoid(reset + held_reset) * held)
        return xp.where(taught[:, None], memory + _sigmoid(update + held_update) * (new - memory), memory)

    def heads(
        self,
        parameters: Float[Array, " parameters"],
        features: Float[Array, "features batch"],
        memory: Float[Array, "concepts memory batch"],
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"]]:
        """The logits and the values, of what is seen and remembered."""
        seen = namespace(parameters, features).concatenate([features[: self.features], as_features(memory)])
        return self.body.apply(parameters[self.cell_size : self.cell_size + self.body.size], seen)

    def apply(
        self, parameters: Float[Array, " parameters"], features: Float[Array, "features batch"]
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"]]:
        """The logits and the values of a batch of first observations, before which nothing was seen."""
        return self.step(parameters, self.begin(features.shape[-1]), features)[:2]


def as_features(memory: Float[Array, "concepts memory batch"]) -> Float[Array, "features batch"]:
    """What is remembered as the features of a block, concept after concept."""
    return memory.reshape(-1, memory.shape[-1])


def _sigmoid(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return 0.5 * (namespace(values).tanh(0.5 * values) + 1.0)
