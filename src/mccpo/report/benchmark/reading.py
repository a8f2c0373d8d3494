"""Reads a benchmark for its report: what `results.json` and `rows.parquet` of its folder say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from mccpo.errors import InputError
from mccpo.evaluation import Summary
from mccpo.experiments.benchmark.overall import over_environments, profiles
from mccpo.experiments.benchmark.rows import read_frame
from mccpo.files import read_json
from mccpo.report.benchmark.data import Board, Cell, Pair, Place
from mccpo.report.tables.finding import OUR_METHOD

_FIX = "name the folder of a benchmark"
_Told = Mapping[str, Mapping[str, Any]]


def read(folder: Path) -> Board:
    """The benchmark that a folder holds; its numbers lead to those run folders that are there."""
    results = read_json(folder / "results.json", fix=_FIX)
    rows = read_frame(folder / "rows.parquet")
    try:
        return _board(folder, results, rows)
    except (KeyError, TypeError, AttributeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{folder} is not a finished benchmark ({error!r})", fix=_FIX) from error


def board_of(results: Mapping[str, Any]) -> Board:
    """The same of published results alone, whose numbers lead nowhere and whose worst seeds are not known."""
    return _board(None, results, None)


def seeds_of(results: Mapping[str, Any], cell: Mapping[str, Any]) -> int:
    """Of how many seeds a cell is, those that came to nothing among them; an outside agent has as many as it likes.

    Every seed of a method has a hypervolume, which is 0 where it failed. What does not apply has none.
    """
    volumes = results["hypervolume"].get(cell["environment"], {}).get(cell["method"])
    return len(volumes["per_seed"]) if volumes else int(results["protocol"]["seeds"])


def measured(summary: Mapping[str, Any]) -> Summary:
    """One metric over seeds, of its summary."""
    low, high = summary["ci"]
    return Summary(summary["mean"], summary["std"], tuple(summary["per_seed"]), (low, high), summary["iqm"])


def _board(folder: Path | None, results: Mapping[str, Any], rows: pl.DataFrame | None) -> Board:
    worst = {} if rows is None else _worst(rows)
    cells = [_cell(folder, raw, worst, seeds_of(results, raw)) for raw in results["cells"]]
    aggregate, profiled = _over_environments(results)
    places = tuple(_place(name, raw, cells, results) for name, raw in results["environments"].items())
    return Board(
        suite=results["suite"],
        protocol=results["protocol"],
        places=places,
        methods=results["methods"],
        aggregate=aggregate,
        profiles=profiled,
        improvement=results["improvement"].get(OUR_METHOD, {}),
        unseen=results["unseen"],
        seconds=results["seconds"],
        linked=any(cell.folder for cell in cells),
    )


def _over_environments(results: Mapping[str, Any]) -> tuple[_Told, _Told]:
    """The aggregate and the profiles. Of older results, which do not say what was kept, they are made anew.

    These had them of hypervolumes as they are, not relative to the best on each environment.
    """
    told = results["aggregate"]
    if "kept" in results:
        return told, results["profiles"]
    volumes: dict[str, dict[str, dict[int, float]]] = {}
    for environment, methods in results["hypervolume"].items():
        for method, found in methods.items():
            volumes.setdefault(method, {})[environment] = dict(enumerate(found["per_seed"]))
    aggregate = {method: told.get(method, {}) | found for method, found in over_environments(volumes, {}).items()}
    return aggregate, profiles(volumes)


_Key = tuple[str, str, float]


def _worst(rows: pl.DataFrame) -> dict[_Key, dict[str, float]]:
    """The largest of every cost over the seeds of a cell, which its mean does not tell."""
    grouped = rows.group_by("environment", "method", "kappa", maintain_order=True).agg(pl.col("^J_.*$").max())
    return {
        (row["environment"], row["method"], row["kappa"]): {
            key: value for key, value in row.items() if key.startswith("J_") and value is not None
        }
        for row in grouped.iter_rows(named=True)
    }


def _cell(
    folder: Path | None,
    raw: Mapping[str, Any],
    worst: Mapping[_Key, Mapping[str, float]],
    seeds: int,
) -> Cell:
    key = (raw["environment"], raw["method"], raw["kappa"])
    there = bool(folder and raw["folder"] and (folder / raw["folder"]).is_dir())
    return Cell(
        environment=raw["environment"],
        method=raw["method"],
        kind=raw["kind"],
        kappa=raw["kappa"],
        status=raw["status"],
        why=raw["why"] or "",
        seconds=raw["seconds"],
        folder=f"{raw['folder']}/" if there else "",
        values={name: measured(value) for name, value in raw.items() if isinstance(value, Mapping)},
        worst=worst.get(key, {}),
        done=raw["seeds_done"],
        seeds=seeds,
    )


def _place(name: str, raw: Mapping[str, Any], cells: Iterable[Cell], results: Mapping[str, Any]) -> Place:
    scores = [results.get(measure, {}).get(name, {}) for measure in ("hypervolume", "kept")]
    by_method: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.environment == name:
            by_method.setdefault(cell.method, []).append(cell)
    pairs = (
        Pair(
            method,
            tuple(sorted(found, key=lambda cell: cell.kappa)),
            *(measured(one[method]) if method in one else None for one in scores),
        )
        for method, found in by_method.items()
    )
    anchor = raw.get("anchor", {})
    return Place(
        name=name,
        missing=raw.get("why", ""),
        ret=anchor.get("ret", 0.0),
        costs=anchor.get("costs", {}),
        constrained=tuple(raw.get("constrained", ())),
        budgets=_by_kappa(raw.get("budgets")),
        optimum=_by_kappa(raw.get("optimum")),
        pairs=tuple(pairs),
    )


def _by_kappa(raw: Mapping[str, Any] | None) -> dict[float, Any]:
    return {float(kappa): value for kappa, value in sorted((raw or {}).items()) if value is not None}
