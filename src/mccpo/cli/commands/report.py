"""`mccpo report`: one page of one or several runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, emit, note
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.evaluation import Curves
    from mccpo.runs.results import Results


def report(
    *runs: Annotated[Path, Parameter(help="Folders of finished runs.")],
    out: Annotated[Path | None, Parameter(help="The page; report.html in the first run's folder by default.")] = None,
    json: JsonFlag = False,
) -> None:
    """Make one self-contained report of runs."""
    from mccpo.report.page import write_report
    from mccpo.runs import curves as curve_files
    from mccpo.runs import read_run
    from mccpo.runs.results import parse_document

    if not runs:
        raise InputError("no run is named", fix="name the folder of a run, such as runs/compare-chain")
    if any(of_benchmark(run) for run in runs):
        _benchmark(runs, out, as_json=json)
        return
    tables: list[Results] = []
    curves: list[dict[str, Curves]] = []
    for run in runs:
        manifest, document = read_run(run)
        path = run / "metrics.parquet"  # which a cell of a benchmark has not
        parts = curve_files.read_curves(path) if path.exists() else {}
        results = parse_document(document, run / "results.json")
        tables += with_certificate(run, results)
        curves += [_curves(parts, table.table) for table in results]
    page = out or runs[0] / "report.html"
    write_report(page, tables, curves, manifest=manifest if len(runs) == 1 else None)
    emit({"report": str(page), "tables": [results.table for results in tables]}, as_json=json, text=f"report: {page}")


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


def with_certificate(run: Path, tables: list[Results]) -> list[Results]:
    """The tables of a run with its certificate, if there is one, where it belongs.

    One that is damaged, about other policies or of no part that the tables show is passed over with a word.
    """
    from mccpo.experiments import certify

    try:
        certificate = certify.read_certificate(run)
        if certificate is None:
            return tables
        certified = [results.with_certificate(certificate) for results in tables]
        if not any(certified):
            part = certificate.part
            raise InputError(f"no table of {run} shows the part '{part}'", fix="certify one that they show")
    except InputError as error:
        note(f"the certificate is left out: {error}")
        return tables
    return [with_it or without for without, with_it in zip(tables, certified, strict=True)]


def _curves(parts: dict[str, Curves], table: str) -> dict[str, Curves]:
    """The curves of a table: those that go by its name, or by its name and a part's."""
    return {
        part.removeprefix(f"{table} "): curves for part, curves in parts.items() if f"{part} ".startswith(f"{table} ")
    }
