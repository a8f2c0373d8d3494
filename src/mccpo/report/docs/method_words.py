"""What every method is called and what it is: the one module that pages of methods take their words from.

A method that has a class says what it is in its docstring. The paper's, which are one learner in other numbers, and
the solver have none: `_WITHOUT_CLASS` describes them in the same parts.
"""

from __future__ import annotations

from dataclasses import MISSING, fields

from mccpo.experiments.benchmark import methods
from mccpo.methods.constrained import RIVALS
from mccpo.methods.rules import TUTORS
from mccpo.report.vocabulary import method_label

__all__ = ["default_numbers", "method_about", "method_label", "method_names"]

_PAPER = (
    "O. Olukola, N. Rahimi, MC-CPO: Mastery-Conditioned Constrained Policy Optimization for Pedagogically Safe "
    "Intelligent Tutoring Systems."
)

_WITHOUT_CLASS = {
    "unconstrained": f"""Proximal policy optimisation for engagement alone.

**Problem:** max_π J(π) over all actions, ready or not, with no price on any cost:

    max_θ E[min(ρ A_r, clip(ρ, 1 - ε, 1 + ε) A_r)],   ρ = π_θ(a|s) / π_k(a|s)

**Source:** {_PAPER} The learner is that of J. Schulman, F. Wolski, P. Dhariwal, A. Radford, O. Klimov, Proximal Policy
Optimization Algorithms, 2017.

**Departures:** the paper's own numbers where it gives them. The discount rises to the environment's early in training,
an entropy bonus fades, and the policy that is judged is an average of the parameters on the way.

**When to use it:** as what every budget refers to: what it spends is κ = 1.
""",
    "reward-shaped": f"""Engagement less a fixed price for each cost, at the paper's prices.

**Problem:** max_π E Σ γ^t (r_E - 0.5·c2 - 1.0·c4), over all actions; the same PPO otherwise.

**Source:** {_PAPER}

**Departures:** none. The gate has one cost, c, which its construction calls c2.

**When to use it:** as what is most often done about a side effect. A price is not a budget: what is spent is whatever
the price happens to lead to.
""",
    "reward-shaped-tuned": f"""Reward shaping with its prices searched for, as every other method's numbers are.

**Problem:** max_π E Σ γ^t (r_E - s·(0.5·c2 + 1.0·c4)), over all actions, with s chosen on validation seeds.

**Source:** {_PAPER} The search is ours.

**Departures:** the paper keeps its prices fixed. Here a multiple s of them is searched for with the same allowance as
everyone's; it is one s for all κ, since shaping knows of no budget.

**When to use it:** to see how far prices go that somebody has taken trouble over.
""",
    "post-hoc": f"""The unconstrained policy behind a filter that lets only ready concepts that teach through.

**Problem:** max_π J(π) in training, as without constraints. At execution an action that is not ready, or that engages
without teaching, is blocked or its probability is spread over the others, by the rule of the environment:

    block:        π̃(a) = π(a) for a in the safe set, the rest goes to doing nothing
    renormalise:  π̃(a) = π(a) / Σ_{{b safe}} π(b)

**Source:** {_PAPER}

**Departures:** the paper filters by one rule in one environment and by the other elsewhere; so does this.

**When to use it:** where a policy is given and cannot be trained again. It keeps prerequisites, not budgets.
""",
    "mc-cpo": f"""Mastery-conditioned constrained policy optimisation: a mask, a multiplier for each budget, a frontier.

**Problem:** max_π J(π) s.t. J_ci(π) ≤ d_i, over policies that choose among the concepts the learner is ready for:

    π(a|s) ∝ exp(f_θ(s, a)) for ready a, else 0;    π̃ = (1 - ε) π + ε U(F), F the concepts that have just become ready
    e_i = (J_ci - d_i)/d_i,   I_i ← clip(I_i + β e_i, 0, cap),   λ_i = clip(I_i + g ē_i, 0, cap)
    A = A_r - Σ λ_i A_ci, ascended by PPO's clipped steps

π̃ gathers the experience, its ratio to π corrects for it, and π is what is judged.

**Source:** {_PAPER}

**Departures:** the paper's multipliers only integrate; the proportional part g ē damps their swing and vanishes with
the error. Of ē it leaves aside what two standard errors explain, so that episodes that differ much do not move prices
by chance. ε falls to zero at half of training. Errors are relative to the budgets. Training aims below the budgets by
what chance can do to a policy that is judged. That policy is chosen on validation episodes among averages of the
parameters. With `follow`, a setting that is searched, a price is higher in episodes that will exceed their budget and
lower in others: FPI's idea.

**When to use it:** where prerequisites must never be broken, several budgets hold at once, and all return that they
leave is wanted.
""",
    "mc-cpo-no-frontier": f"""MC-CPO without frontier mixing: what the mask and the multipliers do by themselves.

**Problem:** that of MC-CPO with ε = 0, so that the policy that plays is the policy that is learnt.

**Source:** {_PAPER}

**Departures:** those of MC-CPO.

**When to use it:** to see what the frontier adds; and where exploration by chance suffices.
""",
    "lyapunov-lp": """Safe policy iteration on a finite environment: from a safe policy to ever better safe ones.

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
}
"""By name, in the parts that every method's docstring has."""


def method_names() -> list[str]:
    """Every method of ours that takes part in a benchmark."""
    return [name for name in methods.names() if name in {*_WITHOUT_CLASS, *RIVALS, *TUTORS}]


def method_about(name: str) -> str:
    """What a method is: a sentence, then the parts **Problem**, **Source**, **Departures** and **When to use it**."""
    if name in _WITHOUT_CLASS:
        return _WITHOUT_CLASS[name]
    return (RIVALS[name] if name in RIVALS else TUTORS[name]).__doc__ or ""


def default_numbers(name: str) -> dict[str, float]:
    """The numbers of a method that has a class of its own, as they are by default."""
    return {
        number.name: number.default
        for number in (fields(RIVALS[name]) if name in RIVALS else ())
        if number.default is not MISSING and isinstance(number.default, float)
    }
