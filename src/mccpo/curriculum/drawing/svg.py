"""Draws a curriculum, and where a learner stands in it, as an SVG picture that is the same to the byte every time."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt

from mccpo.curriculum.drawing.layout import Layout, Point, arrange
from mccpo.curriculum.gate import check_mastery, check_theta
from mccpo.curriculum.graph import Curriculum

State = Literal["mastered", "ready", "locked"]

_BOX_HEIGHT = 32.0
_LETTER = 6.6
_LONGEST_LABEL = 26
_GAP = 64.0
_MARGIN = 28.0
_HEADER = 62.0
_LOOSE_SPACE = 46.0
_STYLE = """
text{font:12px system-ui,"Segoe UI","Helvetica Neue",Arial,"Noto Sans","DejaVu Sans",sans-serif;fill:#1d2733}
.title{font-size:15px;font-weight:600}.note{fill:#5b6875;font-size:11.5px}
.edge{fill:none;stroke:#9aa7b4;stroke-width:1.3}.shut{stroke-dasharray:4 3;stroke:#c3ccd5}
.box{fill:#fff;stroke:#8593a1;stroke-width:1.2}
.mastered .box{fill:#eaf6ee;stroke:#2c8a57}.mastered .bar{fill:#2c8a57}
.ready .box{stroke:#1f63c6;stroke-width:2.4}.ready .bar{fill:#1f63c6}
.locked .box{fill:#f3f4f6;stroke:#b3bcc6;stroke-dasharray:4 3}.locked .bar{fill:#98a3af}.locked text{fill:#6b7784}
.track{fill:#dde3e9}.mark{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.mastered .mark{stroke:#2c8a57}.ready .mark{stroke:#1f63c6}.locked .mark{stroke:#8a95a1;stroke-width:1.5}
""".strip()
_MARKS: dict[State, str] = {
    "mastered": "M-4,0 L-1,3.5 L5,-4",
    "ready": "M-2.5,-4.5 L3.5,0 L-2.5,4.5",
    "locked": "M-4,-0.5 h8 v5.5 h-8 z M-2.5,-0.5 v-2 a2.5,2.5 0 0 1 5,0 v2",
}
_ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="6.5" markerHeight="6.5" orient="auto">'
    '<path d="M0.5,0.5 L7.5,4 L0.5,7.5 z" fill="#9aa7b4"/></marker>'
)
_EASY, _HARD = (253, 231, 196), (190, 62, 48)


def draw(
    curriculum: Curriculum,
    mastery: npt.NDArray[np.floating[Any]] | None = None,
    theta: float = 0.7,
    title: str = "Curriculum",
) -> str:
    """Draws prerequisites to the left of what needs them; with `mastery` [V], also what is mastered, ready and locked.

    The strip at the left of each box shows the demand of the concept, pale for easy and dark red for hard.

    >>> from mccpo import Curriculum
    >>> draw(Curriculum.from_edges([("counting", "adding")]))[:4]
    '<svg'
    """
    picture = _Picture(curriculum, mastery, theta)
    return "\n".join((*picture.lines(title), "</svg>", ""))


class _Picture:
    """A drawing in the making: the boxes' common size, their points, and the learner's state."""

    def __init__(self, curriculum: Curriculum, mastery: npt.NDArray[np.floating[Any]] | None, theta: float) -> None:
        self.curriculum = curriculum
        self.mastery: npt.NDArray[np.float64] | None = None
        self.states: dict[str, State] = {}
        self.theta = theta
        if mastery is not None:
            check_theta(theta)
            self.mastery = check_mastery(mastery, curriculum)
            self.states = _states(curriculum, self.mastery, theta)
        self.labels = {name: _shortened(name) for name in curriculum.concepts}
        icon = 20.0 if self.states else 0.0
        self.box = max(70.0, max(map(_cells, self.labels.values())) * _LETTER + 26.0 + icon)
        self.layout: Layout = arrange(curriculum)
        self.loose = [name for name in curriculum.concepts if name not in self.layout.points]

    def lines(self, title: str) -> Iterator[str]:
        """The picture, element by element."""
        tall = self.layout.height
        span = self.layout.columns * (self.box + _GAP) - _GAP
        per_row = max(1, min(len(self.loose), 4), int((span + 18.0) // (self.box + 18.0)))
        rows = -(-len(self.loose) // per_row)
        wide = max(span, per_row * (self.box + 18.0) - 18.0 if rows else 0.0, 560.0) + 2 * _MARGIN
        loose_top = _HEADER + _MARGIN + tall + (34.0 if tall else 14.0)
        high = (loose_top + rows * _LOOSE_SPACE if rows else _HEADER + _MARGIN + tall) + _MARGIN
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(wide)} {_n(high)}" width="{_n(wide)}" '
            f'height="{_n(high)}" role="img" aria-label="{_attribute(title)}">'
        )
        yield f"<style>{_STYLE}</style>"
        yield _ARROW
        yield f'<rect width="{_n(wide)}" height="{_n(high)}" fill="#fff"/>'
        yield from self._header(title)
        for edge, route in self.layout.routes.items():
            shut = " shut" if self.states and self.states[edge[0]] != "mastered" else ""
            yield f'<path class="edge{shut}" marker-end="url(#arrow)" d="{self._curve(route)}"/>'
        for name, point in self.layout.points.items():
            yield from self._concept(name, self._x(point.column), self._y(point) - _BOX_HEIGHT / 2)
        if rows:
            yield (
                f'<text class="note" x="{_n(_MARGIN)}" y="{_n(loose_top - 10.0)}">'
                f"{len(self.loose)} without prerequisites or dependents</text>"
            )
        for number, name in enumerate(self.loose):
            down, across = divmod(number, per_row)
            yield from self._concept(name, _MARGIN + across * (self.box + 18.0), loose_top + down * _LOOSE_SPACE)

    def _header(self, title: str) -> Iterator[str]:
        facts = f"{len(self.curriculum)} concepts, {len(self.curriculum.edges)} edges, depth {self.curriculum.depth}"
        yield f'<text class="title" x="{_n(_MARGIN)}" y="34">{escape(_shortened(title, 60))}</text>'
        yield f'<text class="note" x="{_n(_MARGIN)}" y="53">{facts}</text>'
        x = _MARGIN + 250.0
        for step in range(5):
            yield f'<rect x="{_n(x + 14.0 * step)}" y="43" width="14" height="11" fill="{_colour(step / 4)}"/>'
        yield f'<text class="note" x="{_n(x + 78.0)}" y="53">demand 0 to 1</text>'
        x += 176.0
        for state, path in _MARKS.items() if self.states else ():
            count = sum(concept_state == state for concept_state in self.states.values())
            yield f'<g class="{state}"><path class="mark" transform="translate({_n(x)} 49)" d="{path}"/></g>'
            yield f'<text class="note" x="{_n(x + 10.0)}" y="53">{count} {state}</text>'
            x += 92.0
        if self.states:
            yield f'<text class="note" x="{_n(x)}" y="53">θ = {self.theta:g}</text>'

    def _concept(self, name: str, x: float, y: float) -> Iterator[str]:
        index = self.curriculum.index(name)
        demand = float(self.curriculum.demand[index])
        says = [name, f"demand {demand:g}"]
        state = self.states.get(name, "")
        if self.mastery is not None:
            says.append(f"mastery {self.mastery[index]:g}, {state}")
        yield f'<g class="{state}" transform="translate({_n(x)} {_n(y)})"><title>{escape("; ".join(says))}</title>'
        yield f'<rect class="box" width="{_n(self.box)}" height="{_n(_BOX_HEIGHT)}" rx="6"/>'
        yield f'<rect x="5" y="6" width="5" height="{_n(_BOX_HEIGHT - 12.0)}" rx="2.5" fill="{_colour(demand)}"/>'
        baseline = 17.5 if self.states else 20.5
        yield f'<text x="17" y="{_n(baseline)}">{escape(self.labels[name])}</text>'
        if self.mastery is not None:
            track, mark = self.box - 25.0, _MARKS[self.states[name]]
            filled = track * float(self.mastery[index])
            yield f'<rect class="track" x="17" y="23" width="{_n(track)}" height="4" rx="2"/>'
            yield f'<rect class="bar" x="17" y="23" width="{_n(filled)}" height="4" rx="2"/>'
            yield f'<path class="mark" transform="translate({_n(self.box - 14.0)} 13)" d="{mark}"/>'
        yield "</g>"

    def _curve(self, route: tuple[Point, ...]) -> str:
        """From the right side of the prerequisite, level through each bend, to the left side of the concept."""
        path = [f"M{_n(self._x(route[0].column) + self.box)},{_n(self._y(route[0]))}"]
        for before, after in pairwise(route):
            x0, x1 = self._x(before.column) + self.box, self._x(after.column)
            y0, y1, middle = self._y(before), self._y(after), (x0 + x1) / 2
            path.append(f"C{_n(middle)},{_n(y0)} {_n(middle)},{_n(y1)} {_n(x1)},{_n(y1)}")
            if after is not route[-1]:
                path.append(f"H{_n(x1 + self.box)}")
        return " ".join(path)

    def _x(self, column: int) -> float:
        return _MARGIN + column * (self.box + _GAP)

    def _y(self, point: Point) -> float:
        return _HEADER + _MARGIN + point.y


def _states(curriculum: Curriculum, mastery: npt.NDArray[np.float64], theta: float) -> dict[str, State]:
    ready = curriculum.ready(mastery, theta)
    return {
        name: "mastered" if mastery[index] >= theta else "ready" if ready[index] else "locked"
        for index, name in enumerate(curriculum.concepts)
    }


def _cells(text: str) -> int:
    """The width of a text in letters, where East Asian ones count twice."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _shortened(text: str, cells: int = _LONGEST_LABEL) -> str:
    if _cells(text) <= cells:
        return text
    while _cells(text) >= cells:
        text = text[:-1]
    return text.rstrip() + "…"


def _colour(demand: float) -> str:
    red, green, blue = (round(easy + (hard - easy) * demand) for easy, hard in zip(_EASY, _HARD, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _attribute(text: str) -> str:
    return escape(text, {'"': "&quot;"})


def _n(value: float) -> str:
    """A coordinate to a tenth of a pixel, without a needless `.0`."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
