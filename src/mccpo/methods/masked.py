"""The masked softmax: a policy that cannot choose what the learner is not ready for.

Whatever the logits are, the probability outside the mask is exactly 0 and no sampler returns an index outside it. The
functions take NumPy and JAX arrays alike, batched over leading axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

REFUSAL = -1


class Masked(NamedTuple):
    """A distribution over the ready actions.

    `degenerate` is true where the logits gave none (a NaN or +inf inside the mask, or -inf throughout it) and the
    uniform distribution over the ready actions took its place, and where nothing is ready: then `probs` is all zeros.
    """

    probs: Float[Array, "*batch actions"]
    log_probs: Float[Array, "*batch actions"]
    degenerate: Bool[Array, "*batch"]


def masked_softmax(
    logits: Float[Array, "*batch actions"], mask: Bool[Array, "*batch actions"], axis: int = -1
) -> Masked:
    """The softmax of the logits over the mask along the axis of actions; `log_probs` is -inf outside it."""
    xp: Any = logits.__array_namespace__()
    inside = xp.where(mask, logits, -xp.inf)
    # Outside the mask the logits may be NaN or infinite, which must not leak into the maximum or the gradient.
    sound = xp.where(mask, ~xp.isnan(logits) & (logits < xp.inf), True)
    usable = sound.all(axis=axis, keepdims=True) & (inside > -xp.inf).any(axis=axis, keepdims=True)
    clean = xp.where(mask & ~usable, 0.0, inside)
    anything = mask.any(axis=axis, keepdims=True)
    alive = clean > -xp.inf
    lowest = -xp.finfo(clean.dtype).max
    top = xp.where(anything, xp.max(xp.where(alive, clean, lowest), axis=axis, keepdims=True), 0.0)
    with np.errstate(over="ignore"):  # two logits can lie further apart than any float: then the lesser weighs nothing
        shifted = xp.where(alive, clean - top, 0.0)
    weights = xp.where(alive, xp.exp(shifted), 0.0)
    total = xp.where(anything, weights.sum(axis=axis, keepdims=True), 1.0)
    log_probs = xp.where(alive, shifted - xp.log(total), -xp.inf)
    return Masked(weights / total, log_probs, ~xp.squeeze(usable & anything, axis=axis))


def mix(
    probs: Float[Array, "*batch actions"],
    frontier: Bool[Array, "*batch actions"],
    rate: Float[Array, "*batch"] | float,
    axis: int = -1,
) -> Float[Array, "*batch actions"]:
    """The executed policy π̃ = (1 - ε) π + ε U(F), with ε = `rate` where the frontier F is not empty and 0 elsewhere."""
    xp: Any = probs.__array_namespace__()
    members = frontier.astype(probs.dtype)
    size = members.sum(axis=axis, keepdims=True)
    epsilon = xp.asarray(rate, dtype=probs.dtype)
    epsilon = xp.where(size > 0, epsilon if epsilon.ndim == 0 else xp.expand_dims(epsilon, axis), 0.0)
    return (1 - epsilon) * probs + epsilon * members / xp.maximum(size, 1.0)


def sample(
    uniform: Float[Array, "*batch"],
    probs: Float[Array, "*batch actions"],
    mask: Bool[Array, "*batch actions"],
    axis: int = -1,
) -> Int[Array, "*batch"]:
    """Draws an action by inverse CDF from one uniform number; ends on the last ready index, `REFUSAL` if there is none.

    Only an action that is ready and has some probability is ever returned, whatever the uniform number (one that no sum
    exceeds gives the last) and however the cumulative sum is rounded, which a parallel sum need not keep monotone.
    """
    xp: Any = probs.__array_namespace__()
    possible = mask & (probs > 0)
    cumulative = xp.cumsum(xp.where(possible, probs, 0.0), axis=axis)
    shape = [1] * probs.ndim
    shape[axis] = probs.shape[axis]
    places = xp.arange(probs.shape[axis]).reshape(shape)
    last = xp.max(xp.where(possible, places, REFUSAL), axis=axis, keepdims=True)
    passed = possible & (cumulative > xp.expand_dims(uniform, axis))
    return xp.min(xp.where(passed, places, last), axis=axis)


def sample_gumbel(
    key: PRNGKeyArray, log_probs: Float[Array, "*batch actions"], mask: Bool[Array, "*batch actions"]
) -> Int[Array, "*batch"]:
    """Draws an action by the Gumbel-max trick from the log-probabilities of `masked_softmax`.

    For callers that hold log-probabilities and no probabilities. Returns `REFUSAL` where nothing is ready.
    """
    possible = mask & (log_probs > -jnp.inf)
    noisy = jnp.where(possible, log_probs + jax.random.gumbel(key, log_probs.shape), -jnp.inf)
    return jnp.where(possible.any(axis=-1), jnp.argmax(noisy, axis=-1), REFUSAL)
