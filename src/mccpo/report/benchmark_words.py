"""What a benchmark found, in sentences that follow from its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mccpo.report import numbers
from mccpo.report.benchmark_data import Board, Pair, Place
from mccpo.report.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

KINDS = {"learner": "learns", "tutor": "rule", "solver": "given the model", "outside": "outside agent"}
STATUS = {
    "crashed": "✗ crashed",
    "diverged": "✗ diverged",
    "timed out": "✗ timed out",
    "does not apply": "– does not apply",
}
"""A sign and a word for what is not done, so that colour is never needed to read it."""

GLOSSARY = {
    "Hypervolume": (
        "what a method's policies at all κ dominate of the plane of cost share (less is better) and return share (more "
        "is better), both relative to the unconstrained policy, as a share of that plane. The plane begins at the "
        "smallest κ: to spend less than any budget asks for counts for no more. Whether the budgets are met it does "
        "not say; the column beside it does."
    ),
    "κ": "the budgets, as a share of what the unconstrained policy spends.",
    "Return": "discounted reward of an episode, mean ± standard deviation over seeds.",
    "Share of optimum": "return over that of the best policy within the same budgets, by linear program.",
    "Met, τ = 0": "seeds whose every cost stays within its budget.",
    "Met, τ = 0.1": "seeds whose every cost stays within 110 % of its budget.",
    "J": "discounted sum of a cost over an episode: mean over seeds, and the worst seed.",
    "Unready steps": "share of steps that teach a concept the learner is not ready for.",
    "ΔK": "mastery gained in an episode, over all concepts.",
    "RHSI": "reward-hacking severity, 0 is none, 1 is as severe as without constraints.",
    "IQM": "interquartile mean of the hypervolume over all seeds and environments; the bootstrap is stratified.",
    "MC-CPO better": (
        "probability that a seed of MC-CPO has a larger hypervolume than a seed of this method, on an environment "
        "drawn at random; ½ is no difference."
    ),
    "Seconds": (
        "wall time of one seed at one κ: of training it; of a method that is given the model, of solving it; of a "
        "rule, of judging it."
    ),
}


def title(board: Board) -> str:
    """What was compared."""
    return f"{_count(len(board.methods), 'method')} on {_count(len(board.run), 'environment')}, under the same budgets"


def finding(board: Board) -> list[str]:
    """Up to four sentences: where MC-CPO is best, who is elsewhere, where nobody is, where MC-CPO misses a budget."""
    places = [place for place in board.run if place.pair(OUR_METHOD)]
    if not places:
        return [f"{method_label(OUR_METHOD)} took no part. {_leaders(board.run)}".strip()]
    won = [place for place in places if any(pair.method == OUR_METHOD for pair in place.best)]
    beaten = [_beaten(place) for place in places if place.best and place not in won]
    nobody: dict[str, list[str]] = {}
    for place in places:
        if not place.best:
            nobody.setdefault(_nobody(place), []).append(place.name)
    missed = [
        f"{place.name} ({_missed(pair)})" for place in places if (pair := place.pair(OUR_METHOD)) and not pair.safe
    ]
    return [
        _won(won, places, board.protocol["seeds"]),
        *([f"Another has it on {_listed(beaten)}."] if beaten else []),
        *(f"{told} on {_listed(names)}." for told, names in nobody.items()),
        *([f"{method_label(OUR_METHOD)} itself misses budgets on {_listed(missed)}."] if missed else []),
    ]


def verdict(place: Place) -> str:
    """Who is best on one environment, and how surely."""
    if not place.best:
        return f"{_nobody(place)}."
    best = place.best[0]
    told = "Of the methods that meet every budget in every seed, the largest hypervolume "
    told += f"is that of {_names(place.best)}{' alike' if len(place.best) > 1 else ''}: {_volume(best)}."
    second = next((pair for pair in place.ranked if pair.safe and pair not in place.best), None)
    if second is not None:
        apart = ", intervals overlap" if _overlap(best, second) else ""
        told += f" Next is {_names([second])}: {_volume(second)}{apart}."
    above = [pair for pair in place.ranked if not pair.safe and _mean(pair) > _mean(best)]
    if above:
        does = "dominates more, and misses" if len(above) == 1 else "dominate more, and miss"
        told += f" {_names(above)} {does} budgets."
    whole = max((pair for pair in place.ranked if pair.safe), key=lambda pair: pair.from_nothing)
    if whole not in place.best:
        told += (
            " Counted from no cost at all, so that it is a merit to spend less than any budget asks for, it would be "
        )
        told += f"{_names([whole])}: {numbers.number(whole.from_nothing)}."
    return told


def exactness(place: Place) -> str:
    """Whose values on a finite environment are exact, and whose are not."""
    sampled = [pair for pair in place.pairs if pair.sampled]
    here = f" (here {_names(sampled)})" if sampled else ""
    return (
        "Values are exact, but for those of outside agents and of rules that remember the episode so far"
        f"{here}: these are judged by episodes, as on environments that are not finite."
    )


def protocol(board: Board) -> list[tuple[str, str]]:
    """What was the same for all."""
    about = board.protocol
    search = "none"
    if about.get("search"):
        seeds, at = about.get("search_seeds"), about.get("search_kappa")
        search = f"up to 6 settings each, on {seeds} validation seeds at κ = {at}, apart from the test seeds"
    found = [
        ("suite", board.suite),
        ("κ", ", ".join(f"{kappa:g}" for kappa in board.kappas)),
        ("test seeds", f"{about['seeds']}"),
        ("steps a run", f"{about.get('steps_trained', about['steps']):,}"),
        ("search", search),
        (
            "judged by",
            f"{about['episodes']} fresh episodes a seed; where the environment is finite, by exact values, but for "
            "outside agents and rules that remember the episode so far",
        ),
    ]
    if about.get("limit"):
        found.append(("time limit", f"{about['limit']:g} s a method and environment"))
    if board.seconds:
        found.append(("all of it took", duration(board.seconds)))
    return found


def duration(seconds: float) -> str:
    """A length of time as one says it: `48 s`, `12 min`, `3.4 h`."""
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def status(pair: Pair) -> str:
    """What became of a method where not every seed is done; empty where every one is."""
    cell = pair.failed
    if cell is None:
        return ""
    some = f" in {cell.seeds - cell.done} of {cell.seeds} seeds" if 0 < cell.done < cell.seeds else ""
    return f"{STATUS.get(cell.status, cell.status)}{some}"


def _won(won: Sequence[Place], places: Sequence[Place], seeds: int) -> str:
    best = f"the best hypervolume among the methods that meet every budget in {seeds} of {seeds} seeds (τ = 0)"
    name = method_label(OUR_METHOD)
    if len(places) == 1:
        return f"{name} {'has' if won else 'does not have'} {best} on {places[0].name}."
    where = f": {_listed(place.name for place in won)}" if 0 < len(won) < len(places) else ""
    number = "all" if len(won) == len(places) else str(len(won) or "none")
    return f"{name} has {best} on {number} of the {len(places)} environments{where}."


def _beaten(place: Place) -> str:
    """Who is best on an environment instead of MC-CPO, by how much or why, and whether with the same knowledge."""
    ours = place.pair(OUR_METHOD)
    assert ours is not None
    best, name = place.best[0], method_label(OUR_METHOD)
    if not ours.safe:
        # Its hypervolume may well be the larger one: that is not why it is not best.
        why = "misses budgets" if _finished(ours) else "did not finish in every seed"
        return f"{place.name} ({_names(place.best)}, {_volume(best)}; {name}, {_volume(ours)}, {why})"
    told = [f"{_volume(best)} against {_volume(ours)}"]
    told += ["intervals overlap"] if _overlap(best, ours) else []
    first = next((pair for pair in place.ranked if pair.safe and pair.kind != "solver"), None)
    told += [f"{name} best of those that are not"] if first is ours else []
    return f"{place.name} ({', '.join([_names(place.best), *told])})"


def _missed(pair: Pair) -> str:
    """How often a method misses budgets, or that runs came to nothing."""
    if not _finished(pair):
        return "not every seed finished"
    missed = [
        f"{cell.seeds - cell.seeds_met} of {cell.seeds} seeds at κ = {cell.kappa:g}"
        for cell in pair.cells
        if not cell.met
    ]
    return ", ".join(missed)


def _finished(pair: Pair) -> bool:
    return all(cell.done == cell.seeds for cell in pair.cells)


def _nobody(place: Place) -> str:
    """Why nobody is best on an environment."""
    if any(pair.safe for pair in place.pairs):
        return "No method that meets every budget in every seed dominates anything"
    return "No method meets every budget in every seed"


def _leaders(places: Sequence[Place]) -> str:
    return " ".join(f"On {place.name} the best is {_names(place.best)}." for place in places if place.best)


def _overlap(one: Pair, other: Pair) -> bool:
    """Whether two hypervolumes cannot be told apart by their intervals."""
    if one.hypervolume is None or other.hypervolume is None or not one.hypervolume.ci or not other.hypervolume.ci:
        return False
    return one.hypervolume.ci[0] <= other.hypervolume.ci[1] and other.hypervolume.ci[0] <= one.hypervolume.ci[1]


def _volume(pair: Pair) -> str:
    return numbers.number(_mean(pair))


def _mean(pair: Pair) -> float:
    return pair.hypervolume.mean if pair.hypervolume else 0.0


def _names(pairs: Iterable[Pair]) -> str:
    """Names of methods; that one is given the model, which the others have to do without, belongs to it."""
    return _listed(
        f"{method_label(pair.method)}, given the model" if pair.kind == "solver" else method_label(pair.method)
        for pair in pairs
    )


def _listed(parts: Iterable[Any]) -> str:
    *most, last = [str(part) for part in parts]
    return f"{', '.join(most)} and {last}" if most else last


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
