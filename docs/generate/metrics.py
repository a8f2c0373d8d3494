"""The page of metrics: how each is defined, and what tables, JSON and reports call it."""

from __future__ import annotations

from mccpo.report.vocabulary import every_metric

_INTRO = """# Metrics

What the numbers of tables, `results.json` and reports mean. JSON has the name, tables and reports have the label.

## Definitions

Every metric is a mean over episodes, then over seeds. γ is the discount and T the horizon of the environment.

| symbol | definition |
|---|---|
| J | the return: E Σ γᵗ r_t, where r_t is the engagement of step t |
| J_ci | a cost: E Σ γᵗ c_i,t. Its budget is d_i |
| K | the mastery of a concept, from 0 to 1 |
| ΔK | what learners gain in an episode: E Σ ΔK_t, over all concepts, without discount |
| G | learning: E Σ γᵗ ΔK_t |
| κ | the budgets as a share: d_i is κ times what the unconstrained policy costs |
| τ | the tolerance: a budget is met where J_ci ≤ (1 + τ)·d_i |
| RHSI | (J/J^U)·√(mean of (J_ci/J_ci^U)² over the constrained costs). U is the unconstrained policy |
| RHSI ratio | engagement without discount, divided by ΔK + 10⁻⁶ |
| RHSI, raw | J divided by ΔK + 10⁻⁶ |

- **In truth** means by what the environment knows of its learners. **By the gate** means by the tutor's estimate.
- On finite environments every value is exact. Elsewhere it is a mean over fresh episodes.
- Where a budget is 0, it is met if the cost stays below a thousandth of the most that an episode can cost.
- RHSI falls with engagement, and is 0 for a policy that engages nobody. Read it with ΔK. See
  [what RHSI hides](../statistics.md#rhsi-and-what-it-hides).

[Statistics](../statistics.md) says what intervals and verdicts mean. [The benchmark](benchmark.md) defines
hypervolume, `kept` and `beyond_rules`.

## All metrics

A name that ends in `_ci` is one metric for each cost. The endings `_trained` (before the filter) and `_last` (the last
iterate) mark variants.
"""


def page() -> str:
    """The definitions, and an entry for each metric."""
    entries = [
        f"- `{name}ci`, {label}: {meaning}." if name.endswith("_") else f"- `{name}`, {label}: {meaning}."
        for name, (label, meaning) in every_metric().items()
    ]
    return f"{_INTRO}\n" + "\n".join(entries) + "\n"
