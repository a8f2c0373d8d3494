"""How many cores a process may use."""

from __future__ import annotations

import os

CORES = "NPROC"
"""The variable by which XLA, too, is told how many threads to have."""


def cores() -> int:
    """The cores that this process may use: those that it was given as a cell of work, else those of its machine.

    >>> cores() >= 1
    True
    """
    # Which cores a process may use is not known on every system.
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    given = os.environ.get(CORES, "")
    return min(here, int(given)) if given.isdecimal() and int(given) > 0 else here
