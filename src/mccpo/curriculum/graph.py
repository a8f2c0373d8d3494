"""What depends on what: the prerequisite graph."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from mccpo.curriculum import gate
from mccpo.curriculum.fan_in import Tables, fan_in
from mccpo.curriculum.formats.files import read_raw, write_raw
from mccpo.curriculum.formats.raw import Edge, RawConcept, RawGraph
from mccpo.curriculum.validation import (
    REPAIR,
    check_edges,
    check_names,
    demand_by_name,
    topological_order,
)
from mccpo.errors import InputError


class Prerequisites:
    """Who needs whom, by position in `Curriculum.concepts`; each form is made when it is first asked for."""

    def __init__(self, edges: npt.NDArray[np.int32], concepts: int) -> None:
        self.edges, self._concepts = edges, concepts
        """[E, 2]: (prerequisite, concept), by concept and then prerequisite. It grows with the edges alone."""

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return iter((self.sparse, self.dense))

    @cached_property
    def sparse(self) -> npt.NDArray[np.int32]:
        """[V, max in-degree]: the prerequisites of each concept, padded with V."""
        width = int(np.bincount(self.edges[:, 1], minlength=1).max())
        padded = np.full((self._concepts, width), self._concepts, dtype=np.int32)
        for row, needs in zip(padded, self.lists, strict=True):
            row[: len(needs)] = needs
        padded.setflags(write=False)
        return padded

    @cached_property
    def dense(self) -> npt.NDArray[np.bool_]:
        """[V, V]: `dense[v, u]` says that u is a prerequisite of v. For small graphs: it grows with V²."""
        dense = np.zeros((self._concepts, self._concepts), dtype=np.bool_)
        dense[self.edges[:, 1], self.edges[:, 0]] = True
        dense.setflags(write=False)
        return dense

    @cached_property
    def lists(self) -> tuple[tuple[int, ...], ...]:
        """The prerequisites of each concept."""
        needs: list[list[int]] = [[] for _ in range(self._concepts)]
        for prerequisite, concept in self.edges.tolist():
            needs[concept].append(prerequisite)
        return tuple(map(tuple, needs))


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Curriculum:
    """Concepts and their prerequisites: an acyclic graph that never changes.

    Equal content is equal and hashes alike, so a curriculum can be a static field of a compiled environment.

    >>> course = Curriculum.from_edges([("counting", "adding"), ("adding", "multiplying")])
    >>> course.concepts
    ('counting', 'adding', 'multiplying')
    >>> course.ready(np.array([0.9, 0.2, 0.0]), theta=0.7).tolist()
    [True, True, False]
    """

    concepts: tuple[str, ...]
    """Names, every prerequisite before what needs it; otherwise in the order given."""
    edges: tuple[Edge, ...]
    """(prerequisite, concept) pairs, by concept and then prerequisite in the order of `concepts`."""
    demand: npt.NDArray[np.float64]
    """[V]: how much each concept asks of a learner, from 0 (nothing) to 1; 0.5 where none was given."""

    def __init__(
        self,
        edges: Iterable[Edge],
        concepts: Iterable[str] | None = None,
        demand: Mapping[str, float] | Sequence[float] | npt.NDArray[np.floating[Any]] | None = None,
    ) -> None:
        pairs = [(str(prerequisite), str(concept)) for prerequisite, concept in edges]
        stated = None if concepts is None else [str(name) for name in concepts]
        names = list(dict.fromkeys(name for pair in pairs for name in pair)) if stated is None else stated
        check_names(names)
        check_edges(pairs, names)
        order = topological_order(names, pairs)
        position = {name: index for index, name in enumerate(order)}
        values = demand_by_name(demand, names, ordered=stated is not None)
        array = np.array([values[name] for name in order], dtype=np.float64) + 0.0  # so that -0.0 equals 0.0
        array.setflags(write=False)
        pairs.sort(key=lambda pair: (position[pair[1]], position[pair[0]]))
        object.__setattr__(self, "concepts", tuple(order))
        object.__setattr__(self, "edges", tuple(pairs))
        object.__setattr__(self, "demand", array)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Edge],
        concepts: Iterable[str] | None = None,
        demand: Mapping[str, float] | Sequence[float] | npt.NDArray[np.floating[Any]] | None = None,
    ) -> Curriculum:
        """Builds a curriculum from (prerequisite, concept) pairs of names.

        `concepts` lists every concept, in the order to keep where prerequisites allow; without it the concepts are
        those that the edges name. `demand` maps names to numbers in [0, 1], or lists one number for each of `concepts`.
        A cycle, a self-loop, a repeated name or edge, and an edge that names an unknown concept are refused.
        """
        return cls(edges, concepts, demand)

    @classmethod
    def from_raw(cls, raw: RawGraph) -> Curriculum:
        """Builds a curriculum from what a file states, refusing what would make its meaning doubtful.

        A row or an edge that merely repeats another is taken once. A name that comes twice with different
        prerequisites or demand, a dangling prerequisite, a self-loop or a cycle is refused, with the way to repair it.
        """
        fix = f"run `mccpo curriculum check {raw.source} --repair OUT`"
        rows: dict[str, RawConcept] = {}
        for row in raw.rows:
            first = rows.setdefault(row.name, row)
            if set(first.prerequisites) != set(row.prerequisites) or first.demand != row.demand:
                raise InputError(f"{raw.source}: concept {row.name!r} is stated twice, differently", fix=fix)
        for prerequisite, concept in raw.edges:
            if prerequisite not in rows:
                raise InputError(f"{raw.source}: {concept!r} needs {prerequisite!r}, which is not a concept", fix=fix)
        try:
            return cls(dict.fromkeys(raw.edges), rows, raw.demand)
        except InputError as error:
            graph_fault = error.fix == REPAIR
            raise InputError(f"{raw.source}: {error.what}", fix=fix if graph_fault else error.fix) from error

    @classmethod
    def read(cls, path: str | Path) -> Curriculum:
        """Reads a curriculum from a JSON, CSV, TSV or GraphML file (each also as `.gz`)."""
        return cls.from_raw(read_raw(path))

    def write(self, path: str | Path) -> None:
        """Writes the curriculum in the format that the suffix names, whole or not at all."""
        write_raw(self.to_raw(), path)

    def to_raw(self) -> RawGraph:
        """The curriculum as rows, in the order of `concepts`."""
        needs = self._needs
        return RawGraph(
            tuple(
                RawConcept(name, needs[name], float(demand))
                for name, demand in zip(self.concepts, self.demand, strict=True)
            )
        )

    def ready(self, K: Any, theta: Any) -> Any:
        """Says which concepts may be taught: [..., V], true where every prerequisite has mastery of at least `theta`.

        `K` is the mastery, [..., V], of NumPy or JAX (also under `jit` and `vmap`). A mastery of NaN counts as not
        mastered. A `theta` that is a plain number must lie strictly between 0 and 1.
        """
        return gate.ready(self._tables, K, theta)

    def prerequisites_hold(self, mastered: Any, concept: Any) -> Any:
        """Whether all prerequisites of one concept, by position, are mastered; `mastered` is [V] of truth values.

        That is `ready` for one concept of one learner: only its own prerequisites are looked at.
        """
        return gate.prerequisites_hold(self._tables, mastered, concept)

    def concept_chance(self, K: Any, doubt: Any, concept: Any) -> Any:
        """What `joint_chance` says of one concept, for one learner: K is [V]."""
        return gate.concept_chance(self._tables, K, doubt, concept)

    def joint_chance(self, K: Any, doubt: Any = 0.0) -> Any:
        """The chance that a learner is ready for each concept: [..., V], the product of K over its prerequisites.

        `K` is the chance that each concept is mastered, [..., V], of NumPy or JAX; the product of none is 1. `doubt` is
        the share of each concept's odds that is not counted on, one number for all or [V].

        >>> graph = Curriculum.from_edges([("count", "multiply"), ("add", "multiply")])
        >>> graph.joint_chance([0.9, 0.8, 0.1]).round(2).tolist()
        [1.0, 1.0, 0.72]
        """
        return gate.joint_chance(self._tables, K, doubt)

    def enough(self, confidence: Any, doubt: Any = 0.0) -> Any:
        """The chance of each concept that opens what needs it at a `confidence`, once its fellows have theirs too.

        Where a concept is needed together with others, all n of them must have the n-th root of the confidence; with
        a `doubt`, as much more as leaves that of their odds.
        """
        share = confidence ** (1 / self.most_needed_with)
        return share / (1 - doubt * (1 - share))

    @cached_property
    def most_needed_with(self) -> npt.NDArray[np.int64]:
        """For each concept, the most prerequisites that anything which needs it has; 1 where nothing needs it."""
        before, after = self.prerequisites.edges.T
        most = np.ones(len(self), np.int64)
        np.maximum.at(most, before, np.bincount(after, minlength=len(self))[after])
        return most

    def index(self, name: str) -> int:
        """The position of a concept in `concepts`."""
        try:
            return self._position[name]
        except KeyError:
            close = difflib.get_close_matches(name, self.concepts, n=1)
            fix = f"did you mean {close[0]!r}?" if close else f"the concepts begin {', '.join(self.concepts[:3])}"
            raise InputError(f"there is no concept {name!r}", fix=fix) from None

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Everything that must come before a concept, directly or not, in the order of `concepts`."""
        reached: set[str] = set()
        waiting = [self.concepts[self.index(name)]]
        while waiting:
            fresh = [need for need in self._needs[waiting.pop()] if need not in reached]
            reached.update(fresh)
            waiting.extend(fresh)
        return tuple(concept for concept in self.concepts if concept in reached)

    @cached_property
    def prerequisites(self) -> Prerequisites:
        """The direct prerequisites of each concept: as edges, as lists, in a sparse and a dense form."""
        at = self._position
        pairs = [(at[prerequisite], at[concept]) for prerequisite, concept in self.edges]
        edges = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        edges.setflags(write=False)
        return Prerequisites(edges, len(self))

    @cached_property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """Concepts by the length of the longest path that leads to them; the first layer is `sources`."""
        height: dict[str, int] = {}
        for name in self.concepts:
            height[name] = 1 + max((height[need] for need in self._needs[name]), default=-1)
        layers: list[list[str]] = [[] for _ in range(1 + max(height.values()))]
        for name in self.concepts:
            layers[height[name]].append(name)
        return tuple(tuple(layer) for layer in layers)

    @property
    def depth(self) -> int:
        """The number of edges on the longest path."""
        return len(self.layers) - 1

    @property
    def sources(self) -> tuple[str, ...]:
        """The concepts without prerequisites: those that every learner is ready for."""
        return self.layers[0]

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.concepts)}

    @cached_property
    def _needs(self) -> dict[str, tuple[str, ...]]:
        needs: dict[str, list[str]] = {name: [] for name in self.concepts}
        for prerequisite, concept in self.edges:
            needs[concept].append(prerequisite)
        return {name: tuple(prerequisites) for name, prerequisites in needs.items()}

    @cached_property
    def _tables(self) -> Tables:
        return fan_in(self.prerequisites.lists, len(self))

    @cached_property
    def _hash(self) -> int:
        return hash((self.concepts, self.edges, self.demand.tobytes()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Curriculum):
            return NotImplemented
        return (
            self.concepts == other.concepts
            and self.edges == other.edges
            and self.demand.tobytes() == other.demand.tobytes()
        )

    def __len__(self) -> int:
        return len(self.concepts)

    def __repr__(self) -> str:
        return f"Curriculum({len(self)} concepts, {len(self.edges)} edges, depth {self.depth})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt rather than copied: a cached hash of strings is wrong in another process.
        return (Curriculum, (self.edges, self.concepts, self.demand.tolist()))
