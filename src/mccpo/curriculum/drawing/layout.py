"""Where the concepts of a curriculum go in a layered drawing, and how its edges run.

The method of Sugiyama, Tagawa and Toda: prerequisites stand in columns to the left of what needs them, long edges get a
bend in each column they cross, the order within a column is that of the neighbours' mean place, and heights are then
as near to the neighbours' mean height as the order and the spacing allow.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mccpo.curriculum.formats.raw import Edge
from mccpo.curriculum.graph import Curriculum

_SWEEPS = 24
_BOX_SPACE = 48.0
_BEND_SPACE = 14.0
_BAND = 12.0


@dataclass(frozen=True)
class Point:
    """A column and the height of a middle line in it, in pixels."""

    column: int
    y: float


@dataclass(frozen=True)
class Layout:
    """The point of every concept that has an edge, and the points each edge runs through, its ends included."""

    points: dict[str, Point]
    routes: dict[Edge, tuple[Point, ...]]
    columns: int
    height: float


def arrange(curriculum: Curriculum) -> Layout:
    """Places the concepts that have edges; those without any are left to the caller."""
    column = _columns(curriculum)
    chains, graph = _with_bends(curriculum, column)
    order = _order(graph)
    y = _heights(graph, order)
    points = {name: Point(column[name], y[node]) for name, node in graph.node.items()}
    routes = {
        edge: tuple(Point(graph.column[node], y[node]) for node in chain)
        for edge, chain in zip(curriculum.edges, chains, strict=True)
    }
    return Layout(points, routes, len(order), max(y, default=-_BOX_SPACE / 2) + _BOX_SPACE / 2)


class _Graph:
    """Concepts and bends as numbered nodes, with their neighbours to the left and to the right."""

    def __init__(self) -> None:
        self.node: dict[str, int] = {}
        self.column: list[int] = []
        self.space: list[float] = []
        self.left: list[list[int]] = []
        self.right: list[list[int]] = []

    def add(self, column: int, space: float) -> int:
        self.column.append(column)
        self.space.append(space)
        self.left.append([])
        self.right.append([])
        return len(self.column) - 1


def _columns(curriculum: Curriculum) -> dict[str, int]:
    layer = {name: number for number, names in enumerate(curriculum.layers) for name in names}
    sources = set(curriculum.sources)
    nearest: dict[str, int] = {}
    for start, end in curriculum.edges:
        nearest[start] = min(layer[end], nearest.get(start, layer[end]))
    # A source stands just before the first concept that needs it: a shorter edge says more than a full first column.
    return {
        name: nearest[name] - 1 if name in sources else number
        for name, number in layer.items()
        if name in nearest or name not in sources
    }


def _with_bends(curriculum: Curriculum, column: dict[str, int]) -> tuple[list[list[int]], _Graph]:
    graph = _Graph()
    for name in _neighbours_together(curriculum):
        if name in column:
            graph.node[name] = graph.add(column[name], _BOX_SPACE)
    chains = []
    for start, end in curriculum.edges:
        bends = [graph.add(at, _BEND_SPACE) for at in range(column[start] + 1, column[end])]
        chain = [graph.node[start], *bends, graph.node[end]]
        for a, b in pairwise(chain):
            graph.right[a].append(b)
            graph.left[b].append(a)
        chains.append(chain)
    return chains, graph


def _neighbours_together(curriculum: Curriculum) -> list[str]:
    """The concepts such that connected ones follow each other, which is half of a good first order."""
    touching: dict[str, list[str]] = {name: [] for name in curriculum.concepts}
    for start, end in curriculum.edges:
        touching[start].append(end)
        touching[end].append(start)
    ordered: dict[str, None] = {}
    for name in curriculum.concepts:
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current not in ordered:
                ordered[current] = None
                waiting.extend(reversed(touching[current]))
    return list(ordered)


def _order(graph: _Graph) -> list[list[int]]:
    """The nodes of each column from top to bottom, with few crossings."""
    columns: list[list[int]] = [[] for _ in range(1 + max(graph.column, default=-1))]
    for node, number in enumerate(graph.column):
        columns[number].append(node)
    best, fewest = [list(column) for column in columns], _crossings(graph, columns)
    rank = [0.0] * len(graph.column)
    for column in columns:
        _renumber(column, rank)
    for sweep in range(_SWEEPS):
        neighbours = graph.right if sweep % 2 else graph.left
        for column in reversed(columns) if sweep % 2 else columns:
            column.sort(key=lambda node: (_mean(neighbours[node], rank, rank[node]), rank[node]))
            _renumber(column, rank)
        crossings = _crossings(graph, columns)
        if crossings < fewest:
            best, fewest = [list(column) for column in columns], crossings
    return best


def _renumber(column: Sequence[int], rank: list[float]) -> None:
    # Ranks are relative to the column's length, so that a node without neighbours keeps its height in any column.
    for position, node in enumerate(column):
        rank[node] = (position + 0.5) / len(column)


def _mean(neighbours: Sequence[int], value: Sequence[float], otherwise: float) -> float:
    return sum(value[node] for node in neighbours) / len(neighbours) if neighbours else otherwise


def _crossings(graph: _Graph, columns: Sequence[Sequence[int]]) -> int:
    total = 0
    for left, right in pairwise(columns):
        position = {node: rank for rank, node in enumerate(right)}
        seen: list[int] = []
        for node in left:
            ends = sorted(position[end] for end in graph.right[node])
            total += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _heights(graph: _Graph, order: Sequence[Sequence[int]]) -> list[float]:
    y = [0.0] * len(graph.column)
    for column in order:
        _spread(column, [0.0] * len(column), graph.space, y)
    for sweep in range(_SWEEPS):
        for column in reversed(order) if sweep % 2 else order:
            neighbours = graph.right if sweep % 2 else graph.left
            if sweep > _SWEEPS // 2:  # settle between both sides once the sides agree roughly
                wanted = [_mean(graph.left[node] + graph.right[node], y, y[node]) for node in column]
            else:
                wanted = [_mean(neighbours[node], y, y[node]) for node in column]
            _spread(column, wanted, graph.space, y)
    return _without_empty_bands(y, graph.space)


def _without_empty_bands(y: Sequence[float], space: Sequence[float]) -> list[float]:
    """The same heights from zero, where parts of the graph that do not touch stand close together."""
    moved = [0.0] * len(y)
    bottom = min((y[node] - space[node] / 2 for node in range(len(y))), default=0.0)
    shift = -bottom
    for node in sorted(range(len(y)), key=lambda node: (y[node] - space[node] / 2, node)):
        top = y[node] - space[node] / 2
        shift -= max(0.0, top - bottom - _BAND)
        bottom = max(bottom, y[node] + space[node] / 2)
        moved[node] = y[node] + shift
    return moved


def _spread(column: Sequence[int], wanted: Sequence[float], space: Sequence[float], y: list[float]) -> None:
    """Sets heights nearest to those wanted (in the mean square) that keep the column's order and spacing."""
    offsets, below = [], 0.0
    for position, node in enumerate(column):
        below += (space[column[position - 1]] + space[node]) / 2 if position else 0.0
        offsets.append(below)
    # Pool adjacent violators: neighbours that would overlap move together, at the mean of what they want.
    pools: list[tuple[float, int]] = []
    for target, offset in zip(wanted, offsets, strict=True):
        total, count = target - offset, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / count:
            before, size = pools.pop()
            total, count = total + before, count + size
        pools.append((total, count))
    heights = [total / count for total, count in pools for _ in range(count)]
    for node, height, offset in zip(column, heights, offsets, strict=True):
        y[node] = height + offset
