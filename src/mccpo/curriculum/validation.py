"""What a curriculum is checked for when it is built, and the order that its concepts take."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
import numpy.typing as npt

from mccpo.curriculum.formats.raw import Edge, arrow, fault_in_name
from mccpo.errors import InputError

DEFAULT_DEMAND = 0.5
"""The demand of a concept for which none is given: the middle of the scale."""
REPAIR = "run `mccpo curriculum check FILE --repair OUT`"
"""What to do about a graph that is no acyclic one."""


def check_names(names: Sequence[str]) -> None:
    """Refuses names that are missing, unreadable or repeated."""
    if not names:
        raise InputError("the curriculum has no concepts", fix="name at least one")
    seen: set[str] = set()
    for name in names:
        if fault := fault_in_name(name):
            raise InputError(f"the concept name {name!r} {fault}", fix="give it a readable name")
        if name in seen:
            raise InputError(f"concept {name!r} is listed twice", fix="list each concept once")
        seen.add(name)


def check_edges(edges: Sequence[Edge], names: Sequence[str]) -> None:
    """Refuses edges among unknown concepts, self-loops and repeats."""
    known, seen = set(names), set[Edge]()
    for edge in edges:
        for name in edge:
            if name not in known:
                raise InputError(
                    f"the edge {arrow(*edge)} names {name!r}, which is not among the concepts",
                    fix="add it to the concepts or drop the edge",
                )
        if edge[0] == edge[1]:
            raise InputError(f"concept {edge[0]!r} is its own prerequisite", fix=REPAIR)
        if edge in seen:
            raise InputError(f"the edge {arrow(*edge)} is given twice", fix="give each edge once")
        seen.add(edge)


def topological_order(names: Sequence[str], edges: Sequence[Edge]) -> list[str]:
    """The order in which the first concept in the given order whose prerequisites are all placed always comes next."""
    position = {name: index for index, name in enumerate(names)}
    sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(len(names)), ()))
    for prerequisite, concept in edges:
        sorter.add(position[concept], position[prerequisite])
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1][:-1]
        start = cycle.index(min(cycle))
        path = [names[index] for index in (*cycle[start:], *cycle[: start + 1])]
        raise InputError(f"the prerequisites form a cycle, {arrow(*path)}", fix=REPAIR) from None
    order: list[str] = []
    waiting: list[int] = []
    while sorter.is_active():
        for index in sorter.get_ready():
            heapq.heappush(waiting, index)
        index = heapq.heappop(waiting)
        sorter.done(index)
        order.append(names[index])
    return order


def demand_by_name(
    demand: Mapping[str, float] | Sequence[float] | npt.NDArray[np.floating[Any]] | None,
    names: Sequence[str],
    *,
    ordered: bool,
) -> dict[str, float]:
    """The demand of every concept; one that is not given has the default."""
    values = dict.fromkeys(names, DEFAULT_DEMAND)
    if demand is None:
        return values
    if not isinstance(demand, Mapping):
        if not ordered:
            raise InputError("a list of demands has no order to follow", fix="give `concepts` too, or a mapping")
        if len(demand) != len(names):
            raise InputError(f"there are {len(demand)} demands for {len(names)} concepts", fix="give one for each")
        demand = dict(zip(names, (float(value) for value in demand), strict=True))
    for name, value in demand.items():
        if name not in values:
            raise InputError(f"a demand is given for {name!r}, which is not a concept", fix="add it or drop the demand")
        if not 0.0 <= float(value) <= 1.0:
            raise InputError(f"the demand of {name!r} is {value}", fix="give a number from 0 to 1")
        values[name] = float(value)
    return values
