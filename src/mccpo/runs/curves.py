"""Training curves as a table in a file: one row per part, method, seed and point."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from mccpo import files
from mccpo.errors import InputError
from mccpo.evaluation import Curves


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
                "unit": found.unit,
                "method": method,
                "seed": np.repeat(np.arange(seeds := len(next(iter(metrics.values())))), len(found.episodes)),
                "episodes": np.tile(found.episodes, seeds),
                **{metric: values.ravel() for metric, values in metrics.items()},
            }
        )
        for part, found in curves.items()
        for method, metrics in found.values.items()
    ]
    return pl.concat(frames, how="diagonal")


def _unframe(rows: pl.DataFrame) -> Curves:
    episodes = rows["episodes"].unique(maintain_order=True).to_numpy()
    metrics = [name for name in rows.columns if name not in ("part", "unit", "method", "seed", "episodes")]
    return Curves(
        episodes,
        {
            str(method): {name: found[name].to_numpy().reshape(-1, len(episodes)) for name in metrics}
            for (method,), found in rows.group_by(["method"], maintain_order=True)
        },
        unit=rows["unit"][0] if "unit" in rows.columns else Curves.unit,
    )
