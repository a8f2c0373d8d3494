"""`mccpo benchmark`: every method on every environment, under the same budgets, steps and search."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mccpo.cli.commands.experiment import caches, free, quiet_session
from mccpo.cli.console.interrupt import interrupted
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit, note
from mccpo.cli.console.progress import progress
from mccpo.cli.flags import OnRay, RayFlags, numbers
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.experiments import Session
    from mccpo.experiments.benchmark import Benchmark, Protocol, Trial
    from mccpo.runs.benchmark import BenchmarkResults
    from mccpo.work import Crew


def benchmark(
    *,
    suite: Annotated[
        str, Parameter(help="quick, paper or full: which environments, how many seeds and steps.")
    ] = "quick",
    methods: Annotated[str | None, Parameter(help="Methods joined by commas; all by default.")] = None,
    envs: Annotated[str | None, Parameter(help="Environments joined by commas; those of the suite by default.")] = None,
    kappa: Annotated[
        str | None, Parameter(help="Budgets as shares of the unconstrained costs; 0.5,0.7,0.9 by default.")
    ] = None,
    floor: Annotated[
        list[str] | None,
        Parameter(negative="", help="What must be reached at least at every κ, such as learning=0.8; can be repeated."),
    ] = None,
    seeds: Annotated[WholeNumber | None, Parameter(help="How many test seeds; the suite's by default.")] = None,
    steps: Annotated[WholeNumber | None, Parameter(help="Training steps of a run; the suite's by default.")] = None,
    seed: Annotated[WholeNumber, Parameter(help="The root of all random numbers.")] = 0,
    limit: Annotated[
        float | None,
        Parameter(help="Seconds that a method may take to search and train, play or solve on an environment."),
    ] = None,
    search: Annotated[
        bool | None,
        Parameter(
            help="Choose each method's setting by validation seeds, or take the recommended one; as the suite does."
        ),
    ] = None,
    data: Annotated[Path | None, Parameter(help="The folder of real data; else the one that MCCPO_DATA names.")] = None,
    rows: Annotated[
        list[Path] | None, Parameter(negative="", help="A file of measurements of an agent from elsewhere, to join in.")
    ] = None,
    out: Annotated[Path | None, Parameter(help="The benchmark's folder; a new one under runs/ by default.")] = None,
    resume: Annotated[bool, Parameter(negative="", help="Go on in --out; pairs that are finished there stay.")] = False,
    jobs: Annotated[
        WholeNumber, Parameter(help="How many processes share the pairs of environment and method, each with a pair.")
    ] = 1,
    no_cache: Annotated[
        bool, Parameter(negative="", help="Neither use nor keep compiled programs, and what floors refer to.")
    ] = False,
    json: JsonFlag = False,
    on_ray: RayFlags = OnRay(),  # noqa: B008 - nothing in it can change
) -> None:
    """Compare every method on every environment, under the same budgets, steps, networks and search.

    A method that crashes, diverges, does not apply or takes too long is a row that says so, and the others go on. Every
    number leads to the folder of its pair of environment and method, under cells/.
    """
    crew = _crew(jobs, on_ray)
    from mccpo.experiments import Session
    from mccpo.experiments.benchmark import Workers, left_out, read_agent_rows, run

    protocol = _protocol(suite, kappa, floor or [], seeds, steps, seed, limit, search)
    asked = _asked(suite, methods, envs, protocol, data)
    if resume and out is None:
        raise InputError("--resume does not say which benchmark", fix="add --out with its folder")
    if out is not None and out == Path():
        raise InputError("--out is the current folder", fix="name a folder for the benchmark")
    agents = [row for file in rows or () for row in read_agent_rows(file)]
    folder = out or free(f"benchmark-{suite}")
    # What a method prints is not what the command says.
    with _session(folder, no_cache=no_cache) as session, redirect_stdout(sys.stderr):
        workers = Workers(crew, Session if no_cache else quiet_session)
        results = run(folder, asked, session, resume=resume, outside=agents, after_trial=_note_trial, workers=workers)
    for environment in left_out(agents, results.environments):
        note(f"--rows has measurements on {environment}, which is not in this benchmark: they are left out")
    if results.versions and len(results.versions) > 1:
        note(f"pairs of several versions of the code are in one table: {', '.join(results.versions)}")
    from mccpo.report.benchmark import write  # it loads what draws, which training need not wait for

    report = write(folder)
    emit(results.as_json(), as_json=json, text=lambda: _text(results, report))


def _protocol(
    suite: str,
    kappa: str | None,
    floors: list[str],
    seeds: int | None,
    steps: int | None,
    seed: int,
    limit: float | None,
    search: bool | None,
) -> Protocol:
    """The protocol that the flags ask for; what they leave out is the suite's."""
    from mccpo.experiments import parse_floor
    from mccpo.experiments.benchmark import KAPPAS, SUITES, Protocol

    if suite not in SUITES:
        raise InputError(f"unknown suite '{suite}'", fix=f"choose from {', '.join(SUITES)}")
    chosen = SUITES[suite]
    return Protocol(
        kappa=numbers(kappa) or KAPPAS,
        seeds=chosen.seeds if seeds is None else seeds,
        steps=chosen.steps if steps is None else steps,
        seed=seed,
        search=chosen.search if search is None else search,
        limit=limit,
        floors=tuple(map(parse_floor, floors)),
    )


def _asked(suite: str, methods: str | None, envs: str | None, protocol: Protocol, data: Path | None) -> Benchmark:
    """The benchmark that the flags ask for; names that nobody has are refused before anything is trained."""
    from mccpo.env import check_environment_name
    from mccpo.experiments.benchmark import SUITES, Benchmark
    from mccpo.methods import METHODS, method_names

    if data is not None and not data.is_dir():
        raise InputError(f"--data: there is no folder {data}", fix="name the one that real data is in")
    where = SUITES[suite].environments if envs is None else _names("--envs", envs)
    for environment in where:
        check_environment_name(environment)
    who = tuple(method_names(variants=False)) if methods is None else _names("--methods", methods)
    for method in who:
        METHODS.check(method)
    return Benchmark(suite, who, where, protocol, data)


def _names(flag: str, text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise InputError(f"{flag} is {text!r}, which names nothing", fix="name one or more, joined by commas")
    return names


@contextmanager
def _session(folder: Path, *, no_cache: bool) -> Iterator[Session]:
    """Shows how far the benchmark is, and stops between points when Ctrl-C was pressed."""
    from mccpo.experiments import Session

    def stop(_label: str, _snapshot: Any) -> None:
        if interrupted():  # a Ctrl-C that arrived where Python could not raise it
            raise KeyboardInterrupt

    recall, remember = (None, None) if no_cache else caches()
    with progress() as show:
        try:
            yield Session(progress=show, save=stop, recall=recall, remember=remember)
        except KeyboardInterrupt:
            if (folder / "manifest.json").exists():
                note(f"go on with --out {folder} --resume")
            raise


def _crew(jobs: int, on_ray: OnRay) -> Crew | None:
    """Who shares the pairs; nobody, where this process does them all.

    Call it before jax looks for an accelerator: else the first process takes most of its memory, and leaves the others
    no part.
    """
    from mccpo.work import Processes

    if jobs < 1:
        raise InputError(f"--jobs is {jobs}", fix="give 1 or more")
    if (cluster := on_ray.cluster) is not None:
        if jobs > 1:
            raise InputError("--jobs is for this machine alone", fix="leave out --jobs, or --ray")
        return cluster
    if jobs == 1:
        return None
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", f"{0.9 / (jobs + 1):.3f}")
    return Processes(jobs)


def _note_trial(trial: Trial) -> None:
    what = trial.status if not trial.why else f"{trial.status}: {trial.why}"
    note(f"{trial.environment} {trial.method}: {what}")


def _text(results: BenchmarkResults, report: Path) -> Any:
    from rich.console import Group

    from mccpo.cli.commands.benchmark.text import tables

    return Group(*tables(results), f"\nreport: {report}")
