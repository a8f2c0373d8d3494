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
from mccpo.report.benchmark.finding import finding, verdict
from mccpo.report.benchmark.plane import opening, plane
from mccpo.report.benchmark.reading import read
from mccpo.report.benchmark.views import EnvironmentView
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.report.markup import Html, el, join
from mccpo.report.page.html import figures, page
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.report.vocabulary import method_label

PAGE = "report.html"
_FIRST = 3
"""Paragraphs of the finding that stand before the pictures."""


def write(folder: str | Path) -> Path:
    """Writes `report.html` into the folder of a benchmark, of what it holds so far; gives its path."""
    path = Path(folder) / PAGE
    files.write_text(path, render(read(Path(folder))))
    return path


def render(view: BenchmarkView) -> str:
    """The text of the page."""
    names = (f"b{number}" for number in count(1))
    coloured = drawings.strokes(view)
    title = words.title(view)
    parts = [
        _summary(view, title, coloured, names),
        _overall(view, coloured, names),
        *(_environment(environment, view, coloured, names) for environment in view.environments),
        _unseen(view, coloured, names),
        _faults(view),
        _glossary(view),
    ]
    script = resources.files("mccpo.report").joinpath("sorting.js").read_text(encoding="utf-8")
    return page(title, join(el("main", join(*parts, between="\n"), class_="benchmark"), el("script", Html(script))))


def _summary(view: BenchmarkView, title: str, coloured: drawings.Strokes, names: Iterator[str]) -> Html:
    """The first screen: what was compared and found, and a picture; then each environment, and the protocol."""
    found = [el("p", text) for text in finding(view)]
    drawn = opening(view, coloured, names)
    facts = [el("div", el("dt", name), el("dd", value)) for name, value in words.protocol(view)]
    absent = [
        el("a", environment.name, href=f"#{_slug(environment.name)}")
        for environment in view.environments
        if environment.missing
    ]
    rows = el("a", "rows.parquet", href="rows.parquet") if view.linked else "rows.parquet"
    lead = "On each environment a number leads to the folder of its runs, where there is one. " if view.linked else ""
    note = el("p", lead, "Click a column's head to sort by it. Every seed's values are in ", rows, ".", class_="note")
    return el(
        "section",
        el("h1", title),
        el("div", *found[:_FIRST], class_="finding"),
        None if drawn is None else el("div", figures(drawn), class_="opening planes"),
        el("div", *found[_FIRST:], class_="finding") if found[_FIRST:] else None,
        over.by_environment(view, _slug) if view.run else None,
        el("p", el("b", "Not run: "), join(*absent, between=" · ")) if absent else None,
        el("dl", *facts, class_="protocol"),
        note,
    )


def _overall(view: BenchmarkView, coloured: drawings.Strokes, names: Iterator[str]) -> Html:
    drawn = drawings.profiles(view, coloured, names)
    others = over.unranked(view)
    note = (
        "Each of these has a result on some environments only, which may be the harder or the easier ones, and stands "
        f"beside {method_label(OUR_METHOD)} on the same environments and seeds; they are not ranked."
    )
    return el(
        "section",
        el("h2", "Over all environments"),
        over.ranked(view) or el("p", "No method has a result on every environment, so that none can be ranked."),
        None if drawn is None else figures(drawn),
        None
        if others is None
        else join(el("h3", "Methods with a result on some environments only"), el("p", note), others),
        id="overall",
    )


def _environment(
    environment: EnvironmentView, view: BenchmarkView, coloured: drawings.Strokes, names: Iterator[str]
) -> Html:
    name = _slug(environment.name)
    if environment.missing:
        note = el("p", el("b", "Not run: "), environment.missing)
        return el("section", el("h2", environment.name), note, id=name)
    drawn = drawings.front(environment, coloured, names)
    teaching = plane(environment, coloured, names)
    more = join(el("summary", "Constraint values at every κ"), tables.constraints(environment))
    return el(
        "section",
        el("h2", environment.name),
        el("p", verdict(environment, view)),
        el("p", words.exactness(environment), class_="note") if environment.finite else None,
        _posed(environment),
        tables.methods(environment, view.kappas),
        # Values beside the exact optimum are what a reader of a finite environment has come for.
        _exact(environment) if environment.finite else None,
        None if drawn is None else figures(drawn),
        None if teaching is None else figures(teaching),
        el("details", more),
        id=name,
    )


def _exact(environment: EnvironmentView) -> Html:
    note = (
        "The share of the optimum's return, where every seed meets the budgets. Below the mean of a cost is its worst "
        "seed, marked where that is over the budget."
    )
    return join(el("h3", "Beside the exact optimum"), el("p", note, class_="note"), tables.exact(environment))


def _posed(environment: EnvironmentView) -> Html:
    """What the budgets refer to."""
    entries = [("return without budgets", numbers.short(environment.ret))]
    entries += [
        (f"J({cost}) without budgets", numbers.short(environment.costs[cost])) for cost in environment.constrained
    ]
    entries += [
        (
            f"floor on {name}, at every κ",
            f"{numbers.short(floor)}, where {numbers.short(environment.reach[name])} can be reached",
        )
        for name, floor in environment.floors.items()
    ]
    entries += [
        (f"optimum, κ = {kappa:g}", "cannot be met" if best.ret is None else numbers.short(best.ret))
        for kappa, best in environment.optimum.items()
    ]
    return el("dl", *(el("div", el("dt", key), el("dd", value)) for key, value in entries), class_="protocol")


def _unseen(view: BenchmarkView, coloured: drawings.Strokes, names: Iterator[str]) -> Html | None:
    if not view.asked:
        return None
    first = [name for name in view.asked if name == OUR_METHOD or view.sees_budgets(name)]
    others = [name for name in view.asked if name not in first]
    note = (
        "A conditioned policy (CCPO) is told its budgets, and is asked for κ that it need not have met in training. A "
        "method that is trained for each κ answers with the policy of the next smaller κ, which wastes some of the "
        "budget; below the smallest it has none."
    )
    drawn = drawings.unseen(view, first, coloured, names)
    return el(
        "section",
        el("h2", "Budgets that nobody trained for"),
        el("p", note),
        tables.unseen(view, first) if first else None,
        None if drawn is None else figures(drawn),
        el("details", el("summary", "The other methods"), tables.unseen(view, others)) if others else None,
        id="unseen",
    )


def _faults(view: BenchmarkView) -> Html | None:
    table = tables.faults(view)
    return None if table is None else el("section", el("h2", "What did not finish"), table, id="faults")


def _glossary(view: BenchmarkView) -> Html:
    pairs = [el("div", el("dt", name), el("dd", meaning)) for name, meaning in words.glossary(view).items()]
    return el("section", el("h2", "What the columns mean"), el("dl", *pairs, class_="glossary"), id="glossary")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"on-{name}".lower()).strip("-")
