"""Reads a benchmark for its report: its results, the largest costs of its rows, and which run folders are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from mccpo.errors import InputError
from mccpo.experiments.benchmark import over_environments, profiles
from mccpo.report.benchmark.views import CellView, EnvironmentView, Pair
from mccpo.report.benchmark.whole_view import BenchmarkView
from mccpo.report.tables.finding import OUR_METHOD
from mccpo.runs.benchmark import (
    NOT_A_BENCHMARK,
    ROWS,
    Aggregate,
    BenchmarkResults,
    Cell,
    CellKey,
    NotRun,
    Optimum,
    ProblemRecord,
    Profile,
    read_results,
    worst_costs,
)

Worst = Mapping[CellKey, Mapping[str, float]]
"""The largest of every cost over the seeds of a cell."""


def read(folder: Path) -> BenchmarkView:
    """The benchmark that a folder holds; its numbers lead to those run folders that are there."""
    results = read_results(folder)
    try:
        worst = worst_costs(folder / ROWS)
    except KeyError as error:
        raise InputError(f"{folder} is not a finished benchmark ({error!r})", fix=NOT_A_BENCHMARK) from error
    return view_of(results, folder, worst)


def view_of(results: BenchmarkResults, folder: Path | None = None, worst: Worst | None = None) -> BenchmarkView:
    """A benchmark as its report has it; without a folder, its numbers lead nowhere, as those of published results."""
    cells = [_cell_view(folder, cell, worst or {}, results.seeds(cell)) for cell in results.findings.cells]
    aggregate, profiled = _over_environments(results)
    return BenchmarkView(
        suite=results.suite,
        protocol=results.protocol,
        environments=tuple(
            _environment_view(name, environment, cells, results) for name, environment in results.environments.items()
        ),
        methods=results.methods,
        aggregate=aggregate,
        profiles=profiled,
        improvement=results.findings.improvement.get(OUR_METHOD, {}),
        unseen=results.unseen,
        seconds=results.seconds,
        linked=any(cell.link for cell in cells),
        mixes=results.findings.beyond_rules is not None,
    )


def _over_environments(results: BenchmarkResults) -> tuple[Mapping[str, Aggregate], Mapping[str, Profile]]:
    """The aggregate and the profiles. For older results, which do not say what was kept, they are made anew.

    These had them of hypervolumes as they are, not relative to the best on each environment.
    """
    findings = results.findings
    if findings.kept is not None:
        return findings.aggregate, findings.profiles
    volumes: dict[str, dict[str, dict[int, float]]] = {}
    for environment, methods in findings.hypervolume.items():
        for method, measured in methods.items():
            volumes.setdefault(method, {})[environment] = dict(enumerate(measured.per_seed))
    return over_environments(volumes, {}), profiles(volumes)


def _cell_view(folder: Path | None, cell: Cell, worst: Worst, seeds: int) -> CellView:
    there = bool(folder and cell.folder and (folder / cell.folder).is_dir())
    return CellView(
        **vars(cell),
        link=f"{cell.folder}/" if there else "",
        worst=worst.get((cell.environment, cell.method, cell.kappa), {}),
        seeds=seeds,
    )


def _environment_view(
    name: str, environment: ProblemRecord | NotRun, cells: Iterable[CellView], results: BenchmarkResults
) -> EnvironmentView:
    pairs = _pairs(name, cells, results)
    if isinstance(environment, NotRun):
        return EnvironmentView(name, environment.why, 0.0, 0.0, {}, (), {}, {}, pairs)
    optimum: Mapping[float, Optimum] = environment.optimum or {}
    return EnvironmentView(
        name=name,
        missing="",
        ret=environment.anchor.ret,
        gain=environment.anchor.gain,
        costs=environment.anchor.costs,
        constrained=environment.constrained,
        budgets=dict(sorted(environment.budgets.items())),
        optimum=dict(sorted(optimum.items())),
        pairs=pairs,
        floors=environment.floors,
        reach=environment.reach,
    )


def _pairs(environment: str, cells: Iterable[CellView], results: BenchmarkResults) -> tuple[Pair, ...]:
    volumes = results.findings.hypervolume.get(environment, {})
    kept = (results.findings.kept or {}).get(environment, {})
    beyond = (results.findings.beyond_rules or {}).get(environment, {})
    by_method: dict[str, list[CellView]] = {}
    for cell in cells:
        if cell.environment == environment:
            by_method.setdefault(cell.method, []).append(cell)
    return tuple(
        Pair(
            method,
            tuple(sorted(method_cells, key=lambda cell: cell.kappa)),
            volumes.get(method),
            kept.get(method),
            beyond.get(method),
        )
        for method, method_cells in by_method.items()
    )
