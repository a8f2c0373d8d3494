"""Estimates with their errors, and the sums that they need."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from mccpo.serve.monitor.report import EstimateReport

CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        width = NormalDist().inv_cdf((1 + confidence) / 2) * self.error
        return self.mean - width, self.mean + width

    def report(self) -> EstimateReport:
        return {"mean": self.mean, "interval": list(self.interval())}


@dataclass
class RatioSums:
    """Sums over units of a part x, a whole w and their products. Whole numbers are summed exactly, in any order."""

    units: int = 0
    x: float = 0
    w: float = 0
    xx: float = 0
    xw: float = 0
    ww: float = 0

    @classmethod
    def of(cls, parts: Iterable[float], wholes: Iterable[float]) -> RatioSums:
        sums = cls()
        for part, whole in zip(parts, wholes, strict=True):
            sums.add(part, whole)
        return sums

    def add(self, x: float, w: float, sign: int = 1) -> None:
        """Adds a unit, or takes it out again."""
        self.units += sign
        self.x += sign * x
        self.w += sign * w
        self.xx += sign * x * x
        self.xw += sign * x * w
        self.ww += sign * w * w

    def estimate(self, scale: float = 1.0) -> Estimate | None:
        """The sum of parts over the sum of wholes, with an error that takes each unit as one draw."""
        ratio = ratio_of_sums(self.units, self.x, self.w, self.xx, self.xw, self.ww)
        return None if ratio is None else Estimate(ratio.mean * scale, ratio.error * scale)


def ratio_of_sums(units: int, x: float, w: float, xx: float, xw: float, ww: float) -> Estimate | None:
    """A ratio from the sums and the sums of products alone; None without two units or any whole."""
    if units < 2 or w <= 0:
        return None
    mean = x / w
    residual = max(0.0, xx - 2 * mean * xw + mean * mean * ww)
    return Estimate(float(mean), math.sqrt(residual * units / (units - 1)) / float(w))
