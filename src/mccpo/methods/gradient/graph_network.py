"""An actor–critic network on the curriculum's graph: concepts tell each other of themselves along its edges.

What is said of a concept is worked out by the same weights whichever concept it is, from its own features and those of
its neighbours, so that a network of few parameters serves a curriculum of any size. Parameters are one flat vector and
the batch comes last, as in `mccpo.methods.gradient.network`, in whose place it can stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.env import BinaryMastery, Environment, RandomCurricula, Tutoring
from mccpo.methods.gradient.network import Network

DENSE = 100  # concepts, up to which a matrix of all pairs is faster than a list of edges
ROUNDS = 2

Edge: TypeAlias = tuple[int, int]
Block: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class GraphNetwork(Network):
    """The shape of the network: what its flat parameter vector means.

    **Fields:**

    - `edges`: (prerequisite, concept), by position.
    - `blocks`: where the features of concepts lie: the first of them, and how many there are of each concept. Features
      that no block covers are of the whole learner, and every concept sees them.
    - `fixed`: what is known of each concept once and for all.
    - `hidden`: of each concept, and of all of them together.

    The actions are those of the concepts in turn, as many of each; those that are left over are of no concept.
    """

    hidden: tuple[int, int] = (16, 32)
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
        node, whole = self.hidden
        inputs = sum(width for _, width in self.blocks) + len(self._rest) + len(self.fixed[0])
        others = self.actions - self.per_concept * self.concepts + self.signals
        rounds = ((3 * node, node), (node,)) * ROUNDS
        pooled = (whole, node + len(self._rest)), (whole,)
        heads = (node, node + whole), (node,), (self.per_concept, node), (others, whole), (others,)
        return (node, inputs), (node,), *rounds, *pooled, *heads

    def init(self, key: PRNGKeyArray) -> Float[Array, " parameters"]:
        """Normal weights, the policy head so small that the first policy is near uniform, value heads at zero."""
        weights = jax.nn.initializers.variance_scaling(2.0, "fan_in", "normal", in_axis=-1, out_axis=-2)
        keys = jax.random.split(key, len(self.shapes))
        *trunk, _ = [
            weights(one, shape) if len(shape) == 2 else jnp.zeros(shape)
            for one, shape in zip(keys, self.shapes, strict=True)
        ]
        scores, others = 0.01 * trunk[-2], 0.0 * trunk[-1]
        parts = [*trunk[:-2], scores, others, jnp.zeros(self.shapes[-1])]
        return jnp.concatenate([part.ravel() for part in parts])

    def apply(
        self, parameters: Float[Array, " parameters"], features: Float[Array, "features batch"]
    ) -> tuple[Float[Array, "actions batch"], Float[Array, "signals batch"]]:
        """The logits and the values of a batch of observations."""
        w, b, *layers = self.unpack(parameters)
        batch = features.shape[-1]
        rest = features[self._rest]
        nodes = jax.nn.relu(_on_nodes(w, self._inputs(features, rest), b))
        for _ in range(ROUNDS):
            w, b, *layers = layers
            own, before, after = jnp.split(_on_nodes(w, nodes), 3)
            nodes = jax.nn.relu(own + self._gather(before, 1, 0) + self._gather(after, 0, 1) + b[:, None, None])
        w_pool, b_pool, w_score, b_score, w_action, w_other, b_other = layers
        pooled = jnp.concatenate([nodes.mean(axis=1), rest])
        whole = jnp.tanh(w_pool @ pooled + b_pool[:, None])
        node = nodes.shape[0]
        shared = w_score[:, node:] @ whole + b_score[:, None]
        scores = jax.nn.relu(_on_nodes(w_score[:, :node], nodes) + shared[:, None])
        logits = _on_nodes(w_action, scores).swapaxes(0, 1).reshape(-1, batch)
        others = w_other @ whole + b_other[:, None]
        free = self.actions - len(logits)
        return jnp.concatenate([logits, others[:free]]), others[free:]

    def _inputs(
        self, features: Float[Array, "features batch"], rest: Float[Array, "rest batch"]
    ) -> Float[Array, "inputs concepts batch"]:
        batch = features.shape[-1]
        own = [
            features[first : first + self.concepts * width].reshape(self.concepts, width, batch).swapaxes(0, 1)
            for first, width in self.blocks
        ]
        fixed = jnp.asarray(self.fixed, jnp.float32).T[:, :, None]
        shape = (self.concepts, batch)
        return jnp.concatenate(
            [
                *own,
                jnp.broadcast_to(rest[:, None], (len(rest), *shape)),
                jnp.broadcast_to(fixed, (len(fixed), *shape)),
            ]
        )

    def _gather(
        self, nodes: Float[Array, "node concepts batch"], to: int, of: int
    ) -> Float[Array, "node concepts batch"]:
        """The mean over each concept's neighbours along edges in one direction; 0 where it has none."""
        if not self.edges:
            return jnp.zeros_like(nodes)
        ends = np.array(self.edges)
        count = np.maximum(np.bincount(ends[:, to], minlength=self.concepts), 1).astype(np.float32)
        if self.concepts <= DENSE:
            matrix = np.zeros((self.concepts, self.concepts), np.float32)
            matrix[ends[:, to], ends[:, of]] = 1.0
            return jnp.matmul(matrix / count[:, None], nodes)
        return jnp.zeros_like(nodes).at[:, ends[:, to]].add(nodes[:, ends[:, of]]) / count[:, None]

    @cached_property
    def _rest(self) -> np.ndarray:
        """The features of the whole learner."""
        covered = [np.arange(first, first + self.concepts * width) for first, width in self.blocks]
        return np.setdiff1d(np.arange(self.features), np.concatenate(covered))


def graph_network_of(env: Environment[Any]) -> Network:
    """The network on an environment's curriculum; a plain one where nothing is known of concepts.

    Where every learner has a graph of its own, which the policy does not see, concepts tell each other nothing: they
    share weights, and what all of them have in common is all that each learns of the others.
    """
    sizes = (env.num_features, env.num_actions, 1 + len(env.cost_names))
    if not isinstance(env, Tutoring | BinaryMastery):
        return Network(*sizes)
    curriculum, concepts = env.curriculum, len(env.curriculum)
    at = {name: place for place, name in enumerate(curriculum.concepts)}
    own = isinstance(env, RandomCurricula)
    edges = () if own else tuple((at[prerequisite], at[concept]) for prerequisite, concept in curriculum.edges)
    height = {name: layer for layer, names in enumerate(curriculum.layers) for name in names}
    depth = [0.0 if own else height[name] / max(curriculum.depth, 1) for name in curriculum.concepts]
    demand = [0.0] * concepts if own else curriculum.demand.tolist()  # in the learner's own features there
    fixed = tuple(zip(demand, depth, strict=True))
    return GraphNetwork(*sizes, concepts=concepts, edges=edges, blocks=_blocks(env, concepts), fixed=fixed)


def _blocks(env: Environment[Any], concepts: int) -> tuple[Block, ...]:
    """Where the features of concepts lie, and how many each concept has there."""
    fields = env.observation_fields.values()
    placed = zip(accumulate((field.size for field in fields), initial=0), fields, strict=False)
    return tuple((start, field.size // concepts) for start, field in placed if field.per_concept)


def _on_nodes(
    weights: Float[Array, "out in"],
    nodes: Float[Array, "in concepts batch"],
    bias: Float[Array, " out"] | None = None,
) -> Float[Array, "out concepts batch"]:
    """The same weights on every concept: one product over all of them."""
    found = (weights @ nodes.reshape(nodes.shape[0], -1)).reshape(-1, *nodes.shape[1:])
    return found if bias is None else found + bias[:, None, None]
