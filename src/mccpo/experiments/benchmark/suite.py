"""A whole benchmark, pair by pair, into a folder that can be resumed.

manifest.json                            the protocol, the data, versions, commit, and whether it is finished
outside.parquet                          measurements of agents from elsewhere, if any
results.json, rows.parquet               what came out so far, rewritten after every pair, or, where several
                                         processes share the pairs, when all of them have ended
cells/ENVIRONMENT/anchor.json            what is to be had without budgets, where it was trained for
cells/ENVIRONMENT/METHOD/manifest.json   the pair's own account, written when the pair is finished
cells/ENVIRONMENT/METHOD/results.json    its settings, search, values, rows and table
cells/ENVIRONMENT/METHOD/policies.json, policies.safetensors
                                         its policies, as every run keeps them; of a solver tables.safetensors
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mccpo.env import needs_data
from mccpo.errors import InputError, MccpoError
from mccpo.experiments.benchmark import outside as agents
from mccpo.experiments.benchmark.agent_rows import AgentRow, read_agent_rows, write_agent_rows
from mccpo.experiments.benchmark.jobs import Job, Workers, by_crew, failed_trial
from mccpo.experiments.benchmark.pairs import Benchmark, kind_of, pair_in, problem_in
from mccpo.experiments.benchmark.results import findings_of, problem_record, unseen_of
from mccpo.experiments.benchmark.rows import rows_not_run, rows_of, unseen_rows
from mccpo.experiments.benchmark.trial import Trial
from mccpo.experiments.options import Session
from mccpo.experiments.prepare.environments import data_folder
from mccpo.experiments.problem import Problem
from mccpo.files import read_json
from mccpo.methods import method_names
from mccpo.runs import RunFolder
from mccpo.runs.benchmark import (
    NOT_A_BENCHMARK,
    ROWS,
    BenchmarkResults,
    MethodRecord,
    NotRun,
    ProblemRecord,
    ProtocolRecord,
    Row,
    Seconds,
    write_results,
    write_rows,
)
from mccpo.work import Ending, line

_OUTSIDE = "outside.parquet"


@dataclass(eq=False)
class _MethodSoFar:
    """A method, and by environment its settings and how long it took."""

    kind: str
    settings: dict[str, Mapping[str, object]] = field(default_factory=dict)
    seconds: dict[str, Seconds] = field(default_factory=dict)


@dataclass(eq=False)
class _SoFar:
    """What has come out of the pairs that have ended."""

    benchmark: Benchmark
    rows: list[Row] = field(default_factory=list)
    unseen: list[Row] = field(default_factory=list)
    environments: dict[str, ProblemRecord | NotRun] = field(default_factory=dict)
    methods: dict[str, _MethodSoFar] = field(default_factory=dict)

    def add_environment(self, problem: Problem) -> None:
        self.environments[problem.name] = problem_record(problem, self.benchmark.protocol)

    def add_not_run(self, environment: str, why: str) -> None:
        """Adds an environment that there is no data for, or that cannot be posed."""
        self.environments[environment] = NotRun(why)
        for method in self.benchmark.methods:
            kind = kind_of(self.benchmark, method)
            self.rows += rows_not_run(environment, method, kind, why, self.benchmark.protocol)

    def add_trial(self, problem: Problem, trial: Trial) -> None:
        self.rows += rows_of(problem, trial, self.benchmark.protocol)
        self.unseen += unseen_rows(problem, trial)
        method = self.methods.setdefault(trial.method, _MethodSoFar(trial.kind))
        method.settings[problem.name] = trial.as_json()["settings"]
        method.seconds[problem.name] = Seconds(trial.seconds, trial.search_seconds, trial.whole_seconds, trial.device)

    def results(self, seconds: float, versions: tuple[str, ...] | None = None) -> BenchmarkResults:
        protocol = self.benchmark.protocol
        posed = {name: record for name, record in self.environments.items() if isinstance(record, ProblemRecord)}
        anchors = {name: record.anchor for name, record in posed.items()}
        return BenchmarkResults(
            suite=self.benchmark.suite,
            protocol=ProtocolRecord.parse(protocol.as_json()),
            environments=self.environments,
            methods={
                name: MethodRecord(method.kind, method.settings, method.seconds)
                for name, method in self.methods.items()
            },
            findings=findings_of(self.rows, anchors),
            unseen=unseen_of(self.unseen, protocol.unseen),
            seconds=seconds,
            versions=versions,
        )

    def write(self, folder: Path, results: BenchmarkResults) -> None:
        write_rows(folder / ROWS, self.rows)
        write_results(folder, results)


def run(
    folder: Path,
    benchmark: Benchmark,
    session: Session,
    *,
    resume: bool = False,
    outside: Sequence[AgentRow] = (),
    after_trial: Callable[[Trial], None] = lambda _: None,
    workers: Workers | None = None,
) -> BenchmarkResults:
    """Runs every pair that the folder does not hold yet, and gives the results; calls `after_trial` as each pair ends.

    With `workers` that are a crew, its processes share the pairs. `outside` are measurements of agents from
    elsewhere (`mccpo.experiments.benchmark.outside`), which join the table. Where a folder is resumed, pairs that are
    finished there stay in the results, whichever methods are asked for now.
    """
    finished = _finished(folder) if resume else {}
    outside = _with_earlier(folder, outside) if resume else outside
    _check_agents(outside, benchmark, finished)
    run_folder = _run_folder(folder, benchmark, finished, resume=resume)
    _check_opens(folder, benchmark, finished)
    with _alone_in(folder):
        run_folder.mark(finished=False)  # before anything is trained, so that it is not taken up with other settings
        if outside:
            write_agent_rows(folder / _OUTSIDE, outside)
        return _run(run_folder, benchmark, session, finished, outside, after_trial, workers or Workers())


def _run(
    run_folder: RunFolder,
    benchmark: Benchmark,
    session: Session,
    finished: Mapping[str, list[str]],
    outside: Sequence[AgentRow],
    after_trial: Callable[[Trial], None],
    workers: Workers,
) -> BenchmarkResults:
    """All pairs, in a folder that is this call's own for the time."""
    folder, failed, so_far = run_folder.path, dict[Job, Ending](), _SoFar(benchmark)
    shared = workers.crew is not None
    if workers.crew is not None:
        failed = by_crew(run_folder, benchmark, finished, workers.crew, workers.open_session, session, after_trial)
    for environment in dict.fromkeys((*benchmark.environments, *finished)):
        asked = benchmark.methods if environment in benchmark.environments else ()
        done = finished.get(environment, ())
        try:
            if ending := failed.get(Job(environment)):  # what ended that process is not to end this one
                raise MccpoError(ending.why)
            problem = problem_in(folder, environment, benchmark, session)
        except (Exception, SystemExit) as error:  # it has no data, or fails in any other way, and the others go on
            if environment in finished:  # whose results would be lost
                raise
            so_far.add_not_run(environment, _why(error))
            continue
        so_far.add_environment(problem)
        for method in dict.fromkeys((*asked, *done)):
            job = Job(environment, method)
            lost = failed_trial(benchmark, job, failed[job]) if job in failed else None
            trial = pair_in(folder, problem, method, benchmark, session, lost)
            so_far.add_trial(problem, trial)
            if not shared and method not in done:  # otherwise there is nothing new to be lost
                so_far.write(folder, so_far.results(_seconds(run_folder)))
            if not shared and method in asked:  # of those that were shared it was called before
                after_trial(trial)
        for trial in agents.agent_trials(problem, outside, benchmark.protocol):
            so_far.add_trial(problem, trial)
    results = so_far.results(_seconds(run_folder), _versions(folder))
    so_far.write(folder, results)
    run_folder.mark(finished=True)
    return results


def _seconds(run_folder: RunFolder) -> float:
    """How long the benchmark has taken so far, which its manifest then says too."""
    return float(run_folder.mark(finished=False)["seconds"])


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keeps other benchmarks out of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"another benchmark is at work in {folder}", fix="wait until it has ended, or choose another --out"
            ) from error
        yield


def _with_earlier(folder: Path, outside: Sequence[AgentRow]) -> list[AgentRow]:
    """Measurements from elsewhere, and those that joined the table before, unless they are measured anew."""
    earlier = read_agent_rows(folder / _OUTSIDE) if (folder / _OUTSIDE).exists() else []
    new = {(row.environment, row.method) for row in outside}
    return [*(row for row in earlier if (row.environment, row.method) not in new), *outside]


def _run_folder(folder: Path, benchmark: Benchmark, finished: Iterable[str], *, resume: bool) -> RunFolder:
    """The folder of the benchmark, which says where its data is from; one that does not say may go on with any."""
    about = {"run": "benchmark", **benchmark.protocol.as_json()}
    before = read_json(folder / "manifest.json", fix=NOT_A_BENCHMARK).get("configuration", {}) if resume else {}
    from_data = any(needs_data(name) for name in (*benchmark.environments, *finished))
    named = data_folder(benchmark.data) if from_data else None
    data = None if named is None else str(named.resolve())
    if (earlier := before.get("data")) and data and earlier != data:
        raise InputError(
            f"{folder} was begun with the data in {earlier}", fix="name the same with --data, or choose another --out"
        )
    run_folder = RunFolder(folder, about | ({"data": before["data"]} if "data" in before else {}), resume=resume)
    run_folder.configuration["data"] = data or earlier
    return run_folder


def _finished(folder: Path) -> dict[str, list[str]]:
    """The methods whose pairs are finished in a folder, by environment."""
    methods: dict[str, list[str]] = {}
    for path in sorted(folder.glob("cells/**/manifest.json")):
        manifest = read_json(path, fix="delete it", damaged="delete it and resume")
        if manifest.get("finished"):
            pair = manifest["configuration"]
            methods.setdefault(pair["environment"], []).append(pair["method"])
    return methods


def _versions(folder: Path) -> tuple[str, ...]:
    """The versions of the code, with their commits where these are known, that the pairs of a folder are of."""
    manifests = (
        read_json(path, fix="delete it", damaged="delete it and resume")
        for path in folder.glob("cells/**/manifest.json")
    )
    return tuple(sorted({f"{manifest['mccpo']} {manifest['commit'] or ''}".strip() for manifest in manifests}))


def _check_agents(rows: Sequence[AgentRow], benchmark: Benchmark, finished: Mapping[str, list[str]]) -> None:
    in_folder = (method for methods in finished.values() for method in methods)
    agents.check_agents(
        rows,
        benchmark.protocol,
        taken={*benchmark.methods, *method_names(), *in_folder},
        asked={*benchmark.environments, *finished},
        open_environment=lambda name: benchmark.open(name, benchmark.data),
    )


def _check_opens(folder: Path, benchmark: Benchmark, finished: Iterable[str]) -> None:
    """Refuses to go on where an environment of finished pairs is no more: their results would be lost."""
    for environment in finished:
        try:
            benchmark.open(environment, benchmark.data)
        except (Exception, SystemExit) as error:
            raise InputError(
                f"{folder} has results on {environment}, which cannot be opened: {_why(error)}",
                fix="give it what it was opened with before, or choose another --out",
            ) from error


def _why(error: BaseException) -> str:
    if isinstance(error, MccpoError):
        return error.what if isinstance(error, InputError) else str(error)
    return line(f"{type(error).__name__}: {error}")
