"""Ctrl-C that is not lost: what lands where Python drops exceptions is remembered until somebody asks.

Ctrl-C raises KeyboardInterrupt in whatever code runs at that moment. Where this is a callback of the garbage collector
or a finaliser, Python drops the exception and goes on. A long run therefore asks `interrupted()` between its steps, and
stops when it says so.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_state = {"asked": False}


def interrupted() -> bool:
    """Whether Ctrl-C was pressed since the command began, even if the KeyboardInterrupt it raised was dropped."""
    return _state["asked"]


@contextmanager
def watching() -> Iterator[None]:
    """Remembers Ctrl-C while it raises KeyboardInterrupt as ever, each time; afterwards all is as it was before.

    Does nothing outside the main thread, which alone may handle signals, nor where the caller has Ctrl-C ignored.
    """
    _state["asked"] = False
    in_main_thread = threading.current_thread() is threading.main_thread()
    previous = signal.getsignal(signal.SIGINT) if in_main_thread else None
    if previous in (None, signal.SIG_IGN):
        yield
        return
    report_dropped = sys.unraisablehook

    def report(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):  # that one is remembered: no need to alarm anybody
            report_dropped(dropped)

    signal.signal(signal.SIGINT, _remember)
    sys.unraisablehook = report
    try:
        yield
    finally:
        sys.unraisablehook = report_dropped
        signal.signal(signal.SIGINT, previous)


class _Told(BaseException):
    """A signal to end has come: what is under way is left, and cleared up."""


@contextmanager
def ending(number: signal.Signals) -> Iterator[None]:
    """Lets a signal that ends the process first leave the block as an exception would, so that it is cleared up.

    Afterwards the signal ends the process as ever, for whoever sent it to see. Does nothing outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def told(_number: int, _frame: FrameType | None) -> None:
        raise _Told

    previous = signal.signal(number, told)
    try:
        yield
    except _Told:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    finally:
        signal.signal(number, previous)


def _remember(_number: int, _frame: FrameType | None) -> None:
    _state["asked"] = True
    raise KeyboardInterrupt
