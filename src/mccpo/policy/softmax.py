"""The masked softmax: a policy that cannot choose what the learner is not ready for.

Whatever the logits are, the probability outside the mask is exactly 0 and no sampler returns an index outside it. The
functions take NumPy and JAX arrays alike, batched over leading axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from mccpo.policy.arrays import Array, namespace

REFUSAL = -1
"""The index that a sampler returns where nothing is ready."""


class Masked(NamedTuple):
    """A distribution over the ready actions.

    `degenerate` is true where the logits gave none (a NaN or +inf inside the mask, or -inf throughout it) and the
    uniform distribution over the ready actions took its place, and where nothing is ready: then `probs` is all zeros.
    """

    probs: Float[Array, "*batch actions"]
    log_probs: Float[Array, "*batch actions"]
    degenerate: Bool[Array, "*batch"]


class _Weights(NamedTuple):
    """The softmax before it is normalised: weights e^`shifted` inside the mask, and their sum."""

    shifted: Float[Array, "*batch actions"]
    weights: Float[Array, "*batch actions"]
    total: Float[Array, "*batch 1"]
    usable: Bool[Array, "*batch 1"]


def masked_softmax(
    logits: Float[Array, "*batch actions"], mask: Bool[Array, "*batch actions"], axis: int = -1
) -> Masked:
    """The softmax of the logits over the mask along the axis of actions; `log_probs` is -inf outside it.

    >>> policy = masked_softmax(np.array([0.0, 5.0, 0.0]), np.array([True, False, True]))
    >>> policy.probs
    array([0.5, 0. , 0.5])
    """
    xp = namespace(logits)
    shifted, weights, total, usable = _weights(logits, mask, axis)
    total = xp.where(total > 0, total, 1.0)  # 0 where nothing is ready
    log_probs = xp.where(mask, shifted - xp.log(total), -xp.inf)
    return Masked(weights / total, log_probs, ~xp.squeeze(usable, axis=axis))


def masked_probabilities(
    logits: Float[Array, " actions"], mask: Bool[Array, " actions"]
) -> Float[Array, " actions"] | None:
    """The probabilities of `masked_softmax` for one learner, None where they would be degenerate; not under `jit`.

    >>> masked_probabilities(np.array([0.0, np.nan]), np.array([True, False]))
    array([1., 0.])
    >>> masked_probabilities(np.array([0.0, np.nan]), np.array([True, True]))
    """
    _, weights, total, usable = _weights(logits, mask, -1)
    return weights / total if usable else None


def _weights(logits: Float[Array, "*batch actions"], mask: Bool[Array, "*batch actions"], axis: int) -> _Weights:
    xp = namespace(logits)
    inside = xp.where(mask, logits, -xp.inf)
    # NaN wins every maximum: no NaN and no +inf inside the mask, and not -inf throughout it, nor an empty mask.
    usable = xp.isfinite(inside.max(axis=axis, keepdims=True))
    # Logits that may be NaN or infinite must not leak into the maximum or the gradient.
    clean = xp.where(usable, inside, 0.0)
    top = clean.max(axis=axis, keepdims=True)
    with np.errstate(over="ignore"):  # two logits can lie further apart than any float: then the lesser weighs nothing
        shifted = clean - top
    weights = xp.where(mask, xp.exp(shifted), 0.0)
    return _Weights(shifted, weights, weights.sum(axis=axis, keepdims=True), usable)


def mix(
    probs: Float[Array, "*batch actions"],
    frontier: Bool[Array, "*batch actions"],
    rate: Float[Array, "*batch"] | float,
    axis: int = -1,
) -> Float[Array, "*batch actions"]:
    """The executed policy π̃ = (1 - ε) π + ε U(F), with ε = `rate` where the frontier F is not empty and 0 elsewhere.

    >>> mix(np.array([0.8, 0.2, 0.0]), np.array([False, True, True]), rate=0.5)
    array([0.4 , 0.35, 0.25])
    """
    xp = namespace(probs)
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

    >>> int(sample(np.array(0.6), np.array([0.5, 0.5, 0.0]), np.array([True, True, True])))
    1
    """
    xp = namespace(probs)
    possible = mask & (probs > 0)
    cumulative = xp.cumsum(xp.where(possible, probs, 0.0), axis=axis)
    shape = [1] * probs.ndim
    shape[axis] = probs.shape[axis]
    places = xp.arange(probs.shape[axis]).reshape(shape)
    last = xp.max(xp.where(possible, places, REFUSAL), axis=axis, keepdims=True)
    passed = possible & (cumulative > xp.expand_dims(uniform, axis))
    return xp.min(xp.where(passed, places, last), axis=axis)
