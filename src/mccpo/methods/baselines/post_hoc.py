"""Filters at execution: the unconstrained policy behind a gate that it was not trained with."""

from __future__ import annotations

from mccpo.methods.mc_cpo.family import PAPER, PPO_SEARCH, register_family
from mccpo.methods.mc_cpo.spec import MethodSpec

register_family(
    MethodSpec("post-hoc", filter="environment"),
    "Post-hoc filter",
    f"""The unconstrained policy behind a filter that lets only ready concepts that teach through.

**Problem:** max_π J(π) in training, as without constraints. At execution an action that is not ready, or that engages
without teaching, is blocked or its probability is spread over the others, by the rule of the environment:

    block:        π̃(a) = π(a) for a in the safe set, the rest goes to doing nothing
    renormalise:  π̃(a) = π(a) / Σ_{{b safe}} π(b)

**Source:** {PAPER}

**Departures:** the paper filters by one rule in one environment and by the other elsewhere; so does this.

**When to use it:** where a policy is given and cannot be trained again. It keeps prerequisites, not budgets.
""",
    PPO_SEARCH,
)
register_family(
    MethodSpec("post-hoc-block", filter="block"),
    "Post-hoc, blocking",
    f"""The unconstrained policy behind a filter that blocks what is not ready: nothing is taught instead.

**Problem:** that of the post-hoc filter, by this rule in every environment.

**Source:** {PAPER}

**Departures:** the paper takes the rule of the environment: see the post-hoc filter.

**When to use it:** to see what the rule of a filter does.
""",
    PPO_SEARCH,
    variant=True,
)
register_family(
    MethodSpec("post-hoc-renormalise", filter="renormalise"),
    "Post-hoc, renormalising",
    f"""The unconstrained policy behind a filter that spreads the probability of what is not ready over the rest.

**Problem:** that of the post-hoc filter, by this rule in every environment.

**Source:** {PAPER}

**Departures:** the paper takes the rule of the environment: see the post-hoc filter.

**When to use it:** to see what the rule of a filter does.
""",
    PPO_SEARCH,
    variant=True,
)
