"""A cell of a benchmark: one method on one environment at one κ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from mccpo.evaluation import Summary
from mccpo.runs.benchmark.fields import Fields, JsonObject
from mccpo.runs.benchmark.summary import parse_summary, summary_as_json


@dataclass(frozen=True)
class Cell:
    """One method on one environment at one κ.

    **Fields:**

    - `kind`: learner, tutor (a rule), solver or outside; `status`: done, crashed, diverged, timed out or does not
      apply; `why`: the reason where it is not done.
    - `folder`: the folder of its pair, relative to that of the benchmark; empty where there is none.
    - `metrics`: every metric over the seeds that are done, which are `seeds_done` many.
    """

    environment: str
    method: str
    kind: str
    kappa: float
    status: str
    why: str
    folder: str
    seconds: float | None
    seeds_done: int
    metrics: Mapping[str, Summary]

    @property
    def seeds_met(self) -> int:
        """How many seeds kept within every budget (τ = 0)."""
        strict = self.metrics.get("satisfaction_strict")
        return 0 if strict is None else round(sum(strict.per_seed))

    def as_json(self) -> JsonObject:
        head = {field.name: getattr(self, field.name) for field in fields(Cell) if field.name != "metrics"}
        return head | {name: summary_as_json(summary) for name, summary in self.metrics.items()}

    @staticmethod
    def parse(raw: object) -> Cell:
        entries = Fields(raw)
        metrics = {name: value for name, value in entries.raw.items() if isinstance(value, Mapping)}
        return Cell(
            environment=entries.text("environment"),
            method=entries.text("method"),
            kind=entries.text("kind"),
            kappa=entries.number("kappa"),
            status=entries.text("status"),
            why=entries.text("why"),
            folder=entries.text("folder"),
            seconds=entries.optional_number("seconds"),
            seeds_done=entries.whole("seeds_done"),
            metrics={name: parse_summary(value) for name, value in metrics.items()},
        )
