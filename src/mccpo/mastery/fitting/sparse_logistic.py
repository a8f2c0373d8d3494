"""One logistic regression on many features, most of them 0, by L-BFGS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import csr_array
from scipy.special import expit

from mccpo.mastery.fitting.lbfgs import minimise

_STEPS = 500
_TOLERANCE = 1e-7  # of the objective, relative


class Design(NamedTuple):
    """What is regressed on, one row for each event: some features that all rows have, then many that few rows have.

    The first feature is 1 throughout, and is not penalised.
    """

    dense: Float[np.ndarray, "rows dense"]
    sparse: csr_array

    @property
    def features(self) -> int:
        return int(self.dense.shape[1] + self.sparse.shape[1])

    def logits(self, coefficients: Float[np.ndarray, " features"]) -> Float[np.ndarray, " rows"]:
        """The log-odds of each row."""
        cut = self.dense.shape[1]
        # Not `@`: its threads cost more than they save where rows are this short and cores are shared.
        return np.einsum("rf,f->r", self.dense, coefficients[:cut]) + self.sparse @ coefficients[cut:]

    def pulled(self, residual: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " features"]:
        """Each feature times what is left to explain, summed over rows."""
        return np.concatenate([np.einsum("rf,r->f", self.dense, residual), self.sparse.T @ residual])


class SparseRegression(NamedTuple):
    """Coefficients, the log-likelihood that they reach, the steps it took, and whether it converged."""

    coefficients: Float[np.ndarray, " features"]
    log_likelihood: float
    steps: int
    converged: bool


def fit_sparse_logistic(design: Design, correct: Bool[np.ndarray, " rows"], ridge: float) -> SparseRegression:
    """Minimises the negative log-likelihood plus `ridge`/2 times the squares of all coefficients but the first."""
    sign = np.where(correct, 1.0, -1.0)
    penalty = np.full(design.features, ridge)
    penalty[0] = 0.0
    mean = float(np.clip(correct.mean(), 1e-6, 1 - 1e-6))  # all answers may be alike
    units = _Units.of(design, penalty, mean * (1 - mean))

    def objective(scaled: Float[np.ndarray, " features"]) -> tuple[float, Float[np.ndarray, " features"]]:
        at = units.plain(scaled)
        margin = sign * design.logits(at)
        value = np.logaddexp(0.0, -margin).sum() + 0.5 * float(penalty @ at**2)
        return float(value), units.slope(penalty * at - design.pulled(sign * expit(-margin)))

    end = minimise(objective, units.constant(np.log(mean / (1 - mean))), tolerance=_TOLERANCE, steps=_STEPS)
    coefficients = units.plain(end.at)
    likelihood = 0.5 * float(penalty @ coefficients**2) - end.value
    return SparseRegression(coefficients, likelihood, end.steps, end.converged)


class _Units(NamedTuple):
    """Units in which the objective is about as curved one way as any other, at the same chance for all rows.

    Counts and indicators differ in size by orders of magnitude, and counts of the same answers move together. In the
    plain units five hundred steps do not reach what a hundred do in these.
    """

    dense: Float[np.ndarray, "dense dense"]
    sparse: Float[np.ndarray, " sparse"]

    @classmethod
    def of(cls, design: Design, penalty: Float[np.ndarray, " features"], spread: float) -> _Units:
        cut = design.dense.shape[1]
        curvature = spread * (design.dense.T @ design.dense) + np.diag(np.maximum(penalty[:cut], 1e-9))
        squares = spread * design.sparse.power(2).sum(axis=0) + penalty[cut:]
        return cls(np.linalg.inv(np.linalg.cholesky(curvature)).T, 1 / np.sqrt(squares))

    def plain(self, scaled: Float[np.ndarray, " features"]) -> Float[np.ndarray, " features"]:
        """Coefficients from those in these units."""
        cut = len(self.dense)
        return np.concatenate([self.dense @ scaled[:cut], self.sparse * scaled[cut:]])

    def slope(self, gradient: Float[np.ndarray, " features"]) -> Float[np.ndarray, " features"]:
        """A gradient in these units."""
        cut = len(self.dense)
        return np.concatenate([gradient[:cut] @ self.dense, self.sparse * gradient[cut:]])

    def constant(self, logit: float) -> Float[np.ndarray, " features"]:
        """Where all rows have these log-odds, in these units."""
        first = np.zeros(len(self.dense))
        first[0] = logit
        return np.concatenate([np.linalg.solve(self.dense, first), np.zeros(len(self.sparse))])
