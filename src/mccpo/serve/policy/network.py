"""The policy's network in NumPy: one learner at a time, in double precision, without jax.

Training ran in single precision. Here every step is worked out in double, so that two machines differ in the last few
of sixteen digits only, and agree once probabilities are told in single precision.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

Filter = Literal["none", "block", "renormalise"]
FILTERS: tuple[Filter, ...] = ("none", "block", "renormalise")


class Shape(NamedTuple):
    """The shape of a network: what its flat vector of parameters means. `signals` is how many value heads it has."""

    features: int
    actions: int
    signals: int
    hidden: tuple[int, int]

    @property
    def layers(self) -> tuple[tuple[int, ...], ...]:
        first, second = self.hidden
        heads = self.actions + self.signals
        return (first, self.features), (first,), (second, first), (second,), (heads, second), (heads,)

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return sum(int(np.prod(layer)) for layer in self.layers)


class Network(NamedTuple):
    """Weights and biases of two hidden layers and the policy head; what estimated values in training is left out."""

    w1: Float[np.ndarray, "first features"]
    b1: Float[np.ndarray, " first"]
    w2: Float[np.ndarray, "second first"]
    b2: Float[np.ndarray, " second"]
    w3: Float[np.ndarray, "actions second"]
    b3: Float[np.ndarray, " actions"]

    def logits(self, features: Float[np.ndarray, " features"]) -> Float[np.ndarray, " actions"]:
        hidden = np.tanh(self.w1 @ features + self.b1)
        hidden = np.tanh(self.w2 @ hidden + self.b2)
        return self.w3 @ hidden + self.b3


def network_of(shape: Shape, parameters: Float[np.ndarray, " parameters"]) -> Network:
    """The network of a flat vector of parameters."""
    ends = list(accumulate(int(np.prod(layer)) for layer in shape.layers))[:-1]
    parts = np.split(np.asarray(parameters, np.float64), ends)
    w1, b1, w2, b2, w3, b3 = (part.reshape(layer) for part, layer in zip(parts, shape.layers, strict=True))
    return Network(w1, b1, w2, b2, w3[: shape.actions].copy(), b3[: shape.actions].copy())


def masked_softmax(
    logits: Float[np.ndarray, " actions"], mask: Bool[np.ndarray, " actions"]
) -> Float[np.ndarray, " actions"] | None:
    """The softmax over the mask, exactly 0 outside it; None where the logits give no distribution.

    That is where one inside the mask is NaN or +inf, where all are −inf, and where the mask is empty. A logit outside
    the mask is not looked at.
    """
    inside = np.where(mask, logits, -np.inf)
    top = inside.max(initial=-np.inf)
    if not np.isfinite(top):  # NaN wins every maximum
        return None
    with np.errstate(over="ignore"):  # two logits can lie further apart than any number: then the lesser weighs nothing
        weights = np.exp(inside - top)
    return weights / weights.sum()


def executed(
    logits: Float[np.ndarray, " actions"], ready: Bool[np.ndarray, " actions"], *, masked: bool, rule: Filter
) -> Float[np.ndarray, " actions+1"] | None:
    """The chances with which the trained policy acts, through its method's filter; the last is that of the no-op.

    None where the logits give no distribution. As in training: `block` turns an unready action into the no-op,
    `renormalise` spreads its chance over the ready ones, evenly where they have none.
    """
    probs = masked_softmax(logits, ready if masked else np.ones_like(ready))
    if probs is None:
        return None
    if rule == "none":
        return np.append(probs, 0.0)
    kept = np.where(ready, probs, 0.0)
    total = kept.sum()
    if rule == "block":
        return np.append(kept, max(1 - total, 0.0))
    if total > 0:
        return np.append(kept / total, 0.0)
    return np.append(ready / max(ready.sum(), 1), float(not ready.any()))
