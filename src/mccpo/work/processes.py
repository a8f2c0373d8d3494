"""Cells by several processes of this machine, each with its share of the cores."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait

from mccpo.work.cell import Agenda, Cell, Ending
from mccpo.work.child import Child


@dataclass(frozen=True)
class Processes:
    """As many processes at once as `count` says."""

    count: int

    def do(self, cells: Sequence[Cell], ended: Callable[[Cell, Ending], None]) -> None:
        """Does cells, and calls `ended` here as each of them ends."""
        agenda, running = Agenda(cells), dict[int, tuple[Cell, Child]]()
        try:
            while agenda or running:
                for slot in sorted(set(range(self.count)) - running.keys()):
                    if (cell := agenda.next()) is None:
                        break
                    own = partial(_take_cores, slot, self.count)
                    running[slot] = cell, Child.start(pickle.dumps(cell), cell.limit, own)
                for slot in _ended(running):
                    cell, child = running.pop(slot)
                    agenda.end(cell, ending := child.ending())
                    ended(cell, ending)
        finally:  # also when Ctrl-C was pressed
            for _, child in running.values():
                child.stop()


def _ended(running: Mapping[int, tuple[Cell, Child]]) -> list[int]:
    """Waits until some have ended, by themselves or because they had their time."""
    children = {slot: child for slot, (_, child) in running.items()}
    times = [seconds for child in children.values() if (seconds := child.left) is not None]
    wait([child.process.sentinel for child in children.values()], min(times, default=None))
    for child in children.values():
        if child.left == 0:
            child.stop()
    return [slot for slot, child in children.items() if not child.process.is_alive()]


def _take_cores(slot: int, slots: int) -> None:
    if hasattr(os, "sched_setaffinity"):  # not on every system
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[slot::slots] or [cores[slot % len(cores)]])
