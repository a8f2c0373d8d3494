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
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal, NamedTuple

from mccpo.env import TrainTest, needs_data
from mccpo.errors import MccpoError
from mccpo.experiments.benchmark.pairs import Benchmark, is_finished, kept_trial, kind_of, pair_in, problem_in
from mccpo.experiments.benchmark.rows import folder_of
from mccpo.experiments.benchmark.trial import Status, Trial, line
from mccpo.experiments.options import Session
from mccpo.runs import RunFolder

GRACE = 60.0  # seconds beyond twice its limit after which a process is ended: it must start, compile and evaluate, too


@dataclass(frozen=True)
class Job:
    """A pair, or, where `method` is None, what the pairs of an environment all need first."""

    environment: str
    method: str | None = None


class Ending(NamedTuple):
    """How a job ended. An error is one that the work raised; a crash is the end of its process by anything else."""

    how: Literal["done", "error", "crashed", "timed out"]
    why: str = ""


def by_processes(
    run_folder: RunFolder,
    benchmark: Benchmark,
    finished: Mapping[str, list[str]],
    processes: int,
    open_session: Callable[[], Session],
    after_trial: Callable[[Trial], None],
) -> dict[Job, Ending]:
    """Has pairs that are not finished in a benchmark's folder done there; gives what did not end well.

    `after_trial` is called here, as each pair ends.

    Whatever a method raises is an outcome of its pair. What is raised elsewhere, by a full disk, is an error here.
    """
    asked, opened = _asked(benchmark, finished)
    failed: dict[Job, Ending] = {}

    def ended(job: Job, ending: Ending) -> None:
        run_folder.mark(finished=False)  # so that the time that went by is not lost when all of it is stopped
        if job.method is not None and is_finished(_folder(run_folder.path, job)):
            ending = Ending("done")  # however its process ended after that
        elif job.method is not None and ending.how == "done":
            ending = Ending("crashed", "its process ended without a result")
        if ending.how != "done":
            failed[job] = ending
        if job.method is not None and ending.how != "error":
            after_trial(_outcome(run_folder.path, benchmark, job, ending))

    work = partial(_work, run_folder.path, replace(benchmark, open=_Opening(opened, benchmark.open)), open_session)
    for environment in {job.environment for job in asked}:
        # Here, since processes that try whether they may write would remove it under one another.
        with contextlib.suppress(OSError):  # where it cannot be made, the process says so
            (run_folder.path / "cells" / environment).mkdir(parents=True, exist_ok=True)
    share_out(asked, processes, work, ended, limit=benchmark.protocol.limit)
    for job, ending in failed.items():
        if job.method is not None and ending.how == "error":
            raise MccpoError(
                f"{job.environment} {job.method}: {ending.why}; what has ended is kept: go on with --resume"
            )
    return failed


def _asked(benchmark: Benchmark, finished: Mapping[str, list[str]]) -> tuple[list[Job], dict[str, TrainTest]]:
    """What there is to do, and the environments that are made of logs, which takes long."""
    asked, opened = list[Job](), dict[str, TrainTest]()
    for environment in benchmark.environments:
        left = [method for method in benchmark.methods if method not in finished.get(environment, ())]
        try:
            opening = benchmark.open(environment, benchmark.data)
        except (Exception, SystemExit):  # which is a finding when it comes to this environment
            continue
        if needs_data(environment):
            opened[environment] = opening
        asked += [Job(environment), *(Job(environment, method) for method in left)] if left else []
    return asked, opened


@dataclass(frozen=True)
class _Opening:
    """Opens environments in a process; those that were made of logs before are brought along."""

    opened: Mapping[str, TrainTest]
    other: Callable[[str, Path | None], TrainTest]

    def __call__(self, name: str, data: Path | None) -> TrainTest:
        return self.opened[name] if name in self.opened else self.other(name, data)


def _work(folder: Path, benchmark: Benchmark, open_session: Callable[[], Session], job: Job) -> None:
    """What a process does for a job: leaves the anchors of an environment in the folder, or a finished pair."""
    session = open_session()
    problem = problem_in(folder, job.environment, benchmark, session)
    if job.method is not None:
        pair_in(folder, problem, job.method, benchmark, session)


def _folder(folder: Path, job: Job) -> Path:
    assert job.method is not None  # only pairs have one
    return folder / folder_of(job.environment, job.method)


def _outcome(folder: Path, benchmark: Benchmark, job: Job, ending: Ending) -> Trial:
    if ending.how == "done":
        return kept_trial(_folder(folder, job))
    return failed_trial(benchmark, job, ending)


def failed_trial(benchmark: Benchmark, job: Job, ending: Ending) -> Trial:
    """The trial of a pair whose process did not end well."""
    assert job.method is not None
    status: Status = "timed out" if ending.how == "timed out" else "crashed"
    return Trial(job.environment, job.method, kind_of(benchmark, job.method), status, ending.why)


@dataclass(frozen=True)
class _Running:
    """A job, its slot, the process that does it, where that says what it raised, and when it began."""

    job: Job
    slot: int
    process: BaseProcess
    raised: Connection
    begun: float

    def left(self, limit: float | None) -> float | None:
        """How many seconds it has left; one that is no pair has as many as it takes."""
        if limit is None or self.job.method is None:
            return None
        return max(0.0, self.begun + 2 * limit + GRACE - time.monotonic())

    def stop(self) -> None:
        """Ends the process, and waits until it has ended."""
        self.process.kill()
        self.process.join()

    def ending(self, limit: float | None) -> Ending:
        """How it ended, once the process has."""
        code = self.process.exitcode
        if not code:
            return Ending("done")
        if self.left(limit) == 0 and -code == signal.SIGKILL:
            return Ending(
                "timed out", f"stopped after {time.monotonic() - self.begun:.0f} s, not having looked at the time"
            )
        with contextlib.suppress(EOFError):  # it raised nothing
            return Ending("error", str(self.raised.recv()))
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        return Ending("crashed", f"its process {how}")


def share_out(
    jobs: Sequence[Job],
    slots: int,
    work: Callable[[Job], None],
    ended: Callable[[Job, Ending], None],
    *,
    limit: float | None = None,
) -> None:
    """Does jobs, as many at once as there are slots, in their order as far as they need not wait for one another.

    `work` runs in a process of its own and must be one that can be pickled. `ended` is called here. Where what an
    environment needs first does not end well, its pairs are left. A pair that is far beyond its `limit` is ended.
    """
    waiting, running = list(jobs), list[_Running]()
    try:
        while waiting or running:
            for slot in sorted(set(range(slots)) - {busy.slot for busy in running}):
                if (job := _next(waiting, running)) is None:
                    break
                waiting.remove(job)
                running.append(_started(work, job, slot, slots))
            for done in _ended(running, limit):
                running.remove(done)
                ending = done.ending(limit)
                ended(done.job, ending)
                if done.job.method is None and ending.how != "done":
                    waiting = [job for job in waiting if job.environment != done.job.environment]
    finally:  # also when Ctrl-C was pressed
        for left in running:
            left.stop()


def _ended(running: Sequence[_Running], limit: float | None) -> list[_Running]:
    """Waits until some have ended, by themselves or because they had their time."""
    times = [seconds for busy in running if (seconds := busy.left(limit)) is not None]
    wait([busy.process.sentinel for busy in running], min(times, default=None))
    for busy in running:
        if busy.left(limit) == 0:
            busy.stop()
    return [busy for busy in running if not busy.process.is_alive()]


def _next(waiting: Sequence[Job], running: Sequence[_Running]) -> Job | None:
    """The first that need not wait: pairs do so for what their environment needs first."""
    first = {job.environment for job in (*waiting, *(busy.job for busy in running)) if job.method is None}
    return next((job for job in waiting if job.method is None or job.environment not in first), None)


def _started(work: Callable[[Job], None], job: Job, slot: int, slots: int) -> _Running:
    # Not forked: what jax has running in threads would be cut off in the middle.
    context = multiprocessing.get_context("spawn")
    raised, tell = context.Pipe(duplex=False)
    process = context.Process(target=_begin, args=(work, job, slot, slots, tell), daemon=True)
    process.start()
    tell.close()  # the process has its own
    return _Running(job, slot, process, raised, time.monotonic())


def _begin(work: Callable[[Job], None], job: Job, slot: int, slots: int, tell: Connection) -> None:
    """What a process does: its job, on its share of the cores, for as long as who started it is there."""
    os.dup2(2, 1)  # what a method prints is not what the command says
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it hears Ctrl-C, too, and ends it
    if hasattr(os, "sched_setaffinity"):  # not on every system
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[slot::slots] or [cores[slot % len(cores)]])
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
