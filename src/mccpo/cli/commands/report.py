"""`mccpo report`: one page of one or several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, emit, note
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.evaluation import Curves
    from mccpo.runs.results import Evaluation, Results

PAGE = "report.html"


def report(
    *runs: Annotated[Path, Parameter(help="Folders of finished runs.")],
    out: Annotated[
        Path | None,
        Parameter(
            help=f"The page, NAME.html, or a folder to put {PAGE} in; that of the first run by default.",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Make one self-contained report of runs, with their certificates and evaluations."""
    if not runs:
        raise InputError("no run is named", fix="name the folder of a run, such as runs/compare-chain")
    if any(of_benchmark(run) for run in runs):
        _benchmark(runs, out, as_json=json)
        return
    page = _page(out, runs[0])
    tables = write_page(page, runs)
    emit({"report": str(page), "tables": [results.table for results in tables]}, as_json=json, text=f"report: {page}")


def refresh(run: Path) -> None:
    """Makes the report of a run anew, where it has one, so that it shows what was found since."""
    page = run / PAGE
    if not page.exists() or of_benchmark(run):
        return
    try:
        write_page(page, (run,))
    except InputError as error:
        note(f"the report is left as it was: {error}")


def _page(out: Path | None, run: Path) -> Path:
    """Where the report goes: `--out` is the page where it ends in .html, else a folder, as with other commands."""
    if out is None:
        return run / PAGE
    if out.suffix.lower() in (".html", ".htm"):
        return out
    if out.is_file():
        raise InputError(f"--out is {out}, which is a file", fix="name a page that ends in .html, or a folder")
    return out / PAGE


def write_page(page: Path, runs: Sequence[Path]) -> list[Results]:
    """Writes the report of finished runs, with their certificates and evaluations; gives the tables that it shows."""
    from mccpo.report.page import write_report
    from mccpo.runs import curves as curve_files
    from mccpo.runs import read_run
    from mccpo.runs.results import parse_document

    tables: list[Results] = []
    curves: list[dict[str, Curves]] = []
    judged: dict[int, list[Evaluation]] = {}
    for run in runs:
        manifest, document = read_run(run)
        path = run / "metrics.parquet"  # which a cell of a benchmark has not
        parts = curve_files.read_curves(path) if path.exists() else {}
        results = parse_document(document, run / "results.json")
        judged[len(tables)] = _evaluations(run)  # with the first table of its run
        tables += with_certificates(run, results)
        curves += [_curves(parts, table.table) for table in results]
    write_report(page, tables, curves, manifest=manifest if len(runs) == 1 else None, evaluations=judged)
    return tables


def _evaluations(run: Path) -> list[Evaluation]:
    """What policies of a run were worth when they were judged again; what cannot be read is passed over with a word."""
    from mccpo.experiments import evaluations

    kept = []
    for path in evaluations.evaluation_files(run):
        try:
            kept.append(evaluations.read_evaluation(run, path))
        except InputError as error:
            note(f"the evaluation is left out: {error}")
    return kept


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


def with_certificates(run: Path, tables: list[Results]) -> list[Results]:
    """The tables of a run with all its certificates, each where it belongs.

    One that is damaged, about other policies or of no part that the tables show is passed over with a word.
    """
    from mccpo.experiments import certificates

    for path in certificates.certificate_files(run):
        try:
            certificate = certificates.read_certificate(run, path)
            certified = [results.with_certificate(certificate) for results in tables]
            if not any(certified):
                part = certificate.part
                raise InputError(f"no table of {run} shows the part '{part}'", fix="certify one that they show")
        except InputError as error:
            note(f"the certificate is left out: {error}")
            continue
        tables = [with_it or without for without, with_it in zip(tables, certified, strict=True)]
    return tables


def _curves(parts: dict[str, Curves], table: str) -> dict[str, Curves]:
    """The curves of a table: those that go by its name, or by its name and a part's."""
    return {
        part.removeprefix(f"{table} "): curves for part, curves in parts.items() if f"{part} ".startswith(f"{table} ")
    }
