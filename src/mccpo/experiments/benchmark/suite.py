"""A whole benchmark, pair by pair, into a folder that can be resumed.

manifest.json                            the protocol, the data, versions, commit, and whether it is finished
outside.parquet                          measurements of agents from elsewhere, if any
results.json, rows.parquet               what came out so far, rewritten after every pair, or, where several
                                         processes share the pairs, when all of them have ended
cells/ENVIRONMENT/anchor.json            what is to be had without budgets, where it was trained for
cells/ENVIRONMENT/METHOD/manifest.json   the pair's own account, written when the pair is finished
cells/ENVIRONMENT/METHOD/results.json    its settings, search, values and rows
cells/ENVIRONMENT/METHOD/policies.safetensors
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mccpo import files
from mccpo.env import needs_data
from mccpo.errors import InputError, MccpoError
from mccpo.experiments.benchmark import outside as agents
from mccpo.experiments.benchmark.jobs import Ending, Job, by_processes, failed_trial
from mccpo.experiments.benchmark.pairs import Benchmark, kind_of, pair_in, posed_in
from mccpo.experiments.benchmark.problem import Posed
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.benchmark.results import summed_up, unseen_of
from mccpo.experiments.benchmark.rows import rows_of, unseen_rows, write_rows
from mccpo.experiments.benchmark.trial import Trial, line
from mccpo.experiments.options import Session
from mccpo.experiments.prepare.environments import data_folder
from mccpo.files import dump_json, read_json
from mccpo.methods import method_names
from mccpo.runs.folder import RunFolder

Rows = list[dict[str, Any]]
_NO_BENCHMARK = "name the folder of a benchmark"
_OUTSIDE = "outside.parquet"


@dataclass(eq=False)
class _SoFar:
    """What has come out."""

    rows: Rows = field(default_factory=list)
    unseen: Rows = field(default_factory=list)
    environments: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, Any] = field(default_factory=dict)


def run(
    folder: Path,
    benchmark: Benchmark,
    session: Session,
    *,
    resume: bool = False,
    outside: Sequence[Mapping[str, Any]] = (),
    told: Callable[[Trial], None] | None = None,
    jobs: int = 1,
    session_of_job: Callable[[], Session] = Session,
) -> dict[str, Any]:
    """Runs every pair that the folder does not hold yet, and gives the results; `told` hears of each as it ends.

    With several `jobs`, as many processes share the pairs, each with a session that `session_of_job` opens there.
    `outside` are measurements of agents from elsewhere (`mccpo.experiments.benchmark.outside`), which join the table.
    Where a folder is resumed, pairs that are finished there stay in the results, whoever is asked for now.
    """
    finished = _finished(folder) if resume else {}
    outside = _with_earlier(folder, outside) if resume else outside
    _check_agents(outside, benchmark, finished)
    place = _place(folder, benchmark, finished, resume=resume)
    _check_opens(folder, benchmark, finished)
    with _alone_in(folder):
        place.mark(finished=False)  # before anything is trained, so that it is not taken up with other settings
        if outside:
            agents.write(folder / _OUTSIDE, outside)
        return _run(place, benchmark, session, finished, outside, told, jobs, session_of_job)


def _run(
    place: RunFolder,
    benchmark: Benchmark,
    session: Session,
    finished: Mapping[str, list[str]],
    outside: Sequence[Mapping[str, Any]],
    told: Callable[[Trial], None] | None,
    jobs: int,
    session_of_job: Callable[[], Session],
) -> dict[str, Any]:
    """All pairs, in a folder that is this call's own for the time."""
    folder, failed, so_far = place.path, dict[Job, Ending](), _SoFar()
    if jobs > 1:
        failed = by_processes(place, benchmark, finished, jobs, session_of_job, told)
        told = None  # has heard of them
    for environment in dict.fromkeys((*benchmark.environments, *finished)):
        asked = benchmark.methods if environment in benchmark.environments else ()
        try:
            if ending := failed.get(Job(environment)):  # what ended that process is not to end this one
                raise MccpoError(ending.why)
            posed = posed_in(folder, environment, benchmark, session)
        except (Exception, SystemExit) as error:  # it has no data, or fails in any other way, and the others go on
            if environment in finished:  # whose results would be lost
                raise
            why = _why(error)
            so_far.environments[environment] = {"why": why}
            so_far.rows += _absent(environment, why, benchmark)
            continue
        so_far.environments[environment] = posed.as_json(benchmark.protocol)
        for method in dict.fromkeys((*asked, *finished.get(environment, ()))):
            job = Job(environment, method)
            lost = failed_trial(benchmark, job, failed[job]) if job in failed else None
            trial = pair_in(folder, posed, method, benchmark, session, lost)
            _enter(so_far, posed, trial, benchmark.protocol)
            if jobs == 1 and method not in finished.get(environment, ()):  # else there is nothing new to be lost
                _write(folder, _results(benchmark, so_far, place.mark(finished=False)), so_far.rows)
            if told is not None and method in asked:
                told(trial)
        for agent in agents.joined(posed, outside, benchmark.protocol):
            _enter(so_far, posed, agent, benchmark.protocol)
    results = _results(benchmark, so_far, place.mark(finished=False)) | {"versions": _versions(folder)}
    _write(folder, results, so_far.rows)
    place.mark(finished=True)
    return results


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


def _with_earlier(folder: Path, outside: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Measurements from elsewhere, and those that joined the table before, unless they are measured anew."""
    kept = agents.read(folder / _OUTSIDE) if (folder / _OUTSIDE).exists() else []
    new = {(row["environment"], row["method"]) for row in outside}
    return [*(row for row in kept if (row["environment"], row["method"]) not in new), *outside]


def _place(folder: Path, benchmark: Benchmark, finished: Iterable[str], *, resume: bool) -> RunFolder:
    """The folder of the benchmark, which says where its data is from; one that does not say may go on with any."""
    about = {"run": "benchmark", **benchmark.protocol.as_json()}
    before = read_json(folder / "manifest.json", fix=_NO_BENCHMARK).get("configuration", {}) if resume else {}
    from_data = any(needs_data(name) for name in (*benchmark.environments, *finished))
    named = data_folder(benchmark.data) if from_data else None
    data = None if named is None else str(named.resolve())
    if (earlier := before.get("data")) and data and earlier != data:
        raise InputError(
            f"{folder} was begun with the data in {earlier}", fix="name the same with --data, or choose another --out"
        )
    place = RunFolder(folder, about | ({"data": before["data"]} if "data" in before else {}), resume=resume)
    place.configuration["data"] = data or earlier
    return place


def _finished(folder: Path) -> dict[str, list[str]]:
    """The methods whose pairs are finished in a folder, by environment."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("cells/**/manifest.json")):
        manifest = read_json(path, fix="delete it", damaged="delete it and resume")
        if manifest.get("finished"):
            pair = manifest["configuration"]
            found.setdefault(pair["environment"], []).append(pair["method"])
    return found


def _versions(folder: Path) -> list[str]:
    """Of which versions of the code, with their commits where these are known, the pairs of a folder are."""
    manifests = (
        read_json(path, fix="delete it", damaged="delete it and resume")
        for path in folder.glob("cells/**/manifest.json")
    )
    return sorted({f"{found['mccpo']} {found['commit'] or ''}".strip() for found in manifests})


def _check_agents(rows: Sequence[Mapping[str, Any]], benchmark: Benchmark, finished: Mapping[str, list[str]]) -> None:
    kept = (method for methods in finished.values() for method in methods)
    agents.check(
        rows,
        benchmark.protocol,
        taken={*benchmark.methods, *method_names(), *kept},
        asked={*benchmark.environments, *finished},
        open_=lambda name: benchmark.open(name, benchmark.data),
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


def _enter(so_far: _SoFar, posed: Posed, trial: Trial, protocol: Protocol) -> None:
    so_far.rows += rows_of(posed, trial, protocol)
    so_far.unseen += unseen_rows(posed, trial)
    entry = so_far.methods.setdefault(trial.method, {"kind": trial.kind, "settings": {}, "seconds": {}})
    entry["settings"][posed.name] = trial.setting
    entry["seconds"][posed.name] = {
        "run": trial.seconds, "search": trial.search_seconds, "all": trial.whole_seconds, "device": trial.device,
    }  # fmt: skip


def _results(benchmark: Benchmark, so_far: _SoFar, manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "suite": benchmark.suite,
        "protocol": benchmark.protocol.as_json(),
        "environments": so_far.environments,
        "methods": so_far.methods,
        **summed_up(so_far.rows),
        "unseen": unseen_of(so_far.unseen, benchmark.protocol.unseen),
        "seconds": manifest["seconds"],
    }


def _write(folder: Path, results: Mapping[str, Any], rows: Rows) -> None:
    write_rows(folder / "rows.parquet", rows)
    files.write_text(folder / "results.json", dump_json(results, indent=2) + "\n")


def _absent(environment: str, why: str, benchmark: Benchmark) -> Rows:
    """The rows of an environment that there is no data for, or that cannot be posed."""
    return [
        {
            "environment": environment, "method": method, "kind": kind_of(benchmark, method), "kappa": kappa,
            "seed": seed, "status": "does not apply", "why": why, "settings": "{}", "folder": "", "seconds": None,
        }
        for method in benchmark.methods
        for kappa in benchmark.protocol.kappa
        for seed in range(benchmark.protocol.seeds)
    ]  # fmt: skip
