"""The recipe for Junyi 2020: a graph from the taxonomy and the difficulty of its exercises (`Info_Content.csv`).

Within a cluster of topics easier exercises come before harder ones; within a branch of the taxonomy an earlier
learning stage comes before a later one. The paper says no more than that, so everything else is a choice. The defaults
are those under which the 1,330 exercises of the release give the paper's 14 concepts and 17 edges; that others would
not is no proof that the paper chose them (see docs/graphs.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from mccpo.curriculum.derive.inputs import read_table
from mccpo.curriculum.derive.recipe import Derived, Recipe, derivation, graph_of, linked
from mccpo.curriculum.formats.raw import Evidence, Fact
from mccpo.errors import InputError

RECIPE = "junyi-2020"
LEVELS = ("level1", "level2", "level3", "level4")
DIFFICULTIES = ("easy", "normal", "hard")
UNSET = "unset"
STAGES = ("elementary", "junior", "senior")

Level: TypeAlias = Literal["level1", "level2", "level3", "level4"]


@dataclass(frozen=True)
class Junyi2020Choices:
    """What the recipe leaves open."""

    concept: Literal["group", "exercise"] = "group"
    """A concept is all exercises of one difficulty in a cluster, or each exercise by itself."""
    cluster: Level = "level2"
    """The level of the taxonomy within which easy comes before normal and normal before hard."""
    branch: Level = "level1"
    """The level within which an earlier stage comes before a later one."""
    cross: Literal["hard-easy", "same", "all", "none"] = "hard-easy"
    """Between stages: from the hardest of a cluster to the easiest of the other, between equals, or from all to all."""
    unset: Literal["dropped", "apart", "easy"] = "dropped"
    """Exercises without a difficulty: left out, a concept apart from the order of difficulty, or taken as easy."""
    senior: Literal["linked", "unlinked", "dropped"] = "linked"
    """The third stage, which the paper does not name: after the second, without edges from it, or left out."""
    alone: Literal["kept", "dropped"] = "kept"
    """Concepts without an edge."""
    min_exercises: int = 20
    """Exercises of one difficulty in a cluster are left out where there are fewer of them."""
    min_interactions: int = 0
    """Exercises with fewer interactions are left out; this needs their counts."""


class Exercise(NamedTuple):
    """A row of `Info_Content.csv`."""

    id: str
    difficulty: str
    stage: str
    nodes: tuple[str, ...]
    """Its node at each of `LEVELS`."""


class Group(NamedTuple):
    """The exercises of one difficulty and stage in a cluster."""

    cluster: str
    branch: str
    stage: str
    difficulty: str


class Taxonomy(NamedTuple):
    """The exercises, and what had to be assumed to read them."""

    exercises: tuple[Exercise, ...]
    source: str
    notes: tuple[str, ...] = ()


def read_taxonomy(path: str | Path) -> Taxonomy:
    """Reads `Info_Content.csv`, or an export of it that has `content_index` for `ucid` and lacks level 1."""
    wanted = ("ucid|content_index", "difficulty", "learning_stage", "level2_id", "level3_id", "level4_id")
    columns, rows = read_table(Path(path), wanted)
    key = "ucid" if "ucid" in columns else "content_index"
    exercises: dict[str, Exercise] = {}
    for line, row in enumerate(rows, start=2):
        where = f"{path} line {line}"
        difficulty = _one_of((*DIFFICULTIES, UNSET), row["difficulty"] or UNSET, "difficulty", where)
        stage = _one_of(STAGES, row["learning_stage"], "learning_stage", where)
        nodes = tuple(row.get(f"{level}_id", "all") for level in LEVELS)
        if not row[key] or row[key] in exercises:
            raise InputError(f"{where} has the {key} {row[key]!r}, empty or given before", fix="give each once")
        exercises[row[key]] = Exercise(row[key], difficulty, stage, nodes)
    note = "there is no column level1_id, so all exercises are taken to share one node of level 1"
    return Taxonomy(tuple(exercises.values()), str(path), () if "level1_id" in columns else (note,))


def derive_junyi2020(
    taxonomy: Taxonomy, choices: Junyi2020Choices | None = None, interactions: Mapping[str, int] | None = None
) -> Derived:
    """The graph that the recipe gives; `interactions` counts the logged answers to each exercise."""
    choices = choices or Junyi2020Choices()
    _check(choices, interactions)
    groups = group_exercises(taxonomy.exercises, choices, interactions or {})
    concepts = {group: _concepts(group, members, choices) for group, members in groups.items()}
    evidence = {
        edge: Evidence(provenance, _support(start, end, groups, choices))
        for start, end, provenance in group_edges(groups, choices)
        for edge in product(concepts[start], concepts[end])
    }
    members = {name: exercises for made in concepts.values() for name, exercises in made.items()}
    if choices.alone == "dropped":
        linked_names = linked(evidence)
        members = {name: exercises for name, exercises in members.items() if name in linked_names}
    graph = graph_of(members, evidence, taxonomy.source, derivation(RECIPE, taxonomy.source, choices))
    used = sum(len(exercises) for exercises in members.values())
    left_out = f"{len(taxonomy.exercises) - used} of {len(taxonomy.exercises)} exercises are left out"
    return Derived(graph, members, (*taxonomy.notes, left_out))


def group_exercises(
    exercises: Sequence[Exercise], choices: Junyi2020Choices, interactions: Mapping[str, int]
) -> dict[Group, tuple[str, ...]]:
    """The exercises by cluster, stage and difficulty, in the order of the file and easier ones first."""
    grouped: dict[Group, list[str]] = {}
    cluster, branch = LEVELS.index(choices.cluster), LEVELS.index(choices.branch)
    for exercise in exercises:
        difficulty = exercise.difficulty
        if difficulty == UNSET:
            if choices.unset == "dropped":
                continue
            difficulty = "easy" if choices.unset == "easy" else UNSET
        if exercise.stage == "senior" and choices.senior == "dropped":
            continue
        if interactions.get(exercise.id, 0) < choices.min_interactions:
            continue
        group = Group(exercise.nodes[cluster], exercise.nodes[branch], exercise.stage, difficulty)
        grouped.setdefault(group, []).append(exercise.id)
    clusters = list(dict.fromkeys((group.cluster, group.stage) for group in grouped))
    position = {cluster: number for number, cluster in enumerate(clusters)}
    difficulties = (*DIFFICULTIES, UNSET)
    ordered = sorted(
        grouped, key=lambda group: (position[group.cluster, group.stage], difficulties.index(group.difficulty))
    )
    return {group: tuple(grouped[group]) for group in ordered if len(grouped[group]) >= choices.min_exercises}


def group_edges(groups: Iterable[Group], choices: Junyi2020Choices) -> Iterator[tuple[Group, Group, str]]:
    """The edges among groups, with their provenance. Where concepts are groups this is the whole graph."""
    chains = _chains(groups)
    for chain in chains:
        for easier, harder in pairwise(_ranked(chain)):
            yield easier, harder, "difficulty order within a cluster"
    by_branch: dict[tuple[str, str], list[list[Group]]] = {}
    for chain in chains:
        by_branch.setdefault((chain[0].branch, chain[0].stage), []).append(chain)
    stages = STAGES if choices.senior == "linked" else STAGES[:2]
    for (branch, stage), earlier in by_branch.items():
        after = dict(pairwise(stages)).get(stage, "")
        for pair in product(earlier, by_branch.get((branch, after), ())):
            for start, end in _crossing(*pair, choices.cross):
                yield start, end, "stage order within a branch"


def _check(choices: Junyi2020Choices, interactions: Mapping[str, int] | None) -> None:
    if LEVELS.index(choices.branch) > LEVELS.index(choices.cluster):
        raise InputError(
            f"the branch, {choices.branch}, is finer than the cluster, {choices.cluster}",
            fix="choose a branch that holds whole clusters",
        )
    if choices.min_interactions and interactions is None:
        raise InputError("min_interactions needs the interactions of each exercise", fix="add --counts FILE")


def _concepts(group: Group, members: tuple[str, ...], choices: Junyi2020Choices) -> dict[str, tuple[str, ...]]:
    """The concepts that a group makes, each with its exercises."""
    if choices.concept == "exercise":
        return {exercise: (exercise,) for exercise in members}
    return {f"{choices.cluster} {group.cluster} {group.stage} {group.difficulty}": members}


def _crossing(earlier: list[Group], later: list[Group], cross: str) -> Iterator[tuple[Group, Group]]:
    if cross == "all":
        yield from product(earlier, later)
    elif cross == "same":
        yield from (pair for pair in product(earlier, later) if pair[0].difficulty == pair[1].difficulty)
    elif cross == "hard-easy" and _ranked(earlier) and _ranked(later):
        yield _ranked(earlier)[-1], _ranked(later)[0]


def _chains(groups: Iterable[Group]) -> list[list[Group]]:
    """The groups of each cluster and stage, easier ones first."""
    chains: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        chains.setdefault((group.cluster, group.stage), []).append(group)
    return list(chains.values())


def _ranked(chain: list[Group]) -> list[Group]:
    return [group for group in chain if group.difficulty != UNSET]


def _support(
    start: Group, end: Group, groups: Mapping[Group, Sequence[str]], choices: Junyi2020Choices
) -> dict[str, Fact]:
    shared = ("cluster", start.cluster) if start.cluster == end.cluster else ("branch", start.branch)
    return {
        shared[0]: f"{choices.cluster if shared[0] == 'cluster' else choices.branch} {shared[1]}",
        "exercises_of_prerequisite": len(groups[start]),
        "exercises_of_concept": len(groups[end]),
    }


def _one_of(allowed: Sequence[str], value: str, column: str, where: str) -> str:
    text = value.strip().lower()
    if text not in allowed:
        raise InputError(f"{where} has the {column} {value!r}", fix=f"the values are {', '.join(allowed)}")
    return text


JUNYI_2020 = Recipe(RECIPE, Junyi2020Choices, read_taxonomy, derive_junyi2020)
