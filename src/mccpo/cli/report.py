"""`mccpo report`: one page of one or several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from mccpo.cli.output import JsonFlag, emit
from mccpo.errors import InputError


def report(
    *runs: Annotated[Path, Parameter(help="Folders of finished runs.")],
    out: Annotated[Path | None, Parameter(help="The page; report.html in the first run's folder by default.")] = None,
    json: JsonFlag = False,
) -> None:
    """Make one self-contained report of runs."""
    from mccpo.experiments.runs import read_curves, read_json
    from mccpo.report.html import write_report

    if not runs:
        raise InputError("no run is named", fix="name the folder of a run, such as runs/compare-chain")
    tables, curves = [], []
    for run in runs:
        manifest = read_json(run / "manifest.json")
        if not manifest.get("finished"):
            raise InputError(f"{run} is not finished", fix="finish it with --resume")
        results = read_json(run / "results.json")
        parts = read_curves(run / "metrics.parquet")
        for one in _tables(results, run / "results.json"):
            tables.append(one)
            curves.append(parts.get(one["table"]))
    page = out or runs[0] / "report.html"
    write_report(page, tables, curves, manifest=manifest if len(runs) == 1 else None)
    emit({"report": str(page), "tables": [one["table"] for one in tables]}, as_json=json, text=f"report: {page}")


def _tables(results: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """The tables of a run, each of them checked: a folder may have been changed by hand, or be of another version."""
    from mccpo.report.results import Results

    found = results.get("tables", {"": results})
    if not isinstance(found, dict) or not found:
        raise InputError(f"{path} has no tables", fix="run it again")
    checked = []
    for one in found.values():
        try:
            name = Results.parse(one).table
        except InputError as error:
            raise InputError(f"{path}: {error.what}", fix="run it again") from error
        checked.append({**one, "table": name})
    return checked
