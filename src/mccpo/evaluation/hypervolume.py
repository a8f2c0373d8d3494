"""How much of the plane of cost and return a method's policies dominate: one number for a front.

It is closed under mixtures: whoever draws between two policies at the start of an episode reaches every point of the
line between them. So a front counts as its upper concave envelope. A point on the line between two others adds nothing.
"""

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
    """The share of the plane from (`least`, 0) to (1, 1) that points and their mixtures dominate.

    A point at x has cost x and return y, both as shares of what the unconstrained policy has. That policy itself, at
    (1, 1), is one of those that are mixed. A return above the plane counts as on its border, and so does a cost above
    1. A cost below `least` counts as it is: whoever spends less can mix that with what spends more. Left of all points
    nothing is dominated.

    >>> hypervolume([0.5], [0.5], least=0.5)
    0.75
    >>> hypervolume([0.5, 0.75], [0.5, 1.0], least=0.5)
    0.875
    >>> hypervolume([], [], least=0.5)
    0.0
    """
    x, y = np.asarray(cost_share, np.float64), np.asarray(share, np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"the points have {x.shape} costs and {y.shape} returns", fix="give one of each for a point")
    if np.isnan(x).any() or np.isnan(y).any():
        raise InputError("a point has no number", fix="leave it out")
    if not 0 <= least < 1:
        raise InputError(f"the plane begins at {least}", fix="let it begin at 0 or more, and below 1")
    x, y = envelope(np.append(np.minimum(x, 1.0), 1.0), np.append(np.minimum(y, 1.0), 1.0))
    begins = np.interp(0.0, y, x) if y[0] < 0 else x[0]  # where mixtures begin to return anything
    ends = np.unique(np.clip(np.append(x, least), max(least, begins), 1.0))
    return float(np.trapezoid(np.interp(ends, x, y), ends) / (1.0 - least))


def envelope(
    x: Float[np.ndarray, " points"], y: Float[np.ndarray, " points"]
) -> tuple[Float[np.ndarray, " corners"], Float[np.ndarray, " corners"]]:
    """The corners of the upper concave envelope of points, from left to right: what mixtures of them reach.

    >>> envelope(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.2, 1.0]))
    (array([0., 1.]), array([0., 1.]))
    """
    order = np.lexsort((-y, x))
    order = order[np.append(True, np.diff(x[order]) > 0)]  # of points above one another, the highest
    x, y = x[order], y[order]
    corners: list[int] = []
    for at in range(len(x)):
        while len(corners) > 1 and _below(x, y, corners[-2], corners[-1], at):
            corners.pop()
        corners.append(at)
    return x[corners], y[corners]


def _below(
    x: Float[np.ndarray, " points"], y: Float[np.ndarray, " points"], left: int, middle: int, right: int
) -> bool:
    """Whether the middle of three points lies on or below the line between the others."""
    rise, run = y[right] - y[left], x[right] - x[left]
    return bool((y[middle] - y[left]) * run <= rise * (x[middle] - x[left]))
