"""The tables of a benchmark for a terminal: one for each environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mccpo.report.benchmark.reading import seeds_of

_NONE = "–"


def tables(results: Mapping[str, Any]) -> list[RenderableType]:
    """One table for each environment, methods of the largest hypervolume first."""
    found: list[RenderableType] = []
    for environment, about in results["environments"].items():
        cells = [cell for cell in results["cells"] if cell["environment"] == environment]
        if "why" in about:
            found.append(Text(f"\n{environment}: {about['why']}"))
        elif cells:
            found.append(_table(environment, about, cells, results))
    return found


def _table(
    environment: str, about: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], results: Mapping[str, Any]
) -> Table:
    kappas = list(dict.fromkeys(cell["kappa"] for cell in cells))
    volumes, kept = (
        {method: cell["mean"] for method, cell in results.get(measure, {}).get(environment, {}).items()}
        for measure in ("hypervolume", "kept")
    )
    shown = Table(
        title=f"\n{environment}: return (seeds that meet the budgets)",
        caption=_unmet(results.get("winners", {}).get(environment, {})),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE,
    )
    shown.add_column("method", no_wrap=True)
    for kappa in kappas:
        shown.add_column(f"κ = {kappa:g}", justify="right")
    if about["finite"]:
        shown.add_column("of optimum", justify="right", no_wrap=True)
    for name in ("hypervolume", "kept", "s a run"):
        shown.add_column(name, justify="right", no_wrap=True)
    failing = any(cell["status"] != "done" for cell in cells)
    if failing:
        shown.add_column("status")
    for method in sorted({cell["method"]: None for cell in cells}, key=lambda name: -volumes.get(name, -1.0)):
        own = [cell for cell in cells if cell["method"] == method]
        seeds = seeds_of(results, own[0])
        columns = [method, *(_cell(own, kappa, seeds) for kappa in kappas)]
        columns += [_of_optimum(own, seeds)] if about["finite"] else []
        columns += [_number(found.get(method), "{:.3f}") for found in (volumes, kept)]
        columns += [_number(own[0]["seconds"], "{:.3g}")]
        columns += [_status(own)] if failing else []
        shown.add_row(*(Text(text) for text in columns))
    return shown


def _unmet(winners: Mapping[str, Any]) -> str | None:
    """The κ that nobody met, if any, and who is best of those that meet the rest; older results do not say it."""
    if not (unmet := winners.get("unmet")):
        return None
    best = ", ".join(winners["reachable_methods"]) or "nobody"
    seeds = "its seeds" if len(unmet) == 1 else "their seeds"
    told = f"nobody met κ = {', '.join(f'{kappa:g}' for kappa in unmet)} in any of {seeds}"
    return f"{told}; best of those that always meet the rest: {best}"


def _cell(cells: Sequence[Mapping[str, Any]], kappa: float, seeds: int) -> str:
    """The mean return, and of how many of all seeds the budgets are met: one that came to nothing has met none."""
    cell = next((cell for cell in cells if cell["kappa"] == kappa), {})
    if "return" not in cell:
        return _NONE
    return f"{cell['return']['mean']:.4g} ({_met(cell)}/{seeds})"


def _met(cell: Mapping[str, Any]) -> int:
    return round(sum(cell["satisfaction_strict"]["per_seed"]))


def _of_optimum(cells: Sequence[Mapping[str, Any]], seeds: int) -> str:
    """The share of the optimum at each κ where every seed meets the budgets: beyond these there is no optimum."""
    shares = [
        f"{100 * cell['optimum_share']['mean']:.1f}" if _met(cell) == seeds else _NONE
        for cell in cells
        if "optimum_share" in cell
    ]
    return f"{' '.join(shares)} %" if any(share != _NONE for share in shares) else _NONE


def _number(value: float | None, form: str) -> str:
    return _NONE if value is None else form.format(value)


def _status(cells: Sequence[Mapping[str, Any]]) -> str:
    failed = next((cell for cell in cells if cell["status"] != "done"), None)
    return "done" if failed is None else f"{failed['status']}: {failed['why']}"
