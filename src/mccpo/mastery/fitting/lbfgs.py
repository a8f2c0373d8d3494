"""L-BFGS for smooth convex functions of many variables, without the threads of a linear-algebra library.

SciPy's spends its time in dot products of long vectors, whose threads wait for each other where cores are shared: on
ASSISTments 2009, with two cores and a load of 5, it took 21 s where one thread takes 3 s. A library cannot set the
number of threads of another, so the dot products here have none (`numpy.einsum`). Nocedal and Wright (2006), Numerical
optimization, algorithms 7.4 and 7.5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

Objective: TypeAlias = Callable[[Float[np.ndarray, " n"]], tuple[float, Float[np.ndarray, " n"]]]
"""Gives the value and the gradient."""

_MEMORY = 10  # steps that are remembered
_SUFFICIENT = 1e-4  # share of the decrease that the slope promises
_HALVINGS = 30


class Minimum(NamedTuple):
    """Where it ended, the value there, the steps taken, and whether it converged."""

    at: Float[np.ndarray, " n"]
    value: float
    steps: int
    converged: bool


class _Move(NamedTuple):
    """A step, how the gradient changed with it, and the product of the two."""

    step: Float[np.ndarray, " n"]
    change: Float[np.ndarray, " n"]
    curvature: float


def minimise(objective: Objective, start: Float[np.ndarray, " n"], *, tolerance: float, steps: int) -> Minimum:
    """Goes down until a step gains less than `tolerance` of the value, or for so many steps."""
    at = start
    value, gradient = objective(at)
    moves: deque[_Move] = deque(maxlen=_MEMORY)
    for taken in range(1, steps + 1):
        way = _direction(gradient, moves)
        slope = _dot(gradient, way)
        length = 1.0 if moves else 1.0 / max(1.0, float(np.sqrt(_dot(gradient, gradient))))
        for _ in range(_HALVINGS):
            there = at + length * way
            next_value, next_gradient = objective(there)
            if next_value <= value + _SUFFICIENT * length * slope:
                break
            length /= 2
        else:
            return Minimum(at, value, taken, converged=True)  # no step is short enough: this is the bottom
        move = _Move(there - at, next_gradient - gradient, _dot(there - at, next_gradient - gradient))
        gain = value - next_value
        at, value, gradient = there, next_value, next_gradient
        if gain <= tolerance * max(1.0, abs(value)):
            return Minimum(at, value, taken, converged=True)
        if move.curvature > 0:
            moves.append(move)
    return Minimum(at, value, steps, converged=False)


def _direction(gradient: Float[np.ndarray, " n"], moves: deque[_Move]) -> Float[np.ndarray, " n"]:
    """Down the slope, as the last moves say that it bends."""
    way = -gradient
    if not moves:
        return way
    weights = []
    for move in reversed(moves):
        weights.append(_dot(move.step, way) / move.curvature)
        way = way - weights[-1] * move.change
    way = way * (moves[-1].curvature / _dot(moves[-1].change, moves[-1].change))
    for move, weight in zip(moves, reversed(weights), strict=True):
        way = way + (weight - _dot(move.change, way) / move.curvature) * move.step
    return way


def _dot(one: Float[np.ndarray, " n"], other: Float[np.ndarray, " n"]) -> float:
    return float(np.einsum("n,n->", one, other))
