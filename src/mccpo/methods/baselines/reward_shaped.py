"""Shaped rewards: a fixed price on costs, or on learning."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from mccpo.methods.mc_cpo.family import PAPER, register_family, shaped
from mccpo.methods.mc_cpo.spec import MethodSpec
from mccpo.methods.registry import Setting

# The paper prices c2 at 0.5 and c4 at 1.0; the gate has one cost, which its construction calls c2.
REWARD_SHAPED = MethodSpec("reward-shaped", shaping={"c": 0.5, "c2": 0.5, "c4": 1.0})
# Elsewhere it adds λ·ΔK to the reward instead, with λ up to 5.
REWARD_SHAPED_GAIN = MethodSpec("reward-shaped-gain", progress=5.0)

_SCALES: tuple[Setting, ...] = ({}, {"scale": 0.1}, {"scale": 0.3}, {"scale": 0.35}, {"scale": 0.5}, {"scale": 2.0})

register_family(
    REWARD_SHAPED,
    "Reward-shaped",
    f"""Engagement less a fixed price for each cost, at the paper's prices.

**Problem:** max_π E Σ γ^t (r_E - 0.5·c2 - 1.0·c4), over all actions; the same PPO otherwise.

**Source:** {PAPER}

**Departures:** none. The gate has one cost, c, which its construction calls c2.

**When to use it:** as what is most often done about a side effect. A price is not a budget: what is spent is whatever
the price happens to lead to.
""",
)
register_family(
    replace(REWARD_SHAPED, name="reward-shaped-tuned"),
    "Reward-shaped, tuned",
    f"""Reward shaping with its prices searched for, as every other method's numbers are.

**Problem:** max_π E Σ γ^t (r_E - s·(0.5·c2 + 1.0·c4)), over all actions, with s chosen on validation seeds.

**Source:** {PAPER} The search is ours.

**Departures:** the paper keeps its prices fixed. Here a multiple s of them is searched for with the same allowance as
everyone's; it is one s for all κ, since shaping knows of no budget.

**When to use it:** to see how far prices go that somebody has taken trouble over.
""",
    _SCALES,
    build=partial(shaped, REWARD_SHAPED),
)
register_family(
    REWARD_SHAPED_GAIN,
    "Reward-shaped, + λ·ΔK",
    f"""Engagement and a reward for mastery gained, at a fixed weight.

**Problem:** max_π E Σ γ^t (r_E + λ·ΔK), over all actions, with λ = 5, the largest that the paper tries.

**Source:** {PAPER}

**Departures:** none.

**When to use it:** as the other form of shaping: a price on what is wanted instead of one on what is not.
""",
    variant=True,
)
