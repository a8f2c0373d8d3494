"""Safe policy iteration on a finite environment, by Lyapunov functions of the budgets (Chow et al. 2018).

Every policy on the way meets the budgets, and each is at least as good as the one before. With π the policy so far,
V its value, and for every budget ε_i what is left of it, spread evenly over an episode's steps,

    L_i = E_π[Σ γ^t (c_i + ε_i)],          so that L_i(start) ≤ d_i
    π'(·|s) maximises  Σ_a π'(a|s) Q_V(s, a)   s.t.   Σ_a π'(a|s) (c_i(s, a) + γ E L_i(s')) ≤ L_i(s)

π itself is a solution at every state with ε_i to spare. By induction over steps J_ci(π') ≤ L_i(start) ≤ d_i. The next
policy has to meet its bound in every state, where the budget asks for a mean over episodes only: what is reached can
lie below the optimum of `solve`, from which this differs by never passing through a policy that misses a budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from jaxtyping import Float

from mccpo.env import check_budgets
from mccpo.errors import DoesNotApply, InputError, MccpoError
from mccpo.exact.evaluation import Values, evaluate
from mccpo.exact.model import FiniteModel
from mccpo.exact.program import Infeasible, safest

MOST_ITERATIONS = 200
LEAST_GAIN = 1e-9  # relative: an iteration that improves the return by less is the last
SLACK = 1e-9  # the solver's own tolerance, kept from what is left of a budget, so that no rounding exceeds it


@dataclass(frozen=True)
class Iteration:
    """A policy on the way: what it is worth, and ε_i, what each step may cost more than the policy before."""

    values: Values
    auxiliary: dict[str, float]


def safe_policy_iteration(
    model: FiniteModel,
    budgets: Mapping[str, float],
    *,
    baseline: Float[np.ndarray, "states actions"] | None = None,
    iterations: int = MOST_ITERATIONS,
) -> tuple[Float[np.ndarray, "states actions"], list[Iteration]]:
    """The last of ever better policies that all meet the budgets, and the value of each, the baseline's first.

    The baseline is the policy that costs least, unless one is given. It ends where the return no longer rises, or after
    so many iterations.
    """
    check_budgets(model.cost_names, dict(budgets))
    policy = _safe(model, budgets) if baseline is None else baseline
    values = evaluate(model, policy)
    _check_safe(values, budgets)
    history = [Iteration(values, dict.fromkeys(budgets, 0.0))]
    improvement = _Improvement(model, budgets)
    for _ in range(iterations):
        auxiliary = _auxiliary(model, policy, values, budgets)
        better = improvement.step(policy, auxiliary)
        found = evaluate(model, better)
        # The solver leaves rounding; a policy that is no better, or over a budget by it, is not taken.
        met = all(found.costs[name] <= d * (1 + 1e-9) + 1e-12 for name, d in budgets.items())
        if not met or found.ret <= values.ret * (1 + LEAST_GAIN):
            break
        policy, values = better, found
        history.append(Iteration(values, auxiliary))
    return policy, history


def _safe(model: FiniteModel, budgets: Mapping[str, float]) -> Float[np.ndarray, "states actions"]:
    found = safest(model, budgets)
    if isinstance(found, Infeasible):
        raise DoesNotApply(found.what(budgets), fix=found.fix())
    return found


def _check_safe(values: Values, budgets: Mapping[str, float]) -> None:
    for name, d in budgets.items():
        if values.costs[name] > d * (1 + 1e-6) + 1e-9:
            raise InputError(
                f"the baseline's {name} is {values.costs[name]:.6g}, above its budget of {d:g}",
                fix="begin with a policy that meets the budgets, or leave the baseline out",
            )


def _auxiliary(
    model: FiniteModel,
    policy: Float[np.ndarray, "states actions"],
    values: Values,
    budgets: Mapping[str, float],
) -> dict[str, float]:
    """ε_i: what is left of a budget, spread evenly over the discounted steps of an episode."""
    steps = _value(model, policy, np.ones((model.num_states, model.num_actions, 1)))[:, 0] @ model.start
    return {name: max(0.0, d * (1 - SLACK) - values.costs[name]) / steps for name, d in budgets.items()}


class _Improvement:
    """The small linear programs of all states, as one of blocks: nothing is shared between states."""

    def __init__(self, model: FiniteModel, budgets: Mapping[str, float]) -> None:
        self.model = model
        self.which = [model.cost_index(name) for name in budgets]
        self.names = list(budgets)
        self.pairs = np.argwhere(model.mask)
        places = np.arange(len(self.pairs))
        ones = np.ones(len(self.pairs))
        shape = (model.num_states, len(self.pairs))
        self.blocks = scipy.sparse.csr_array((ones, (self.pairs[:, 0], places)), shape=shape)

    def step(
        self, policy: Float[np.ndarray, "states actions"], auxiliary: Mapping[str, float]
    ) -> Float[np.ndarray, "states actions"]:
        """The policy that is best by the value of the last one, among those that its Lyapunov functions allow."""
        model, states, actions = self.model, self.pairs[:, 0], self.pairs[:, 1]
        epsilon = np.array([auxiliary[name] for name in self.names])
        costs = model.costs[:, :-1][..., self.which]
        signals = np.concatenate([model.reward[:, :-1, None], costs + epsilon], axis=2)
        value = _value(model, policy, signals)
        following = _following(model, value)[:, :-1]
        gains = (model.reward[:, :-1] + following[..., 0])[states, actions]
        drift = (costs + following[..., 1:] - value[:, None, 1:])[states, actions]
        # Rounding in the value of the last policy must not make that policy itself infeasible.
        limit = [np.full(model.num_states, 1e-10) for _ in self.names]
        rows = scipy.sparse.vstack([self.blocks * one for one in drift.T]) if self.names else None
        found = scipy.optimize.linprog(
            -gains,
            A_ub=rows,
            b_ub=np.concatenate(limit) if self.names else None,
            A_eq=self.blocks,
            b_eq=np.ones(model.num_states),
            method="highs-ds",
        )
        if found.status != 0:
            raise MccpoError(f"the states' linear programs were not solved: {found.message}")
        better = np.zeros_like(model.mask, float)
        better[states, actions] = np.maximum(found.x, 0.0)
        chosen: Float[np.ndarray, "states actions"] = better / better.sum(axis=1, keepdims=True)
        return chosen


def _following(model: FiniteModel, value: Float[np.ndarray, "states signals"]) -> Float[np.ndarray, "s a signals"]:
    """γ times what is expected of the state after each action."""
    after = model.gamma * (model.flow @ value)
    expected: Float[np.ndarray, "s a signals"] = after.reshape(model.num_states, model.num_actions + 1, -1)
    return expected


def _value(
    model: FiniteModel,
    policy: Float[np.ndarray, "states actions"],
    signals: Float[np.ndarray, "states actions signals"],
) -> Float[np.ndarray, "states signals"]:
    """The discounted sum of each signal from every state on."""
    padded = np.pad(policy, ((0, 0), (0, 1)))
    rows = np.repeat(np.arange(model.num_states), padded.shape[1])
    moves = scipy.sparse.csr_array(
        (padded.ravel(), (rows, np.arange(padded.size))), shape=(model.num_states, padded.size)
    )
    system = scipy.sparse.eye_array(model.num_states, format="csc") - model.gamma * (moves @ model.flow).tocsc()
    now = np.einsum("sa,sak->sk", policy, signals)
    value: Float[np.ndarray, "states signals"] = scipy.sparse.linalg.spsolve(system, now).reshape(now.shape)
    return value
