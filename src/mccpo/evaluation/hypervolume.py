"""How much of the plane of cost and return a method's policies dominate: one number for a front."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError


def hypervolume(
    cost_share: Sequence[float] | Float[np.ndarray, " points"],
    share: Sequence[float] | Float[np.ndarray, " points"],
    *,
    least: float = 0.0,
) -> float:
    """The share of the plane from (`least`, 0) to (1, 1) that points dominate, by less cost (x) and more return (y).

    The reference is the corner (1, 0): all of the unconstrained cost for no return. So a point at x dominates what lies
    to its right and below it. What is beyond the plane counts as on its border, and no points dominate nothing. Where
    budgets begin at some κ, that is `least`: to spend less than anybody asked for is no merit then.

    >>> hypervolume([0.5, 0.75], [0.5, 1.0])
    0.375
    >>> hypervolume([0.5, 0.75], [0.5, 1.0], least=0.5)
    0.75
    """
    x, y = np.asarray(cost_share, np.float64), np.asarray(share, np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"the points have {x.shape} costs and {y.shape} returns", fix="give one of each for a point")
    if np.isnan(x).any() or np.isnan(y).any():
        raise InputError("a point has no number", fix="leave it out")
    if not 0 <= least < 1:
        raise InputError(f"the plane begins at {least}", fix="let it begin at 0 or more, and below 1")
    order = np.argsort(x, kind="stable")
    edges = np.append(np.clip(x[order], least, 1.0), 1.0)
    height = np.maximum.accumulate(np.clip(y[order], 0.0, 1.0))  # the best return to be had at this cost or less
    return float((np.diff(edges) * height).sum() / (1.0 - least))
