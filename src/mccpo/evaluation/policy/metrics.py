"""The metrics of a policy on a finite environment, by the names that tables, JSON and reports use."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from mccpo.env import Constraints, Environment
from mccpo.exact import FiniteModel, Values, evaluate, reaches, rhsi, satisfies

# A policy that teaches nothing has no finite engagement per unit of mastery: the paper's guard makes it a large number.
LEAST_GAIN = 1e-6
TOLERANCE = 0.1  # the paper's τ; ours is 0


def metrics_of(values: Values, anchor: Values, env: Environment[Any], constraints: Constraints) -> dict[str, float]:
    """Every metric of a policy's exact values; `anchor` is the unconstrained optimum that RHSI is relative to."""
    slack = slack_of(env)

    def met(tolerance: float) -> float:
        within = satisfies(values.costs, constraints.budgets, slack, tolerance)
        return float(within and reaches(values, constraints.floors, tolerance))

    return {
        "return": values.ret,
        "rhsi": rhsi(values, anchor, env.constrained),
        "rhsi_ratio": values.engagement / (values.gain + LEAST_GAIN),
        "rhsi_ratio_discounted": values.ret / (values.gain + LEAST_GAIN),
        **{f"J_{name}": cost for name, cost in values.costs.items()},
        "learning": values.learning,
        "dK": values.gain,
        "mastered": values.mastered,
        "pi_hack": values.pi_hack,
        "violation_rate": values.violation_rate,
        "prerequisite_violation_rate": values.prerequisite_violation_rate,
        "satisfaction": met(TOLERANCE),
        "satisfaction_strict": met(0.0),
    }


def slack_of(env: Environment[Any]) -> dict[str, float]:
    """What may be spent of each cost where its budget is 0, which is never quite reached."""
    return dict(zip(env.cost_names, 1e-3 * env.cost_bounds * env.discounted_horizon, strict=True))


def measure(
    model: FiniteModel,
    policy: Float[np.ndarray, "numbers actions|actions+1"],
    anchor: Values,
    env: Environment[Any],
    constraints: Constraints,
) -> dict[str, float]:
    """The exact metrics of a table learnt over the environment's state numbers."""
    constrained = tuple(constraints.budgets)
    return metrics_of(evaluate(model, policy[model.index], constrained=constrained), anchor, env, constraints)
