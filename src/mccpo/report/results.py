"""Results as the report reads them: checked once on the way in, so that everything after can rely on their shape."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mccpo.errors import InputError
from mccpo.report.vocabulary import VERDICTS, in_order, split_variant

Json = Mapping[str, Any]
_MOST_SHOWN = 40


@dataclass(frozen=True)
class Measured:
    """One metric of one method over seeds."""

    mean: float
    std: float
    per_seed: tuple[float, ...]
    ci: tuple[float, float] | None
    iqm: float | None

    @property
    def shown_std(self) -> float | None:
        """The deviation over seeds, or nothing for one seed, where ± 0 would claim a certainty that is not there."""
        return self.std if len(self.per_seed) > 1 else None


@dataclass(frozen=True)
class Reported:
    """One number of the paper."""

    mean: float
    std: float | None


@dataclass(frozen=True)
class Verdict:
    """How one of our numbers stands to the paper's, and why."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Setting:
    """One table of methods and metrics; most results have one, a sweep has several."""

    name: str
    rows: dict[str, dict[str, Measured]]
    optimum: dict[str, float]
    paper: dict[str, dict[str, Reported]]
    verdicts: dict[str, dict[str, Verdict]]
    budgets: dict[str, float]

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys([*self.rows, *self.paper]))

    @property
    def metrics(self) -> list[str]:
        """The metrics as executed, in the order of the tables."""
        return [metric for metric in self._all_metrics() if not split_variant(metric)[1]]

    @property
    def variants(self) -> list[str]:
        """The same metrics at another point: before the filter, or of the last iterate."""
        return [metric for metric in self._all_metrics() if split_variant(metric)[1]]

    def budget(self, metric: str) -> float | None:
        """The budget on a cost's metric: `J_c4` has that of `c4`."""
        return self.budgets.get(metric.removeprefix("J_")) if metric.startswith("J_") else None

    def _all_metrics(self) -> list[str]:
        tables: list[Mapping[str, Mapping[str, object]]] = [self.rows, self.paper]
        return in_order(metric for table in tables for metrics in table.values() for metric in metrics)


@dataclass(frozen=True)
class Results:
    """One table of a report."""

    table: str
    title: str
    finding: str
    environment: str
    protocol: dict[str, Any]
    kappa: Any
    settings: tuple[Setting, ...]
    tests: dict[str, dict[str, Any]]
    fronts: dict[str, list[dict[str, float]]]
    front_optimum: list[dict[str, float]]
    notes: tuple[str, ...]

    @classmethod
    def parse(cls, raw: Json) -> Results:
        """Reads the JSON of `compare` or `reproduce`; what it cannot use is an error that says where."""
        raw = _mapping(raw, "a table of results")
        table = str(raw.get("table", "results"))
        parts = _mapping(raw.get("settings") or {"": raw}, f"{table}: settings")
        return cls(
            table=table,
            title=str(raw.get("title") or table),
            finding=str(raw.get("finding") or ""),
            environment=str(raw.get("environment") or ""),
            protocol=dict(_mapping(raw.get("protocol"), f"{table}: protocol")),
            kappa=raw.get("kappa"),
            settings=tuple(_setting(name, part, f"{table} {name}".strip()) for name, part in parts.items()),
            tests={
                name: _test(test, f"{table}: tests, {name}")
                for name, test in _mapping(raw.get("tests"), f"{table}: tests").items()
            },
            fronts={
                method: [_point(point, f"{table}: fronts") for point in _list(points, f"{table}: fronts")]
                for method, points in _mapping(raw.get("fronts"), f"{table}: fronts").items()
            },
            front_optimum=[
                _point(point, f"{table}: front_optimum")
                for point in _list(raw.get("front_optimum"), f"{table}: front_optimum")
            ],
            notes=tuple(str(note) for note in _list(raw.get("notes"), f"{table}: notes")),
        )


def _setting(name: str, raw: object, where: str) -> Setting:
    raw = _mapping(raw, where)
    rows = _cells(raw.get("rows"), f"{where}: rows", _measured)
    if not rows:
        raise InputError(f"{where} has no rows", fix="give the results of at least one method")
    optimum = _mapping(raw.get("optimum"), f"{where}: optimum")
    budgets = _mapping(raw.get("budgets"), f"{where}: budgets")
    setting = Setting(
        name=name,
        rows=rows,
        optimum={key: _number(v, f"{where}: optimum, {key}") for key, v in optimum.items() if v is not None},
        paper=_cells(raw.get("paper"), f"{where}: paper", _reported),
        verdicts=_cells(raw.get("verdicts"), f"{where}: verdicts", _verdict),
        budgets={key: _number(v, f"{where}: budgets, {key}") for key, v in budgets.items() if v is not None},
    )
    if not any(rows.values()):
        raise InputError(f"{where} has rows without numbers", fix="give at least one metric of one method")
    return setting


def _cells(raw: object, where: str, read: Any) -> dict[str, dict[str, Any]]:
    table = {method: _mapping(cells, f"{where}, {method}") for method, cells in _mapping(raw, where).items()}
    return {
        method: {
            metric: read(cell, f"{where}, {method}, {metric}") for metric, cell in cells.items() if cell is not None
        }
        for method, cells in table.items()
    }


def _measured(raw: object, where: str) -> Measured:
    cell = _mapping(raw, where)
    mean = _number(cell.get("mean"), f"{where}, mean")
    per_seed = _list(cell.get("per_seed"), f"{where}, per_seed") or [mean]
    return Measured(
        mean=mean,
        std=_number(cell.get("std", 0.0), f"{where}, std"),
        per_seed=tuple(_number(value, f"{where}, per_seed") for value in per_seed),
        ci=None if cell.get("ci") is None else _interval(cell["ci"], f"{where}, ci"),
        iqm=None if cell.get("iqm") is None else _number(cell["iqm"], f"{where}, iqm"),
    )


def _interval(raw: object, where: str) -> tuple[float, float]:
    bounds = [_number(bound, where) for bound in _list(raw, where)]
    if len(bounds) != 2:
        raise InputError(f"{where} has {len(bounds)} numbers", fix="give the lower and the upper end")
    return bounds[0], bounds[1]


def _test(raw: object, where: str) -> dict[str, Any]:
    test = _mapping(raw, where)
    numbers = {key: test.get(key) for key in ("t", "p", "cohens_d")}
    return {
        **{key: None if value is None else _number(value, f"{where}, {key}") for key, value in numbers.items()},
        "means": [_number(mean, f"{where}, means") for mean in _list(test.get("means"), f"{where}, means")],
    }


def _reported(raw: object, where: str) -> Reported:
    if isinstance(raw, Sequence) and not isinstance(raw, str):
        if len(raw) != 2:
            raise InputError(f"{where} has {len(raw)} numbers", fix="give a mean, or a mean and a standard deviation")
        return Reported(_number(raw[0], where), None if raw[1] is None else _number(raw[1], where))
    return Reported(_number(raw, where), None)


def _verdict(raw: object, where: str) -> Verdict:
    cell = _mapping(raw, where)
    kind = cell.get("verdict")
    if kind not in VERDICTS:
        raise InputError(f"{where} is {kind!r}", fix=f"use one of {', '.join(VERDICTS)}")
    return Verdict(str(kind), str(cell.get("reason") or ""))


def _point(raw: object, where: str) -> dict[str, float]:
    # A point of a front holds plain numbers or summaries over seeds; of a summary the front shows the mean.
    point = {
        key: value.get("mean") if isinstance(value, Mapping) else value for key, value in _mapping(raw, where).items()
    }
    return {key: _number(value, f"{where}, {key}") for key, value in point.items() if value is not None}


def _mapping(raw: object, where: str) -> Json:
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise InputError(f"{where} is a {type(raw).__name__}", fix="it must be an object with named entries")
    return raw


def _list(raw: object, where: str) -> Sequence[Any]:
    if raw is None:
        return ()
    if not isinstance(raw, Sequence) or isinstance(raw, str):
        raise InputError(f"{where} is a {type(raw).__name__}", fix="it must be a list")
    return raw


def _number(raw: object, where: str) -> float:
    try:
        value = float("nan") if isinstance(raw, bool) or not isinstance(raw, int | float) else float(raw)
    except OverflowError:
        value = float("inf")
    if not math.isfinite(value):
        shown = repr(raw)
        shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
        raise InputError(f"{where} is {shown}", fix="it must be a finite number; leave out what was not measured")
    return value
