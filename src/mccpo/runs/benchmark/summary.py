"""One metric over seeds, as a benchmark's results have it."""

from __future__ import annotations

from mccpo.evaluation import Summary
from mccpo.runs.benchmark.fields import Fields, as_interval


def parse_summary(raw: object) -> Summary:
    """Reads the JSON of a summary; every field must be there."""
    fields = Fields(raw)
    return Summary(
        mean=fields.number("mean"),
        std=fields.number("std"),
        per_seed=fields.numbers("per_seed"),
        ci=as_interval(fields.items("ci"), "ci"),
        iqm=fields.number("iqm"),
    )
