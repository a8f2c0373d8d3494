"""The unconstrained policy: engagement and nothing else. What budgets refer to."""

from __future__ import annotations

from mccpo.methods.mc_cpo.family import PAPER, PPO_SEARCH, register_family
from mccpo.methods.mc_cpo.spec import MethodSpec

UNCONSTRAINED = MethodSpec("unconstrained")

register_family(
    UNCONSTRAINED,
    "Unconstrained",
    f"""Proximal policy optimisation for engagement alone.

**Problem:** max_π J(π) over all actions, ready or not, with no price on any cost:

    max_θ E[min(ρ A_r, clip(ρ, 1 - ε, 1 + ε) A_r)],   ρ = π_θ(a|s) / π_k(a|s)

**Source:** {PAPER} The learner is that of J. Schulman, F. Wolski, P. Dhariwal, A. Radford, O. Klimov, Proximal Policy
Optimization Algorithms, 2017.

**Departures:** the paper's own numbers where it gives them. The discount rises to the environment's early in training,
an entropy bonus fades, and the policy that is judged is an average of the parameters on the way.

**When to use it:** as what every budget refers to: what it spends is κ = 1.
""",
    PPO_SEARCH,
    seeks_budgets=False,
)
