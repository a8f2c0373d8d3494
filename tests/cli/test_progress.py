"""Progress: steps per second and time left, on a terminal and elsewhere, with compilation left out."""

import io
import sys
from collections.abc import Callable

import pytest

from mccpo.cli.console import progress as module
from mccpo.cli.console.progress import progress
from mccpo.experiments.options import Stage

STAGE = Stage("tutor-15 unconstrained", points=8, steps_per_point=1_000)


class Clock:
    """Time that passes when told so."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


def train(clock: Clock, begin: int = 0, points: int = 8) -> None:
    """Thirty seconds of compilation, then two seconds a point."""
    with progress() as show:
        show(STAGE, begin)
        clock.now += 28
        for point in range(begin + 1, points + 1):
            clock.now += 2
            show(STAGE, point)


def test_elsewhere_every_quarter_is_a_line(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    train(clock)
    assert capsys.readouterr().err.splitlines() == [
        "tutor-15 unconstrained: begins",
        "tutor-15 unconstrained: 25 % (32.0 s, 500 steps/s, 12 s left)",
        "tutor-15 unconstrained: 50 % (36.0 s, 500 steps/s, 8 s left)",
        "tutor-15 unconstrained: 75 % (40.0 s, 500 steps/s, 4 s left)",
        "tutor-15 unconstrained: 100 % (44.0 s, 500 steps/s)",
    ]


def test_a_resumed_stage_counts_from_where_it_goes_on(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    train(clock, begin=4)
    assert capsys.readouterr().err.splitlines() == [
        "tutor-15 unconstrained: begins",
        "tutor-15 unconstrained: 50 % (0.0 s)",
        "tutor-15 unconstrained: 75 % (32.0 s, 500 steps/s, 4 s left)",
        "tutor-15 unconstrained: 100 % (36.0 s, 500 steps/s)",
    ]


def test_a_stage_of_one_point_has_no_speed(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as show:
        show(Stage("gate", 1, 10, "episodes"), 0)
        clock.now += 3
        show(Stage("gate", 1, 10, "episodes"), 1)
    assert capsys.readouterr().err == "gate: begins\ngate: 100 % (3.0 s)\n"


def test_large_numbers_are_rounded_and_grouped(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage("tutor-15", 2, 271_828, "episodes")
    with progress() as show:
        for point in range(3):
            show(stage, point)
            clock.now += 1
    assert capsys.readouterr().err.splitlines()[-1] == "tutor-15: 100 % (2.0 s, 272,000 episodes/s)"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    def open_terminal() -> Terminal:
        found = Terminal()
        monkeypatch.setattr(sys, "stderr", found)
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setenv("TERM", "xterm")
        return found

    return open_terminal


def test_on_a_terminal_there_is_a_bar(clock: Clock, terminal: Callable[[], Terminal]) -> None:
    screen = terminal()
    train(clock, points=5)
    shown = screen.getvalue()
    assert "tutor-15 unconstrained" in shown
    assert "62%" in shown
    assert "500 steps/s, 0:06 left" in shown


def test_the_bar_says_that_it_compiles(clock: Clock, terminal: Callable[[], Terminal]) -> None:
    screen = terminal()
    with progress() as show:
        show(STAGE, 0)
    assert "compiling" in screen.getvalue()


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (41, "0:41"), (61.6, "1:02"), (3_725, "1:02:05")])
def test_the_time_left_reads_as_a_clock(seconds: float, text: str) -> None:
    assert module._clock(seconds) == text
