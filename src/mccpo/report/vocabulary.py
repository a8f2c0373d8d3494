"""The words of the report: what each method, metric and verdict is called and means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mccpo.errors import InputError
from mccpo.evaluation import SHARES_OF_SEEDS
from mccpo.methods import METHODS, RuleEntry

_OUTSIDE = {"maskable-ppo": "MaskablePPO"}
"""Agents from elsewhere that published results name; every method of ours has its label in the registry."""


class _Metric(NamedTuple):
    """A metric as readers meet it.

    **Fields:**

    - `label`: its short name, or its symbol, for narrow tables.
    - `words`: what it is, for pages.
    - `meaning`: how it is worked out, for glossaries.
    """

    label: str
    words: str
    meaning: str


# In the order in which tables show them. A name that ends in `_` stands for one metric per cost.
_METRICS = {
    "return": _Metric("Return", "Engagement", "discounted engagement reward of an episode"),
    "learning": _Metric(
        "Learning",
        "Mastery gained, discounted",
        "discounted mastery that learners gain in an episode, in truth where it is known",
    ),
    "dK": _Metric(
        "ΔK",
        "Mastery gained",
        "mastery that learners gain in an episode, over all concepts, in truth where it is known",
    ),
    "mastered": _Metric(
        "Mastered",
        "Concepts mastered",
        "concepts that a learner has mastered, in truth where it is known, when an episode ends",
    ),
    "rhsi": _Metric(
        "RHSI",
        "Severity of reward hacking",
        "reward-hacking severity: return relative to the unconstrained policy's, times the root mean square of the "
        "constrained costs relative to that policy's; 0 is none, 1 is as severe as without constraints, and it may be "
        "more. Read it with ΔK and the concepts mastered: it falls as engagement falls, to 0 for a policy that neither "
        "engages nor teaches, and it depends on the unconstrained policies that it is relative to",
    ),
    "rhsi_ratio": _Metric(
        "RHSI ratio",
        "Engagement per unit of mastery gained",
        "engagement of an episode, undiscounted, per unit of mastery gained (plus 10⁻⁶). Read it with ΔK and the "
        "concepts mastered: it falls as engagement falls, and grows beyond all bounds as ΔK goes to 0",
    ),
    "rhsi_ratio_discounted": _Metric(
        "RHSI, raw",
        "Discounted engagement per unit of mastery gained",
        "return per unit of mastery gained (plus 10⁻⁶, so very large without gain); the same caution applies",
    ),
    "J_": _Metric("J", "Cost", "discounted sum of a cost over an episode, to be kept within its budget"),
    "pi_hack": _Metric(
        "π(hack)", "Chance of the hacking action", "probability of the action that engages without teaching"
    ),
    "violation_rate": _Metric(
        "Episodes with a cost",
        "Episodes with a cost",
        "share of episodes in which any constrained cost occurs at all, within its budget or not; the paper calls it "
        "violation rate. Costs of nearly every step make it 1 for every method",
    ),
    "prerequisite_violation_rate": _Metric(
        "Unready, by gate",
        "Lessons that were unready by the gate's estimate",
        "share of steps that teach a concept the learner is not ready for by the mastery that the gate goes by",
    ),
    "true_violation_rate": _Metric(
        "Unready, in truth",
        "Lessons that were unready in truth",
        "share of steps that teach a concept whose prerequisites the learner has not in truth mastered",
    ),
    "judged_violation_rate": _Metric(
        "Unready, by judges",
        "Lessons that were unready in truth, worst judge",
        "the same share with learners of other kinds, fitted to other people: that of the worst kind",
    ),
    "prerequisite_violations_training": _Metric(
        "Unready, in training", "Unready lessons during training", "training steps that taught an unready concept"
    ),
    "satisfaction": _Metric(
        "Met, τ = 0.1",
        "Seeds that meet all to within 10 %",
        "seeds that meet all budgets and floors to within 10 % of each",
    ),
    "satisfaction_strict": _Metric(
        "Met, τ = 0",
        "Seeds that meet all budgets and floors",
        "seeds whose costs all stay within their budgets and that reach all floors",
    ),
    "worst_member": _Metric(
        "Worst member",
        "By how much the worst model of learners misses",
        "where learners are drawn from several models: by how much the model that fares worst misses a budget or a "
        "floor, as a share of it; negative where every model meets all of them",
    ),
    "lambda_": _Metric("λ", "Price", "multiplier of a cost's budget: what one unit of that budget is worth in return"),
    "optimality": _Metric(
        "Share of optimum",
        "Share of the exact optimum",
        "exact return over that of the exact optimum under the same budgets",
    ),
    "excess": _Metric(
        "Excess", "Largest excess over a budget", "largest relative excess over a budget; negative is below"
    ),
    "return_share": _Metric(
        "Return, share",
        "Share of the unconstrained engagement",
        "return over that of the unconstrained policy of the same environment",
    ),
    "dK_share": _Metric(
        "ΔK, times",
        "Times the unconstrained mastery gained",
        "mastery gained over that with the unconstrained policy of the same environment",
    ),
    "kept": _Metric(
        "Kept", "Environments with all budgets met", "environments in which all budgets are met in every seed"
    ),
    "first": _Metric(
        "First",
        "Environments where it comes first",
        "environments in which it returns most of the methods that meet all budgets in every seed; ties count for each",
    ),
    "within": _Metric(
        "Near optimum",
        "Runs near the optimum",
        "runs with at least 98 % of the optimum's return and budgets met to within 1 %",
    ),
    "error_": _Metric(
        "Error of λ", "Error of the price", "relative distance of the learnt multiplier from the exact one"
    ),
    "time_to_unlock": _Metric(
        "Time to unlock",
        "Steps until a concept becomes ready",
        "step at which a concept first becomes ready, mean over concepts; the horizon where it never does",
    ),
    "restriction_rate": _Metric(
        "Restriction rate",
        "Share of actions that the gate withholds",
        "share of actions that the gate withholds, mean over steps",
    ),
    "training_steps": _Metric("Training steps", "Training steps", "steps of the environment that training takes"),
    "validation_steps": _Metric(
        "Validation steps", "Validation steps", "further steps of the environment that selecting a policy takes"
    ),
    "frontier_events": _Metric(
        "Frontier events",
        "Concepts that just became ready, per update",
        "steps per update at which a concept has just become ready",
    ),
}

_VARIANTS = {"_trained": "before the filter", "_last": "last iterate"}

# A shape each, so that colour is never needed to read them.
VERDICTS = {"agrees": "✓", "better": "▲", "differs": "✗", "cannot tell": "?"}

RATES = (
    "pi_hack",
    "violation_rate",
    "prerequisite_violation_rate",
    "true_violation_rate",
    "judged_violation_rate",
    "restriction_rate",
    *SHARES_OF_SEEDS,
)

HIGHER_IS_BETTER = (
    "return",
    "learning",
    "dK",
    "mastered",
    "satisfaction",
    "satisfaction_strict",
    "optimality",
    "within",
)


def method_label(method: str) -> str:
    """What a method is called in tables and legends; an unknown one keeps its name.

    One of a sweep has its weight in it: `Reward-shaped, w = 0.5` for `reward-shaped@0.5`, `Reward-shaped, + 2·ΔK` for
    `reward-shaped-gain@2`.
    """
    base, weight = split_weight(method)
    label = _label(base)
    if not weight:
        return label
    if weight_name(base) == "λ":
        return label.replace("λ", weight)
    return f"{label}, w\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{weight}"


def _label(method: str) -> str:
    """The label of a method's own entry; one that nobody registered keeps its name."""
    try:
        entry = METHODS.get(method)
    except InputError:  # its package is broken, or gone since
        entry = None
    return _OUTSIDE.get(method, method) if entry is None else entry.label


def is_rule(method: str) -> bool:
    """Whether a method follows a rule, as most tutors do today; an unknown one does not."""
    return method in METHODS.registered and isinstance(METHODS[method], RuleEntry)


def split_weight(method: str) -> tuple[str, str]:
    """Parts `reward-shaped@0.5`, one of a sweep, into the method and its weight; the second is empty for the rest."""
    base, _, weight = method.partition("@")
    return (base, weight) if base and weight else (method, "")


def weight_name(method: str) -> str:
    """What the weight of a method is called: λ where its label has it in the formula, else w."""
    return "λ" if "λ" in _label(method) else "w"


def metric_label(metric: str) -> str:
    """What a metric is called in tables and axes, such as `J(c4)` for `J_c4`; an unknown one keeps its name."""
    base, variant = split_variant(metric)
    stem, cost = _split_cost(base)
    if stem not in _METRICS:
        return metric
    label = _METRICS[stem].label
    label = f"{label}({cost})" if cost else label
    return f"{label}, {_VARIANTS[variant]}" if variant else label


def metric_words(metric: str, costs: Mapping[str, str] | None = None) -> tuple[str, str]:
    """A metric in words, and the symbol or short name beside them, empty where the words are enough.

    `costs` are the environment's words for its costs, as `cost_words` finds them.

    >>> metric_words("dK")
    ('Mastery gained', 'ΔK')
    >>> metric_words("J_c2", {"c2": "too little gain"})
    ('Cost of too little gain', 'J(c2)')
    """
    base, variant = split_variant(metric)
    stem, cost = _split_cost(base)
    if stem not in _METRICS:
        return metric, ""
    words, label = _METRICS[stem].words, metric_label(metric)
    if cost:
        described = (costs or {}).get(cost)
        words += (
            f" of {described}" if described else f" of {cost}" if cost.startswith("c") else f" of the floor on {cost}"
        )
    if variant:
        words += f", {_VARIANTS[variant]}"
    return words, "" if label == words else label


def cost_words(environment: str) -> dict[str, str]:
    """The words that an environment's description has for its costs.

    >>> cost_words("Teaching costs: c2 (too little gain) and c4 (engagement without gain) carry the budgets.")
    {'c2': 'too little gain', 'c4': 'engagement without gain'}
    """
    return dict(re.findall(r"\b(c\d?) \(([^()]+)\)", environment))


def meanings(metrics: Iterable[str]) -> list[tuple[str, str]]:
    """The label and the meaning of each known metric, one entry for all costs and all variants of it."""
    stems = dict.fromkeys(_split_cost(split_variant(metric)[0])[0] for metric in in_order(metrics))
    return [(_METRICS[stem].label, _METRICS[stem].meaning) for stem in stems if stem in _METRICS]


def in_order(metrics: Iterable[str]) -> list[str]:
    """The metrics in the order of the tables; unknown ones last, in the order given."""
    order = {stem: place for place, stem in enumerate(_METRICS)}

    def place(metric: str) -> tuple[int, str]:
        stem, cost = _split_cost(split_variant(metric)[0])
        return order.get(stem, len(order)), cost

    return sorted(dict.fromkeys(metrics), key=place)


def split_variant(metric: str) -> tuple[str, str]:
    """Parts `rhsi_trained` into `rhsi` and `_trained`; the second is empty for the plain metric."""
    for ending in _VARIANTS:
        if metric.endswith(ending) and metric != ending:
            return metric.removesuffix(ending), ending
    return metric, ""


def _split_cost(metric: str) -> tuple[str, str]:
    for stem in ("J_", "lambda_", "error_"):
        if metric.startswith(stem) and metric != stem:
            return stem, metric.removeprefix(stem)
    return metric, ""


def every_metric() -> dict[str, tuple[str, str]]:
    """The label and the meaning of every metric; a name that ends in `_` stands for one metric per cost."""
    return {name: (metric[0], metric[-1]) for name, metric in _METRICS.items()}
