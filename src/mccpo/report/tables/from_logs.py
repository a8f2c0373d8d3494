"""What a table from logs says of its data: graph, events, episodes, and how often right answers taught nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mccpo.report import numbers
from mccpo.report.checks import Json, as_list, as_mapping, as_number, as_numbers
from mccpo.report.markup import Html, el, join

_POPULATIONS = {"all": "all interactions", "episodes": "the retained episodes"}
_SHARES = {"interactions": "all of them", "judged": "those that the measure judges", "correct": "right answers"}
_MEASURES = {"signal": "the platform's signal", "ema": "a moving average (EMA) of right answers"}


@dataclass(frozen=True)
class Decoupling:
    """How often an answer was right and brought no gain: by which measure, among what, and as a share of what."""

    measure: str
    population: str
    of: str
    events: float
    analysed: float
    rate: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class FromLogs:
    """Where an environment that was made from logs comes from."""

    graph: dict[str, float]
    derived: str
    events: dict[str, float]
    episodes: dict[str, float]
    learners: dict[str, float]
    explained: dict[str, float]
    decoupling: tuple[Decoupling, ...]
    in_paper: dict[str, float]


def from_logs(raw: object, where: str) -> FromLogs | None:
    """What results say under `data`, where they do."""
    if raw is None:
        return None
    found = as_mapping(raw, where)
    graph = as_mapping(found.get("graph"), f"{where}, graph")
    engagement = as_mapping(found.get("engagement"), f"{where}, engagement")
    explained = {who: as_mapping(one, f"{where}, {who}").get("r_squared") for who, one in engagement.items()}
    rates = as_list(found.get("decoupling"), f"{where}, decoupling")
    return FromLogs(
        graph=as_numbers({key: graph.get(key) for key in ("concepts", "edges")}, f"{where}, graph"),
        derived=str(graph.get("derived") or ""),
        events=as_numbers(found.get("events"), f"{where}, events"),
        episodes=as_numbers(found.get("episodes"), f"{where}, episodes"),
        learners=as_numbers(found.get("learners"), f"{where}, learners"),
        explained=as_numbers(explained, f"{where}, engagement"),
        decoupling=tuple(_decoupling(as_mapping(one, where), f"{where}, decoupling") for one in rates),
        in_paper=as_numbers(found.get("decoupling in the paper"), f"{where}, decoupling in the paper"),
    )


def _decoupling(raw: Json, where: str) -> Decoupling:
    told = as_numbers({key: raw.get(key) for key in ("rate", "low", "high")}, where)
    return Decoupling(
        measure=str(raw.get("measure")),
        population=str(raw.get("population")),
        of=str(raw.get("of")),
        events=as_number(raw.get("events"), f"{where}, events"),
        analysed=as_number(raw.get("analysed"), f"{where}, analysed"),
        rate=told.get("rate"),
        interval=(told["low"], told["high"]) if {"low", "high"} <= told.keys() else None,
    )


def section(data: FromLogs | None) -> Html | None:
    """The data of a table in a few lines, and the rates as a table."""
    if data is None:
        return None
    pairs = [el("div", el("dt", name), el("dd", text)) for name, text in _facts(data) if text]
    return join(el("h3", "The data"), el("dl", *pairs, class_="protocol"), _rates(data))


def _facts(data: FromLogs) -> Iterator[tuple[str, str]]:
    yield "graph", _counted(data.graph) + (f": {data.derived}" if data.derived else "")
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
    rows = []
    for one in data.decoupling:
        interval = "–" if one.interval is None else " to ".join(numbers.share(end) for end in one.interval)
        cells = [
            _MEASURES.get(one.measure, one.measure),
            _POPULATIONS.get(one.population, one.population),
            _SHARES.get(one.of, one.of),
            f"{one.events:,.0f}",
            f"{one.analysed:,.0f}",
            "–" if one.rate is None else numbers.share(one.rate),
            interval,
        ]
        rows.append(el("tr", el("th", cells[0], scope="row"), *(el("td", cell) for cell in cells[1:])))
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in names)))
    table = el("table", head, el("tbody", *rows), class_="groups")
    reported = ""
    if {"events", "analysed", "rate"} <= data.in_paper.keys():
        events, analysed, rate = (data.in_paper[name] for name in ("events", "analysed", "rate"))
        reported = f" The paper reports {events:,.0f} of {analysed:,.0f}, {numbers.share(rate)}."
    told = el("p", f"How often an answer was right and brought no gain of mastery.{reported}", class_="note")
    return join(told, el("div", table, class_="scroll", tabindex="0"))
