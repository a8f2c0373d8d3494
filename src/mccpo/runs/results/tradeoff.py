"""What return is traded for as budgets tighten: each method's points, the exact front, and the paper's points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mccpo.runs.checks import Json, as_list, as_mapping, as_numbers, as_optional_number, stated
from mccpo.runs.results.supplement import UnmetBudgets


@dataclass(frozen=True)
class FrontPoint:
    """The metrics of a policy that was made for one level of what is traded.

    The level is a `kappa`, a `weight` of shaping, a `budget`, or a `floor` as it was asked for; a point at budgets that
    were not met says why.
    """

    metrics: dict[str, float]
    kappa: float | None = None
    weight: float | None = None
    budget: float | None = None
    unmet: UnmetBudgets | None = None
    floor: float | None = None

    def as_json(self) -> Json:
        """The level, then the metrics, as JSON values."""
        level = stated(kappa=self.kappa, weight=self.weight, budget=self.budget, floor=self.floor)
        return {**level, **self.metrics, **stated(infeasible=None if self.unmet is None else self.unmet.as_json())}

    @classmethod
    def parse(cls, raw: object, where: str) -> FrontPoint:
        """Reads a point."""
        entries = dict(as_mapping(raw, where))
        levels = ("kappa", "weight", "budget", "floor")
        kappa, weight, budget, floor = (
            as_optional_number(entries.pop(name, None), f"{where}, {name}") for name in levels
        )
        at = "" if kappa is None else f"κ={float(kappa)!r}"
        unmet = UnmetBudgets.parse(entries.pop("infeasible", None), f"{where} {at}".strip())
        return cls(_metrics(entries, where), kappa, weight, budget, unmet, floor)


@dataclass(frozen=True)
class PaperPoint:
    """A point of the paper's in the plane of a trade-off."""

    label: str
    metrics: dict[str, float]

    def as_json(self) -> Json:
        """The label, then the metrics, as JSON values."""
        return {"label": self.label, **self.metrics}

    @classmethod
    def parse(cls, raw: object, where: str) -> PaperPoint:
        """Reads a point."""
        entries = dict(as_mapping(raw, where))
        return cls(str(entries.pop("label", None) or "paper"), _metrics(entries, where))


Fronts = dict[str, tuple[FrontPoint, ...]]
"""Points by method."""


@dataclass(frozen=True)
class TradeOff:
    """Where each method stands at each level; the exact front and the paper's points, where a table speaks of them."""

    fronts: Fronts
    optimum: tuple[FrontPoint, ...] | None = None
    paper: tuple[PaperPoint, ...] | None = None

    @property
    def unmet(self) -> list[tuple[str, UnmetBudgets]]:
        """The levels whose budgets were not met, told once whichever methods were to meet them."""
        levels: dict[str, UnmetBudgets] = {}
        for points in self.fronts.values():
            for point in points:
                if point.unmet is not None:
                    levels.setdefault("" if point.kappa is None else f"κ={float(point.kappa)!r}", point.unmet)
        return list(levels.items())

    def as_json(self) -> Json:
        """The fields of a table that speak of it."""
        return {
            "fronts": {method: [point.as_json() for point in points] for method, points in self.fronts.items()},
            **stated(
                front_optimum=None if self.optimum is None else [point.as_json() for point in self.optimum],
                paper_points=None if self.paper is None else [point.as_json() for point in self.paper],
            ),
        }

    @classmethod
    def parse(cls, raw: Json, where: str) -> TradeOff | None:
        """Reads the fields of a table that speak of it, where some do."""
        fronts, optimum, paper = (raw.get(name) for name in ("fronts", "front_optimum", "paper_points"))
        if fronts is None and optimum is None and paper is None:
            return None
        at = f"{where}: fronts"
        by_method = {method: as_list(points, at) for method, points in as_mapping(fronts, at).items()}
        return cls(
            fronts={method: _points(points, at) for method, points in by_method.items()},
            optimum=None if optimum is None else _points(optimum, f"{where}: front_optimum"),
            paper=None if paper is None else _paper_points(paper, f"{where}: paper_points"),
        )


def _points(raw: object, where: str) -> tuple[FrontPoint, ...]:
    return tuple(FrontPoint.parse(point, where) for point in as_list(raw, where))


def _paper_points(raw: object, where: str) -> tuple[PaperPoint, ...]:
    return tuple(PaperPoint.parse(point, where) for point in as_list(raw, where))


def _metrics(entries: Json, where: str) -> dict[str, float]:
    # A point holds plain numbers or summaries over seeds; of a summary the front shows the mean.
    means = {name: value.get("mean") if isinstance(value, Mapping) else value for name, value in entries.items()}
    return as_numbers(means, where)
