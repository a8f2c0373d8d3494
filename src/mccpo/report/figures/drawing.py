"""How figures look, and how they become markup that is the same to the byte wherever it is made."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from xml.etree import ElementTree

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from mccpo.report import numbers
from mccpo.report.markup import Html, el, join
from mccpo.report.vocabulary import split_weight

_LONG = re.compile(r"-?\d+\.\d{3,}")

SMALLEST_SHOWN = 1e-4  # where a logarithmic axis that must show 0 turns plain
_DECADES_FOR_LOG = 2.0
_LEAST_TOP = 0.05  # of an axis from 0, so that a trickle does not look like a flood
INK, MUTED, RULE = "#1f2328", "#59636e", "#d9dee3"

_RC = {
    "svg.hashsalt": "mccpo",
    "svg.fonttype": "none",  # text stays text: it can be selected and read aloud, and takes the page's font
    "text.parse_math": False,  # names come from users, and a `$` in one is not a formula
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


@dataclass(frozen=True)
class Stroke:
    """How one method is drawn in every figure: told apart by colour, by dashes and by marker."""

    colour: str
    dashes: tuple[float, ...] = ()
    marker: str = "o"
    width: float = 1.6

    @property
    def linestyle(self) -> tuple[int, tuple[float, ...]] | str:
        return (0, self.dashes) if self.dashes else "-"


# The palette of Okabe and Ito, which people with any of the common colour-vision deficiencies can tell apart.
STROKES = {
    "unconstrained": Stroke("#D55E00"),
    "reward-shaped": Stroke("#E69F00", (5, 1.5), "s"),
    "reward-shaped-gain": Stroke("#CC79A7", (3, 1), "s"),
    "post-hoc": Stroke("#56B4E9", (1.5, 1.2), "^"),
    "mc-cpo": Stroke("#0072B2", (), "D", 2.2),
    "mc-cpo-no-frontier": Stroke("#009E73", (4, 1.2, 1, 1.2), "v"),
}
_SPARE = (Stroke("#7F7F7F", (6, 1, 1, 1, 1, 1), "^"), Stroke("#B8A800", (2, 2), "v"), Stroke("#882255", (3, 2), "o"))
# The methods of one sweep share a colour: these tell them apart.
_SWEEP: tuple[tuple[tuple[float, ...], str], ...] = (
    ((), "s"),
    ((5, 1.5), "^"),
    ((1.5, 1.2), "v"),
    ((6, 1, 1, 1), "o"),
    ((3, 3), "D"),
)
# The markers in use, as paths around the middle of a swatch.
_MARKERS = {
    "o": "M10.6 6 A3.4 3.4 0 1 1 17.4 6 A3.4 3.4 0 1 1 10.6 6 Z",
    "s": "M10.9 2.9 H17.1 V9.1 H10.9 Z",
    "^": "M14 2.2 L17.8 9.2 H10.2 Z",
    "v": "M14 9.8 L17.8 2.8 H10.2 Z",
    "D": "M14 1.5 L17.8 6 L14 10.5 L10.2 6 Z",
    "d": "M14 1.5 L17 6 L14 10.5 L11 6 Z",
}
OPTIMUM = Stroke(INK, (5, 2.5), "", 1.1)
BUDGET = Stroke(INK, (1.2, 1.8), "", 1.2)
PAPER = Stroke(MUTED, (), "d")


def stroke(method: str, methods: list[str]) -> Stroke:
    """The stroke of a method among `methods`; those without one of their own take spare ones, in turn."""
    if method in STROKES:
        return STROKES[method]
    base, swept = split_weight(method)
    if swept:
        family = [name for name in methods if split_weight(name)[0] == base and name != base]
        dashes, marker = _SWEEP[family.index(method) % len(_SWEEP)]
        return replace(stroke(base, [*methods, base]), dashes=dashes, marker=marker)
    unknown = [name for name in methods if name not in STROKES and not split_weight(name)[1]]
    return _SPARE[unknown.index(method) % len(_SPARE)]


def draw(plot: Callable[[Axes], None], *, name: str, describe: str, size: tuple[float, float] = (3.9, 2.6)) -> Html:
    """Draws one panel and returns it as inline SVG, whose ids all begin with `name`."""
    # The reader's own matplotlib settings must not reach the file: start from the library's defaults, then ours.
    with matplotlib.style.context(["default", _RC]):
        figure = Figure(figsize=size, layout="constrained")
        plot(figure.add_subplot())
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return _inline(buffer.getvalue(), name, describe)


def plain_ticks(axes: Axes, *, x: bool = False, y: bool = False) -> None:
    """Labels the ticks of an axis with short numbers, such as `50k`, `0.25` and `10⁶`, few enough not to touch."""
    for axis, wanted in ((axes.xaxis, x), (axes.yaxis, y)):
        if not wanted:
            continue
        axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
        if axis.get_scale() in ("log", "symlog"):
            axis.set_minor_formatter(NullFormatter())
        else:
            axis.set_major_locator(MaxNLocator(5))


def from_zero(axes: Axes, top: float, *, most: float = float("inf")) -> None:
    """Lets the axis of what cannot be negative begin at 0 and end where the data do, or at `most`."""
    top = min(most, max(_LEAST_TOP, top))
    axes.set_ylim(-0.03 * top, 1.03 * top)


def exact_line(axes: Axes, points: list[tuple[float, float]]) -> None:
    """The exact optimum through points, in front of the methods' lines: a learner that reaches it would hide it."""
    x, y = [point[0] for point in points], [point[1] for point in points]
    axes.plot(x, y, color=OPTIMUM.colour, linestyle=OPTIMUM.linestyle, linewidth=OPTIMUM.width, zorder=4)


def spans_decades(values: list[float]) -> bool:
    """Whether numbers lie so far apart that only a logarithmic axis shows them all."""
    positive = [value for value in values if value > 0.0]
    return bool(positive) and min(values) >= 0.0 and max(positive) / min(positive) > 10.0**_DECADES_FOR_LOG


def swatch(style: Stroke, *, line: bool = True, marker: bool = False, hollow: bool = False) -> Html:
    """A small sample of a stroke for a legend in the page."""
    dashes = " ".join(f"{style.width * part:g}" for part in style.dashes) or None
    sample = (
        el(
            "line",
            x1="1",
            x2="27",
            y1="6",
            y2="6",
            stroke=style.colour,
            stroke_dasharray=dashes,
            stroke_width=f"{1.2 * style.width:g}",
        )
        if line
        else None
    )
    fill = "#fff" if hollow else style.colour
    dot = _dot(style, fill) if marker else None
    return el("svg", sample, dot, viewBox="0 0 28 12", width="28", height="12", aria_hidden="true")


def _dot(style: Stroke, fill: str) -> Html:
    return el("path", d=_MARKERS[style.marker], fill=fill, stroke=style.colour)


def _tick(value: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if size <= abs(value) < 1000 * size:
            return f"{value / size:.6g}{unit}".replace("-", "−")
    if value and not 1e-4 <= abs(value) < 1e3:
        return numbers.number(value).replace("1.00×", "").replace(".00×", "×")
    return f"{value:.6g}".replace("-", "−")


def _inline(svg: bytes, name: str, describe: str) -> Html:
    """Makes an SVG file an element of a page: no namespaces, no metadata, no style that leaks, no id twice."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("metadata", "style"):
                parent.remove(child)
    used = {reference for element in root.iter() for value in element.attrib.values() if (reference := _target(value))}
    for element in root.iter():
        if element.get("id") not in used:  # most ids name parts for editors, and only cost space here
            element.attrib.pop("id", None)
        for key, value in element.attrib.items():
            target = value if key == "id" else _target(value)
            if target:
                element.set(key, value.replace(target, f"{name}-{target}"))
        if "d" in element.attrib:  # a hundredth of a point is finer than any screen, and a third of the bytes
            element.set("d", _LONG.sub(lambda match: f"{float(match[0]):.2f}", element.attrib["d"]))
    box = root.get("viewBox", "")
    root.attrib = {"viewBox": box, "role": "img", "aria-label": describe}
    return join(Html(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)))


def _target(value: str) -> str | None:
    """The id that an attribute such as `url(#p1)` or `#m2` points to."""
    if value.startswith("url(#"):
        return value.removeprefix("url(#").removesuffix(")")
    return value.removeprefix("#") if value.startswith("#") and not _is_colour(value) else None


def _is_colour(value: str) -> bool:
    return len(value) in (4, 7) and all(digit in "0123456789abcdefABCDEF" for digit in value[1:])
