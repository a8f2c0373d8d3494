"""The table of results for a terminal, readable at 100 columns and without colour."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mccpo.report import numbers
from mccpo.report.tables import calibrated
from mccpo.report.tables.cells import certificate_text, measured_text, optimum_text, reported_text
from mccpo.report.tables.finding import finding, tally
from mccpo.report.tables.metrics import executed_metrics
from mccpo.report.vocabulary import cost_words, in_order, metric_label, metric_words
from mccpo.runs.results import FrontPoint, NoiseKinds, Results, Setting, Supplement

_NONE = "–"
_NO_BREAK = "\N{NO-BREAK SPACE}"
_OF_A_LEVEL = ("return", "learning", "dK", "satisfaction_strict")
_MOST_SETTINGS = 4  # whose tables are printed
_WIDEST = 14  # of a name or number in one piece: five methods and the optimum then fit into 100 columns
_NARROW = 8  # of a heading over short numbers: ten columns then fit


def table(results: Results) -> RenderableType:
    """The results of `compare` or `reproduce` as text: the finding, then metrics against methods.

    Where the paper has a number it stands in a line of its own under ours, then the verdict in words; the reasons of
    what differs follow the table. The first column is the exact optimum, where there is one.
    """
    parts: list[RenderableType] = [Text(results.title, style="bold"), *_unmet(results), Text(finding(results))]
    parts += [_noise(name, kinds) for name, kinds in (results.noise or {}).items()]
    parts += _calibrated(results)
    for setting in results.settings[:_MOST_SETTINGS]:
        rows = [_table(setting)] if executed_metrics(setting) else []
        parts += [*rows, *_reasons(setting), *_certificate(setting.supplement)]
    left = len(results.settings) - _MOST_SETTINGS
    parts += [Text(f"{left} more settings are in the report and in results.json")] if left > 0 else []
    parts += _levels(results)
    parts += _words(results)
    counted = tally(results.settings)
    return Group(*parts, *_certificate(results.supplement), *([Text(counted)] if counted else []))


def _words(results: Results) -> list[Text]:
    """What the short names in the first column stand for, once for all tables."""
    metrics = [metric for setting in results.settings[:_MOST_SETTINGS] for metric in executed_metrics(setting)]
    costs = cost_words(results.environment)
    told = {label: words for metric in in_order(metrics) for words, label in [metric_words(metric, costs)] if label}
    explained = "; ".join(f"{label}: {words[:1].lower()}{words[1:]}" for label, words in told.items())
    return [Text(f"{explained}.", style="dim")] if explained else []


def _unmet(results: Results) -> list[Text]:
    lines = []
    for where, unmet in results.unmet:
        at, fix = (f" at {where}" if where else ""), (f"; {unmet.fix}" if unmet.fix else "")
        lines.append(Text(f"{unmet.verdict}{at}: {unmet.what}{fix}", style="bold"))
    return lines


def _certificate(supplement: Supplement) -> list[Text]:
    return [
        Text(f"certificate {'passed' if certificate.passed else 'failed'}: {certificate_text(certificate)}")
        for certificate in supplement.certificates
    ]


def _noise(environment: str, kinds: NoiseKinds) -> Table:
    """What errors in the estimated mastery do: a row per level, a column per method."""
    methods = list(dict.fromkeys(method for levels in kinds.values() for level in levels for method in level.rows))
    columns = "return, lessons unready in truth, seeds that meet budgets"
    shown = _bare(": ".join(part for part in (environment, columns) if part))
    shown.add_column("")
    for method in methods:
        shown.add_column(Text(fill(method, _WIDEST)), justify="right")
    for kind, levels in kinds.items():
        for level in levels:
            cells = [Text(_under_noise(level.rows.get(method, {}))) for method in methods]
            shown.add_row(Text(f"{kind} {numbers.short(level.level)}"), *cells)
    return shown


def _under_noise(row: Mapping[str, float]) -> str:
    violations = row.get("true_violation_rate", row.get("prerequisite_violation_rate"))
    returned = numbers.number(row["return"]) if "return" in row else _NONE
    shares = [
        _NONE if share is None else numbers.share(share) for share in (violations, row.get("satisfaction_strict"))
    ]
    return " ".join([returned, *(f"{share.replace(' ', _NO_BREAK):>6}" for share in shares)])


def _calibrated(results: Results) -> list[RenderableType]:
    """The gates that calibrated themselves, a table for each part."""
    shown: list[RenderableType] = []
    for part, gates in calibrated.by_part(results.calibrated or ()).items():
        rows = _bare(f"{part}: {calibrated.HEADING.lower()}")
        for name in calibrated.COLUMNS:
            rows.add_column(Text(fill(name, _NARROW)), justify="right", no_wrap=True)
        for gate in gates:
            rows.add_row(*(Text(cell) for cell in calibrated.cells(gate)))
        shown.append(rows)
    return [*shown, Text(calibrated.NOTE)] if shown else []


def _table(setting: Setting) -> Table:
    methods = setting.methods
    metrics = executed_metrics(setting)
    optimum = any(metric in setting.optimum for metric in metrics)
    budgets = ", ".join(f"{cost} ≤ {numbers.short(value)}" for cost, value in setting.budgets.items())
    floors = ", ".join(f"{name} ≥ {numbers.short(value)}" for name, value in setting.floors.items())
    held = (f"budgets {budgets}" if budgets else "", f"floors {floors}" if floors else "")
    title = "; ".join(part for part in (setting.name, *held) if part)
    shown = _bare(title)
    shown.add_column("", no_wrap=True)
    if optimum:
        shown.add_column("optimum", justify="right", no_wrap=True)
    for method in methods:
        shown.add_column(Text(fill(method, _WIDEST)), justify="right", overflow="fold")
    for metric in metrics:
        for line in _lines(setting, metric, methods, optimum=optimum):
            shown.add_row(Text(line[0]), *(Text(_breakable(cell)) for cell in line[1:]))
    return shown


def _levels(results: Results) -> list[Table]:
    """Where the methods that were trained for several levels stand at each; the tables above have the first alone."""
    fronts = {} if results.tradeoff is None else results.tradeoff.fronts
    swept = {method: points for method, points in fronts.items() if len(points) > 1 and _level(points[0])}
    if not swept:
        return []
    shown = _bare("at each level")
    for name in ("", "", *(metric_label(metric) for metric in _OF_A_LEVEL)):
        shown.add_column(Text(name), justify="right" if name else "left", no_wrap=True)
    for at in range(max(map(len, swept.values()))):
        for method, points in swept.items():
            if at < len(points):
                means = points[at].metrics
                cells = [numbers.short(means[metric]) if metric in means else _NONE for metric in _OF_A_LEVEL[:-1]]
                share = means.get(_OF_A_LEVEL[-1])
                cells.append(_NONE if share is None else numbers.share(share))
                shown.add_row(Text(_level(points[at])), Text(method), *map(Text, cells))
    return [shown]


def _level(point: FrontPoint) -> str:
    """The κ or the floor that a policy was made for."""
    levels = {"κ": point.kappa, "floor": point.floor}
    return " ".join(f"{name} {numbers.short(level)}" for name, level in levels.items() if level is not None)


def _bare(title: str) -> Table:
    return Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        pad_edge=False,
        collapse_padding=True,
    )


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
        lines.append(["  verdict", *(setting.verdict_words(method, metric) for method in methods)])
    if optimum:
        for number, line in enumerate(lines):
            line.insert(1, optimum_text(metric, best) if number == 0 and best is not None else "")
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
