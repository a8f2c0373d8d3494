"""How large the graph of Junyi 2020 is under the choices that its recipe leaves open, beside the paper's graph."""

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
    Group,
    Junyi2020Choices,
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
class GraphSize:
    """The size of the graph that some choices give."""

    choices: Junyi2020Choices
    concepts: int
    edges: int
    depth: int

    @property
    def distance(self) -> float:
        """How far it is from the paper's graph: the relative differences of concepts and edges, added."""
        return sum(abs(ours - paper) / paper for ours, paper in zip((self.concepts, self.edges), PAPER, strict=True))

    def as_json(self) -> dict[str, Any]:
        """The size and its choices as plain values, for JSON."""
        return {**asdict(self.choices), "concepts": self.concepts, "edges": self.edges, "depth": self.depth}


def one_at_a_time(taxonomy: Taxonomy, base: Junyi2020Choices | None = None) -> Iterator[tuple[str, GraphSize]]:
    """The size under the given choices and under each change of a single one of them, with the name of the change."""
    base = base or Junyi2020Choices()
    yield "as chosen", graph_size(taxonomy, base)
    for name, values in _changes().items():
        for value in values:
            if value != getattr(base, name):
                changed = replace(base, **{name: value})
                if _sensible(changed):
                    yield f"{name}={value}", graph_size(taxonomy, changed)


def every_combination(taxonomy: Taxonomy) -> tuple[GraphSize, ...]:
    """The sizes under all combinations in which concepts are groups of exercises, the nearest to the paper's first."""
    changes = {**_changes(), "concept": ("group",)}
    names = list(changes)
    sizes = []
    for values in product(*changes.values()):
        choices = Junyi2020Choices(**dict(zip(names, values, strict=True)))
        # without edges between stages it does not matter what a branch is, or how seniors would be linked
        idle = choices.cross == "none" and (choices.branch != "level1" or choices.senior == "unlinked")
        if _sensible(choices) and not idle:
            sizes.append(graph_size(taxonomy, choices))
    return tuple(sorted(sizes, key=lambda size: size.distance))


def graph_size(taxonomy: Taxonomy, choices: Junyi2020Choices) -> GraphSize:
    """The size under one set of choices, counted on groups: the graph may have hundreds of thousands of edges."""
    groups = group_exercises(taxonomy.exercises, choices, {})
    edges = [(start, end) for start, end, _ in group_edges(groups, choices)]
    counted = {group for edge in edges for group in edge} if choices.alone == "dropped" else set(groups)
    weight = {group: len(members) if choices.concept == "exercise" else 1 for group, members in groups.items()}
    concepts = sum(weight[group] for group in counted)
    return GraphSize(choices, concepts, sum(weight[start] * weight[end] for start, end in edges), _depth(edges))


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
    named = alternatives(Junyi2020Choices)
    return {
        **{field.name: named[field.name] for field in fields(Junyi2020Choices) if field.name in named},
        "min_exercises": SIZES,
    }


def _sensible(choices: Junyi2020Choices) -> bool:
    """Whether the branch holds whole clusters."""
    return LEVELS.index(choices.branch) <= LEVELS.index(choices.cluster)
