"""The report of a benchmark: one page that opens offline, the same to the byte for the same folder.

Its script only sorts tables: without it, everything is there to be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from itertools import count
from pathlib import Path

from mccpo import files
from mccpo.report import numbers
from mccpo.report.benchmark import figures as drawings
from mccpo.report.benchmark import overall as over
from mccpo.report.benchmark import tables, words
from mccpo.report.benchmark.data import Board, Place
from mccpo.report.benchmark.finding import finding, verdict
from mccpo.report.benchmark.reading import read
from mccpo.report.markup import Html, el, join
from mccpo.report.page.html import figures, page
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

PAGE = "report.html"


def write(folder: str | Path) -> Path:
    """Writes `report.html` into the folder of a benchmark, of what it holds so far; gives its path."""
    place = Path(folder)
    files.write_text(place / PAGE, render(read(place)))
    return place / PAGE


def render(board: Board) -> str:
    """The text of the page."""
    names = (f"b{number}" for number in count(1))
    coloured = drawings.strokes(board)
    title = words.title(board)
    parts = [
        _summary(board, title),
        _overall(board, coloured, names),
        *(_environment(place, board, coloured, names) for place in board.places),
        _unseen(board, coloured, names),
        _faults(board),
        _glossary(),
    ]
    script = resources.files("mccpo.report").joinpath("sorting.js").read_text(encoding="utf-8")
    return page(title, join(el("main", join(*parts, between="\n"), class_="benchmark"), el("script", Html(script))))


def _summary(board: Board, title: str) -> Html:
    """The first screen: what was compared, what was found on each environment; then under which protocol."""
    facts = [el("div", el("dt", name), el("dd", value)) for name, value in words.protocol(board)]
    absent = [el("a", place.name, href=f"#{_slug(place.name)}") for place in board.places if place.missing]
    rows = el("a", "rows.parquet", href="rows.parquet") if board.linked else "rows.parquet"
    lead = "On each environment a number leads to the folder of its runs, where there is one. " if board.linked else ""
    told = el("p", lead, "Click a column's head to sort by it. Every seed's values are in ", rows, ".", class_="note")
    return el(
        "section",
        el("h1", title),
        el("div", *(el("p", text) for text in finding(board)), class_="finding"),
        over.standings(board, _slug) if board.run else None,
        el("p", el("b", "Not run: "), join(*absent, between=" · ")) if absent else None,
        el("dl", *facts, class_="protocol"),
        told,
    )


def _overall(board: Board, coloured: drawings.Strokes, names: Iterator[str]) -> Html:
    drawn = drawings.profiles(board, coloured, names)
    others = over.unranked(board)
    told = (
        "Each of these has a result on some environments only, which may be the harder or the easier ones, and stands "
        f"beside {method_label(OUR_METHOD)} on the same environments and seeds; they are not ranked."
    )
    return el(
        "section",
        el("h2", "Over all environments"),
        over.ranked(board) or el("p", "No method has a result on every environment, so that none can be ranked."),
        None if drawn is None else figures(drawn),
        None
        if others is None
        else join(el("h3", "Methods with a result on some environments only"), el("p", told), others),
        id="overall",
    )


def _environment(place: Place, board: Board, coloured: drawings.Strokes, names: Iterator[str]) -> Html:
    name = _slug(place.name)
    if place.missing:
        told = el("p", el("b", "Not run: "), place.missing)
        return el("section", el("h2", place.name), told, id=name)
    drawn = drawings.front(place, coloured, names)
    more = join(el("summary", "Constraint values at every κ"), tables.constraints(place))
    return el(
        "section",
        el("h2", place.name),
        el("p", verdict(place, board)),
        el("p", words.exactness(place), class_="note") if place.finite else None,
        _posed(place),
        tables.environment(place, board.kappas),
        # Values beside the exact optimum are what a reader of a finite environment has come for.
        _exact(place) if place.finite else None,
        None if drawn is None else figures(drawn),
        el("details", more),
        id=name,
    )


def _exact(place: Place) -> Html:
    told = (
        "The share of the optimum's return, where every seed meets the budgets. Below the mean of a cost is its worst "
        "seed, marked where that is over the budget."
    )
    return join(el("h3", "Beside the exact optimum"), el("p", told, class_="note"), tables.exact(place))


def _posed(place: Place) -> Html:
    """What the budgets refer to."""
    entries = [("return without budgets", numbers.short(place.ret))]
    entries += [(f"J({cost}) without budgets", numbers.short(place.costs[cost])) for cost in place.constrained]
    entries += [
        (f"optimum, κ = {kappa:g}", numbers.short(best["return"]) if "return" in best else "cannot be met")
        for kappa, best in place.optimum.items()
    ]
    return el("dl", *(el("div", el("dt", key), el("dd", value)) for key, value in entries), class_="protocol")


def _unseen(board: Board, coloured: drawings.Strokes, names: Iterator[str]) -> Html | None:
    if not board.asked:
        return None
    first = [name for name in board.asked if name == OUR_METHOD or board.told_budgets(name)]
    others = [name for name in board.asked if name not in first]
    told = (
        "A conditioned policy (CCPO) is told its budgets, and is asked for κ that it need not have met in training. A "
        "method that is trained for each κ answers with the policy of the next smaller κ, which wastes some of the "
        "budget; below the smallest it has none."
    )
    drawn = drawings.unseen(board, first, coloured, names)
    return el(
        "section",
        el("h2", "Budgets that nobody trained for"),
        el("p", told),
        tables.unseen(board, first) if first else None,
        None if drawn is None else figures(drawn),
        el("details", el("summary", "The other methods"), tables.unseen(board, others)) if others else None,
        id="unseen",
    )


def _faults(board: Board) -> Html | None:
    table = tables.faults(board)
    return None if table is None else el("section", el("h2", "What did not finish"), table, id="faults")


def _glossary() -> Html:
    pairs = [el("div", el("dt", name), el("dd", meaning)) for name, meaning in words.GLOSSARY.items()]
    return el("section", el("h2", "What the columns mean"), el("dl", *pairs, class_="glossary"), id="glossary")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"on-{name}".lower()).strip("-")
