"""The paper's numbers (Olukola and Rahimi, MC-CPO), under the names that our metrics have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from mccpo.runs.results import Reported

Rows = dict[str, dict[str, Reported]]

# What the paper prints under a name of its own, or of another policy than the row's. Its post-hoc row on the gate has
# the return of the filtered policy, but π(hack) and RHSI of the unfiltered one; on the chain, raw RHSI is discounted.
_RENAMED = {
    ("gate", "post-hoc"): {"pi_hack": "pi_hack_trained", "rhsi": "rhsi_trained"},
    ("chain", "*"): {"rhsi_ratio": "rhsi_ratio_discounted"},
}


Printed = dict[str, Any]
"""What the data file has under a name: numbers as decimals, alone or in lists and tables."""


@cache
def tables() -> Printed:
    """Every table of the paper as the data file has it, its numbers kept as decimals."""
    text = files("mccpo.experiments").joinpath("paper_tables.json").read_text(encoding="utf-8")
    content: Printed = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    return content


def rows(table: str) -> Rows:
    """A table's rows by method and metric."""
    return {
        method: {_name(table, method, metric): _reported(cell) for metric, cell in _cells(row)}
        for method, row in tables()[table]["rows"].items()
    }


def fitted(table: str) -> dict[str, tuple[str, ...]]:
    """The paper's numbers that our environment's own were worked out from, by method; all others are predictions."""
    return {method: tuple(metrics) for method, metrics in tables()[table].get("fitted", {}).items()}


def prevalence(table: str) -> dict[str, float] | None:
    """How often the paper found answers that are right and bring no gain in the data of a table: events and share."""
    printed = tables().get(table, {}).get("prevalence")
    return None if printed is None else {name: float(printed[name]) for name in ("events", "analysed", "rate")}


def _cells(row: Printed) -> Iterator[tuple[str, Any]]:
    """The cells of a row; multipliers that are listed together are those of the costs in turn."""
    for metric, cell in row.items():
        if metric == "lambda":
            yield from zip(("lambda_c2", "lambda_c3", "lambda_c4"), cell, strict=True)
        else:
            yield metric, cell


def _name(table: str, method: str, metric: str) -> str:
    for row in (method, "*"):
        if metric in _RENAMED.get((table, row), {}):
            return _RENAMED[table, row][metric]
    return metric


def _reported(cell: Any) -> Reported:
    mean, std = cell if isinstance(cell, list) else (cell, None)
    exponent = mean.as_tuple().exponent
    return Reported(float(mean), None if std is None else float(std), 10.0 ** int(exponent))
