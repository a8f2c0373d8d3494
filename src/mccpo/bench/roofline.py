"""The roofline: what the machine could do at most if a learner were nothing but the products of its network.

The products of one iteration are the forward passes of playing, and for every minibatch of every epoch a forward pass,
the gradients of the weights, and those of all activations but the observations, which nobody needs. The forward passes
of validation are not counted: they are no part of learning.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mccpo.methods import Network, Sizes, workers

SECONDS = 2.0  # how long a round multiplies
NEXT_TO_NOTHING = 1e-12  # by which products move the weights, so that the compiler must compute them

Weights = tuple[Float[Array, "_ _"], ...]


def flops_per_step(network: Network, sizes: Sizes) -> int:
    """Floating-point operations of the network's products for each step of the environment."""
    forward, learning = _flops(network)
    return forward + sizes.epochs * learning


def _flops(network: Network) -> tuple[int, int]:
    """Of one observation: the forward pass, and the forward and backward pass."""
    layers = [2 * int(np.prod(shape)) for shape in network.shapes[::2]]
    return sum(layers), 3 * sum(layers) - layers[0]


class Products:
    """The products of iterations and nothing else, one thread per core: floating-point operations per second."""

    def __init__(self, network: Network, sizes: Sizes) -> None:
        draw = np.random.default_rng(0)

        def uniform(*shape: int) -> Float[Array, ...]:
            return jnp.asarray(draw.uniform(-0.1, 0.1, shape), jnp.float32)

        minibatches = sizes.steps // sizes.minibatch
        self._inputs = (
            tuple(uniform(*shape) for shape in network.shapes[::2]),
            uniform(sizes.rollout, network.features, sizes.environments),
            uniform(minibatches, network.features, sizes.minibatch),
        )
        self._program = jax.jit(partial(_iteration, epochs=sizes.epochs))
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


def _iteration(
    weights: Weights,
    played: Float[Array, "time features batch"],
    learnt: Float[Array, "minibatches features batch"],
    *,
    epochs: int,
) -> Any:
    heads = jax.lax.map(lambda features: _forward(weights, features)[-1], played)

    def epoch(weights: Weights, _: None) -> tuple[Weights, None]:
        return jax.lax.scan(lambda now, features: (_update(now, features), None), weights, learnt)

    return heads, jax.lax.scan(epoch, weights, length=epochs)[0]


def _forward(weights: Weights, features: Float[Array, "features batch"]) -> list[Float[Array, ...]]:
    """What goes into every layer, and what comes out of the last."""
    flow = [features]
    for weight in weights:
        flow.append(weight @ flow[-1])
    return flow


def _update(weights: Weights, features: Float[Array, "features batch"]) -> Weights:
    """The products of a gradient step; without the rest of it, the last layer's output stands for its gradient."""
    *flow, gradient = _forward(weights, features)
    moved: list[Float[Array, ...]] = []
    for at in reversed(range(len(weights))):
        moved.insert(0, weights[at] + NEXT_TO_NOTHING * (gradient @ flow[at].T))
        if at > 0:
            gradient = weights[at].T @ gradient
    return tuple(moved)
