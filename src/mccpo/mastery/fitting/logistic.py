"""Logistic regressions of many groups at once, by Newton's method."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

_STEPS = 50
_HALVINGS = 30
_TOLERANCE = 1e-10  # of the objective, relative


class Regression(NamedTuple):
    """Coefficients of each group, the log-likelihood of all, what was maximised, and which groups converged."""

    coefficients: Float[np.ndarray, "groups features"]
    log_likelihood: float
    objective: float
    converged: Bool[np.ndarray, " groups"]


class _Surface(NamedTuple):
    """The objective of each group, its gradient, and the negative of its Hessian."""

    objective: Float[np.ndarray, " groups"]
    gradient: Float[np.ndarray, "groups features"]
    curvature: Float[np.ndarray, "groups features features"]


class _Rows(NamedTuple):
    """What is regressed, sorted by group; every group has rows, from `start` on."""

    features: Float[Array, "features rows"]
    correct: Bool[Array, " rows"]
    group: Int[Array, " rows"]
    start: Int[np.ndarray, " groups"]


def fit_logistic(
    features: Float[np.ndarray, "features rows"],
    correct: Bool[np.ndarray, " rows"],
    group: Int[np.ndarray, " rows"],
    penalty: float,
) -> Regression:
    """Maximises, for each group, the log-likelihood less `penalty`/2 times the squares of its coefficients.

    The penalty makes the peak unique, also where all answers are right. A step that does not climb is halved.
    """
    order = np.argsort(group, kind="stable")
    start = np.flatnonzero(np.diff(group[order], prepend=-1))
    with jax.enable_x64(True):
        rows = _Rows(jnp.asarray(features[:, order]), jnp.asarray(correct[order]), jnp.asarray(group[order]), start)
        at = np.zeros((len(start), len(features)))
        here = _surface(rows, at, penalty)
        converged = np.zeros(len(start), bool)
        for _ in range(_STEPS):
            way = np.linalg.solve(here.curvature, here.gradient[..., None])[..., 0]
            at, here, gain = _climb(rows, at, way, here, penalty)
            converged = gain <= _TOLERANCE * (1 + np.abs(here.objective))
            if converged.all():
                break
    objective = float(here.objective.sum())
    return Regression(at, objective + penalty / 2 * float((at**2).sum()), objective, converged)


def _climb(
    rows: _Rows,
    at: Float[np.ndarray, "groups features"],
    way: Float[np.ndarray, "groups features"],
    here: _Surface,
    penalty: float,
) -> tuple[Float[np.ndarray, "groups features"], _Surface, Float[np.ndarray, " groups"]]:
    """One Newton step of each group, shorter for those that would otherwise fall, and what it gained."""
    length = np.ones((len(at), 1))
    for _ in range(_HALVINGS):
        there = _surface(rows, at + length * way, penalty)
        gain = there.objective - here.objective
        falls = gain < -1e-12 * (1 + np.abs(here.objective))
        if not falls.any():
            break
        length[falls] /= 2
    return at + length * way, there, gain


def _surface(rows: _Rows, at: Float[np.ndarray, "groups features"], penalty: float) -> _Surface:
    size = at.shape[1]
    totals = np.add.reduceat(
        np.asarray(_terms(rows.features, rows.correct, rows.group, jnp.asarray(at))), rows.start, 1
    )
    curvature = np.empty((len(at), size, size))
    across = np.triu_indices(size)
    curvature[:, *across] = curvature[:, *across[::-1]] = totals[1 + size :].T
    return _Surface(
        totals[0] - penalty / 2 * np.sum(at**2, axis=1),
        totals[1 : 1 + size].T - penalty * at,
        curvature + penalty * np.eye(size),
    )


@jax.jit
def _terms(
    features: Float[Array, "features rows"],
    correct: Bool[Array, " rows"],
    group: Int[Array, " rows"],
    at: Float[Array, "groups features"],
) -> Float[Array, "terms rows"]:
    """What each row adds to the log-likelihood, its gradient, and the upper triangle of its curvature."""
    logit = jnp.sum(features * at.T[:, group], axis=0)
    chance = jax.nn.sigmoid(logit)
    likelihood = -jnp.logaddexp(0.0, jnp.where(correct, -logit, logit))
    slopes = [(correct - chance) * row for row in features]
    spread = chance * (1 - chance)
    across = np.triu_indices(len(features))
    bends = [spread * features[row] * features[other] for row, other in zip(*across, strict=True)]
    return jnp.stack([likelihood, *slopes, *bends])
