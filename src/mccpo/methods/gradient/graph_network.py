"""The network on an environment's graph: which one fits the environment, and how its weights start."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.gradient.network import Network
from mccpo.policy import GraphPolicyNetwork, Mean


@jax.custom_vjp
def _product(
    weights: Float[Array, "out in"], nodes: Float[Array, "concepts width batch"]
) -> Float[Array, "concepts out batch"]:
    """The same weights on every concept, one product for each: the gradient of each form is such products again."""
    return jnp.matmul(jnp.broadcast_to(weights, (len(nodes), *weights.shape)), nodes)


def _product_back(kept: Any, gradient: Float[Array, "concepts out batch"]) -> tuple[Array, Array]:
    weights, nodes = kept
    over_batch = (((2,), (2,)), ((0,), (0,)))
    each = jax.lax.dot_general(gradient, nodes, over_batch)
    of_weights = (jnp.ones(len(each)) @ each.reshape(len(each), -1)).reshape(weights.shape)  # faster than a sum
    if len(weights) == 1:
        # A product over one number is no product to XLA: it would work out the gradient anew for each that it goes to.
        weights, gradient = jnp.pad(weights, ((0, 1), (0, 0))), jnp.pad(gradient, ((0, 0), (0, 1), (0, 0)))
    turned = jnp.broadcast_to(weights.T, (len(nodes), *weights.shape[::-1]))  # XLA is slow where it must turn it itself
    return of_weights, jnp.matmul(turned, gradient)


_product.defvjp(lambda weights, nodes: (_product(weights, nodes), (weights, nodes)), _product_back)


@jax.custom_vjp
def _relu(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The positive part, whose gradient goes by the outcome: by the input, XLA would work that out once more."""
    return jnp.where(values <= 0, 0.0, values)


def _relu_kept(values: Float[Array, "*shape"]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    positive = _relu(values)
    return positive, positive


_relu.defvjp(_relu_kept, lambda positive, gradient: (jnp.where(positive == 0, 0.0, gradient),))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _mean_over(mean: Mean, nodes: Float[Array, "concepts node batch"]) -> Float[Array, "concepts node batch"]:
    """The mean over neighbours, whose gradient is fetched along the edges, too, where JAX would scatter it."""
    return mean.forward(nodes)


_mean_over.defvjp(lambda mean, nodes: (mean.forward(nodes), None), lambda mean, _, gradient: (mean.backward(gradient),))


class GraphNetwork(GraphPolicyNetwork, Network):
    """A network on a curriculum's graph that is to be trained: it also says how its weights start.

    Its products and means are those of `GraphPolicyNetwork`, with gradients written for the long axis.
    """

    def on_nodes(self, weights: Any, nodes: Any) -> Any:
        return super().on_nodes(weights, nodes) if isinstance(nodes, np.ndarray) else _product(weights, nodes)

    def relu(self, values: Any) -> Any:
        return super().relu(values) if isinstance(values, np.ndarray) else _relu(values)

    def of_neighbours(self, nodes: Any, direction: int) -> Any:
        if not self.edges or isinstance(nodes, np.ndarray):
            return super().of_neighbours(nodes, direction)
        return _mean_over(self._means[direction], nodes)

    def init(self, key: PRNGKeyArray) -> Float[Array, " parameters"]:
        """Normal weights, the policy head so small that the first policy is near uniform, value heads at zero."""
        weights = jax.nn.initializers.variance_scaling(2.0, "fan_in", "normal", in_axis=-1, out_axis=-2)
        keys = jax.random.split(key, len(self.shapes))
        *trunk, _ = [
            weights(layer_key, shape) if len(shape) == 2 else jnp.zeros(shape)
            for layer_key, shape in zip(keys, self.shapes, strict=True)
        ]
        scores, others = 0.01 * trunk[-2], 0.0 * trunk[-1]
        parts = [*trunk[:-2], scores, others, jnp.zeros(self.shapes[-1])]
        return jnp.concatenate([part.ravel() for part in parts])


HIDDEN, HEARD = (16, 32), 4
"""Of a network with shared weights: numbers for each concept and for all of them together; those that one tells."""


def shared_network_of(env: Environment[Any]) -> Network:
    """The network whose weights all concepts share; a plain one where nothing is known of concepts.

    Each concept sees what is known of it once and for all: demand, depth, and what the tutor believes of learning it.
    """
    return graph_network_of(env, HIDDEN, 0, shared=True, heard=HEARD)


def graph_network_of(
    env: Environment[Any],
    hidden: tuple[int, int] = GraphPolicyNetwork.hidden,
    rounds: int = GraphPolicyNetwork.rounds,
    *,
    shared: bool = False,
    heard: int = 0,
) -> Network:
    """The network on an environment's curriculum; a plain one where nothing is known of concepts.

    Where every learner has a graph of its own, which the policy does not see, concepts tell each other nothing: they
    share weights, and what all of them have in common is all that each learns of the others.
    """
    sizes = (env.num_features, env.num_actions, 1 + len(env.cost_names))
    graph = env.concept_graph
    if graph is None:
        return Network(*sizes)
    concepts, known = len(graph.demand), zip(graph.demand, graph.depth, graph.learning, strict=True)
    fixed = tuple((demand, depth, *(row if shared else ())) for demand, depth, row in known)
    blocks = _blocks(env, concepts)
    return GraphNetwork(
        *sizes, hidden, rounds, shared, heard, concepts=concepts, edges=graph.edges, blocks=blocks, fixed=fixed
    )


def _blocks(env: Environment[Any], concepts: int) -> tuple[tuple[int, int], ...]:
    """Where the features of concepts lie, and how many each concept has there."""
    fields = env.observation_fields.values()
    placed = zip(accumulate((field.size for field in fields), initial=0), fields, strict=False)
    return tuple((start, field.size // concepts) for start, field in placed if field.per_concept)
