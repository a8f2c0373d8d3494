"""The recipe for XES3G5M: a knowledge component comes before those that follow it on a route of the taxonomy.

Routes are given with the questions (`metadata/questions.json`), as `A----B----C`; `kc_routes_map.json` beside it names
the components. Names are taken as they stand: three of them differ from others by white space alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from mccpo.curriculum.derive.inputs import read_object
from mccpo.curriculum.derive.recipe import Cycles, Derived, Recipe, derivation, graph_of, linked, without_cycles
from mccpo.curriculum.formats.raw import Edge, Evidence
from mccpo.errors import InputError

RECIPE = "xes3g5m"
_ARROW = "----"


@dataclass(frozen=True)
class Xes3g5mChoices:
    """What the recipe leaves open."""

    top: int = 100
    """How many components are kept, the most frequent first; 0 keeps all."""
    pairs: Literal["all", "nearest"] = "all"
    """Every earlier component on a route is a prerequisite, or only the nearest of those that are kept."""
    alone: Literal["dropped", "kept"] = "dropped"
    """Components without an edge."""
    names: Literal["name", "id"] = "name"
    """What the concepts are called: as the map has it, or by their number in the logs."""
    cycles: Cycles = "refuse"
    """What to do where routes contradict one another."""


class Routes(NamedTuple):
    """The routes of every question, and the number of each component."""

    questions: tuple[tuple[tuple[str, ...], ...], ...]
    """The routes of each question, each a path of names; the last is the component that the question asks for."""
    ids: Mapping[str, str]
    """The number of each component, by name."""
    source: str


def read_routes(path: str | Path) -> Routes:
    """Reads `questions.json` and the `kc_routes_map.json` beside it; a folder that holds both will do."""
    given = Path(path)
    questions = given / "questions.json" if given.is_dir() else given
    names = read_object(questions.with_name("kc_routes_map.json"))
    ids: dict[str, str] = {}
    for number, name in names.items():
        if not isinstance(name, str) or name in ids:
            fix = "give the file as released"
            raise InputError(f"kc_routes_map.json names component {number} {name!r}, no text or given before", fix=fix)
        ids[name] = number
    routes_by_question = [
        _routes(entry, f"{questions} question {number}") for number, entry in read_object(questions).items()
    ]
    if unknown := next(
        (name for routes in routes_by_question for route in routes for name in route if name not in ids), None
    ):
        raise InputError(
            f"{questions} has a route through {unknown!r}, which kc_routes_map.json lacks",
            fix="give both files as released, names unchanged to the last space",
        )
    return Routes(tuple(routes_by_question), ids, str(questions))


def derive_xes3g5m(
    routes: Routes, choices: Xes3g5mChoices | None = None, interactions: Mapping[str, int] | None = None
) -> Derived:
    """The graph that the recipe gives.

    `interactions` counts the logged answers to each component, by name or number. Without it the components are ranked
    by the questions that ask for them.
    """
    choices = choices or Xes3g5mChoices()
    counts = _counts(routes, interactions)
    ranked = sorted((name for name in counts if counts[name] > 0), key=lambda name: (-counts[name], name))
    top = set(ranked[: choices.top or None])
    times: Counter[Edge] = Counter()
    distance: dict[Edge, int] = {}
    for route in (route for question in routes.questions for route in set(question)):
        for edge, steps in _ancestors(route, top, choices.pairs):
            times[edge] += 1
            distance[edge] = min(steps, distance.get(edge, steps))
    evidence = {
        edge: Evidence("ancestor on a route", {"questions": times[edge], "steps": distance[edge]}) for edge in times
    }
    concept_names = linked(evidence) if choices.alone == "dropped" else top
    label = {name: name if choices.names == "name" else routes.ids[name] for name in top}
    named = {(label[start], label[end]): reasons for (start, end), reasons in evidence.items()}
    concepts = [label[name] for name in ranked if name in concept_names]
    graph = graph_of(concepts, named, routes.source, derivation(RECIPE, routes.source, choices))
    graph, removed = without_cycles(graph, choices.cycles)
    by = "questions, as no interactions are given" if interactions is None else "interactions"
    note = f"{len(top)} of {len(routes.ids)} components are kept, ranked by {by}; {len(concepts)} of them are concepts"
    return Derived(
        graph, {label[name]: (routes.ids[name],) for name in ranked if name in concept_names}, (note, *removed)
    )


def _routes(entry: object, where: str) -> tuple[tuple[str, ...], ...]:
    routes = entry.get("kc_routes") if isinstance(entry, dict) else None
    if not isinstance(routes, list) or not all(isinstance(route, str) for route in routes):
        raise InputError(f"{where} has no list of kc_routes", fix="give questions.json as released")
    return tuple(tuple(route.split(_ARROW)) for route in routes)


def _counts(routes: Routes, interactions: Mapping[str, int] | None) -> Mapping[str, int]:
    if interactions is None:
        return Counter(name for question in routes.questions for name in {route[-1] for route in question})
    names = {number: name for name, number in routes.ids.items()}
    counts: Counter[str] = Counter()
    for given, count in interactions.items():
        name = given if given in routes.ids else names.get(given)
        if name is None:
            raise InputError(
                f"the counts speak of {given!r}, which is no component", fix="use names or numbers of the map"
            )
        counts[name] += count
    return counts


def _ancestors(route: tuple[str, ...], top: set[str], pairs: str) -> Iterator[tuple[Edge, int]]:
    """The edges of one route among the components that are kept, each with the number of steps it spans."""
    on_route = [(step, name) for step, name in enumerate(route) if name in top]
    for later, (end, concept) in enumerate(on_route):
        for start, prerequisite in on_route[max(later - 1, 0) if pairs == "nearest" else 0 : later]:
            if prerequisite != concept:
                yield (prerequisite, concept), end - start


XES3G5M = Recipe(RECIPE, Xes3g5mChoices, read_routes, derive_xes3g5m)
