"""A process of its own for one cell: it does the cell and ends.

That costs a start, and buys this: whatever ends a process (memory, a fault in a library) ends one cell alone, and a
cell that takes too long can be ended. The process is spawned, not forked: a fork would cut off jax's threads.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from mccpo.work.cell import Cell, Ending, line


@dataclass(frozen=True)
class Child:
    """The process of a cell, where it says what became of the cell, when it began and how long it may take."""

    process: BaseProcess
    said: Connection
    begun: float
    limit: float | None

    @classmethod
    def start(cls, content: bytes, limit: float | None, cores: Callable[[], None] | None = None) -> Child:
        """Starts the process of a pickled cell; `cores` is called in it first, to take its share of the machine."""
        context = multiprocessing.get_context("spawn")
        said, say = context.Pipe(duplex=False)
        process = context.Process(target=_begin, args=(content, cores, say), daemon=True)
        process.start()
        say.close()  # the process has its own
        return cls(process, said, time.monotonic(), limit)

    @property
    def left(self) -> float | None:
        """How many seconds it has left."""
        return None if self.limit is None else max(0.0, self.begun + self.limit - time.monotonic())

    def stop(self) -> None:
        """Ends the process, and waits until it has ended."""
        self.process.kill()
        self.process.join()

    def wait(self) -> Ending:
        """Waits until the process has ended, by itself or because it had its time; says how the cell ended."""
        try:
            wait([self.process.sentinel], self.left)
        finally:
            self.stop()
        return self.ending()

    def ending(self) -> Ending:
        """How the cell ended, once the process has."""
        self.process.join()
        with contextlib.suppress(EOFError):  # it said nothing
            if self.said.poll():
                return Ending(*self.said.recv())
        code = self.process.exitcode or 0
        if self.left == 0 and -code == signal.SIGKILL:
            seconds = time.monotonic() - self.begun
            return Ending("timed out", f"stopped after {seconds:.0f} s, not having looked at the time")
        if not code:
            return Ending("crashed", "its process ended without a result")
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        return Ending("crashed", f"its process {how}")


def _begin(content: bytes, cores: Callable[[], None] | None, say: Connection) -> None:
    """What the process does: its cell, for as long as the process that started it is there."""
    os.dup2(2, 1)  # what a method prints is not what the command says
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it hears Ctrl-C, too, and ends it
    if cores is not None:
        cores()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        cell: Cell = pickle.loads(content)
        path = cell.do()
    except (Exception, SystemExit) as error:
        say.send(tuple(Ending("error", line(f"{type(error).__name__}: {error}"))))
        sys.exit(1)
    say.send(tuple(Ending("done", path=path)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # it was started by one
    wait([parent.sentinel])
    os._exit(1)
