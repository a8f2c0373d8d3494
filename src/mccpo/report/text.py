"""The table of results for a terminal, readable at 100 columns and without colour."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mccpo.report import numbers
from mccpo.report.cells import measured_text, reported_text
from mccpo.report.finding import finding, tally
from mccpo.report.results import Results, Setting
from mccpo.report.vocabulary import metric_label

_NONE = "–"
_WIDEST = 14  # of a name or number in one piece: five methods and the optimum then fit into 100 columns


def table(results: Mapping[str, Any]) -> RenderableType:
    """The results of `compare` or `reproduce` as text: the finding, then metrics against methods.

    Where the paper has a number it stands in a line of its own under ours, then the verdict in words; the reasons of
    what differs follow the table. The first column is the exact optimum, where there is one.
    """
    parsed = Results.parse(results)
    parts: list[RenderableType] = [Text(parsed.title, style="bold"), Text(finding(parsed))]
    for setting in parsed.settings:
        parts += [_table(setting), *_reasons(setting)]
    counted = tally(parsed.settings)
    return Group(*parts, *([Text(counted)] if counted else []))


def _table(setting: Setting) -> Table:
    methods = setting.methods
    optimum = any(metric in setting.optimum for metric in setting.metrics)
    budgets = ", ".join(f"{cost} ≤ {numbers.short(value)}" for cost, value in setting.budgets.items())
    title = "; ".join(part for part in (setting.name, f"budgets {budgets}" if budgets else "") if part)
    shown = Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        pad_edge=False,
        collapse_padding=True,
    )
    shown.add_column("", no_wrap=True)
    if optimum:
        shown.add_column("optimum", justify="right", no_wrap=True)
    for method in methods:
        shown.add_column(Text(fill(method, _WIDEST)), justify="right", overflow="fold")
    for metric in setting.metrics:
        for line in _lines(setting, metric, methods, optimum=optimum):
            shown.add_row(Text(line[0]), *(Text(_breakable(cell)) for cell in line[1:]))
    return shown


def _lines(setting: Setting, metric: str, methods: list[str], *, optimum: bool) -> list[list[str]]:
    ours = [setting.rows.get(method, {}).get(metric) for method in methods]
    paper = [setting.paper.get(method, {}).get(metric) for method in methods]
    verdicts = [setting.verdicts.get(method, {}).get(metric) for method in methods]
    best = setting.optimum.get(metric)
    lines = [
        [metric_label(metric), *(_NONE if cell is None else measured_text(metric, cell, tight=True) for cell in ours)]
    ]
    if any(paper):
        lines.append(["  paper", *("" if cell is None else reported_text(metric, cell, tight=True) for cell in paper)])
    if any(verdicts):
        lines.append(["  verdict", *("" if verdict is None else verdict.kind for verdict in verdicts)])
    if optimum:
        for place, line in enumerate(lines):
            line.insert(1, numbers.short(best) if place == 0 and best is not None else "")
    return lines


def _breakable(cell: str) -> str:
    """Lets a long number break before its ±, and nowhere else, where the terminal is too narrow for it."""
    return cell if len(cell) < _WIDEST else cell.replace("±", " ±")


def _reasons(setting: Setting) -> list[Text]:
    """Why each number differs that does, with the cells that share a reason named together."""
    places: dict[str, list[str]] = {}
    for method, cells in setting.verdicts.items():
        for metric, verdict in cells.items():
            if verdict.kind == "differs" and verdict.reason:
                places.setdefault(verdict.reason, []).append(f"{method} {metric_label(metric)}")
    return [Text(f"differs: {', '.join(where)}: {reason}") for reason, where in places.items()]
