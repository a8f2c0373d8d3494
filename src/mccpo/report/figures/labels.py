"""Names beside points: each where it covers neither another name nor a point, and one for points that coincide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

FONT = 8.0
_LETTER, _LINE = 0.56, 1.25  # mean width of a letter and height of a line, in sizes of the font
_TOGETHER = 4.0  # points nearer than this, in points of the page, share one name
_CLEAR = 3.5  # half the side of a marker, which no name may cover
_MOST_OF_AXES = 0.55  # the share of the width of the axes that names on one point may take
# Where a name may stand, as shifts of its corner in points of the page, the best first; and how it is aligned.
_PLACES = (
    (7.0, -0.4, "left"),
    (-7.0, -0.4, "right"),
    (0.0, 0.55, "center"),
    (0.0, -1.55, "center"),
    (6.0, 0.4, "left"),
    (6.0, -1.3, "left"),
    (-6.0, 0.4, "right"),
    (-6.0, -1.3, "right"),
)


class Named(NamedTuple):
    """A point with its name and the colour to write it in."""

    x: float
    y: float
    name: str
    colour: str


class _Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: _Box) -> float:
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(wide, 0.0) * max(high, 0.0)


def write_names(axes: Axes, points: Sequence[Named], others: Sequence[tuple[float, float]] = ()) -> None:
    """Writes the names of points beside them; `others` are points without names that must stay visible, too."""
    named = [point for point in points if point.name]
    if not named:
        return
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]  # settles where data lie on the page
    frame = _on_page(axes, [*[(point.x, point.y) for point in points], *others])
    taken = [_Box(x - _CLEAR, y - _CLEAR, x + _CLEAR, y + _CLEAR) for x, y in frame]
    bounds = axes.get_window_extent()
    scale = 72.0 / axes.figure.dpi
    inside = _Box(bounds.x0 * scale, bounds.y0 * scale, bounds.x1 * scale, bounds.y1 * scale)
    for point, names in _together(axes, named):
        text = _joined(names, _MOST_OF_AXES * (inside.right - inside.left))
        at = _on_page(axes, [(point.x, point.y)])[0]
        boxes = [_box(at, text, place) for place in _PLACES]
        costs = [sum(box.overlap(other) for other in taken) + 4.0 * _outside(box, inside) for box in boxes]
        best = int(np.argmin(costs))
        shift, lines, align = _PLACES[best]
        axes.annotate(
            text,
            (point.x, point.y),
            (shift, lines * FONT),
            textcoords="offset points",
            ha=align,
            va="bottom",
            fontsize=FONT,
            color=point.colour,
        )
        taken.append(boxes[best])


def _joined(names: Sequence[str], width: float) -> str:
    """The names on one point; the first and how many more there are, where all of them are too wide.

    >>> _joined(["MC-CPO", "CPO"], 100.0), _joined(["MC-CPO", "CPO", "FOCOPS", "PID-Lagrangian"], 100.0)
    ('MC-CPO, CPO', 'MC-CPO and 3 more')
    """
    text = ", ".join(names)
    return text if len(names) == 1 or _LETTER * FONT * len(text) <= width else f"{names[0]} and {len(names) - 1} more"


def _together(axes: Axes, points: Sequence[Named]) -> list[tuple[Named, list[str]]]:
    """Points with the names of all that lie on them."""
    groups: list[tuple[Named, list[str]]] = []
    for point in points:
        here = _on_page(axes, [(point.x, point.y)])[0]
        for first, names in groups:
            if np.hypot(*(_on_page(axes, [(first.x, first.y)])[0] - here)) < _TOGETHER:
                names.append(point.name)
                break
        else:
            groups.append((point, [point.name]))
    return groups


def _on_page(axes: Axes, points: Sequence[tuple[float, float]]) -> Float[np.ndarray, "points 2"]:
    """Where data lie, in points of the page."""
    return np.asarray(axes.transData.transform(np.array(points, float)) * 72.0 / axes.figure.dpi)


def _box(at: Float[np.ndarray, " 2"], text: str, place: tuple[float, float, str]) -> _Box:
    shift, lines, align = place
    width = _LETTER * FONT * len(text)
    left = float(at[0]) + shift - {"left": 0.0, "center": width / 2, "right": width}[align]
    bottom = float(at[1]) + lines * FONT
    return _Box(left, bottom, left + width, bottom + _LINE * FONT)


def _outside(box: _Box, frame: _Box) -> float:
    """The area of a name that would leave the axes."""
    return (box.right - box.left) * (box.top - box.bottom) - box.overlap(frame)
