"""What a benchmark found, in sentences that follow from its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mccpo.report import numbers
from mccpo.report.benchmark.data import Board, Measure, Place
from mccpo.report.benchmark.ranking import WORDS, Standing, level_text, standing
from mccpo.report.benchmark.words import listed, names
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label


def finding(board: Board) -> list[str]:
    """The first sentences: where MC-CPO is best, how it stands elsewhere and overall, whether it meets the budgets."""
    places = [place for place in board.run if place.pair(OUR_METHOD)]
    if not places:
        return [f"{method_label(OUR_METHOD)} took no part. {_leaders(board.run)}".strip()]
    told = [_won(places, board.protocol["seeds"]), _stands(places), _overall(board), _budgets(places)]
    nobody: dict[str, list[str]] = {}
    for place in places:
        if not place.best:
            nobody.setdefault(_nobody(place, short=True), []).append(place.name)
    return [*(text for text in told if text), *(f"On {listed(where)}: {why}." for why, where in nobody.items())]


def verdict(place: Place, board: Board) -> str:
    """Who is best on one environment, and how surely; and of how many, where not all were run there."""
    run, known = board.run_on(place)
    return f"{run} of {known} methods were run here. {_best(place)}" if run < known else _best(place)


def _best(place: Place) -> str:
    if not place.reachable:
        return f"{_nobody(place)}."
    best = place.reachable[0]
    told = f"{_unmet(place)}. Of the methods that always meet the rest, " if place.unmet else ""
    told = told or "Of the methods that meet every budget in every seed, "
    told += f"the largest hypervolume is that of {names(place.reachable)}"
    level = level_text(place.keeping)
    told += f"{' alike' if len(place.reachable) > 1 else ''}: {numbers.number(best.volume)}{level and f', {level}'}."
    second = next((pair for pair in place.keeping if pair not in place.reachable), None)
    if second is not None:
        told += f" Next is {names([second])}: {numbers.number(second.volume)}."
    above = [pair for pair in place.ranked if pair not in place.keeping and pair.volume > best.volume]
    if above:
        does = "dominates more, and misses" if len(above) == 1 else "dominate more, and miss"
        told += f" {names(above)} {does} budgets{' that others meet' if place.unmet else ''}."
    whole = max(place.keeping, key=lambda pair: pair.from_nothing)
    if whole not in place.reachable:
        told += (
            " Counted from no cost at all, so that it is a merit to spend less than any budget asks for, it would be "
            f"{names([whole])}: {numbers.number(whole.from_nothing)}."
        )
    return f"{told}{_kept(place)}"


def _kept(place: Place) -> str:
    """Who keeps the most of the return within the budgets of each κ; nothing where that is not known."""
    ranked = place.ranked_by("kept")
    if not ranked or not (most := ranked[0].mean("kept")):
        return ""
    level = level_text(ranked, "kept")
    return f" Most of the return is kept within the budgets by {names(ranked[:1])}: {numbers.number(most)}" + (
        f", {level}." if level else "."
    )


def _won(places: Sequence[Place], seeds: int) -> str:
    won = [place for place in places if any(pair.method == OUR_METHOD for pair in place.best)]
    best = f"the best hypervolume among the methods that meet every budget in {seeds} of {seeds} seeds (τ = 0)"
    name = method_label(OUR_METHOD)
    level = {place.name: told for place in won if (told := level_text(place.keeping))}
    named = [f"{place.name}{_bracketed(level.get(place.name, ''))}" for place in won]
    if len(places) == 1:
        return f"{name} {'has' if won else 'does not have'} {best} on {named[0] if won else places[0].name}."
    where = f": {listed(named)}" if won and (level or len(won) < len(places)) else ""
    number = "all" if len(won) == len(places) else str(len(won) or "none")
    return f"{name} has {best} on {number} of the {len(places)} environments{where}."


def _stands(places: Sequence[Place]) -> str:
    """On which environments it is ahead of the best other method, level with it, or behind it."""
    found = {place.name: one for place in places if (one := standing(place)) and one.word and one.other}
    told = [f"{word} on {_where(word, found)}" for word in WORDS if any(one.word == word for one in found.values())]
    if not told:
        return ""
    if len(places) == 1:
        return _stands_there(*found.values())
    return f"Beside the best other method of each, whether that meets its budgets or not, it is {listed(told)}."


def _stands_there(found: Standing) -> str:
    """The same of the one environment there is."""
    assert found.other is not None  # without another it would stand nowhere
    told = f"{names([found.other])} ({numbers.number(found.other.volume)}), the best other method, whether that meets"
    return f"Beside {told} its budgets or not, it is {found.word} ({numbers.number(found.ours.volume)})."


def _where(word: str, found: Mapping[str, Standing]) -> str:
    """How many environments, and which; that a method before it knows what MC-CPO has to find out is said."""
    here = [(name, one) for name, one in found.items() if one.word == word]
    given = [name for name, one in here if word == "behind" and one.other and one.other.kind == "solver"]
    plain = ", ".join(name for name, _ in here if name not in given)
    told = [plain] if plain else []
    told += [f"to a method that is given the model on {listed(given)}"] if given else []
    return f"{len(here)} ({'; '.join(told)})"


def _overall(board: Board) -> str:
    """Its place over all environments; nothing where there is but one, or nobody beside it."""
    ranked, name = board.complete, method_label(OUR_METHOD)
    if len(board.run) < 2:
        return ""
    if OUR_METHOD not in ranked:
        return f"{name} lacks a result on some environment, and has no place over all of them."
    if len(ranked) < 2:
        return ""
    those = f"the {len(ranked)} methods that have a result on every environment"
    told = f"Over all environments its interquartile mean of hypervolume is {_ranked(board, 'hypervolume', those)}."
    if board.over(OUR_METHOD, "kept"):
        told += f" That of what it keeps within budgets is {_ranked(board, 'kept', 'these')}."
    return told


def _ranked(board: Board, measure: Measure, those: str) -> str:
    """Its interquartile mean of a score, and its place; that is no more than level where intervals overlap."""
    ranked = board.ranked_by(measure)
    rank = ranked.index(OUR_METHOD)
    other = ranked[0 if rank else 1]
    ours, theirs = (board.over(method, measure) for method in (OUR_METHOD, other))
    name, value = method_label(other), f"{theirs['iqm']:.3f}"
    name += ", given the model" if board.methods[other]["kind"] == "solver" else ""
    word = "first" if rank else "next"
    if ours["ci"][0] <= theirs["ci"][1] and theirs["ci"][0] <= ours["ci"][1]:
        return f"{ours['iqm']:.3f}, level with {name} ({value}), the {word} of {those}"
    return f"{ours['iqm']:.3f}, {_ordinal(rank + 1)} of {those}; {word} is {name}, {value}"


def _budgets(places: Sequence[Place]) -> str:
    """In how many runs it meets the budgets, and where it misses some."""
    pairs = {place.name: pair for place in places if (pair := place.pair(OUR_METHOD)) and pair.applies}
    if not pairs:
        return ""
    met, runs = sum(pair.seeds_met for pair in pairs.values()), sum(pair.seeds for pair in pairs.values())
    missing = [f"{name} ({pair.seeds_met}/{pair.seeds})" for name, pair in pairs.items() if not pair.safe]
    if not missing:
        return f"It meets every budget in all {runs} runs, of a seed at a κ each."
    return f"It meets every budget in {met} of {runs} runs, of a seed at a κ each; it misses some on {listed(missing)}."


def _nobody(place: Place, *, short: bool = False) -> str:
    """Why nobody is best on an environment, and in short who would be but for what nobody met."""
    if place.unmet:
        if short and place.reachable:
            best = f"{names(place.reachable)} {'are' if len(place.reachable) > 1 else 'is'} best"
            best += _bracketed(level_text(place.keeping))
            return f"{_lower(_unmet(place))}; of those that always meet the rest, {best}"
        others = len(place.unmet) < len(place.budgets)
        told = f"{_unmet(place)}{', and no method that dominates anything always meets the rest' if others else ''}"
    elif any(pair.safe for pair in place.pairs):
        told = "No method that meets every budget in every seed dominates anything"
    else:
        told = "No method meets every budget in every seed"
    return _lower(told) if short else told


def _unmet(place: Place) -> str:
    levels = listed(f"{kappa:g}" for kappa in place.unmet)
    return f"Nobody met κ = {levels} in any of {'its' if len(place.unmet) == 1 else 'their'} seeds"


def _leaders(places: Sequence[Place]) -> str:
    told = {place.name: f"{names(place.best)}{_bracketed(level_text(place.keeping))}" for place in places if place.best}
    return " ".join(f"On {name} the best is {best}." for name, best in told.items())


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def _ordinal(number: int) -> str:
    tail = "th" if 10 <= number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{tail}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
