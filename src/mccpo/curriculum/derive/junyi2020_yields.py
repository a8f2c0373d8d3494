"""What the recipe for Junyi 2020 yields under the choices that it leaves open, beside the paper's graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from typing import Any

from mccpo.curriculum.derive.junyi2020 import (
    DIFFICULTIES,
    LEVELS,
    STAGES,
    UNSET,
    Choices,
    Group,
    Taxonomy,
    group_edges,
    group_exercises,
)
from mccpo.curriculum.derive.recipe import alternatives

PAPER = (14, 17)
"""The concepts and edges that the paper reports."""
SIZES = (1, 2, 5, 10, 20, 50)
"""The least numbers of exercises that are tried."""


@dataclass(frozen=True)
class Yield:
    """The size of the graph that some choices give."""

    choices: Choices
    concepts: int
    edges: int
    depth: int

    @property
    def distance(self) -> float:
        """How far it is from the paper's graph: the relative differences of concepts and edges, added."""
        return sum(abs(found - told) / told for found, told in zip((self.concepts, self.edges), PAPER, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """The yield as plain values, for JSON."""
        return {**asdict(self.choices), "concepts": self.concepts, "edges": self.edges, "depth": self.depth}


def one_at_a_time(taxonomy: Taxonomy, base: Choices | None = None) -> Iterator[tuple[str, Yield]]:
    """The yield of the given choices and of each change of a single one of them, with the name of the change."""
    base = base or Choices()
    yield "as chosen", measure(taxonomy, base)
    for name, values in _changes().items():
        for value in values:
            if value != getattr(base, name):
                changed = replace(base, **{name: value})
                if _sensible(changed):
                    yield f"{name}={value}", measure(taxonomy, changed)


def every_combination(taxonomy: Taxonomy) -> tuple[Yield, ...]:
    """The yields of all combinations in which concepts are groups of exercises, the nearest to the paper's first."""
    changes = {**_changes(), "concept": ("group",)}
    names = list(changes)
    found = []
    for values in product(*changes.values()):
        choices = Choices(**dict(zip(names, values, strict=True)))
        # without edges between stages it does not matter what a branch is, or how seniors would be linked
        idle = choices.cross == "none" and (choices.branch != "level1" or choices.senior == "unlinked")
        if _sensible(choices) and not idle:
            found.append(measure(taxonomy, choices))
    return tuple(sorted(found, key=lambda one: one.distance))


def measure(taxonomy: Taxonomy, choices: Choices) -> Yield:
    """The yield of one set of choices, counted on groups: the graph itself may have hundreds of thousands of edges."""
    groups = group_exercises(taxonomy.exercises, choices, {})
    edges = [(start, end) for start, end, _ in group_edges(groups, choices)]
    kept = {group for edge in edges for group in edge} if choices.alone == "dropped" else set(groups)
    weight = {group: len(members) if choices.concept == "exercise" else 1 for group, members in groups.items()}
    concepts = sum(weight[group] for group in kept)
    return Yield(choices, concepts, sum(weight[start] * weight[end] for start, end in edges), _depth(edges))


def _depth(edges: Iterable[tuple[Group, Group]]) -> int:
    # Edges lead to a later stage, or within one to a harder group: so sorted, each comes after those that lead to it.
    difficulties = (*DIFFICULTIES, UNSET)
    height: dict[Group, int] = {}
    for start, end in sorted(
        edges, key=lambda edge: (STAGES.index(edge[1].stage), difficulties.index(edge[1].difficulty))
    ):
        height[end] = max(height.get(end, 0), 1 + height.get(start, 0))
    return max(height.values(), default=0)


def _changes() -> Mapping[str, tuple[Any, ...]]:
    named = alternatives(Choices)
    return {**{one.name: named[one.name] for one in fields(Choices) if one.name in named}, "min_exercises": SIZES}


def _sensible(choices: Choices) -> bool:
    """Whether the branch holds whole clusters."""
    return LEVELS.index(choices.branch) <= LEVELS.index(choices.cluster)
