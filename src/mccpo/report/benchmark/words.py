"""The words of a benchmark's report: its title, its protocol, what its columns mean, names of methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mccpo.report.benchmark.views import EnvironmentView, Pair
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.report.vocabulary import method_label

KINDS = {"learner": "learns", "tutor": "rule", "solver": "given the model", "outside": "outside agent"}
STATUS = {
    "crashed": "✗ crashed",
    "diverged": "✗ diverged",
    "timed out": "✗ timed out",
    "does not apply": "– does not apply",
}
"""A sign and a word for what is not done, so that colour is never needed to read it."""

_UNMIXED = (
    "what a method's policies at all κ dominate of the plane of cost share (less is better) and return share (more is "
    "better), both relative to the unconstrained policy, as a share of that plane, which begins at the smallest κ. "
    "These are of an earlier version, which did not count mixtures: a policy that spends less than its κ asks for "
    "dominates at smaller costs too. It does not say whether the budgets are met."
)
GLOSSARY = {
    "Hypervolume": (
        "what a method's policies at all κ dominate of the plane of cost share (less is better) and return share (more "
        "is better), both relative to the unconstrained policy, as a share of that plane. Mixtures count: whoever "
        "draws between two policies at the start of an episode reaches the line between them, and the unconstrained "
        "policy is one that may be drawn. So spending less than is allowed, for as much less return as a mixture "
        "would give, does not pay. The plane begins at the smallest κ. It does not say whether the budgets are met."
    ),
    "Kept": (
        "the share of the unconstrained return that a seed's policy for each κ returns, mean over κ, where one that "
        "misses a budget or a floor (τ = 0) or failed counts 0: no policies keep more than the optima within the same "
        "budgets."
    ),
    "κ": "the budgets, as a share of what the unconstrained policy spends.",
    "Return": "discounted reward of an episode, mean ± standard deviation over seeds.",
    "Share of optimum": (
        "return over that of the best policy within the same budgets, by linear program; only where every seed meets "
        "the budgets, since beyond them there is more to be had."
    ),
    "Met, τ = 0": "seeds that keep within every budget and reach every floor.",
    "Met, τ = 0.1": "seeds whose every cost stays within 110 % of its budget.",
    "Cost": "J: discounted sum of a cost over an episode: mean over seeds, and the worst seed.",
    "Unready lessons": (
        "share of steps that teach a concept the learner is not ready for: by the estimate that the gate goes by, and "
        "by what the learner has in truth mastered."
    ),
    "Mastery gained": (
        "ΔK: mastery gained in an episode, over all concepts, by the learner and not only by an estimate; mean over κ."
    ),
    "Mastered": "concepts that the learner has mastered at the end of an episode; mean over κ.",
    "Beyond rules": (
        "what a method returns beyond the best mixture of simple tutors that teaches as much (ΔK), as a share of the "
        "unconstrained return, mean over κ. The simple tutors are the unconstrained one and every rule of this "
        "benchmark; a mixture draws one of them for each learner. Below 0, a mixture returns more and teaches at least "
        "as much; mixtures are not held to the budgets. A policy that teaches more than all of them does not count."
    ),
    "Reward hacking": (
        "RHSI, its severity: 0 is none, 1 is as severe as without constraints, and it may be more. It falls as "
        "engagement falls, whether anything is taught or not, and depends on the unconstrained policies that it is "
        "relative to: read it with ΔK and the concepts mastered."
    ),
    "IQM": (
        "interquartile mean over seeds and environments of the hypervolume, or of what is kept, each divided by the "
        "largest mean that any method has on that environment: else the quartiles that it leaves out would be the easy "
        "and the hard environments. The bootstrap is stratified, draws the same seeds of all methods, and finds that "
        "largest mean anew every time; the interval is Student's. Methods are ranked only where they have a result on "
        "every environment."
    ),
    "Ahead, level, behind, cannot tell": (
        "MC-CPO's mean hypervolume against that of the best other method, whether that meets its budgets or not, by "
        "the 95 % interval of the difference: seed by seed, and for all other methods at once, since nobody knows "
        "which of them is best. Level: within 0.01 of it. Ahead or behind: the interval leaves out 0. Cannot tell: "
        "all else."
    ),
    "Not told apart": (
        "of a best method, those that may be the best in its place: with 95 % confidence it is one of them, by paired "
        "tests that count how many were compared. Of interquartile means, where the 95 % intervals overlap."
    ),
    "MC-CPO better": (
        "probability that a seed of MC-CPO has a larger hypervolume than a seed of this method, on an environment "
        "drawn at random; ½ is no difference."
    ),
    "Seconds": (
        "wall time of one seed at one κ: of training it; of a method that is given the model, of solving it; of a "
        "rule, of judging it."
    ),
}


def title(view: BenchmarkView) -> str:
    """What was compared."""
    return f"{count(len(view.methods), 'method')} on {count(len(view.run), 'environment')}, under the same budgets"


def exactness(environment: EnvironmentView) -> str:
    """Whose values on a finite environment are exact, and whose are not."""
    sampled = [pair for pair in environment.pairs if pair.sampled]
    here = f" (here {names(sampled)})" if sampled else ""
    return (
        "Values are exact, but for those of outside agents and of rules that remember the episode so far"
        f"{here}: these are judged by episodes, as on environments that are not finite."
    )


def glossary(view: BenchmarkView) -> dict[str, str]:
    """What the columns mean; the hypervolumes of an earlier version are of its own kind."""
    return GLOSSARY if view.mixes else GLOSSARY | {"Hypervolume": _UNMIXED}


def protocol(view: BenchmarkView) -> list[tuple[str, str]]:
    """What was the same for all."""
    about = view.protocol
    search = "none"
    if about.search:
        where = "every κ" if about.search_kappa is None else f"κ = {about.search_kappa}"
        validation = f"on {about.search_seeds} validation seeds at {where}"
        search = f"up to 6 settings each, {validation}, apart from the test seeds"
    facts = [
        ("suite", view.suite),
        ("κ", ", ".join(f"{kappa:g}" for kappa in view.kappas)),
        *([("floors, at every κ", ", ".join(about.floors))] if about.floors else []),
        ("test seeds", f"{about.seeds}"),
        ("steps a run", f"{about.steps_trained:,}"),
        ("search", search),
        (
            "judged by",
            f"{about.episodes} fresh episodes a seed; where the environment is finite, by exact values, but for "
            "outside agents and rules that remember the episode so far",
        ),
    ]
    if about.limit:
        facts.append(("time limit", f"{about.limit:g} s a method and environment"))
    if spent := took(view):
        facts.append(("pairs of method and environment took", spent))
    return facts


def took(view: BenchmarkView) -> str:
    """How long all pairs took together, by device, and how long one had to wait; empty where no pair says it.

    The second is less where several processes shared the pairs. Some pairs may not say it: then it says of how many
    this is.
    """
    pairs = [seconds for method in view.methods.values() for seconds in method.seconds.values()]
    known = [(seconds.device or "", seconds.all) for seconds in pairs if seconds.all is not None]
    if not known:
        return ""
    by_device: dict[str, float] = {}
    for device, spent in known:
        by_device[device] = by_device.get(device, 0.0) + spent
    longest = sorted(by_device.items(), key=lambda entry: -entry[1])
    text = ", ".join(duration(spent) + (f" on {device}" if device else "") for device, spent in longest)
    text += f" ({len(known)} of {len(pairs)} pairs)" if len(known) < len(pairs) else ""
    return f"{text}; wall-clock {duration(view.seconds)}" if view.seconds else text


def duration(seconds: float) -> str:
    """A length of time as one says it: `4.2 s`, `48 s`, `12 min`, `1 h 12 min`."""
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join(part for part in (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "") if part)


def status(pair: Pair) -> str:
    """What became of a method where not every seed is done; empty where every one is."""
    cell = pair.failed
    if cell is None:
        return ""
    some = f" in {cell.seeds - cell.seeds_done} of {cell.seeds} seeds" if 0 < cell.seeds_done < cell.seeds else ""
    return f"{STATUS.get(cell.status, cell.status)}{some}"


def names(pairs: Iterable[Pair]) -> str:
    """Names of methods; that one is given the model, which the others have to do without, belongs to it."""
    return listed(
        f"{method_label(pair.method)}, given the model" if pair.kind == "solver" else method_label(pair.method)
        for pair in pairs
    )


def listed(parts: Iterable[Any]) -> str:
    *most, last = [str(part) for part in parts]
    return f"{', '.join(most)} and {last}" if most else last


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
