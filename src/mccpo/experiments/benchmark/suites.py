"""The suites: which environments a benchmark takes place in, and for how long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """Which environments, for how long, and whether settings are searched for or those recommended taken."""

    environments: tuple[str, ...]
    seeds: int
    steps: int
    search: bool = True


FULL = (
    *("gate", "chain", "tutor-15", "tutor-25", "tutor-15-activities", "tutor-15-goal", "random-curricula"),
    *("junyi-2015-14", "junyi-2015-100", "junyi-2015-835", "assistments-2009"),
)
"""Every environment that is compared on, in the order of the tables."""

SUITES = {
    "quick": Suite(("gate", "chain", "tutor-15"), seeds=3, steps=100_000, search=False),
    "paper": Suite(("gate", "chain", "tutor-15", "tutor-25"), seeds=10, steps=1_000_000),
    "full": Suite(FULL, seeds=30, steps=1_000_000),
}
