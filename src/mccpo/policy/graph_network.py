"""The network of a policy on the curriculum's graph: concepts tell each other of themselves along its edges.

What is said of a concept is worked out by the same weights whichever concept it is, from its own features and those of
its neighbours, so that a network of few parameters serves a curriculum of any size. Parameters are one flat vector and
the batch comes last, as in `mccpo.policy.network`, in whose place it can stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from mccpo.policy.arrays import Array, namespace
from mccpo.policy.network import PolicyNetwork

DENSE = 100  # concepts, up to which a matrix of all pairs is faster than a list of edges

Edge: TypeAlias = tuple[int, int]
Block: TypeAlias = tuple[int, int]


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
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the weights and biases, in the order of the flat vector."""
        node, whole = self.hidden
        own = sum(width for _, width in self.blocks)
        inputs = own * (3 if self.sees_neighbours else 1) + len(self._rest) + len(self.fixed[0])
        others = self.actions - self.per_concept * self.concepts + self.signals
        rounds = ((3 * node, node), (node,)) * self.rounds
        pooled = (whole, node + len(self._rest)), (whole,)
        told = ((self.heard, node),) if self.heard else ()
        scored = (node, node + 2 * self.heard + whole), (node,)
        heads = (self.per_concept, node), (others, whole), (others,)
        return (node, inputs), (node,), *rounds, *pooled, *told, *scored, *heads

    def apply(
        self, parameters: Float[Array, " parameters"], features: Float[Array, "features batch"]
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"]]:
        """The logits and the values of a batch of observations."""
        xp = namespace(parameters, features)
        w, b, *layers = self.unpack(parameters)
        batch = features.shape[-1]
        rest = features[self._rest]
        nodes = _relu(_on_nodes(w, self._inputs(features, rest), b))
        for _ in range(self.rounds):
            w, b, *layers = layers
            own, before, after = xp.split(_on_nodes(w, nodes), 3)
            nodes = _relu(own + self._gather(before, 1, 0) + self._gather(after, 0, 1) + b[:, None, None])
        w_pool, b_pool, *told, w_score, b_score, w_action, w_other, b_other = layers
        pooled = xp.concatenate([nodes.mean(axis=1), rest])
        whole = xp.tanh(w_pool @ pooled + b_pool[:, None])
        if told:
            said = _on_nodes(told[0], nodes)
            nodes = xp.concatenate([nodes, self._gather(said, 1, 0), self._gather(said, 0, 1)])
        node = nodes.shape[0]
        shared = w_score[:, node:] @ whole + b_score[:, None]
        scores = _relu(_on_nodes(w_score[:, :node], nodes) + shared[:, None])
        logits = _on_nodes(w_action, scores).swapaxes(0, 1).reshape(-1, batch)
        others = w_other @ whole + b_other[:, None]
        free = self.actions - len(logits)
        return xp.concatenate([logits, others[:free]]), others[free:]

    def _inputs(
        self, features: Float[Array, "features batch"], rest: Float[Array, "rest batch"]
    ) -> Float[Array, "inputs concepts batch"]:
        xp = namespace(features)
        batch = features.shape[-1]
        own = [
            features[first : first + self.concepts * width].reshape(self.concepts, width, batch).swapaxes(0, 1)
            for first, width in self.blocks
        ]
        if self.sees_neighbours:
            seen = xp.concatenate(own)
            own = [seen, self._gather(seen, 1, 0), self._gather(seen, 0, 1)]
        fixed = xp.asarray(self._known, dtype=features.dtype)
        shape = (self.concepts, batch)
        return xp.concatenate(
            [
                *own,
                xp.broadcast_to(rest[:, None], (len(rest), *shape)),
                xp.broadcast_to(fixed, (len(fixed), *shape)),
            ]
        )

    def _gather(
        self, nodes: Float[Array, "node concepts batch"], to: int, of: int
    ) -> Float[Array, "node concepts batch"]:
        """The mean over each concept's neighbours along edges in one direction; 0 where it has none."""
        xp = namespace(nodes)
        if not self.edges:
            return xp.zeros_like(nodes)
        ends, counts, means = self._ends
        if self.concepts <= DENSE:
            return xp.matmul(means[to], nodes)
        return _sum_at(ends[:, to], nodes[:, ends[:, of]], self.concepts) / counts[to][:, None]

    @cached_property
    def _known(self) -> np.ndarray:
        """What is known of each concept once and for all, as features have it."""
        return np.asarray(self.fixed).T[:, :, None]

    @cached_property
    def _ends(self) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
        """The ends of edges; for either end, the neighbours of each concept, and the means over them as a matrix."""
        ends = np.array(self.edges)
        counts = [np.maximum(np.bincount(ends[:, to], minlength=self.concepts), 1).astype(np.float32) for to in (0, 1)]
        means = []
        for to, of in ((0, 1), (1, 0)) if self.concepts <= DENSE else ():
            matrix = np.zeros((self.concepts, self.concepts), np.float32)
            matrix[ends[:, to], ends[:, of]] = 1.0
            means.append(matrix / counts[to][:, None])
        return ends, counts, means

    @cached_property
    def _rest(self) -> np.ndarray:
        """The features of the whole learner."""
        covered = [np.arange(first, first + self.concepts * width) for first, width in self.blocks]
        return np.setdiff1d(np.arange(self.features), np.concatenate(covered))


def _relu(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The positive part. Its gradient is 0 at 0, where that of a maximum would be a half; NaN stays NaN."""
    return namespace(values).where(values <= 0, 0.0, values)


def _sum_at(
    concept: Int[np.ndarray, " edges"], values: Float[Array, "node edges batch"], concepts: int
) -> Float[Array, "node concepts batch"]:
    """The sum of the values that go to each concept."""
    sums = namespace(values).zeros((values.shape[0], concepts, values.shape[2]), dtype=values.dtype)
    if not isinstance(sums, np.ndarray):
        return sums.at[:, concept].add(values)  # arrays of JAX do not change in place
    order = np.argsort(concept, kind="stable")
    reached, first = np.unique(concept[order], return_index=True)
    sums[:, reached] = np.add.reduceat(values[:, order], first, axis=1)
    return sums


def _on_nodes(
    weights: Float[Array, "out in"],
    nodes: Float[Array, "in concepts batch"],
    bias: Float[Array, " out"] | None = None,
) -> Float[Array, "out concepts batch"]:
    """The same weights on every concept: one product over all of them."""
    outputs = (weights @ nodes.reshape(nodes.shape[0], -1)).reshape(-1, *nodes.shape[1:])
    return outputs if bias is None else outputs + bias[:, None, None]
