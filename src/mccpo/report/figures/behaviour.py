"""The figure of what a policy does: mastery of every concept over an episode, what is ready, what is taught.

It is drawn by hand rather than by matplotlib: runs of equal colour are one rectangle each, in whole numbers of steps
and concepts, so that a map of a hundred concepts stays a few kilobytes and sharp at any size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
from jaxtyping import Bool, Float, Int
from matplotlib.ticker import MaxNLocator

from mccpo.report import numbers
from mccpo.report.figures.drawing import INK, MUTED
from mccpo.report.figures.panels import Group, Legend, Panel
from mccpo.report.markup import Html, el, join
from mccpo.report.vocabulary import method_label
from mccpo.runs.results import Behaviour

_WIDTH, _RIGHT, _TOP, _BOTTOM = 281.0, 10.0, 4.0, 30.0  # the width is that of the other panels, so letters match
_ROW, _LEAST_ROW, _TALLEST = 10.0, 2.6, 225.0
_LETTER, _LINE, _LONGEST = 4.7, 8.5, 11  # of a label: width of a letter, least distance of two, most letters
_MANY, _MOST_ROWS = 40, 100  # concepts, beyond which those that play no part are left out; rows at all
_SHADES = 32
_TAUGHT = "#E8590C"  # stands out from the lightest and from the darkest shade
_THICKNESSES = 8  # of the bar of a concept that is taught; thinner than the least is left out
_FULL_BAR = 0.62  # of the height of a row
# Mastery from 0 to 1 goes in a straight line between these two in the space OKLab, where equal steps look equal.
_PALE, _DARK = np.array([0.972, -0.003, -0.008]), np.array([0.315, -0.018, -0.105])


def behaviour(
    by_method: Mapping[str, Behaviour] | None,
    names: Iterator[str],
    heading: str = "What the tutor does",
    *,
    only: Collection[str] | None = None,
) -> Group | None:
    """What each method's policy does, or what those named by `only` do, one panel each, all on the same scales."""
    wanted = [method for method in by_method or () if only is None or method in only]
    if not by_method or not wanted:
        return None
    rows = _shown(list(by_method.values()))
    steps = max(done.steps for done in by_method.values())
    panels = tuple(_panel(method, by_method[method], rows, steps, next(names)) for method in wanted)
    concepts = len(next(iter(by_method.values())).concepts)
    return Group(heading, " ".join(_note(concepts, rows)), panels, _legend())


def _note(concepts: int, rows: Int[np.ndarray, " shown"]) -> list[str]:
    left_out = f"{concepts - len(rows)} of {concepts} concepts, hardly ever ready or taught, are left out."
    return [
        "Each row is a concept, prerequisites below what needs them, and time runs to the right.",
        "A tutor that only pleases stays in one row; one that teaches climbs as concepts become ready.",
        "All values are means over the evaluation episodes of one seed.",
        *([left_out] if len(rows) < concepts else []),
    ]


def _shown(behaviours: list[Behaviour]) -> Int[np.ndarray, " shown"]:
    """The concepts to show: all, or of many those that under some method become ready, or are taught, the most."""
    lessons = np.max([done.chosen.sum(axis=0) for done in behaviours], axis=0)
    if len(lessons) <= _MANY:
        return np.arange(len(lessons))
    ready = np.max([done.ready.max(axis=0) for done in behaviours], axis=0)
    part = np.flatnonzero((ready >= 0.5) | (lessons >= 0.5))
    return np.sort(part[np.argsort(-lessons[part], kind="stable")][:_MOST_ROWS])


def _panel(method: str, done: Behaviour, rows: Int[np.ndarray, " shown"], steps: int, name: str) -> Panel:
    lessons = done.chosen.sum(axis=0)
    most = int(lessons.argmax())
    caption = (
        f"most taught: {_short(done.concepts[most])}, {numbers.share(float(lessons[most]) / done.steps)} of the steps; "
        f"ready at the end: {round(float(done.ready[-1].sum()), 1):g} of {len(done.concepts)}"
    )
    described = f"What {method_label(method)} does over {done.steps} steps; {caption}"
    return Panel(method_label(method), caption, _map(done, rows, steps, name, described))


def _map(done: Behaviour, rows: Int[np.ndarray, " shown"], steps: int, name: str, described: str) -> Html:
    labels = [done.concepts[row] for row in rows]
    height = max(_LEAST_ROW, min(_ROW, _TALLEST / len(rows)))
    left = 9.0 + _LETTER * max(len(_short(label)) for label in labels)
    across = (_WIDTH - left - _RIGHT) / steps
    bottom = _TOP + height * len(rows)
    # From here on rows go down the page: the last concept comes first.
    mastery, ready, chosen = (part[:, rows[::-1]].T for part in (done.mastery[1:], done.ready, done.chosen))
    to_page = f"translate({left:.5g} {_TOP:g}) scale({across:.5g} {height:.5g})"
    return el(
        "svg",
        _hatching(f"{name}-hatch"),
        el("g", *_shades(mastery), transform=to_page, shape_rendering="crispEdges"),
        el("path", d=_veil(ready < 0.5, left, across, height), fill=f"url(#{name}-hatch)"),
        el("path", d=_bars(chosen), transform=to_page, fill=_TAUGHT),
        _side(labels, left, height),
        _foot(steps, left, across, bottom),
        viewBox=f"0 0 {_WIDTH:g} {bottom + _BOTTOM:.5g}",
        role="img",
        aria_label=described,
    )


def _shades(mastery: Float[np.ndarray, "concepts steps"]) -> list[Html]:
    """One path for each shade, in steps and rows."""
    paths: dict[int, list[str]] = {}
    for y, start, length, shade in _runs(np.rint(mastery * _SHADES).astype(int)):
        paths.setdefault(shade, []).append(f"M{start} {y}h{length}v1h-{length}z")
    return [el("path", d="".join(parts), fill=_colour(shade / _SHADES)) for shade, parts in sorted(paths.items())]


def _veil(unready: Bool[np.ndarray, "concepts steps"], left: float, across: float, height: float) -> str:
    """What is not ready, in the page's own measure: a hatching that was scaled would lean differently in each map."""
    parts = []
    for y, start, length, veiled in _runs(unready.astype(int)):
        if veiled:
            wide = f"{across * length:.2f}"
            parts.append(f"M{left + across * start:.2f} {_TOP + height * y:.2f}h{wide}v{height:.2f}h-{wide}z")
    return "".join(parts)


def _bars(chosen: Float[np.ndarray, "concepts steps"]) -> str:
    """What is taught: bars in the middle of their rows, as thick as the share of episodes."""
    parts = []
    for y, start, length, thickness in _runs(np.rint(chosen * _THICKNESSES).astype(int)):
        if thickness:
            thick = _FULL_BAR * thickness / _THICKNESSES
            parts.append(f"M{start} {y + (1 - thick) / 2:.2f}h{length}v{thick:.2f}h-{length}z")
    return "".join(parts)


def _runs(table: Int[np.ndarray, "rows steps"]) -> Iterator[tuple[int, int, int, int]]:
    """Row, start, length and value of each run of equal values."""
    for y, row in enumerate(table):
        starts = np.flatnonzero(np.diff(row, prepend=row[0] - 1))
        lengths = np.diff(starts, append=len(row))
        for start, length in zip(starts, lengths, strict=True):
            yield y, int(start), int(length), int(row[start])


def _side(labels: list[str], left: float, height: float) -> Html:
    """The names of the concepts, the first at the bottom; with thin rows only every second, third and so on."""
    every = int(np.ceil(_LINE / height))
    bottom = _TOP + height * len(labels)
    texts = [
        el(
            "text",
            _short(label),
            el("title", label) if _short(label) != label else None,
            x=f"{left - 4:.5g}",
            y=f"{bottom - height * (row + 0.5) + 2.6:.5g}",
        )
        for row, label in enumerate(labels)
        if row % every == 0
    ]
    return el("g", *texts, fill=MUTED, font_size="7.5", text_anchor="end")


def _foot(steps: int, left: float, across: float, bottom: float) -> Html:
    """The axis of time."""
    ticks = [int(tick) for tick in MaxNLocator(5, integer=True).tick_values(0, steps) if 0 <= tick <= steps]
    places = [left + across * tick for tick in ticks]
    line = "".join(
        [f"M{left:.5g} {bottom:.5g}H{left + across * steps:.5g}", *(f"M{x:.5g} {bottom:.5g}v3" for x in places)]
    )
    texts = [el("text", f"{tick}", x=f"{x:.5g}", y=f"{bottom + 12:.5g}") for tick, x in zip(ticks, places, strict=True)]
    middle = f"{left + across * steps / 2:.5g}"
    title = el("text", "Step of the episode", x=middle, y=f"{bottom + 25:.5g}", fill=INK)
    return join(
        el("path", d=line, fill="none", stroke=MUTED, stroke_width="0.8"),
        el("g", *texts, title, fill=MUTED, font_size="9", text_anchor="middle"),
    )


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _legend() -> Legend:
    shades = [
        el("path", d=f"M{4 * place} 0h4v12h-4z", fill=_colour(place / 15), shape_rendering="crispEdges")
        for place in range(16)
    ]
    lines = "".join(f"M{x} 12l12-12" for x in range(-8, 28, 4))
    area = "M0 0h28v12h-28z"
    hatched = [el("path", d=area, fill=_colour(0.2)), el("path", d=area, **_VEIL), el("path", d=lines, **_HATCH)]
    bars = el("path", d="M0 5h8v2h-8zM10 4h8v4h-8zM20 2.3h8v7.4h-8z", fill=_TAUGHT)
    return (
        (_sample(64, *shades), "mastery, from 0 to 1"),
        (_sample(28, *hatched), "not ready in most episodes"),
        (_sample(28, bars), "taught, thicker in more episodes"),
    )


def _sample(width: int, *parts: Html) -> Html:
    return el("svg", *parts, viewBox=f"0 0 {width} 12", width=f"{width}", height="12", aria_hidden="true")


_HATCH = {"stroke": "#8792a0", "stroke_width": "0.6", "fill": "none"}
_VEIL = {"fill": "#fff", "fill_opacity": "0.5"}


def _hatching(name: str) -> Html:
    tile = [el("path", d="M0 0h4v4h-4z", **_VEIL), el("path", d="M-1 1l2-2M0 4l4-4M3 5l2-2", **_HATCH)]
    return el("defs", el("pattern", *tile, id=name, width="4", height="4", patternUnits="userSpaceOnUse"))


def _colour(share: float) -> str:
    """The shade of a mastery from 0 to 1."""
    lightness, a, b = _PALE + share * (_DARK - _PALE)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(max(part, 0.0), 1.0))):02x}" for part in linear)


def _gamma(linear: float) -> float:
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
