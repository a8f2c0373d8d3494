"""What a table from logs says of its data: graph, events, episodes, and how often right answers taught nothing."""

from __future__ import annotations

from collections.abc import Iterator

from mccpo.report import numbers
from mccpo.report.markup import Html, el, join
from mccpo.runs.results import Decoupling, FromLogs

_POPULATIONS = {"all": "all interactions", "episodes": "the retained episodes"}
_SHARES = {"interactions": "all of them", "judged": "those that the measure judges", "correct": "right answers"}
_MEASURES = {"signal": "the platform's signal", "ema": "a moving average (EMA) of right answers"}


def section(data: FromLogs | None) -> Html | None:
    """The data of a table in a few lines, and the rates as a table."""
    if data is None:
        return None
    pairs = [el("div", el("dt", name), el("dd", text)) for name, text in _facts(data) if text]
    return join(el("h3", "The data"), el("dl", *pairs, class_="protocol"), _rates(data))


def _facts(data: FromLogs) -> Iterator[tuple[str, str]]:
    yield "graph", _counted(data.size) + (f": {data.derived}" if data.derived else "")
    yield "events", _counted(data.events)
    yield "episodes", ", ".join(f"{name} {_plain(value)}" for name, value in data.episodes.items())
    if data.learners:
        yield "learners", ", ".join(f"{value:,.0f} of the {name}" for name, value in data.learners.items())
    if data.explained:
        yield "R² of engagement", ", ".join(f"{value:.2f} of the {name}" for name, value in data.explained.items())


def _counted(counts: dict[str, float]) -> str:
    return ", ".join(f"{count:,.0f} {name}" for name, count in counts.items())


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def _rates(data: FromLogs) -> Html | None:
    if not data.decoupling:
        return None
    names = ("Gain by", "Among", "As a share of", "Events", "Analysed", "Rate", "95 % interval")
    cells = [_cells(rate) for rate in data.decoupling]
    rows = [el("tr", el("th", row[0], scope="row"), *(el("td", cell) for cell in row[1:])) for row in cells]
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in names)))
    table = el("table", head, el("tbody", *rows), class_="groups")
    note = f"How often an answer was right and brought no gain of mastery.{_in_paper(data)}"
    return join(el("p", note, class_="note"), el("div", table, class_="scroll", tabindex="0"))


def _cells(rate: Decoupling) -> list[str]:
    return [
        _MEASURES.get(rate.measure, rate.measure),
        _POPULATIONS.get(rate.population, rate.population),
        _SHARES.get(rate.of, rate.of),
        f"{rate.events:,.0f}",
        f"{rate.analysed:,.0f}",
        "–" if rate.rate is None else numbers.share(rate.rate),
        "–" if rate.interval is None else " to ".join(numbers.share(end) for end in rate.interval),
    ]


def _in_paper(data: FromLogs) -> str:
    reported = data.in_paper or {}
    if not {"events", "analysed", "rate"} <= reported.keys():
        return ""
    events, analysed, rate = (reported[name] for name in ("events", "analysed", "rate"))
    return f" The paper reports {events:,.0f} of {analysed:,.0f}, {numbers.share(rate)}."
