"""Measurements of agents of other packages: a row for each agent, environment, κ and seed, in a parquet file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from mccpo import files
from mccpo.errors import InputError
from mccpo.runs.benchmark import read_frame

_COLUMNS = {
    "environment": pl.String, "method": pl.String, "kappa": pl.Float64, "seed": pl.Int64, "return": pl.Float64,
    "engagement": pl.Float64, "gain": pl.Float64, "violation_rate": pl.Float64,
    "prerequisite_violation_rate": pl.Float64, "seconds": pl.Float64,
}  # fmt: skip
_ALWAYS = ("return", "engagement", "gain", "violation_rate", "prerequisite_violation_rate")
"""What every row has a number for."""


@dataclass(frozen=True)
class AgentRow:
    """What one seed of an agent is worth on an environment.

    **Fields:**

    - `kappa`: the budgets it was trained for, as a share of the unconstrained costs; None where it saw none.
    - `costs`: the discounted sum of each cost. `seconds`: how long it was trained; None where nobody knows.
    - `where`: which row of which file it was read from.
    """

    environment: str
    method: str
    kappa: float | None
    seed: int
    ret: float
    engagement: float
    gain: float
    violation_rate: float
    prerequisite_violation_rate: float
    costs: Mapping[str, float]
    seconds: float | None = None
    where: str = "a row of an outside agent"

    def columns(self) -> dict[str, str | float | None]:
        """The row as its file has it."""
        return {
            "environment": self.environment,
            "method": self.method,
            "kappa": self.kappa,
            "seed": self.seed,
            "return": self.ret,
            "engagement": self.engagement,
            "gain": self.gain,
            "violation_rate": self.violation_rate,
            "prerequisite_violation_rate": self.prerequisite_violation_rate,
            "seconds": self.seconds,
            **{f"J_{name}": cost for name, cost in self.costs.items()},
        }


def write_agent_rows(path: str | Path, rows: Iterable[AgentRow]) -> None:
    """Writes rows of `measure`, of one agent or several, to be named with `--rows`.

    >>> from tempfile import TemporaryDirectory
    >>> row = AgentRow("gate", "my-agent", None, 0, 1.0, 1.0, 0.5, 0.0, 0.0, {"c": 0.25})
    >>> with TemporaryDirectory() as folder:
    ...     write_agent_rows(Path(folder) / "rows.parquet", [row])
    ...     read_agent_rows(Path(folder) / "rows.parquet")[0].costs
    {'c': 0.25}
    """
    written = [row.columns() for row in rows]
    costs = sorted({column for row in written for column in row if column.startswith("J_")})
    columns = _COLUMNS | dict.fromkeys(costs, pl.Float64)
    table = pl.DataFrame([{name: row.get(name) for name in columns} for row in written], schema=columns)
    with files.replacing(path) as scratch:
        table.write_parquet(scratch)


def read_agent_rows(path: Path) -> list[AgentRow]:
    """Reads what `write_agent_rows` wrote; each row says `where` it is from."""
    frame = read_frame(path)
    if missing := [name for name in _COLUMNS if name not in frame.columns]:
        raise InputError(f"{path} has no column '{missing[0]}'", fix="write it by mccpo.experiments.benchmark.outside")
    return [_parse(raw, f"{path}, row {number}") for number, raw in enumerate(frame.to_dicts(), start=1)]


def _parse(raw: Mapping[str, object], where: str) -> AgentRow:
    """A row of a file, whose own values must be what they should be, whatever is compared."""
    environment, method = (_name(raw, name, where) for name in ("environment", "method"))
    seed = raw["seed"]
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"{where}: seed is {seed!r}", fix="give a whole number from 0 on")
    numbers: dict[str, float] = {}
    for name, value in raw.items():
        optional = name in ("kappa", "seconds") or name.startswith("J_")
        if name in _ALWAYS or (optional and value is not None):
            numbers[name] = _number(value, name, where)
    kappa = numbers.get("kappa")
    if kappa is not None and kappa <= 0:
        raise InputError(f"{where}: kappa is {kappa}", fix="give a share above 0, or none")
    return AgentRow(
        environment=environment,
        method=method,
        kappa=kappa,
        seed=seed,
        ret=numbers["return"],
        engagement=numbers["engagement"],
        gain=numbers["gain"],
        violation_rate=numbers["violation_rate"],
        prerequisite_violation_rate=numbers["prerequisite_violation_rate"],
        costs={name.removeprefix("J_"): value for name, value in numbers.items() if name.startswith("J_")},
        seconds=numbers.get("seconds"),
        where=where,
    )


def _name(raw: Mapping[str, object], key: str, where: str) -> str:
    name = raw[key]
    if not isinstance(name, str) or not name:
        raise InputError(f"{where}: {key} is {name!r}", fix="give a name")
    return name


def _number(value: object, name: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        fix = "measure it again, or leave the row out"
        raise InputError(f"{where}: {name} is {value!r}, which is no finite number", fix=fix)
    return value
