"""One metric over seeds."""

from __future__ import annotations

from dataclasses import dataclass

from mccpo.runs.benchmark.fields import Fields, JsonObject, as_interval


@dataclass(frozen=True)
class Measured:
    """The mean of a metric over seeds, its deviation, every seed's value, an interval and the interquartile mean."""

    mean: float
    std: float
    per_seed: tuple[float, ...]
    ci: tuple[float, float]
    iqm: float

    @property
    def shown_std(self) -> float | None:
        """The deviation over seeds, or nothing for one seed, where ± 0 would claim a certainty that is not there."""
        return self.std if len(self.per_seed) > 1 else None

    def as_json(self) -> JsonObject:
        """The summary as the JSON of every command has it."""
        return {
            "mean": self.mean,
            "std": self.std,
            "per_seed": list(self.per_seed),
            "ci": list(self.ci),
            "iqm": self.iqm,
        }

    @staticmethod
    def parse(raw: object) -> Measured:
        """Reads what `as_json` gave, or what `mccpo.evaluation.summarise` gives."""
        fields = Fields(raw)
        return Measured(
            mean=fields.number("mean"),
            std=fields.number("std"),
            per_seed=fields.numbers("per_seed"),
            ci=as_interval(fields.items("ci"), "ci"),
            iqm=fields.number("iqm"),
        )
