"""How far the work is, how fast it goes and how long it still takes: a bar on a terminal, plain lines elsewhere.

Both go to stderr. Speed is measured from the end of a stage's first point, because that point compiles.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from mccpo.cli.console.output import note

if TYPE_CHECKING:
    from mccpo.experiments import Stage


class Progress(Protocol):
    """Told that a stage of the work is at a point; first as it begins."""

    def __call__(self, stage: Stage, point: int) -> None: ...


@contextmanager
def progress() -> Iterator[Progress]:
    """Shows progress until the block ends."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[pace]}"),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        yield _Bars(bars)


class Pace:
    """How fast a stage goes."""

    def __init__(self, stage: Stage, point: int) -> None:
        self._stage = stage
        self._begun = self._compiled = self._now = time.monotonic()
        self._first = point + 1
        self._point = point

    def tell(self, point: int) -> None:
        """The stage is at this point now."""
        self._point = point
        self._now = time.monotonic()
        if point <= self._first:
            self._compiled = self._now

    @property
    def compiles(self) -> bool:
        """Whether the first point, which compiles, is still to come."""
        return self._stage.compiles and self._point < min(self._first, self._stage.points)

    @property
    def seconds(self) -> float:
        """Since the stage began."""
        return self._now - self._begun

    @property
    def speed(self) -> float | None:
        """Steps (or episodes) of all runs together in a second; None until a point after the first has ended."""
        points, seconds = self._point - self._first, self._now - self._compiled
        return points * self._stage.steps_per_point / seconds if points > 0 and seconds > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds until the stage's last point at this speed; None when it is unknown, or reached."""
        points = self._stage.points - self._point
        return points * self._stage.steps_per_point / self.speed if points and self.speed else None


class _Bars:
    """A bar for each stage."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars
        self._shown: dict[str, tuple[Any, Pace]] = {}

    def __call__(self, stage: Stage, point: int) -> None:
        if stage.label not in self._shown:
            task = self._bars.add_task(stage.label, total=stage.points, pace="")
            self._shown[stage.label] = task, Pace(stage, point)
        task, pace = self._shown[stage.label]
        pace.tell(point)
        words = [_speed(stage, pace.speed)] if pace.speed else ["compiling"] if pace.compiles else []
        words += [f"{_clock(pace.left)} left"] if pace.left is not None else []
        self._bars.update(task, completed=point, pace=", ".join(words))


class _Lines:
    """A line as a stage begins, and one for each quarter of it."""

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}

    def __call__(self, stage: Stage, point: int) -> None:
        if stage.label not in self._paces:
            self._paces[stage.label] = Pace(stage, point)
            note(f"{stage.label}: begins")
        pace = self._paces[stage.label]
        pace.tell(point)
        if point > 0 and point * 4 // stage.points > (point - 1) * 4 // stage.points:
            words = [f"{pace.seconds:.1f} s"]
            words += [_speed(stage, pace.speed)] if pace.speed else []
            words += [f"{pace.left:.0f} s left"] if pace.left is not None else []
            note(f"{stage.label}: {100 * point // stage.points} % ({', '.join(words)})")


def _speed(stage: Stage, speed: float) -> str:
    rounded = float(f"{speed:.3g}")
    return f"{rounded:,.0f} {stage.unit}/s" if rounded >= 100 else f"{rounded:g} {stage.unit}/s"


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
