"""What came out as a table, `rows.parquet`: one row for each environment, method, κ and seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeAlias

import polars as pl

from mccpo import files
from mccpo.errors import InputError
from mccpo.runs.benchmark.fields import JsonObject

ROWS = "rows.parquet"
MEASURED = (
    "return",
    "satisfaction",
    "satisfaction_strict",
    "prerequisite_violation_rate",
    "true_violation_rate",
    "violation_rate",
    "dK",
    "rhsi",
    "learning",
    "mastered",
)
"""Metrics of a row by their names everywhere else."""

CellKey: TypeAlias = tuple[str, str, float]
"""The environment, the method and the κ of a cell."""

_TEXT = ("environment", "method", "kind", "status", "why", "settings", "folder")


@dataclass(frozen=True)
class Outcome:
    """What the policy of a seed is worth at a κ, absolutely and as shares of what is to be had.

    **Fields:**

    - `learning`, `mastered`, `true_violation_rate`: None of an agent from elsewhere, of whom they are not known.
    - `share`, `optimum_share`: the return over that without budgets, and over that of the optimum within them; None
      where there is no such share. `cost_share`: the cost over that without budgets, of the cost that is highest.
    """

    ret: float
    satisfaction: float
    satisfaction_strict: float
    prerequisite_violation_rate: float
    violation_rate: float
    dK: float  # noqa: N815 - the metric's name
    rhsi: float
    learning: float | None
    mastered: float | None
    costs: Mapping[str, float]
    share: float | None
    optimum_share: float | None
    cost_share: float
    true_violation_rate: float | None = None

    @property
    def measured(self) -> dict[str, float | None]:
        """The metrics that `MEASURED` names."""
        return {metric: getattr(self, "ret" if metric == "return" else metric) for metric in MEASURED}

    @property
    def shares(self) -> dict[str, float | None]:
        return {"share": self.share, "optimum_share": self.optimum_share, "cost_share": self.cost_share}

    @property
    def cost_columns(self) -> dict[str, float]:
        return {f"J_{name}": cost for name, cost in self.costs.items()}

    @property
    def metrics(self) -> dict[str, float | None]:
        """Every metric by its name, in the order in which results have them."""
        return {**self.measured, **self.shares, **self.cost_columns}

    def as_json(self) -> JsonObject:
        return {**self.measured, **self.cost_columns, **self.shares}


@dataclass(frozen=True)
class Row:
    """One seed of one method on one environment at one κ.

    **Fields:**

    - `settings`: the setting that was chosen, as JSON; `budgets`: what may be spent, by cost.
    - `outcome`: what its policy is worth; None where the seed came to nothing, as `status` and `why` say.
    """

    environment: str
    method: str
    kind: str
    kappa: float
    seed: int
    status: str
    why: str
    settings: str
    folder: str
    seconds: float | None
    budgets: Mapping[str, float]
    outcome: Outcome | None

    def as_json(self) -> JsonObject:
        """The row as the results of its pair have it."""
        apart = ("budgets", "outcome")
        return {
            **{field.name: getattr(self, field.name) for field in fields(self) if field.name not in apart},
            **{f"budget_{name}": limit for name, limit in self.budgets.items()},
            **({} if self.outcome is None else self.outcome.as_json()),
        }


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Writes rows as parquet; a cost that an environment does not have is null there."""
    with files.replacing(path) as scratch:
        _frame([row.as_json() for row in rows]).write_parquet(scratch)


def worst_costs(path: Path) -> dict[CellKey, dict[str, float]]:
    """The largest of every cost over the seeds of a cell, which its mean does not show; a KeyError where there is none.

    Costs have the names of their columns, such as `J_c4`.
    """
    rows = read_frame(path)
    if missing := [name for name in ("environment", "method", "kappa") if name not in rows.columns]:
        raise KeyError(missing[0])
    grouped = rows.group_by("environment", "method", "kappa", maintain_order=True).agg(pl.col("^J_.*$").max())
    return {
        (row["environment"], row["method"], row["kappa"]): {
            column: value for column, value in row.items() if column.startswith("J_") and value is not None
        }
        for row in grouped.iter_rows(named=True)
    }


def read_frame(path: Path) -> pl.DataFrame:
    """Reads rows that were written as parquet."""
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot read {path}: {error}", fix="name a file of rows") from error


def _frame(rows: Sequence[JsonObject]) -> pl.DataFrame:
    """Rows as a data frame, with the same columns whatever the rows have."""
    first = ("environment", "method", "kind", "kappa", "seed", "return", "share", "optimum_share")
    costs = sorted({column for row in rows for column in row if column.startswith(("J_", "budget_"))})
    last = (*MEASURED[1:], "cost_share", "seconds", "status", "why", "settings", "folder")
    columns = {name: _type(name) for name in (*first, *costs, *last)}
    return pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], schema=columns)


def _type(column: str) -> type[pl.DataType]:
    return pl.String if column in _TEXT else pl.Int64 if column == "seed" else pl.Float64
