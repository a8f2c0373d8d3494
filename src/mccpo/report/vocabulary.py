"""The words of the report: what each method, metric and verdict is called and means."""

from __future__ import annotations

from collections.abc import Iterable

from mccpo.errors import InputError
from mccpo.methods import METHODS, RuleEntry

_OUTSIDE = {"maskable-ppo": "MaskablePPO"}
"""Agents from elsewhere that published results name; every method of ours has its label in the registry."""

# Name, what it is called, what it means; in the order in which tables show them. A name that ends in `_` stands for one
# metric per cost.
_METRICS = {
    "return": ("Return", "discounted engagement reward of an episode"),
    "learning": ("Learning", "discounted mastery that learners gain in an episode, in truth where it is known"),
    "dK": ("ΔK", "mastery that learners gain in an episode, over all concepts, in truth where it is known"),
    "mastered": ("Mastered", "concepts that a learner has mastered, in truth where it is known, when an episode ends"),
    "rhsi": (
        "RHSI",
        "reward-hacking severity: return relative to the unconstrained policy's, times the root mean square of the "
        "constrained costs relative to that policy's; 0 is none, 1 is as severe as without constraints",
    ),
    "rhsi_ratio": ("RHSI ratio", "engagement of an episode, undiscounted, per unit of mastery gained"),
    "rhsi_ratio_discounted": ("RHSI, raw", "return per unit of mastery gained (plus 10⁻⁶, so very large without gain)"),
    "J_": ("J", "discounted sum of a cost over an episode, to be kept within its budget"),
    "pi_hack": ("π(hack)", "probability of the action that engages without teaching"),
    "violation_rate": ("Violation rate", "share of episodes with any constrained cost"),
    "prerequisite_violation_rate": (
        "Unready, by gate",
        "share of steps that teach a concept the learner is not ready for by the mastery that the gate goes by",
    ),
    "true_violation_rate": (
        "Unready, in truth",
        "share of steps that teach a concept whose prerequisites the learner has not in truth mastered",
    ),
    "prerequisite_violations_training": ("Unready, in training", "training steps that taught an unready concept"),
    "satisfaction": ("Met, τ = 0.1", "seeds that meet all budgets and floors to within 10 % of each"),
    "satisfaction_strict": ("Met, τ = 0", "seeds whose costs all stay within their budgets and that reach all floors"),
    "lambda_": ("λ", "multiplier of a cost's budget: what one unit of that budget is worth in return"),
    "optimality": ("Share of optimum", "exact return over that of the exact optimum under the same budgets"),
    "excess": ("Excess", "largest relative excess over a budget; negative is below"),
    "within": ("Near optimum", "runs with at least 98 % of the optimum's return and budgets met to within 1 %"),
    "error_": ("Error of λ", "relative distance of the learnt multiplier from the exact one"),
    "time_to_unlock": (
        "Time to unlock",
        "step at which a concept first becomes ready, mean over concepts; the horizon where it never does",
    ),
    "restriction_rate": ("Restriction rate", "share of actions that the gate withholds, mean over steps"),
    "frontier_events": ("Frontier events", "steps per update at which a concept has just become ready"),
}

_VARIANTS = {"_trained": "before the filter", "_last": "last iterate"}

VERDICTS = {"agrees": "✓", "better": "▲", "differs": "✗"}  # a shape each, so that colour is never needed to read them

SHARES_OF_SEEDS = ("satisfaction", "satisfaction_strict", "within")
RATES = (
    "pi_hack",
    "violation_rate",
    "prerequisite_violation_rate",
    "true_violation_rate",
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
    label = _METRICS[stem][0]
    label = f"{label}({cost})" if cost else label
    return f"{label}, {_VARIANTS[variant]}" if variant else label


def meanings(metrics: Iterable[str]) -> list[tuple[str, str]]:
    """The label and the meaning of each known metric, one entry for all costs and all variants of it."""
    stems = dict.fromkeys(_split_cost(split_variant(metric)[0])[0] for metric in in_order(metrics))
    return [_METRICS[stem] for stem in stems if stem in _METRICS]


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
