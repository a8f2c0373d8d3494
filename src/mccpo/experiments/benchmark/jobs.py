"""Pairs of a benchmark by several processes at once, each of which does one of them and ends.

A process of its own costs a start, and buys this: programs compile beside one another, an accelerator that one small
run cannot fill has others to go on with, and what ends a process (memory, a fault in a library) ends one pair alone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from mccpo.experiments.benchmark.environments import World
from mccpo.experiments.benchmark.pairs import Benchmark, kept_trial, kind_of, pair_in, posed_in
from mccpo.experiments.benchmark.rows import folder_of
from mccpo.experiments.benchmark.trial import Trial, line
from mccpo.experiments.options import Session
from mccpo.experiments.runs import RunFolder


@dataclass(frozen=True)
class Job:
    """A pair, or, where `method` is None, what the pairs of an environment all need first."""

    environment: str
    method: str | None = None


def by_processes(
    place: RunFolder,
    benchmark: Benchmark,
    finished: Mapping[str, list[str]],
    places: int,
    open_session: Callable[[], Session],
    told: Callable[[Trial], None] | None,
) -> dict[Job, str]:
    """Has pairs that are not finished in a benchmark's folder done there; gives those whose process failed, and why."""
    asked, worlds = list[Job](), dict[str, World]()
    for environment in benchmark.environments:
        left = [method for method in benchmark.methods if method not in finished.get(environment, ())]
        try:
            worlds[environment] = benchmark.open(environment, benchmark.data)
        except (Exception, SystemExit):  # which is a finding when it comes to this environment
            continue
        asked += [Job(environment), *(Job(environment, method) for method in left)] if left else []
    failed: dict[Job, str] = {}

    def ended(job: Job, why: str) -> None:
        place.mark(finished=False)  # so that the time that went by is not lost when all of it is stopped
        if job.method is None:
            return
        if why:
            failed[job] = why
        if told is not None:
            told(_outcome(place.path, benchmark, job.environment, job.method, why))

    place.mark(finished=False)
    work = partial(_work, place.path, replace(benchmark, open=_Opened(worlds)), open_session)
    share_out(asked, places, work, ended)
    return failed


@dataclass(frozen=True)
class _Opened:
    """Environments that were opened before: logs are made into one once, not in every process."""

    worlds: Mapping[str, World]

    def __call__(self, name: str, _data: Path | None) -> World:
        return self.worlds[name]


def _work(folder: Path, benchmark: Benchmark, open_session: Callable[[], Session], job: Job) -> None:
    """What a process does for a job: leaves the anchors of an environment in the folder, or a finished pair."""
    session = open_session()
    posed = posed_in(folder, job.environment, benchmark, session)
    if job.method is not None:
        pair_in(folder, posed, job.method, benchmark, session)


def _outcome(folder: Path, benchmark: Benchmark, environment: str, method: str, why: str) -> Trial:
    if why:
        return Trial(environment, method, kind_of(benchmark, method), "crashed", why)
    return kept_trial(folder / folder_of(environment, method))


@dataclass(frozen=True)
class _Running:
    """A job at its place, the process that does it, and where that says what went wrong."""

    job: Job
    place: int
    process: BaseProcess
    failure: Connection

    def why(self) -> str:
        """Why the process ended, where it did not end well."""
        code = self.process.exitcode
        if not code:
            return ""
        with contextlib.suppress(EOFError):  # it said nothing
            return str(self.failure.recv())
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        return f"its process {how}"


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
                running.append(_started(work, job, place, places))
            wait([one.process.sentinel for one in running])
            for one in [one for one in running if not one.process.is_alive()]:
                running.remove(one)
                one.process.join()
                ended(one.job, one.why())
    finally:  # also when Ctrl-C was pressed
        for one in running:
            one.process.kill()
            one.process.join()


def _next(waiting: Sequence[Job], running: Sequence[_Running]) -> Job | None:
    """The first that need not wait: pairs do so for what their environment needs first."""
    first = {job.environment for job in (*waiting, *(one.job for one in running)) if job.method is None}
    return next((job for job in waiting if job.method is None or job.environment not in first), None)


def _started(work: Callable[[Job], None], job: Job, place: int, places: int) -> _Running:
    # Not forked: what jax has running in threads would be cut off in the middle.
    context = multiprocessing.get_context("spawn")
    failure, tell = context.Pipe(duplex=False)
    process = context.Process(target=_begin, args=(work, job, place, places, tell), daemon=True)
    process.start()
    tell.close()  # the process has its own
    return _Running(job, place, process, failure)


def _begin(work: Callable[[Job], None], job: Job, place: int, places: int, tell: Connection) -> None:
    """What a process does: its job, on its share of the cores, for as long as who started it is there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it hears Ctrl-C, too, and ends it
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[place::places] or [cores[place % len(cores)]])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work(job)
    except (Exception, SystemExit) as error:
        tell.send(line(f"{type(error).__name__}: {error}"))
        sys.exit(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # it was started by one
    wait([parent.sentinel])
    os._exit(1)
