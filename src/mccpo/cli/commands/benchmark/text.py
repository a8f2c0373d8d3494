"""The tables of a benchmark for a terminal: one for each environment."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mccpo.runs.benchmark import BenchmarkResults, Cell, NotRun, ProblemRecord, Winners

_NONE = "–"


def tables(results: BenchmarkResults) -> list[RenderableType]:
    """One table for each environment, methods of the largest hypervolume first."""
    shown: list[RenderableType] = []
    for name, environment in results.environments.items():
        cells = [cell for cell in results.findings.cells if cell.environment == name]
        if isinstance(environment, NotRun):
            shown.append(Text(f"\n{name}: {environment.why}"))
        elif cells:
            shown.append(_table(name, environment, cells, results))
    return shown


def _table(name: str, problem: ProblemRecord, cells: Sequence[Cell], results: BenchmarkResults) -> Table:
    kappas = list(dict.fromkeys(cell.kappa for cell in cells))
    findings = results.findings
    volumes, kept = (
        {method: measured.mean for method, measured in scores.get(name, {}).items()}
        for scores in (findings.hypervolume, findings.kept or {})
    )
    failing = any(cell.status != "done" for cell in cells)
    shown = Table(
        title=f"\n{name}: return (seeds that meet {'budgets and floors' if problem.floors else 'the budgets'})",
        caption="\n".join(filter(None, [_floors(problem), _unmet(findings.winners.get(name))])) or None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE,
    )
    shown.add_column("method", no_wrap=True)
    for kappa in kappas:
        shown.add_column(f"κ = {kappa:g}", justify="right", no_wrap=True)
    if problem.finite:
        shown.add_column("of optimum", justify="right")
    for column in ("hyper-\nvolume", "kept", "ΔK,\nmastered"):
        shown.add_column(column, justify="right", no_wrap=True)
    if failing:
        shown.add_column("status")
    for method in sorted({cell.method: None for cell in cells}, key=lambda method: -volumes.get(method, -1.0)):
        method_cells = [cell for cell in cells if cell.method == method]
        seeds = results.seeds(method_cells[0])
        columns = [method, *(_cell(method_cells, kappa, seeds) for kappa in kappas)]
        columns += [_of_optimum(method_cells, seeds)] if problem.finite else []
        columns += [_number(scores.get(method), "{:.3f}") for scores in (volumes, kept)]
        columns += [", ".join(_number(_mean(method_cells, metric), "{:.3g}") for metric in ("dK", "mastered"))]
        columns += [_status(method_cells)] if failing else []
        shown.add_row(*(Text(text) for text in columns))
    return shown


def _floors(problem: ProblemRecord) -> str:
    """The floors as amounts, beside what is known to be reached."""
    asked = (
        f"{name} ≥ {floor:.4g} ({problem.reach[name]:.4g} can be reached)" for name, floor in problem.floors.items()
    )
    return f"floors at every κ: {', '.join(asked)}" if problem.floors else ""


def _unmet(winners: Winners | None) -> str | None:
    """The κ that nobody met, if any, and who is best of those that meet the rest; older results do not say it."""
    if winners is None or winners.reachable is None or not winners.unmet:
        return None
    best = ", ".join(winners.reachable.methods) or "nobody"
    seeds = "its seeds" if len(winners.unmet) == 1 else "their seeds"
    unmet = f"nobody met κ = {', '.join(f'{kappa:g}' for kappa in winners.unmet)} in any of {seeds}"
    return f"{unmet}; best of those that always meet the rest: {best}"


def _cell(cells: Sequence[Cell], kappa: float, seeds: int) -> str:
    """The mean return, and of how many of all seeds the budgets are met: one that came to nothing has met none."""
    cell = next((cell for cell in cells if cell.kappa == kappa), None)
    if cell is None or "return" not in cell.metrics:
        return _NONE
    return f"{cell.metrics['return'].mean:.4g} ({cell.seeds_met}/{seeds})"


def _of_optimum(cells: Sequence[Cell], seeds: int) -> str:
    """The share of the optimum at each κ where every seed meets the budgets: beyond these there is no optimum."""
    shares = [
        f"{100 * cell.metrics['optimum_share'].mean:.1f}" if cell.seeds_met == seeds else _NONE
        for cell in cells
        if "optimum_share" in cell.metrics
    ]
    return f"{' '.join(shares)} %" if any(share != _NONE for share in shares) else _NONE


def _mean(cells: Sequence[Cell], metric: str) -> float | None:
    """The mean of a metric over κ; None where no seed came to anything, or where it was not measured."""
    means = [cell.metrics[metric].mean for cell in cells if metric in cell.metrics]
    return sum(means) / len(means) if means else None


def _number(value: float | None, form: str) -> str:
    return _NONE if value is None else form.format(value)


def _status(cells: Sequence[Cell]) -> str:
    failed = next((cell for cell in cells if cell.status != "done"), None)
    return "done" if failed is None else f"{failed.status}: {failed.why}"
