"""The network of a policy on the curriculum's graph: concepts tell each other of themselves along its edges.

What is said of a concept is worked out by the same weights whichever concept it is, from its own features and those of
its neighbours, so that a network of few parameters serves a curriculum of any size. Parameters are one flat vector and
the batch comes last, as in `mccpo.policy.network`, in whose place it can stand.

Inside, arrays are (concepts, numbers of each, batch). So neighbours are fetched in whole stretches of memory, no array
is turned about, and what a layer adds to every concept, or to every learner, is one broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from jaxtyping import Float

from mccpo.policy.arrays import Array, namespace
from mccpo.policy.neighbours import Mean, means
from mccpo.policy.network import PolicyNetwork

Edge: TypeAlias = tuple[int, int]
Block: TypeAlias = tuple[int, int]

BEFORE, AFTER = 0, 1
"""The neighbours of a concept: its prerequisites, and what needs it."""


@dataclass(frozen=True)
class GraphPolicyNetwork(PolicyNetwork):
    """The shape of the network: what its flat parameter vector means.

    >>> blocks, fixed = ((0, 1), (2, 1)), ((0.2,), (0.9,))
    >>> network = GraphPolicyNetwork(5, 2, 3, (4, 4), concepts=2, edges=((0, 1),), blocks=blocks, fixed=fixed)
    >>> logits, values = network.apply(np.zeros(network.size), np.ones((5, 7)))
    >>> logits.shape, values.shape
    ((2, 7), (3, 7))

    **Fields:**

    - `edges`: (prerequisite, concept), by position.
    - `blocks`: where the features of concepts lie: the first of them, and how many there are of each concept. Features
      that no block covers are of the whole learner, and every concept sees them.
    - `fixed`: what is known of each concept once and for all.
    - `hidden`: of each concept, and of all of them together.
    - `rounds`: how often concepts tell each other of themselves.
    - `sees_neighbours`: whether each concept also sees the mean features of its prerequisites, and of what needs it.
    - `heard`: how many numbers each concept hears of its prerequisites, and of what needs it, before it is scored. That
      costs less than a round: there is no further layer, and less is told.

    The actions are those of the concepts in turn, as many of each; those that are left over are of no concept.
    """

    kind: ClassVar[str] = "graph"

    hidden: tuple[int, int] = (16, 32)
    rounds: int = 2
    sees_neighbours: bool = False
    heard: int = 0
    concepts: int = 0
    edges: tuple[Edge, ...] = field(default=(), repr=False)
    blocks: tuple[Block, ...] = ()
    fixed: tuple[tuple[float, ...], ...] = field(default=(), repr=False)

    @property
    def per_concept(self) -> int:
        """The actions of one concept."""
        return self.actions // self.concepts

    @property
    def widest(self) -> int:
        """How many numbers the widest hidden layer has for each observation: those of all concepts."""
        return self.concepts * self.hidden[0]

    @property
    def inputs(self) -> int:
        """How many numbers each concept sees."""
        own = sum(width for _, width in self.blocks)
        return own * (3 if self.sees_neighbours else 1) + len(self._rest) + len(self.fixed[0])

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the weights and biases, in the order of the flat vector."""
        node, whole = self.hidden
        others = self.actions - self.per_concept * self.concepts + self.signals
        rounds = ((3 * node, node), (node,)) * self.rounds
        pooled = (whole, node + len(self._rest)), (whole,)
        told = ((self.heard, node),) if self.heard else ()
        scored = (node, node + 2 * self.heard + whole), (node,)
        heads = (self.per_concept, node), (others, whole), (others,)
        return (node, self.inputs), (node,), *rounds, *pooled, *told, *scored, *heads

    def apply(
        self, parameters: Float[Array, " parameters"], features: Float[Array, "features batch"]
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"]]:
        """The logits and the values of a batch of observations."""
        xp = namespace(parameters, features)
        w, b, *layers = self.unpack(parameters)
        rest = features[self._rest]
        nodes = self.relu(self.first_layer(w, b, features, rest))
        for _ in range(self.rounds):
            w, b, *layers = layers
            own, before, after = xp.split(self.on_nodes(w, nodes), 3, axis=1)
            nodes = self.relu(own + self.of_neighbours(before, BEFORE) + self.of_neighbours(after, AFTER) + b[:, None])
        w_pool, b_pool, *told, w_score, b_score, w_action, w_other, b_other = layers
        whole = xp.tanh(w_pool @ xp.concatenate([nodes.mean(axis=0), rest]) + b_pool[:, None])
        pooled = self.hidden[0] + 2 * self.heard
        if told:
            nodes = xp.concatenate([nodes, self._both_ways(self.on_nodes(told[0], nodes))], axis=1)
        own = self.on_nodes(w_score[:, :pooled], nodes)
        scores = self.relu(own + (w_score[:, pooled:] @ whole + b_score[:, None]))
        logits = self.on_nodes(w_action, scores).reshape(-1, features.shape[-1])
        others = w_other @ whole + b_other[:, None]
        free = self.actions - len(logits)
        return xp.concatenate([logits, others[:free]]), others[free:]

    def first_layer(
        self,
        weights: Float[Array, "out inputs"],
        bias: Float[Array, " out"],
        features: Float[Array, "features batch"],
        rest: Float[Array, "rest batch"],
    ) -> Float[Array, "concepts out batch"]:
        """A layer on what each concept sees; `rest` are the features of the whole learner.

        What is known of a concept once and for all is worked out once, and added for all learners.
        """
        xp = namespace(weights, features)
        own = [
            features[first : first + self.concepts * width].reshape(self.concepts, width, -1)
            for first, width in self.blocks
        ]
        seen = xp.concatenate(own, axis=1)
        more = [self._both_ways(seen)] if self.sees_neighbours else []
        seen = xp.concatenate([seen, *more, xp.broadcast_to(rest, (self.concepts, *rest.shape))], axis=1)
        width = seen.shape[1]
        known = xp.asarray(self._known, dtype=features.dtype) @ weights[:, width:].T + bias
        return self.on_nodes(weights[:, :width], seen) + known[:, :, None]

    def on_nodes(
        self, weights: Float[Array, "out in"], nodes: Float[Array, "concepts width batch"]
    ) -> Float[Array, "concepts out batch"]:
        """The same weights on every concept."""
        if isinstance(nodes, np.ndarray):  # of one learner, or few: one product over all concepts
            rows = nodes.swapaxes(1, 2).reshape(-1, nodes.shape[1]) @ weights.T
            return rows.reshape(len(nodes), -1, len(weights)).swapaxes(1, 2)
        xp = namespace(nodes)
        return xp.matmul(xp.broadcast_to(weights, (len(nodes), *weights.shape)), nodes)

    def relu(self, values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The positive part. Its gradient is 0 at 0, where that of a maximum would be a half; NaN stays NaN."""
        return namespace(values).where(values <= 0, 0.0, values)

    def of_neighbours(
        self, nodes: Float[Array, "concepts node batch"], direction: int
    ) -> Float[Array, "concepts node batch"]:
        """The mean over each concept's neighbours in one direction, `BEFORE` or `AFTER`; 0 where it has none."""
        if not self.edges:
            return namespace(nodes).zeros_like(nodes)
        return self._means[direction].forward(nodes)

    def _both_ways(self, nodes: Float[Array, "concepts node batch"]) -> Float[Array, "concepts 2*node batch"]:
        heard = [self.of_neighbours(nodes, direction) for direction in (BEFORE, AFTER)]
        return namespace(nodes).concatenate(heard, axis=1)

    @cached_property
    def _known(self) -> np.ndarray:
        """What is known of each concept once and for all, a row for each."""
        return np.asarray(self.fixed).reshape(self.concepts, -1)

    @cached_property
    def _means(self) -> tuple[Mean, Mean]:
        return means(self.edges, self.concepts)

    @cached_property
    def _rest(self) -> np.ndarray:
        """The features of the whole learner."""
        covered = [np.arange(first, first + self.concepts * width) for first, width in self.blocks]
        return np.setdiff1d(np.arange(self.features), np.concatenate(covered))
