"""What a table found, in one sentence computed from its numbers."""

from __future__ import annotations

from collections import Counter

from mccpo.report import numbers
from mccpo.report.vocabulary import VERDICTS, is_rule, method_label
from mccpo.runs.results import Results, Setting

OUR_METHOD = "mc-cpo"
ANCHOR = "unconstrained"
_WHOLE = 1.0 - 1e-6  # the share of the optimum from which on the rest is rounding
_CLEARLY = 1.01  # times the unconstrained return: from here on, chance does not explain that another returns more


def finding(results: Results) -> str:
    """One sentence: the results' own, or what MC-CPO (else the last that learns) reached against optimum, budgets."""
    if results.finding:
        return results.finding
    run = tuple(setting for setting in results.settings if setting.rows)
    if not run:
        return "No policy meets these budgets, so none was trained."
    return _one(run[0]) if len(run) == 1 else _several(run)


def tally(settings: tuple[Setting, ...]) -> str:
    """How many of the paper's numbers we agree with, beat, and do not meet; empty without verdicts."""
    kinds = Counter(
        verdict.kind for setting in settings for cells in setting.verdicts.values() for verdict in cells.values()
    )
    if not kinds:
        return ""
    parts = [f"{VERDICTS[kind]} {kind} {kinds[kind]}" for kind in VERDICTS if kinds[kind]]
    return f"Beside the paper's {kinds.total()} numbers: {', '.join(parts)}."


def _one(setting: Setting) -> str:
    method = _main_method(setting)
    row = setting.rows[method]
    if "return" not in row:
        return f"{method_label(method)} was measured on {len(row)} metrics."
    returned = row["return"]
    clauses = [f"{method_label(method)} returns {numbers.with_spread(returned.mean, returned.shown_std)}"]
    optimum = setting.optimum.get("return")
    if optimum is not None:
        clauses.append(_against(returned.mean, optimum, setting))
    met = _met(setting, method)
    text = ", ".join(clauses)
    if met is not None:
        text += f"{',' if len(clauses) > 1 else ''} and meets {_budgets(setting)} in {met[0]} of {met[1]} seeds{met[2]}"
    return f"{text}{_other(setting, method)}.{_teaching(setting, method)}{_low_anchor(setting)}"


def _several(settings: tuple[Setting, ...]) -> str:
    method = _main_method(settings[0])
    measured = [(setting, setting.rows.get(method, {}).get("return")) for setting in settings]
    known = [(setting, value) for setting, value in measured if value is not None]
    returns = ", ".join(f"{numbers.number(value.mean)} at {setting.name}" for setting, value in known)
    text = f"{method_label(method)} returns {returns}" if returns else f"{method_label(method)} was measured"
    ratios = [
        value.mean / setting.optimum["return"] for setting, value in known if setting.optimum.get("return", 0) > 0
    ]
    if ratios:
        least = min(ratios)
        reached = "the whole" if least >= _WHOLE else f"at least {numbers.share(least)}"
        text += f", {reached} of the exact optimum{_more(max(ratios), settings[0], 'up to ')}"
    met = [outcome for setting in settings if (outcome := _met(setting, method)) is not None]
    if met:
        total = sum(count for count, _, _ in met), sum(seeds for _, seeds, _ in met)
        text += f", and meets {_budgets(settings[0])} in {total[0]} of {total[1]} runs{met[0][2]}"
    return f"{text}."


def _main_method(setting: Setting) -> str:
    """MC-CPO, else the last method that learns from more than engagement, else the last."""
    if OUR_METHOD in setting.rows:
        return OUR_METHOD
    named = list(setting.rows)
    return next((name for name in reversed(named) if name != ANCHOR and not is_rule(name)), named[-1])


def _against(mean: float, optimum: float, setting: Setting) -> str:
    if optimum <= 0.0:  # a share of nothing, or of a loss, says nothing
        return f"where the exact optimum is {numbers.short(optimum)}"
    share = "the whole" if mean / optimum >= _WHOLE else numbers.share(mean / optimum)
    return f"{share} of the exact optimum {numbers.short(optimum)}{_more(mean / optimum, setting)}"


def _more(ratio: float, setting: Setting, most: str = "") -> str:
    """What there is beyond the optimum: a policy that keeps to its budgets has none."""
    beyond = numbers.share(ratio - 1.0) if setting.budgets or setting.floors else "0 %"
    if ratio <= 1.0 or beyond == "0 %":
        return ""
    if not setting.budgets:
        return f" ({most}{beyond} more, from missing {'a' if len(setting.floors) > 1 else 'its'} floor)"
    over = "a budget" if len(setting.budgets) > 1 else "its budget"
    return f" ({most}{beyond} more, from exceeding {over})"


def _met(setting: Setting, method: str) -> tuple[int, int, str] | None:
    row = setting.rows.get(method, {})
    for metric, remark in (("satisfaction_strict", ""), ("satisfaction", " (within 10 %)")):
        if metric in row and numbers.of_seeds(row[metric].per_seed) is not None:
            return round(sum(row[metric].per_seed)), len(row[metric].per_seed), remark
    return None


def _budgets(setting: Setting) -> str:
    kinds = (("budget", len(setting.budgets)), ("floor", len(setting.floors)))
    named = [f"all {count} {kind}s" if count > 1 else f"its {kind}" for kind, count in kinds if count]
    return " and ".join(named) or "its budget"


def _teaching(setting: Setting, method: str) -> str:
    """What learners gain, against the tutor that only pleases and against what tutors do today; empty if unknown."""
    free = setting.rows.get(ANCHOR, {})
    row = setting.rows[method]
    if method == ANCHOR or not {"dK", "return"} <= set(free) or "dK" not in row or not free["return"].mean > 0:
        return ""
    ours, theirs = row["dK"].mean, free["dK"].mean
    kept = numbers.share(row["return"].mean / free["return"].mean)
    against = f"at {kept} of the unconstrained tutor's engagement"
    if theirs > 0:
        against = f"{ours / theirs:.2g} times what the unconstrained tutor teaches, at {kept} of its engagement"
    mastered = f" They end with {row['mastered'].mean:.3g} concepts mastered." if "mastered" in row else ""
    text = f" Learners gain {ours:.3g} (ΔK), {against}.{mastered}"
    rules = {name: cells for name, cells in setting.rows.items() if is_rule(name) and {"dK", "return"} <= set(cells)}
    beside = ", ".join(
        f"{method_label(name)} {cells['dK'].mean:.3g} at {numbers.share(cells['return'].mean / free['return'].mean)}"
        for name, cells in rules.items()
    )
    return f"{text} Rules, by ΔK and engagement: {beside}." if beside else text


def _low_anchor(setting: Setting) -> str:
    """A warning where others return more than the policy that is trained for return alone; else empty.

    Shares κ, and floors on engagement, then refer to a policy that training has not brought to its best.
    """
    anchor = setting.rows.get(ANCHOR, {}).get("return")
    returns = {name: cells["return"].mean for name, cells in setting.rows.items() if "return" in cells}
    if anchor is None or anchor.mean <= 0.0 or setting.optimum:  # exact anchors are the best there is
        return ""
    best = max(returns, key=lambda name: returns[name])
    if returns[best] <= _CLEARLY * anchor.mean:
        return ""
    return (
        f" {method_label(best)} returns more than the unconstrained policy ({numbers.number(returns[best])} against"
        f" {numbers.number(anchor.mean)}), which was therefore not trained to its best: shares of what it costs or"
        " returns are shares of too little. Train for longer, or give amounts (--budget, --floor learning=abs:…)."
    )


def _other(setting: Setting, method: str) -> str:
    """What filtering afterwards gives instead, which is the comparison the method is about."""
    other = setting.rows.get("post-hoc", {}).get("return")
    if other is None or method == "post-hoc":
        return ""
    met = _met(setting, "post-hoc")
    held = "" if met is None else f" and meets {_budgets(setting)} in {met[0] or 'none'}"
    return f"; filtering the unconstrained policy afterwards returns {numbers.number(other.mean)}{held}"
