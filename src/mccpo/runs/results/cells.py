"""One cell of a table: what we measured, what the paper reports, and the verdict; and tests between methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mccpo.errors import InputError
from mccpo.evaluation import Difference, Summary
from mccpo.runs.checks import Json, as_list, as_mapping, as_number, as_optional_number

VERDICTS = ("agrees", "better", "differs", "cannot tell")

Cell = TypeVar("Cell")
Row = Mapping[str, Summary]
"""A method's summaries by metric."""
Rows = Mapping[str, Row]
"""Rows by method."""


@dataclass(frozen=True)
class Reported:
    """One number of the paper. `unit` is the place of its last printed digit, within which it may have been rounded."""

    mean: float
    std: float | None
    unit: float | None = None

    def as_json(self) -> list[float | None]:
        """The mean and the standard deviation."""
        return [self.mean, self.std]

    @classmethod
    def parse(cls, raw: object, where: str) -> Reported:
        """Reads a mean, or a mean and a standard deviation."""
        if isinstance(raw, Sequence) and not isinstance(raw, str):
            if len(raw) != 2:
                raise InputError(
                    f"{where} has {len(raw)} numbers", fix="give a mean, or a mean and a standard deviation"
                )
            return cls(as_number(raw[0], where), as_optional_number(raw[1], where))
        return cls(as_number(raw, where), None)


@dataclass(frozen=True)
class Verdict:
    """How one of our numbers stands to the paper's, one of `VERDICTS`, and why."""

    kind: str
    reason: str

    def as_json(self) -> Json:
        """The verdict as JSON values."""
        return {"verdict": self.kind, "reason": self.reason}

    @classmethod
    def parse(cls, raw: object, where: str) -> Verdict:
        """Reads a verdict."""
        cell = as_mapping(raw, where)
        kind = cell.get("verdict")
        if kind not in VERDICTS:
            raise InputError(f"{where} is {kind!r}", fix=f"use one of {', '.join(VERDICTS)}")
        return cls(str(kind), str(cell.get("reason") or ""))


def parse_summary(raw: object, where: str) -> Summary:
    """Reads one metric over seeds; without seeds of its own, the mean counts as the only one."""
    cell = as_mapping(raw, where)
    mean = as_number(cell.get("mean"), f"{where}, mean")
    per_seed = as_list(cell.get("per_seed"), f"{where}, per_seed") or [mean]
    return Summary(
        mean=mean,
        std=as_number(cell.get("std", 0.0), f"{where}, std"),
        per_seed=tuple(as_number(value, f"{where}, per_seed") for value in per_seed),
        ci=None if cell.get("ci") is None else _interval(cell["ci"], f"{where}, ci"),
        iqm=as_optional_number(cell.get("iqm"), f"{where}, iqm"),
    )


def parse_difference(raw: object, where: str) -> Difference:
    """Reads a test between two methods; earlier versions knew Welch's alone, and did not say n."""
    test = as_mapping(raw, where)
    kind = test.get("kind", "welch")
    if kind not in ("paired", "welch"):
        raise InputError(f"{where} is of the kind {kind!r}", fix="use one of paired, welch")
    t, p, cohens_d = (as_optional_number(test.get(key), f"{where}, {key}") for key in ("t", "p", "cohens_d"))
    means = as_list(test.get("means"), f"{where}, means")
    return Difference(
        kind=kind,
        means=tuple(as_number(mean, f"{where}, means") for mean in means),
        n=tuple(round(as_number(size, f"{where}, n")) for size in as_list(test.get("n"), f"{where}, n")),
        ci=None if test.get("ci") is None else _interval(test["ci"], f"{where}, ci"),
        t=t,
        p=p,
        cohens_d=cohens_d,
    )


def parse_cells(raw: object, where: str, parse: Callable[[object, str], Cell]) -> dict[str, dict[str, Cell]]:
    """Reads cells by method and metric, without those that were not measured."""
    table = {method: as_mapping(cells, f"{where}, {method}") for method, cells in as_mapping(raw, where).items()}
    return {
        method: {
            metric: parse(cell, f"{where}, {method}, {metric}") for metric, cell in cells.items() if cell is not None
        }
        for method, cells in table.items()
    }


def cells_as_json(table: Mapping[str, Mapping[str, Summary | Reported | Verdict]]) -> Json:
    """Cells by method and metric as JSON values."""
    return {method: {metric: cell.as_json() for metric, cell in cells.items()} for method, cells in table.items()}


def means_of(row: Row) -> dict[str, float]:
    """The mean over seeds of every metric of a row."""
    return {metric: summary.mean for metric, summary in row.items()}


def _interval(raw: object, where: str) -> tuple[float, float]:
    bounds = [as_number(bound, where) for bound in as_list(raw, where)]
    if len(bounds) != 2:
        raise InputError(f"{where} has {len(bounds)} numbers", fix="give the lower and the upper end")
    return bounds[0], bounds[1]
