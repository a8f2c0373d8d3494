"""Safe policy iteration by Lyapunov functions, exactly."""

from __future__ import annotations

from mccpo.exact import safe_policy_iteration
from mccpo.methods.registry import SolverEntry, add

add(
    SolverEntry(
        "lyapunov-lp",
        "Exact Lyapunov",
        """Safe policy iteration on a finite environment: from a safe policy to ever better safe ones.

**Problem:** max_π J(π) s.t. J_ci(π) ≤ d_i, of a model that is given. With π the policy so far, V its value and ε_i what
is left of each budget, spread evenly over the steps,

    L_i = E_π[Σ γ^t (c_i + ε_i)],   so that L_i(start) ≤ d_i
    π'(·|s) maximises Σ_a π'(a|s) Q_V(s, a)   s.t.   Σ_a π'(a|s) (c_i(s, a) + γ E L_i(s')) ≤ L_i(s)

a small linear program in every state.

**Source:** Y. Chow, O. Nachum, E. Duenez-Guzman, M. Ghavamzadeh, A Lyapunov-based Approach to Safe Reinforcement
Learning, NeurIPS 2018.

**Departures:** an iteration spends only part of what is left of the budgets, so that later ones have some left to spend
where it pays. It is given the environment's arrays, which learners are not.

**When to use it:** where the model is known and no policy on the way may miss a budget. It applies to finite
environments only.
""",
        lambda model, budgets: safe_policy_iteration(model, budgets)[0],
    )
)
