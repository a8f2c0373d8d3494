"""One metric over seeds, as a benchmark's results have it."""

from __future__ import annotations

from mccpo.evaluation import Summary
from mccpo.runs.benchmark.fields import Fields, JsonObject, as_interval


def summary_as_json(summary: Summary) -> JsonObject:
    """A summary as it always was in a benchmark's results: how many seeds there are is told by `per_seed`."""
    return {name: value for name, value in summary.as_json().items() if name != "n"}


def parse_summary(raw: object) -> Summary:
    """Reads the JSON of a summary; every field must be there; a single seed has no interval."""
    fields = Fields(raw)
    return Summary(
        mean=fields.number("mean"),
        std=fields.number("std"),
        per_seed=fields.numbers("per_seed"),
        ci=None if fields.raw["ci"] is None else as_interval(fields.items("ci"), "ci"),
        iqm=fields.number("iqm"),
    )
