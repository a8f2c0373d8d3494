"""What a benchmark found, in sentences that follow from its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mccpo.report import numbers
from mccpo.report.benchmark.ranking import CANNOT_TELL, WORDS, Comparison, compare_ours, not_told_apart_text
from mccpo.report.benchmark.views import EnvironmentView, Measure
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.report.benchmark.words import listed, names
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label


def finding(view: BenchmarkView) -> list[str]:
    """The first sentences: where MC-CPO is best, how it stands elsewhere and overall, whether it meets the budgets."""
    environments = [environment for environment in view.run if environment.pair(OUR_METHOD)]
    if not environments:
        return [f"{method_label(OUR_METHOD)} took no part. {_leaders(view.run)}".strip()]
    sentences = [_won(environments, view.protocol.seeds), _stands(environments), _overall(view), _budgets(environments)]
    nobody: dict[str, list[str]] = {}
    for environment in environments:
        if not environment.best:
            nobody.setdefault(_nobody(environment, short=True), []).append(environment.name)
    return [*(text for text in sentences if text), *(f"On {listed(where)}: {why}." for why, where in nobody.items())]


def verdict(environment: EnvironmentView, view: BenchmarkView) -> str:
    """Who is best on one environment, and how surely; and of how many, where not all were run there."""
    run, known = view.run_on(environment)
    return f"{run} of {known} methods were run here. {_best(environment)}" if run < known else _best(environment)


def _best(environment: EnvironmentView) -> str:
    if not environment.reachable:
        return f"{_nobody(environment)}."
    best = environment.reachable[0]
    text = f"{_unmet(environment)}. Of the methods that always meet the rest, " if environment.unmet else ""
    text = text or "Of the methods that meet every budget in every seed, "
    text += f"the largest hypervolume is that of {names(environment.reachable)}"
    apart = not_told_apart_text(environment.keeping)
    text += (
        f"{' alike' if len(environment.reachable) > 1 else ''}: {numbers.number(best.volume)}{apart and f', {apart}'}."
    )
    second = next((pair for pair in environment.keeping if pair not in environment.reachable), None)
    if second is not None:
        text += f" Next is {names([second])}: {numbers.number(second.volume)}."
    above = [pair for pair in environment.ranked if pair not in environment.keeping and pair.volume > best.volume]
    if above:
        does = "dominates more, and misses" if len(above) == 1 else "dominate more, and miss"
        text += f" {names(above)} {does} budgets{' that others meet' if environment.unmet else ''}."
    return f"{text}{_kept(environment)}"


def _kept(environment: EnvironmentView) -> str:
    """Who keeps the most of the return within the budgets of each κ; nothing where that is not known."""
    ranked = environment.ranked_by("kept")
    if not ranked or not (most := ranked[0].mean("kept")):
        return ""
    apart = not_told_apart_text(ranked, "kept")
    return f" Most of the return is kept within the budgets by {names(ranked[:1])}: {numbers.number(most)}" + (
        f", {apart}." if apart else "."
    )


def _won(environments: Sequence[EnvironmentView], seeds: int) -> str:
    won = [environment for environment in environments if any(pair.method == OUR_METHOD for pair in environment.best)]
    best = f"the best hypervolume among the methods that meet every budget in {seeds} of {seeds} seeds (τ = 0)"
    name = method_label(OUR_METHOD)
    apart = {environment.name: text for environment in won if (text := not_told_apart_text(environment.keeping))}
    named = [f"{environment.name}{_bracketed(apart.get(environment.name, ''))}" for environment in won]
    if len(environments) == 1:
        return f"{name} {'has' if won else 'does not have'} {best} on {named[0] if won else environments[0].name}."
    where = f": {listed(named)}" if won and (apart or len(won) < len(environments)) else ""
    number = "all" if len(won) == len(environments) else str(len(won) or "none")
    return f"{name} has {best} on {number} of the {len(environments)} environments{where}."


def _stands(environments: Sequence[EnvironmentView]) -> str:
    """On which environments it is ahead of the best other method, level with it, or behind it, and where who knows."""
    comparisons = {
        environment.name: comparison
        for environment in environments
        if (comparison := compare_ours(environment)) and comparison.other
    }
    if not comparisons:
        return ""
    if len(environments) == 1:
        return _stands_there(*comparisons.values())
    words = {
        word: f"{word} on {_where(word, comparisons)}"
        for word in WORDS
        if any(comparison.word == word for comparison in comparisons.values())
    }
    open_ones = f"the seeds {words.pop(CANNOT_TELL)}" if CANNOT_TELL in words else ""
    told = f"it is {listed(words.values())}" if words else ""
    sides = "; ".join(part for part in (told, open_ones) if part)
    return f"Beside the best other method of each, whether that meets its budgets or not, {sides}."


def _stands_there(comparison: Comparison) -> str:
    """The same of the one environment there is."""
    assert comparison.other is not None  # without another it would stand nowhere
    best = f"{names([comparison.other])} ({numbers.number(comparison.other.volume)}), the best other method"
    told = f"the seeds {CANNOT_TELL} where it is" if comparison.word == CANNOT_TELL else f"it is {comparison.word}"
    ours = f"{told} ({numbers.number(comparison.ours.volume)})"
    return f"Beside {best}, whether that meets its budgets or not, {ours}."


def _where(word: str, comparisons: Mapping[str, Comparison]) -> str:
    """How many environments, and which; that a method before it knows what MC-CPO has to find out is said."""
    here = [(name, comparison) for name, comparison in comparisons.items() if comparison.word == word]
    given = [
        name for name, comparison in here if word == "behind" and comparison.other and comparison.other.kind == "solver"
    ]
    plain = ", ".join(name for name, _ in here if name not in given)
    parts = [plain] if plain else []
    parts += [f"to a method that is given the model on {listed(given)}"] if given else []
    return f"{len(here)} ({'; '.join(parts)})"


def _overall(view: BenchmarkView) -> str:
    """Its place over all environments; nothing where there is but one, or nobody beside it."""
    ranked, name = view.complete, method_label(OUR_METHOD)
    if len(view.run) < 2:
        return ""
    if OUR_METHOD not in ranked:
        return f"{name} lacks a result on some environment, and has no place over all of them."
    if len(ranked) < 2:
        return ""
    those = f"the {len(ranked)} methods that have a result on every environment"
    text = f"Over all environments its interquartile mean of hypervolume is {_ranked(view, 'hypervolume', those)}."
    if view.over(OUR_METHOD, "kept"):
        text += f" That of what it keeps within budgets is {_ranked(view, 'kept', 'these')}."
    return text


def _ranked(view: BenchmarkView, measure: Measure, those: str) -> str:
    """Its interquartile mean of a score, and its place; it is not told apart where intervals overlap."""
    ranked = view.ranked_by(measure)
    rank = ranked.index(OUR_METHOD)
    other = ranked[0 if rank else 1]
    ours, theirs = (view.over(method, measure) for method in (OUR_METHOD, other))
    assert ours is not None and theirs is not None  # noqa: PT018 - who is ranked has a score
    name, value = method_label(other), f"{theirs.iqm:.3f}"
    name += ", given the model" if view.methods[other].kind == "solver" else ""
    word = "first" if rank else "next"
    if not (ours.ci and theirs.ci) or (ours.ci[0] <= theirs.ci[1] and theirs.ci[0] <= ours.ci[1]):
        return f"{ours.iqm:.3f}, not told apart from {name} ({value}), the {word} of {those}"
    return f"{ours.iqm:.3f}, {_ordinal(rank + 1)} of {those}; {word} is {name}, {value}"


def _budgets(environments: Sequence[EnvironmentView]) -> str:
    """In how many runs it meets the budgets, and where it misses some."""
    pairs = {
        environment.name: pair
        for environment in environments
        if (pair := environment.pair(OUR_METHOD)) and pair.applies
    }
    if not pairs:
        return ""
    met, runs = sum(pair.seeds_met for pair in pairs.values()), sum(pair.seeds for pair in pairs.values())
    missing = [f"{name} ({pair.seeds_met}/{pair.seeds})" for name, pair in pairs.items() if not pair.safe]
    if not missing:
        return f"It meets every budget in all {runs} runs, of a seed at a κ each."
    return f"It meets every budget in {met} of {runs} runs, of a seed at a κ each; it misses some on {listed(missing)}."


def _nobody(environment: EnvironmentView, *, short: bool = False) -> str:
    """Why nobody is best on an environment, and in short who would be but for what nobody met."""
    if environment.unmet:
        if short and environment.reachable:
            best = f"{names(environment.reachable)} {'are' if len(environment.reachable) > 1 else 'is'} best"
            best += _bracketed(not_told_apart_text(environment.keeping))
            return f"{_lower(_unmet(environment))}; of those that always meet the rest, {best}"
        others = len(environment.unmet) < len(environment.budgets)
        text = (
            f"{_unmet(environment)}{', and no method that dominates anything always meets the rest' if others else ''}"
        )
    elif any(pair.safe for pair in environment.pairs):
        text = "No method that meets every budget in every seed dominates anything"
    else:
        text = "No method meets every budget in every seed"
    return _lower(text) if short else text


def _unmet(environment: EnvironmentView) -> str:
    levels = listed(f"{kappa:g}" for kappa in environment.unmet)
    return f"Nobody met κ = {levels} in any of {'its' if len(environment.unmet) == 1 else 'their'} seeds"


def _leaders(environments: Sequence[EnvironmentView]) -> str:
    leaders = {
        environment.name: f"{names(environment.best)}{_bracketed(not_told_apart_text(environment.keeping))}"
        for environment in environments
        if environment.best
    }
    return " ".join(f"On {name} the best is {best}." for name, best in leaders.items())


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def _ordinal(number: int) -> str:
    tail = "th" if 10 <= number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{tail}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
