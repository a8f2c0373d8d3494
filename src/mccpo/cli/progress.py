"""How far the work is: a bar on a terminal, plain lines elsewhere; both on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from mccpo.cli.output import note


class Progress(Protocol):
    """Told that a part of the work is at `point` of `points`."""

    def __call__(self, label: str, point: int, points: int) -> None: ...


@contextmanager
def progress() -> Iterator[Progress]:
    """Shows progress until the block ends."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, int] = {}

        def show(label: str, point: int, points: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=points)
            bars.update(tasks[label], completed=point)  # type: ignore[arg-type]

        yield show


class _Lines:
    """One line for each quarter of a part."""

    def __init__(self) -> None:
        self._begun: dict[str, float] = {}

    def __call__(self, label: str, point: int, points: int) -> None:
        begun = self._begun.setdefault(label, time.monotonic())
        if point * 4 // points > (point - 1) * 4 // points:
            note(f"{label}: {100 * point // points} % ({time.monotonic() - begun:.1f} s)")
