"""MC-CPO: ours, without its frontier, and the paper's."""

from __future__ import annotations

from dataclasses import replace

from mccpo.methods.gradient.settings import PAPER as PAPER_SETTINGS
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.family import PAPER, register_family
from mccpo.methods.mc_cpo.multipliers import MultiplierRule
from mccpo.methods.mc_cpo.spec import MethodSpec
from mccpo.methods.mc_cpo.tabular import TabularSettings
from mccpo.methods.registry import Setting

FRONTIER_RATE = 0.1
MC_CPO = MethodSpec("mc-cpo", masked=True, shared=True, constrained=True, frontier_rate=FRONTIER_RATE)
MC_CPO_PAPER = replace(MC_CPO, name="mc-cpo-paper", shared=False)

_SEARCH: tuple[Setting, ...] = (
    {},
    {"settings.entropy_end": 0.7},
    {"settings.rule.proportional": 1.0},
    {"settings.rule.proportional": 1.0, "settings.entropy_end": 0.7},
    {"settings.learning_rate": 2e-3},
    {"settings.follow": 3.0},
)

register_family(
    MC_CPO,
    "MC-CPO",
    f"""Mastery-conditioned constrained policy optimisation: a mask, a multiplier for each budget, a frontier.

**Problem:** max_π J(π) s.t. J_ci(π) ≤ d_i and, where floors are asked for, G_j(π) ≥ f_j, over policies that choose
among the concepts the learner is ready for:

    π(a|s) ∝ exp(f_θ(s, a)) for ready a, else 0;    π̃ = (1 - ε) π + ε U(F), F the concepts that have just become ready
    e_i = (J_ci - d_i)/d_i,   I_i ← clip(I_i + β e_i, 0, cap),   λ_i = clip(I_i + g ē_i, 0, cap)
    A = A_r - Σ λ_i A_ci, ascended by PPO's clipped steps

π̃ gathers the experience, its ratio to π corrects for it, and π is what is judged. With a network π̃ = π.

**Source:** {PAPER}

**Departures:** the paper's multipliers only integrate; the proportional part g ē damps their swing and vanishes with
the error. Of ē it leaves aside what two standard errors explain, so that episodes that differ much do not move prices
by chance. Concepts share the weights of the network, where concepts are known. A network learns without the frontier:
PPO's weight, the ratio of the single step, leaves a bias, and mixing brought nothing. A table keeps the frontier, with
the whole product of ratios. Errors are relative to the budgets, those of floors to what can be reached. Training aims
below the budgets by what chance can do to a policy that is judged. That policy is chosen on validation episodes among
averages of the parameters. With `follow`, a setting that is searched, a price is higher in episodes that will exceed
their budget and lower in others: FPI's idea.

**When to use it:** where prerequisites must hold by the gate's estimate, several budgets hold at once, and all return
that they leave is wanted.
""",
    _SEARCH,
)
register_family(
    replace(MC_CPO, name="mc-cpo-no-frontier", frontier_rate=0.0),
    "MC-CPO, no frontier",
    f"""MC-CPO without a frontier on finite environments; with a network, the same method as MC-CPO.

**Problem:** that of MC-CPO with ε = 0, so that the policy that plays is the policy that is learnt.

**Source:** {PAPER}

**Departures:** those of MC-CPO.

**When to use it:** on finite environments, to see what the frontier adds, or where exploration by chance suffices.
""",
    _SEARCH,
)
register_family(
    replace(MC_CPO, name="mc-cpo-frontier"),
    "MC-CPO, frontier",
    f"""MC-CPO that mixes in the frontier with a network, too, for the first half of training.

**Problem:** that of MC-CPO.

**Source:** {PAPER}

**Departures:** those of MC-CPO but for the frontier, whose rate falls to zero at half of training. The surrogate is
weighted by π/π̃ of the single step: its gradient is biased wherever the frontier is not empty.

**When to use it:** to see what the frontier adds.
""",
    settings=PPOSettings(frontier_end=0.5),
    variant=True,
)
register_family(
    MC_CPO_PAPER,
    "MC-CPO, the paper's",
    f"""MC-CPO as published: the mask, the frontier, and multipliers that only integrate.

**Problem:** that of MC-CPO.

**Source:** {PAPER}

**Departures:** none that is known. The paper does not say what its importance weights are: here, with a network, the
ratio of the single step, whose gradient is biased wherever the frontier is not empty. There is no proportional part,
no margin below the budgets, no averaging of parameters, no foresight, and no selection: the result is the last policy.

**When to use it:** to see what each addition of MC-CPO brings.
""",
    settings=PAPER_SETTINGS,
    tabular=TabularSettings(tighten=0.0, floor_pace=1.0, rule=MultiplierRule(proportional=0.0, memory=0.0, cap=10.0)),
    variant=True,
)
