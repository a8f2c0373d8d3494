"""Results as the report reads them: checked once on the way in, so that everything after can rely on their shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mccpo.errors import InputError
from mccpo.report.checks import Json, as_list, as_mapping, as_number, as_numbers, as_texts
from mccpo.report.tables.from_logs import FromLogs, from_logs
from mccpo.report.tables.supplement import Infeasible, Noise, Supplement, infeasible, noise
from mccpo.report.vocabulary import VERDICTS, in_order, split_variant


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
    more: Supplement

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
class PaperPoint:
    """A point of the paper's in the plane of a trade-off."""

    label: str
    values: dict[str, float]


@dataclass(frozen=True)
class Results:
    """One table of a report."""

    table: str
    title: str
    finding: str
    environment: str
    protocol: dict[str, Any]
    requirements: tuple[str, ...]
    kappa: Any
    settings: tuple[Setting, ...]
    tests: dict[str, dict[str, Any]]
    fronts: dict[str, list[dict[str, float]]]
    front_infeasible: tuple[tuple[str, Infeasible], ...]
    front_optimum: list[dict[str, float]]
    paper_points: tuple[PaperPoint, ...]
    noise: Noise
    data: FromLogs | None
    notes: tuple[str, ...]
    more: Supplement  # of the table as a whole; where there is one setting, all is that setting's

    @classmethod
    def parse(cls, raw: Json) -> Results:
        """Reads the JSON of `compare` or `reproduce`; what it cannot use is an error that says where."""
        raw = as_mapping(raw, "a table of results")
        table = str(raw.get("table", "results"))
        parts = as_mapping(raw.get("settings") or {"": raw}, f"{table}: settings")
        tests = as_mapping(raw.get("tests"), f"{table}: tests")
        return cls(
            table=table,
            title=str(raw.get("title") or table),
            finding=str(raw.get("finding") or ""),
            environment=str(raw.get("environment") or ""),
            protocol=dict(as_mapping(raw.get("protocol"), f"{table}: protocol")),
            requirements=as_texts(raw.get("requirements"), f"{table}: requirements"),
            kappa=raw.get("kappa"),
            settings=tuple(_setting(name, part, f"{table} {name}".strip()) for name, part in parts.items()),
            tests={name: _test(test, f"{table}: tests, {name}") for name, test in tests.items()},
            **_fronts(raw, table),
            noise=noise(raw.get("noise"), f"{table}: noise"),
            data=from_logs(raw.get("data"), f"{table}: data"),
            notes=as_texts(raw.get("notes"), f"{table}: notes"),
            more=Supplement.parse(raw, table) if raw.get("settings") else Supplement(),
        )

    @property
    def infeasible(self) -> list[tuple[str, Infeasible]]:
        """All budgets that cannot be met, each with where that is: a setting, a κ, or nowhere in particular."""
        found = [("", self.more.infeasible), *((part.name, part.more.infeasible) for part in self.settings)]
        return [*((where, one) for where, one in found if one is not None), *self.front_infeasible]


def _setting(name: str, raw: object, where: str) -> Setting:
    raw = as_mapping(raw, where)
    setting = Setting(
        name=name,
        rows=_cells(raw.get("rows"), f"{where}: rows", _measured),
        optimum=as_numbers(raw.get("optimum"), f"{where}: optimum"),
        paper=_cells(raw.get("paper"), f"{where}: paper", _reported),
        verdicts=_cells(raw.get("verdicts"), f"{where}: verdicts", _verdict),
        budgets=as_numbers(raw.get("budgets"), f"{where}: budgets"),
        more=Supplement.parse(raw, where),
    )
    if not setting.rows and setting.more.infeasible is None:  # where nothing can be met, there is nothing to train
        raise InputError(f"{where} has no rows", fix="give the results of at least one method")
    if setting.rows and not any(setting.rows.values()):
        raise InputError(f"{where} has rows without numbers", fix="give at least one metric of one method")
    return setting


def _fronts(raw: Json, table: str) -> dict[str, Any]:
    """What return is traded for as budgets tighten: ours, the exact one, and the paper's points beside them."""
    where = f"{table}: fronts"
    fronts = {method: as_list(points, where) for method, points in as_mapping(raw.get("fronts"), where).items()}
    exact, paper = f"{table}: front_optimum", f"{table}: paper_points"
    return {
        "fronts": {method: [_point(point, where) for point in points] for method, points in fronts.items()},
        "front_infeasible": _front_infeasible([point for points in fronts.values() for point in points], where),
        "front_optimum": [_point(point, exact) for point in as_list(raw.get("front_optimum"), exact)],
        "paper_points": tuple(_paper_point(point, paper) for point in as_list(raw.get("paper_points"), paper)),
    }


def _front_infeasible(points: Sequence[Json], where: str) -> tuple[tuple[str, Infeasible], ...]:
    """The budgets on the way that cannot be met, said once whichever methods were to meet them."""
    found: dict[str, Infeasible] = {}
    for point in points:
        kappa = point.get("kappa")
        level = "" if kappa is None else f"κ={as_number(kappa, f'{where}, kappa')!r}"
        one = infeasible(point.get("infeasible"), f"{where} {level}".strip())
        if one is not None:
            found.setdefault(level, one)
    return tuple(found.items())


def _paper_point(raw: object, where: str) -> PaperPoint:
    point = as_mapping(raw, where)
    return PaperPoint(str(point.get("label") or "paper"), _point({**point, "label": None}, where))


def _cells(raw: object, where: str, read: Any) -> dict[str, dict[str, Any]]:
    table = {method: as_mapping(cells, f"{where}, {method}") for method, cells in as_mapping(raw, where).items()}
    return {
        method: {
            metric: read(cell, f"{where}, {method}, {metric}") for metric, cell in cells.items() if cell is not None
        }
        for method, cells in table.items()
    }


def _measured(raw: object, where: str) -> Measured:
    cell = as_mapping(raw, where)
    mean = as_number(cell.get("mean"), f"{where}, mean")
    per_seed = as_list(cell.get("per_seed"), f"{where}, per_seed") or [mean]
    return Measured(
        mean=mean,
        std=as_number(cell.get("std", 0.0), f"{where}, std"),
        per_seed=tuple(as_number(value, f"{where}, per_seed") for value in per_seed),
        ci=None if cell.get("ci") is None else _interval(cell["ci"], f"{where}, ci"),
        iqm=None if cell.get("iqm") is None else as_number(cell["iqm"], f"{where}, iqm"),
    )


def _interval(raw: object, where: str) -> tuple[float, float]:
    bounds = [as_number(bound, where) for bound in as_list(raw, where)]
    if len(bounds) != 2:
        raise InputError(f"{where} has {len(bounds)} numbers", fix="give the lower and the upper end")
    return bounds[0], bounds[1]


def _test(raw: object, where: str) -> dict[str, Any]:
    test = as_mapping(raw, where)
    numbers = {key: test.get(key) for key in ("t", "p", "cohens_d")}
    return {
        **{key: None if value is None else as_number(value, f"{where}, {key}") for key, value in numbers.items()},
        "means": [as_number(mean, f"{where}, means") for mean in as_list(test.get("means"), f"{where}, means")],
    }


def _reported(raw: object, where: str) -> Reported:
    if isinstance(raw, Sequence) and not isinstance(raw, str):
        if len(raw) != 2:
            raise InputError(f"{where} has {len(raw)} numbers", fix="give a mean, or a mean and a standard deviation")
        return Reported(as_number(raw[0], where), None if raw[1] is None else as_number(raw[1], where))
    return Reported(as_number(raw, where), None)


def _verdict(raw: object, where: str) -> Verdict:
    cell = as_mapping(raw, where)
    kind = cell.get("verdict")
    if kind not in VERDICTS:
        raise InputError(f"{where} is {kind!r}", fix=f"use one of {', '.join(VERDICTS)}")
    return Verdict(str(kind), str(cell.get("reason") or ""))


def _point(raw: object, where: str) -> dict[str, float]:
    # A point of a front holds plain numbers or summaries over seeds; of a summary the front shows the mean.
    point = {
        key: value.get("mean") if isinstance(value, Mapping) else value for key, value in as_mapping(raw, where).items()
    }
    return as_numbers(point, where)
