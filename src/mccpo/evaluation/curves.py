"""What was measured while the methods trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mccpo.errors import InputError


@dataclass(frozen=True, eq=False)
class Curves:
    """Training curves of every method: `values[method][metric]` has one row per seed and one column per point.

    `trained` says how far training was at each point, increasing, counted in `unit`: episodes or steps. A value that is
    not finite means that the metric was undefined at that point, and leaves a gap in the line.
    """

    trained: NDArray[np.floating | np.integer]
    values: Mapping[str, Mapping[str, NDArray[np.floating]]]
    unit: str = "episodes"

    def __post_init__(self) -> None:
        points = np.asarray(self.trained)
        if points.ndim != 1 or points.size == 0 or not np.all(np.isfinite(points)) or np.any(np.diff(points) <= 0):
            raise InputError(
                f"curves: {self.unit} are not increasing numbers", fix="give one increasing value per point"
            )
        for method, metrics in self.values.items():
            for metric, values in metrics.items():
                shape = np.shape(values)
                if len(shape) != 2 or shape[0] == 0 or shape[1] != points.size:
                    raise InputError(
                        f"curves: {metric} of {method} has shape {shape}",
                        fix=f"give it one row per seed and {points.size} columns, one per point",
                    )

    def metrics(self) -> list[str]:
        """The metrics that at least one method has, in the order in which they first appear."""
        return list(dict.fromkeys(metric for metrics in self.values.values() for metric in metrics))
