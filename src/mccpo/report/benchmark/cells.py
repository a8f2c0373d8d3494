"""What the tables of a benchmark's report are made of: heads, rows, cells, and what each is sorted by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mccpo.report import numbers
from mccpo.report.benchmark.views import CellView, Measure, Pair
from mccpo.report.benchmark.words import KINDS
from mccpo.report.figures.drawing import MUTED, RULE
from mccpo.report.markup import Html, el, join
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label
from mccpo.runs.benchmark import Improvement, InterquartileMean

NONE = "–"


@dataclass(frozen=True)
class Head:
    """The head of a column: what it says, and whether its first sorting has the small ones first."""

    text: str
    below: str = ""
    ascending: bool = False
    sorted: bool = False


def table(heads: Sequence[Head], rows: Sequence[Html], kind: str) -> Html:
    """A table that sorts by its heads."""
    cells = [
        el(
            "th",
            head.text,
            el("small", head.below) if head.below else None,
            scope="col",
            data_first="ascending" if head.ascending else "descending",
            aria_sort="descending" if head.sorted else None,
        )
        for head in heads
    ]
    element = el(
        "table", el("thead", el("tr", *cells)), el("tbody", join(*rows, between="\n")), class_=f"sortable {kind}"
    )
    # A wide table scrolls in a box of its own, which can be reached by keyboard.
    return el("div", element, class_="scroll", tabindex="0", role="region", aria_label="Table")


def row(method: str, cells: Sequence[Html]) -> Html:
    """A row, which stands out where it is MC-CPO's."""
    return el("tr", *cells, class_="our" if method == OUR_METHOD else None)


def missing() -> Html:
    """Where there is no number."""
    return el("td", NONE, data_sort="")


def method_head(method: str, kind: str, status: str = "") -> Html:
    """The name of a method, what kind it is, and what became of it where that has to be said."""
    label = method_label(method)
    below = el("small", status, class_="differs" if status.startswith("✗") else None) if status else None
    return el("th", label, el("small", KINDS.get(kind, kind)), below, scope="row", data_sort=label)


def number(value: float | None, show: Callable[[float], str], cell: CellView | None = None) -> Html:
    """A number as `show` writes it."""
    text = NONE if value is None else show(value)
    return el("td", link(cell, text), data_sort=key(value))


def spread(cell: CellView, name: str) -> Html:
    """The mean and the spread of a metric of a cell."""
    measured = cell.metrics.get(name)
    if measured is None:
        return missing()
    return el("td", link(cell, numbers.with_spread(measured.mean, measured.shown_std)), data_sort=key(measured.mean))


def mean(cell: CellView, name: str, show: Callable[[float], str] = numbers.number) -> Html:
    """The mean of a metric of a cell alone."""
    measured = cell.metrics.get(name)
    return number(measured.mean if measured else None, show, cell)


def seeds(cell: CellView, name: str) -> Html:
    """Of all seeds, those that came to nothing among them, how many a metric of yes or no holds for."""
    measured = cell.metrics.get(name)
    if measured is None:
        return missing()
    held = round(sum(measured.per_seed))
    return el("td", link(cell, f"{held}/{cell.seeds}"), data_sort=key(held / cell.seeds))


def score(pair: Pair, measure: Measure, *notes: Html) -> Html:
    """A score of a method on an environment, its mean and spread; none where no seed came to anything."""
    scored = pair.score(measure) if any(cell.seeds_done for cell in pair.cells) else None
    if scored is None:
        return missing()
    deviation = "" if scored.shown_std is None else f" ± {scored.std:.3f}"
    return el("td", link(pair.first, f"{scored.mean:.3f}{deviation}"), *notes, data_sort=key(scored.mean))


def met(cells: Sequence[CellView], cell: CellView | None = None) -> Html:
    """Of how many seeds, at all κ, every budget is met."""
    asked = sum(counted.seeds for counted in cells)
    if not asked:
        return missing()
    within = sum(counted.seeds_met for counted in cells)
    every = within == asked
    shown = el("span", f"{mark(every)} {within}/{asked}", class_="agrees" if every else "differs")
    return el("td", link(cell, shown), data_sort=key(within / asked))


def estimate(
    estimated: InterquartileMean | Improvement | None, colour: str, *, top: float = 1.0, middle: float | None = None
) -> Html:
    """A number that is said over all environments, with its interval in digits and drawn."""
    if estimated is None:
        return missing()
    value = estimated.p if isinstance(estimated, Improvement) else estimated.iqm
    low, high = estimated.ci or (value, value)
    ends = el("small", f"{low:.3f} to {high:.3f}") if estimated.ci else None
    drawn = interval(value, low, high, colour, top=top, middle=middle)
    return el("td", f"{value:.3f} ", drawn, ends, data_sort=key(value))


def stated(overall: InterquartileMean | None) -> Html:
    """An interquartile mean with its interval in digits alone, which takes less room."""
    if overall is None:
        return missing()
    between = unbroken(f"{overall.ci[0]:.3f} to {overall.ci[1]:.3f}") if overall.ci else ""
    return el("td", f"{overall.iqm:.3f}", el("small", between), data_sort=key(overall.iqm))


def interval(
    value: float, low: float, high: float, colour: str, *, top: float = 1.0, middle: float | None = None
) -> Html:
    """A number from 0 to `top` with its interval, small enough for a row of a table."""
    width = 96.0

    def at(share: float) -> str:
        return f"{3 + (width - 6) * min(max(share / top, 0.0), 1.0):.1f}"

    def line(start: str, end: str, top: str, bottom: str, stroke: str, thick: str) -> Html:
        return el("line", x1=start, x2=end, y1=top, y2=bottom, stroke=stroke, stroke_width=thick)

    parts = [line(at(0), at(top), "6", "6", RULE, "1")]
    if middle is not None:
        parts.append(line(at(middle), at(middle), "0", "12", MUTED, "1"))
    parts.append(line(at(low), at(high), "6", "6", colour, "2.4"))
    parts.append(el("circle", cx=at(value), cy="6", r="3.2", fill=colour))
    return el("svg", *parts, viewBox=f"0 0 {width:g} 12", width=f"{width:g}", height="12", aria_hidden="true")


def text(words: str) -> Html:
    """Words, by which a column is sorted too."""
    return el("td", words, data_sort=words)


def link(cell: CellView | None, shown: str) -> Html:
    """A number as a link to the run behind it, where its folder is there."""
    if cell is None or not cell.link or shown == NONE:
        return join(shown)
    return el("a", shown, href=cell.link)


def unbroken(words: str) -> str:
    """Words that stay on one line where columns are narrow."""
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def mark(good: bool) -> str:
    """A sign, so that colour is never needed to read it."""
    return "✓" if good else "✗"


def key(value: float | None) -> str:
    """What a cell is sorted by; nothing where it has no value, which puts it last."""
    return "" if value is None else repr(float(value))
