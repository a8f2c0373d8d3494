"""The monitor: rates and how they moved, costs beside their budgets, and what groups of learners meet with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import Query, Response

from mccpo.serve.api.answers import answer
from mccpo.serve.monitor.monitor import BOUNDS
from mccpo.serve.pages.access import View, Viewing, page_router
from mccpo.serve.service.service import wall_clock

router = page_router()

Span = Annotated[Literal["hour", "day", "year"], Query()]
WIDTH = 200
"""The width of an interval's drawing, in the units of its picture."""


@router.get("/monitor")
async def monitor(view: Viewing, span: Span = "hour") -> Response:
    """What the monitor sees; its numbers go on by themselves."""
    return view.show("monitor.html", span=span, moved=False, **_seen(view))


@router.get("/monitor/numbers")
async def numbers(view: Viewing) -> Response:
    """The part of the page that moves."""
    return view.show("moved_numbers.html", moved=True, **_seen(view))


@router.get("/monitor/curves")
async def curves(view: Viewing, span: Span = "hour") -> Response:
    """The curves, as JSON, with the budgets of the costs."""
    budgets = {name: cost["budget"] for name, cost in _report(view)["costs"].items()}
    columns = view.watch.curves(view.tenant, span, wall_clock())
    return answer({"columns": columns, "budgets": budgets})


def _report(view: View) -> dict[str, Any]:
    return view.watch.report(view.tenant)


def _seen(view: View) -> dict[str, Any]:
    report = _report(view)
    labels = {label: _measures(found) for label, found in report["equity"].items()}
    verdicts = [(label, one) for label, found in labels.items() for one in found if one["gap"]]
    return {
        "report": report,
        "costs": {name: _cost(cost) for name, cost in report["costs"].items()},
        "labels": labels,
        "left_out": {label: found["left_out"] for label, found in report["equity"].items()},
        "alarms": [(label, one) for label, one in verdicts if one["gap"]["verdict"] == "alarm"],
    }


def _measures(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups of one label, measure by measure, each with the places of its interval in a drawing."""
    measures = []
    for name in BOUNDS:
        groups = {group: of[name] for group, of in found["groups"].items() if of[name] is not None}
        ends = [end for of in groups.values() for end in of["interval"]]
        drawn = [
            {"group": group, "learners": found["groups"][group]["learners"], **of, "at": _places(of, ends)}
            for group, of in groups.items()
        ]
        measures.append({"name": name, "groups": drawn, "gap": found["gaps"].get(name)})
    return measures


def _cost(cost: dict[str, Any]) -> dict[str, Any]:
    """A cost with the places of its interval and its budget."""
    if cost["full"] is None:
        return cost | {"at": None}
    low, high = cost["interval"] or (cost["full"], cost["full"])
    budget = cost["budget"]
    of = {"mean": cost["full"], "interval": (low, high)}
    places = _places(of, [0.0, high, cost["full"], budget or 0.0], budget=budget)
    return cost | {"at": places}


def _places(of: dict[str, Any], ends: Sequence[float], **more: float | None) -> dict[str, float]:
    """Where the mean, the ends of the interval and other values lie between the least and the greatest of `ends`."""
    least, most = min(ends), max(ends)
    wide = (most - least) or 1.0
    values = {"low": of["interval"][0], "mean": of["mean"], "high": of["interval"][1], **more}
    margin = 6
    return {
        name: round(margin + (WIDTH - 2 * margin) * (min(max(value, least), most) - least) / wide, 1)
        for name, value in values.items()
        if value is not None
    }
