"""How a trained policy is executed: through a filter, which may keep it from what a learner is not ready for.

none          the policy as it is
block         a filtered action becomes the no-op: nothing is taught in that step
renormalise   a filtered action's probability goes to the actions that are let through

The functions take the probabilities of the actions and say those of the actions and, last, of the no-op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from jaxtyping import Bool, Float

from mccpo.policy.arrays import Array, namespace

Filter: TypeAlias = Literal["none", "block", "renormalise"]


def unfiltered(
    probs: Float[Array, "*batch actions"], allowed: Bool[Array, "*batch actions"]
) -> Float[Array, "*batch actions+1"]:
    """The policy as it is, which never takes the no-op."""
    del allowed
    xp = namespace(probs)
    return xp.concatenate([probs, xp.zeros((*probs.shape[:-1], 1), dtype=probs.dtype)], axis=-1)


def blocked(
    probs: Float[Array, "*batch actions"], allowed: Bool[Array, "*batch actions"]
) -> Float[Array, "*batch actions+1"]:
    """The policy whose filtered actions become the no-op.

    >>> import numpy as np
    >>> blocked(np.array([0.5, 0.25, 0.25]), np.array([True, False, True]))
    array([0.5 , 0.  , 0.25, 0.25])
    """
    xp = namespace(probs)
    kept = xp.where(allowed, probs, 0.0)
    total = kept.sum(axis=-1, keepdims=True)
    # Rounding can bring the sum of the kept probabilities above 1.
    return xp.concatenate([kept, xp.maximum(1 - total, 0.0)], axis=-1)


def renormalised(
    probs: Float[Array, "*batch actions"], allowed: Bool[Array, "*batch actions"]
) -> Float[Array, "*batch actions+1"]:
    """The policy whose filtered probability goes to the actions that are let through, in proportion to theirs.

    It goes to them evenly where they have none, and to the no-op where nothing is let through.

    >>> import numpy as np
    >>> renormalised(np.array([0.5, 0.25, 0.25]), np.array([False, True, True]))
    array([0. , 0.5, 0.5, 0. ])
    """
    xp = namespace(probs)
    kept = xp.where(allowed, probs, 0.0)
    total = kept.sum(axis=-1, keepdims=True)
    even = allowed / xp.maximum(allowed.sum(axis=-1, keepdims=True), 1)
    spread = xp.where(total > 0, kept / xp.where(total > 0, total, 1.0), even)
    stuck = 1.0 - allowed.any(axis=-1, keepdims=True)
    return xp.concatenate([spread, stuck], axis=-1)


FILTERS: dict[Filter, Callable[[Array, Array], Array]] = {
    "none": unfiltered,
    "block": blocked,
    "renormalise": renormalised,
}
"""The filters by name, in the order in which methods count them."""
