"""`mccpo report`: one page of one or several runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, emit, note
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.evaluation import Curves


def report(
    *runs: Annotated[Path, Parameter(help="Folders of finished runs.")],
    out: Annotated[Path | None, Parameter(help="The page; report.html in the first run's folder by default.")] = None,
    json: JsonFlag = False,
) -> None:
    """Make one self-contained report of runs."""
    from mccpo.report.page.html import write_report
    from mccpo.runs.curves import read_curves
    from mccpo.runs.folder import read_run

    if not runs:
        raise InputError("no run is named", fix="name the folder of a run, such as runs/compare-chain")
    if any(of_benchmark(run) for run in runs):
        _benchmark(runs, out, as_json=json)
        return
    tables: list[dict[str, Any]] = []
    curves: list[dict[str, Curves]] = []
    for run in runs:
        manifest, results = read_run(run)
        parts = read_curves(run / "metrics.parquet")
        found = _tables(results, run / "results.json")
        tables += with_certificate(run, found)
        curves += [_curves(parts, one["table"]) for one in found]
    page = out or runs[0] / "report.html"
    write_report(page, tables, curves, manifest=manifest if len(runs) == 1 else None)
    emit({"report": str(page), "tables": [one["table"] for one in tables]}, as_json=json, text=f"report: {page}")


def of_benchmark(run: Path) -> bool:
    """Whether a folder is that of a benchmark, whose report is another."""
    return (run / "rows.parquet").exists()


def _benchmark(runs: tuple[Path, ...], out: Path | None, *, as_json: bool) -> None:
    """Makes the report of a benchmark anew, where it belongs: its numbers lead to folders beside it."""
    from mccpo.report.benchmark import write

    if len(runs) > 1 or out is not None:
        raise InputError("a benchmark has a report of its own, in its folder", fix="name its folder alone")
    page = write(runs[0])
    emit({"report": str(page), "tables": []}, as_json=as_json, text=f"report: {page}")


def with_certificate(run: Path, tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tables of a run with its certificate, if there is one, where it belongs.

    One that is damaged, about other policies or of no part that the tables show is passed over with a word.
    """
    from mccpo.experiments.certify import DOCUMENT, read_certificate, show_in
    from mccpo.report.tables.supplement import certificate

    try:
        found = read_certificate(run)
        if found is None:
            return tables
        part = certificate(found, str(run / DOCUMENT)).part
        shown = [show_in(one, found) for one in tables]
        if not any(shown):
            raise InputError(f"no table of {run} shows the part '{part}'", fix="certify one that they show")
    except InputError as error:
        note(f"the certificate is left out: {error}")
        return tables
    return [one if with_it is None else with_it for one, with_it in zip(tables, shown, strict=True)]


def _curves(parts: dict[str, Curves], table: str) -> dict[str, Curves]:
    """The curves of a table: those that go by its name, or by its name and a part's."""
    return {
        part.removeprefix(f"{table} "): found for part, found in parts.items() if f"{part} ".startswith(f"{table} ")
    }


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
