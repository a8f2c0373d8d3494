"""The figures of one table: what its data hold is drawn, what they do not hold is left out."""

from __future__ import annotations

from itertools import count

from mccpo.evaluation.curves import Curves
from mccpo.report import outcomes, training
from mccpo.report.panels import Group
from mccpo.report.results import Results


def groups(results: Results, curves: Curves | None, name: str) -> list[Group]:
    """All figures of one table; `name` begins the ids in them, and must be the table's own."""
    names = (f"{name}f{number}" for number in count(1))
    found = [outcomes.final(results, names), outcomes.sweep(results, names), outcomes.front(results, names)]
    if curves is not None:
        found += [training.progress(results, curves, names), training.duals(results, curves, names)]
    return [group for group in found if group is not None and group.panels]
