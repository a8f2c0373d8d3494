"""Pairs of a benchmark by several processes at once, each of which does one of them and ends.

A process of its own costs a start, and buys this: programs compile beside one another, an accelerator that one small
run cannot fill has others to go on with, and what ends a process (memory, a fault in a library) ends one pair alone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess


@dataclass(frozen=True)
class Job:
    """A pair, or, where `method` is None, what the pairs of an environment all need first."""

    environment: str
    method: str | None = None


@dataclass(frozen=True)
class _Running:
    job: Job
    process: BaseProcess
    place: int


def share_out(jobs: Sequence[Job], places: int, work: Callable[[Job], None], ended: Callable[[Job, str], None]) -> None:
    """Does jobs, as many at once as there are places, in their order as far as they need not wait for one another.

    `work` runs in a process of its own and must be one that can be pickled. `ended` is called here, with why a process
    ended where it did not end well, else with nothing.
    """
    waiting, running = list(jobs), list[_Running]()
    try:
        while waiting or running:
            for place in sorted(set(range(places)) - {one.place for one in running}):
                if (job := _next(waiting, running)) is None:
                    break
                waiting.remove(job)
                running.append(_Running(job, _started(work, job, place, places), place))
            wait([one.process.sentinel for one in running])
            for one in [one for one in running if not one.process.is_alive()]:
                running.remove(one)
                one.process.join()
                ended(one.job, _why(one.process.exitcode))
    finally:  # also when Ctrl-C was pressed, here or in any of them
        for one in running:
            one.process.kill()
            one.process.join()


def _next(waiting: Sequence[Job], running: Sequence[_Running]) -> Job | None:
    """The first that need not wait: pairs do so for what their environment needs first."""
    first = {job.environment for job in (*waiting, *(one.job for one in running)) if job.method is None}
    return next((job for job in waiting if job.method is None or job.environment not in first), None)


def _started(work: Callable[[Job], None], job: Job, place: int, places: int) -> BaseProcess:
    # Not forked: what jax has running in threads would be cut off in the middle.
    process = multiprocessing.get_context("spawn").Process(target=_begin, args=(work, job, place, places), daemon=True)
    process.start()
    return process


def _begin(work: Callable[[Job], None], job: Job, place: int, places: int) -> None:
    """What a process does: its job, on its share of the cores, for as long as who started it is there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it hears Ctrl-C, too, and ends it
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[place::places] or [cores[place % len(cores)]])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work(job)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # it was started by one
    wait([parent.sentinel])
    os._exit(1)


def _why(code: int | None) -> str:
    if not code:
        return ""
    return f"its process was ended by {signal.Signals(-code).name}" if code < 0 else f"its process ended with {code}"
