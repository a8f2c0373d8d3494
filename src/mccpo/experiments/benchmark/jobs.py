"""Pairs of a benchmark as cells of work, which a crew does: several processes of this machine, or a Ray cluster.

Programs then compile beside one another, an accelerator that one small run cannot fill has others to go on with, and
what ends a process ends one pair alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mccpo.env import TrainTest, needs_data
from mccpo.errors import MccpoError
from mccpo.experiments.benchmark.pairs import Benchmark, is_finished, kept_trial, kind_of, pair_in, problem_in
from mccpo.experiments.benchmark.rows import folder_of
from mccpo.experiments.benchmark.trial import Status, Trial
from mccpo.experiments.options import Session, Stage
from mccpo.runs import RunFolder
from mccpo.work import Cell, Crew, Ending

GRACE = 60.0  # seconds beyond twice its limit after which a process is ended: it must start, compile and evaluate, too


@dataclass(frozen=True)
class Job:
    """A pair, or, where `method` is None, what the pairs of an environment all need first."""

    environment: str
    method: str | None = None

    def __str__(self) -> str:
        return self.environment if self.method is None else f"{self.environment} {self.method}"


@dataclass(frozen=True)
class Workers:
    """Who does the pairs: a crew, or, where there is none, this process; each has a session that it opens itself."""

    crew: Crew | None = None
    open_session: Callable[[], Session] = Session


def by_crew(
    run_folder: RunFolder,
    benchmark: Benchmark,
    finished: Mapping[str, list[str]],
    crew: Crew,
    open_session: Callable[[], Session],
    session: Session,
    after_trial: Callable[[Trial], None],
) -> dict[Job, Ending]:
    """Has pairs that are not finished in a benchmark's folder done there; gives what did not end well.

    `after_trial` is called here, as each pair ends.

    Whatever a method raises is an outcome of its pair. What is raised elsewhere, by a full disk, is an error here.
    """
    asked, opened = _asked(benchmark, finished)
    failed: dict[Job, Ending] = {}
    told = _Told(session, sum(job.method is not None for job in asked))

    def ended(cell: Cell, ending: Ending) -> None:
        run_folder.mark(finished=False)  # so that the time that went by is not lost when all of it is stopped
        job: Job = cell.arguments[-1]
        if job.method is not None and is_finished(_folder(run_folder.path, job)):
            ending = Ending("done")  # however its process ended after that
        if ending.how != "done":
            failed[job] = ending
        if job.method is not None:
            told.one_more()
            if ending.how != "error":
                after_trial(_outcome(run_folder.path, benchmark, job, ending))

    for environment in {job.environment for job in asked}:
        # Here, since processes that try whether they may write would remove it under one another.
        with contextlib.suppress(OSError):  # where it cannot be made, the process says so
            (run_folder.path / "cells" / environment).mkdir(parents=True, exist_ok=True)
    brought = replace(benchmark, open=_Opening(opened, benchmark.open))
    crew.do([_cell(run_folder.path.absolute(), brought, open_session, job) for job in asked], ended)
    for job, ending in failed.items():
        if job.method is not None and ending.how == "error":
            raise MccpoError(f"{job}: {ending.why}; what has ended is kept: go on with --resume")
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


def _cell(folder: Path, benchmark: Benchmark, open_session: Callable[[], Session], job: Job) -> Cell:
    """A job as a cell. A pair waits for what its environment needs first, which may take as long as it takes."""
    limit = None if job.method is None or benchmark.protocol.limit is None else 2 * benchmark.protocol.limit + GRACE
    after = () if job.method is None else (str(Job(job.environment)),)
    return Cell(str(job), f"{__name__}:do_job", (folder, benchmark, open_session, job), after, limit)


def do_job(folder: Path, benchmark: Benchmark, open_session: Callable[[], Session], job: Job) -> Path:
    """What a process does for a job: leaves the anchors of an environment in the folder, or a finished pair."""
    session = open_session()
    problem = problem_in(folder, job.environment, benchmark, session)
    if job.method is None:
        return folder / "cells" / job.environment
    pair_in(folder, problem, job.method, benchmark, session)
    return _folder(folder, job)


@dataclass(frozen=True)
class _Opening:
    """Opens environments in a process; those that were made of logs before are brought along."""

    opened: Mapping[str, TrainTest]
    other: Callable[[str, Path | None], TrainTest]

    def __call__(self, name: str, data: Path | None) -> TrainTest:
        return self.opened[name] if name in self.opened else self.other(name, data)


class _Told:
    """Tells how many of the pairs have ended."""

    def __init__(self, session: Session, pairs: int) -> None:
        self._stage = Stage.of_cells("pairs", pairs)
        self._session, self._ended = session, 0
        if pairs:
            session.begin(self._stage)

    def one_more(self) -> None:
        self._ended += 1
        if self._session.progress is not None:
            self._session.progress(self._stage, self._ended)


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
