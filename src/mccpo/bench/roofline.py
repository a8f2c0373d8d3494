"""The roofline: what the machine could do at most if a learner were nothing but the products of its network.

The products of one iteration are the forward passes of playing, and for every minibatch of every epoch a forward pass,
the gradients of the weights, and those of all activations but the observations, which nobody needs. The forward passes
of validation are not counted: they are no part of learning.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mccpo.methods import Network, Sizes, workers
from mccpo.policy import GraphPolicyNetwork

SECONDS = 2.0  # how long a round multiplies
NEXT_TO_NOTHING = 1e-12  # by which products move the weights, so that the compiler must compute them

Weights = tuple[Float[Array, "_ _"], ...]
Inputs = tuple[Float[Array, "_ batch"], ...]


class Chain(NamedTuple):
    """The products of a network and nothing else.

    **Fields:**

    - `shapes`: those of the weights; `columns`: how many times each is applied to an observation.
    - `inputs`: how many numbers of an observation each array holds that goes in, and in how many columns.
    - `first`: which weights take such an array, whose gradient nobody needs.
    - `apply`: the products themselves.
    """

    shapes: tuple[tuple[int, int], ...]
    columns: tuple[int, ...]
    inputs: tuple[tuple[int, int], ...]
    first: frozenset[int]
    apply: Callable[[Weights, Inputs], Any]

    @property
    def flops(self) -> tuple[int, int]:
        """Of one observation: the forward pass, and the forward and backward pass."""
        each = [2 * out * width * columns for (out, width), columns in zip(self.shapes, self.columns, strict=True)]
        return sum(each), 3 * sum(each) - sum(each[at] for at in self.first)


def chain_of(network: Network) -> Chain:
    """The products of a network: of all concepts at once, where they share weights."""
    return _shared(network) if isinstance(network, GraphPolicyNetwork) else _plain(network)


def _plain(network: Network) -> Chain:
    def apply(weights: Weights, inputs: Inputs) -> Any:
        (flow,) = inputs
        for weight in weights:
            flow = weight @ flow
        return flow

    shapes = tuple((out, width) for out, width in network.shapes[::2])
    return Chain(shapes, (1,) * len(shapes), ((network.features, 1),), frozenset([0]), apply)


def _shared(network: GraphPolicyNetwork) -> Chain:
    """What a concept tells it hears itself here, since to fetch that from its neighbours is no product.

    Nor is the mean over concepts one, nor is what is known of concepts once and for all learners worked out here.
    """
    node, whole = network.hidden
    seen, many = network.inputs - len(network.fixed[0]), network.concepts
    rest = network.features - many * sum(width for _, width in network.blocks)
    others = network.actions - network.per_concept * many + network.signals
    of_concepts = (node, seen), (network.heard, node), (node, node), *((node, network.heard),) * 2
    shapes = *of_concepts, (network.per_concept, node), (whole, node + rest), (node, whole), (others, whole)

    def apply(weights: Weights, inputs: Inputs) -> Any:
        first, told, own, before, after, action, pooled, of_whole, other = weights
        seen, mean = inputs
        nodes = first @ seen
        heard, whole = told @ nodes, pooled @ mean
        return action @ (own @ nodes + before @ heard + after @ heard), of_whole @ whole, other @ whole

    columns = (many,) * 6 + (1,) * 3
    return Chain(shapes, columns, ((seen, many), (node + rest, 1)), frozenset([0, 6]), apply)


def flops_per_step(network: Network, sizes: Sizes) -> int:
    """Floating-point operations of the network's products for each step of the environment."""
    forward, learning = chain_of(network).flops
    return forward + sizes.epochs * learning


class Products:
    """The products of iterations and nothing else, one thread per core: floating-point operations per second."""

    def __init__(self, network: Network, sizes: Sizes) -> None:
        draw, chain = np.random.default_rng(0), chain_of(network)

        def uniform(*shape: int) -> Float[Array, ...]:
            return jnp.asarray(draw.uniform(-0.1, 0.1, shape), jnp.float32)

        minibatches = sizes.steps // sizes.minibatch
        self._inputs = (
            tuple(uniform(*shape) for shape in chain.shapes),
            tuple(uniform(sizes.rollout, wide, columns * sizes.environments) for wide, columns in chain.inputs),
            tuple(uniform(minibatches, wide, columns * sizes.minibatch) for wide, columns in chain.inputs),
        )
        self._program = jax.jit(partial(_iteration, chain, epochs=sizes.epochs))
        self._flops = flops_per_step(network, sizes) * sizes.steps
        self._multiply(0.0)  # compiles

    def round(self) -> float:
        """Operations of all threads per second."""
        with ThreadPoolExecutor(workers()) as pool:
            return sum(pool.map(self._multiply, [SECONDS] * workers()))

    def _multiply(self, seconds: float) -> float:
        begun, done = time.perf_counter(), 0
        while not done or time.perf_counter() - begun < seconds:
            jax.block_until_ready(self._program(*self._inputs))
            done += 1
        return done * self._flops / (time.perf_counter() - begun)


def _iteration(chain: Chain, weights: Weights, played: Inputs, learnt: Inputs, *, epochs: int) -> Any:
    heads = jax.lax.map(lambda inputs: chain.apply(weights, inputs), played)

    def epoch(weights: Weights, _: None) -> tuple[Weights, None]:
        return jax.lax.scan(lambda now, inputs: (_update(chain, now, inputs), None), weights, learnt)

    return heads, jax.lax.scan(epoch, weights, length=epochs)[0]


def _update(chain: Chain, weights: Weights, inputs: Inputs) -> Weights:
    """The products of a gradient step; without the rest of it, the last layer's output stands for its gradient."""
    last, back = jax.vjp(lambda now: chain.apply(now, inputs), weights)
    (slopes,) = back(last)
    return tuple(weight + NEXT_TO_NOTHING * slope for weight, slope in zip(weights, slopes, strict=True))
