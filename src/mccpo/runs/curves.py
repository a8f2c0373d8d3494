"""Training curves as a table in a file: one row per part, method, seed and point.

The column `steps` or `episodes` says how far training was, by the unit that it is counted in. Older files have both
under `episodes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from mccpo import files
from mccpo.errors import InputError
from mccpo.evaluation import Curves

_UNITS = ("episodes", "steps")
_SCHEMA = {"part": pl.String, "unit": pl.String, "method": pl.String, "seed": pl.Int64}


def write_curves(path: Path, curves: Mapping[str, Curves]) -> None:
    """Writes training curves, by part."""
    with files.replacing(path) as scratch:
        _frame(curves).write_parquet(scratch)


def read_curves(path: Path) -> dict[str, Curves]:
    """Reads the training curves of a run folder, by part."""
    try:
        frame = pl.read_parquet(path)
        return {str(part): _unframe(rows) for (part,), rows in frame.group_by(["part"], maintain_order=True)}
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot read {path}: {error}", fix="run it again") from error


def _frame(curves: Mapping[str, Curves]) -> pl.DataFrame:
    frames = [
        pl.DataFrame(
            {
                "part": part,
                "unit": part_curves.unit,
                "method": method,
                "seed": np.repeat(np.arange(seeds := len(next(iter(metrics.values())))), len(part_curves.trained)),
                part_curves.unit: np.tile(part_curves.trained, seeds),
                **{metric: values.ravel() for metric, values in metrics.items()},
            }
        )
        for part, part_curves in curves.items()
        for method, metrics in part_curves.values.items()
    ]
    # Rules have no curves, so a run of rules alone has no rows.
    return pl.concat([pl.DataFrame(schema=_SCHEMA), *frames], how="diagonal")


def _unframe(rows: pl.DataFrame) -> Curves:
    unit = str(rows["unit"][0]) if "unit" in rows.columns else Curves.unit
    counted = rows[unit] if unit in rows.columns else rows["episodes"]
    trained = counted.unique(maintain_order=True).to_numpy()
    metrics = [name for name in rows.columns if name not in ("part", "unit", "method", "seed", *_UNITS)]
    return Curves(
        trained,
        {
            str(method): {name: points[name].to_numpy().reshape(-1, len(trained)) for name in metrics}
            for (method,), points in rows.group_by(["method"], maintain_order=True)
        },
        unit=unit,
    )
