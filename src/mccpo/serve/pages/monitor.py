"""The monitor: rates and how they moved, costs beside their budgets, and how groups of learners are treated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import Query, Response

from mccpo.serve.api.answers import answer
from mccpo.serve.monitor.report import CostReport, EquityReport, EstimateReport
from mccpo.serve.monitor.spending import COSTS
from mccpo.serve.pages.access import View, Viewing, page_router
from mccpo.serve.pages.next_steps import WORDS, next_steps
from mccpo.serve.problems import Forbidden
from mccpo.serve.service.service import wall_clock

router = page_router()

Span = Annotated[Literal["hour", "day", "year"], Query()]
WIDTH = 200
"""The width of an interval's drawing, in the units of its picture."""
MEASURES: tuple[Literal["restriction_rate", "time_to_unlock", "mastery_gain"], ...] = (
    "restriction_rate",
    "time_to_unlock",
    "mastery_gain",
)
"""The measures by which groups are compared, in the order of the page."""


@router.get("/monitor")
async def monitor(view: Viewing, span: Span = "hour") -> Response:
    """What the monitor sees; its numbers go on by themselves."""
    return view.show("monitor.html", span=span, moved=False, **_content(view))


@router.get("/monitor/numbers")
async def numbers(view: Viewing) -> Response:
    """The part of the page that moves."""
    return view.show("moved_numbers.html", moved=True, **_content(view))


@router.get("/monitor/curves")
async def curves(view: Viewing, span: Span = "hour") -> Response:
    """The curves, as JSON, with the budgets of the costs."""
    _content(view)
    budgets = {name: view.service.release.budgets.get(name) for name in COSTS}
    columns = view.watch.curves(view.tenant, span, wall_clock())
    return answer({"columns": columns, "budgets": budgets})


def _content(view: View) -> dict[str, Any]:
    if view.classes is not None:
        raise Forbidden("this key is for some classes, and the monitor is about all learners")
    report = view.watch.report(view.tenant)
    labels = {label: _measures(comparison) for label, comparison in report["equity"].items()}
    gaps = [(label, measure) for label, measures in labels.items() for measure in measures if measure["gap"]]
    return {
        "report": report,
        "steps": next_steps(report),
        "costs_and_floors": WORDS,
        "costs": {name: _cost(cost) for name, cost in report["costs"].items()},
        "floors": {name: _cost(floor) for name, floor in report["floors"].items()},
        "labels": labels,
        "left_out": {label: comparison["left_out"] for label, comparison in report["equity"].items()},
        "alarms": [(label, measure) for label, measure in gaps if measure["gap"]["verdict"] == "alarm"],
    }


def _measures(comparison: EquityReport) -> list[dict[str, Any]]:
    """The groups of one label, measure by measure, each with the positions of its interval in a drawing."""
    measures = []
    for name in MEASURES:
        groups = {group: of[name] for group, of in comparison["groups"].items()}
        estimates = {group: estimate for group, estimate in groups.items() if estimate is not None}
        ends = [end for estimate in estimates.values() for end in estimate["interval"]]
        drawn = [
            {
                "group": group,
                "learners": comparison["groups"][group]["learners"],
                **estimate,
                "at": _positions(estimate, ends),
            }
            for group, estimate in estimates.items()
        ]
        measures.append({"name": name, "groups": drawn, "gap": comparison["gaps"].get(name)})
    return measures


def _cost(cost: CostReport) -> dict[str, Any]:
    """A cost with the positions of its interval and its budget in a drawing."""
    full, budget = cost["full"], cost["budget"]
    if full is None:
        return {**cost, "at": None}
    low, high = cost["interval"] or (full, full)
    estimate: EstimateReport = {"mean": full, "interval": [low, high]}
    return {**cost, "at": _positions(estimate, [0.0, high, full, budget or 0.0], budget=budget)}


def _positions(estimate: EstimateReport, ends: Sequence[float], **more: float | None) -> dict[str, float]:
    """Where the mean, the ends of the interval and other values lie between the least and the greatest of `ends`."""
    least, most = min(ends), max(ends)
    wide = (most - least) or 1.0
    values = {"low": estimate["interval"][0], "mean": estimate["mean"], "high": estimate["interval"][1], **more}
    margin = 6
    return {
        name: round(margin + (WIDTH - 2 * margin) * (min(max(value, least), most) - least) / wide, 1)
        for name, value in values.items()
        if value is not None
    }
