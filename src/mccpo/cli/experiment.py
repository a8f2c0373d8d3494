"""What `compare` and `reproduce` share: their flags, the run folder, the report, the printed table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from mccpo.cli.interrupt import interrupted
from mccpo.cli.output import WholeNumber, emit, literal, note, number, parse_pairs
from mccpo.cli.progress import progress
from mccpo.errors import GateFailed, InputError

if TYPE_CHECKING:
    from mccpo.algo import Snapshot
    from mccpo.experiments import Options, Produced, Session

MethodsFlag: TypeAlias = Annotated[str | None, Parameter(help="Methods joined by commas; the paper's five by default.")]
SeedsFlag: TypeAlias = Annotated[WholeNumber, Parameter(help="How many seeds.")]
EpisodesFlag: TypeAlias = Annotated[
    WholeNumber | None, Parameter(help="Training episodes of a run; the paper's by default.")
]
StepsFlag: TypeAlias = Annotated[
    WholeNumber | None, Parameter(help="Training steps of a neural run; the paper's by default.")
]
SeedFlag: TypeAlias = Annotated[WholeNumber, Parameter(help="The root of all random numbers.")]
KappaFlag: TypeAlias = Annotated[
    str | None, Parameter(help="Budgets as a share of the unconstrained costs, such as 0.5 or 0.9,0.7,0.5.")
]
BudgetFlag: TypeAlias = Annotated[
    list[str] | None, Parameter(negative="", help="A budget of its own for a cost, such as c4=2.45.")
]
SetFlag: TypeAlias = Annotated[
    list[str] | None, Parameter(negative="", help="A parameter of the environment, such as p_learn=0.7.")
]
CurriculumFlag: TypeAlias = Annotated[
    Path | None, Parameter(help="A prerequisite graph to build the environment on, where it takes one.")
]
OutFlag: TypeAlias = Annotated[Path | None, Parameter(help="The run's folder; a new one under runs/ by default.")]
ResumeFlag: TypeAlias = Annotated[
    bool, Parameter(negative="", help="Go on with the run in --out from where it was stopped.")
]
RequireFlag: TypeAlias = Annotated[
    bool, Parameter(negative="", help="Exit 3 when mc-cpo misses a budget in some seed (τ = 0).")
]


def environment_parameters(entries: list[str] | None, curriculum: Path | None) -> dict[str, Any]:
    """The environment's parameters from `--set` and `--curriculum`."""
    found = parse_pairs(entries or [], "--set", literal)
    if curriculum is not None:
        from mccpo.curriculum import Curriculum

        found["curriculum"] = Curriculum.read(curriculum)
    return found


def read_options(
    methods: str | None,
    seeds: int,
    episodes: int | None,
    steps: int | None,
    seed: int,
    kappa: str | None,
    budget: list[str] | None,
    parameters: Mapping[str, Any],
) -> Options:
    """The options of an experiment from its flags."""
    from mccpo.algo import PAPER_METHODS
    from mccpo.experiments import Options

    names = PAPER_METHODS if methods is None else tuple(name.strip() for name in methods.split(",") if name.strip())
    return Options(
        methods=tuple(dict.fromkeys(names)),
        seeds=seeds,
        episodes=episodes,
        steps=steps,
        seed=seed,
        kappa=_numbers(kappa),
        budgets=parse_pairs(budget or [], "--budget", number),
        parameters=parameters,
    )


def perform(
    name: str,
    tables: Mapping[str, Callable[[Options, Session], Produced]],
    options: Options,
    *,
    out: Path | None,
    resume: bool,
    as_json: bool,
    require_satisfied: bool,
) -> None:
    """Runs tables into a run folder, writes the report and prints the results."""
    from mccpo.experiments.options import describe
    from mccpo.experiments.runs import RunFolder

    if resume and out is None:
        raise InputError("--resume does not say which run", fix="add --out with the run's folder")
    if out is not None and out == Path():
        raise InputError("--out is the current folder", fix="name a folder for the run")
    configuration = {"run": name, **asdict(options), "parameters": describe(options.parameters)}
    folder = RunFolder(out or _free(name), configuration, resume=resume)
    produced = {table: _produce(produce, options, folder) for table, produce in tables.items()}
    results = [one.results for one in produced.values()]
    whole: dict[str, Any] = results[0] if len(results) == 1 else {"tables": {one["table"]: one for one in results}}
    manifest = folder.finish(whole, {part: found for one in produced.values() for part, found in one.curves.items()})
    report = folder.path / "report.html"
    _write_report(report, list(produced.values()), manifest)
    emit(whole, as_json=as_json, text=lambda: _text(results, report))
    if require_satisfied:
        _require(results)


def _produce(produce: Callable[[Options, Session], Produced], options: Options, folder: Any) -> Produced:
    from mccpo.experiments import Session

    newest: dict[str, Snapshot[Any, Any]] = {}
    with progress() as show:

        def save(label: str, snapshot: Snapshot[Any, Any]) -> None:
            newest.update({label: snapshot})
            folder.save(label, snapshot)
            if interrupted():  # a Ctrl-C that arrived where Python could not raise it
                raise KeyboardInterrupt

        try:
            found = produce(options, Session(show, folder.load, save))
        except KeyboardInterrupt:
            if newest:
                note(f"go on with --out {folder.path} --resume")
            raise
        finally:
            for label, snapshot in newest.items():
                folder.save(label, snapshot, last=True)
    return found


def _write_report(path: Path, produced: list[Produced], manifest: dict[str, Any]) -> None:
    from mccpo.report.html import write_report

    # Several parts of one table (a sweep) would make a page of near-identical curves: their numbers say it all.
    curves = [next(iter(one.curves.values())) if len(one.curves) == 1 else None for one in produced]
    write_report(path, [one.results for one in produced], curves, manifest=manifest)


def _text(results: list[dict[str, Any]], report: Path) -> Any:
    from rich.console import Group

    from mccpo.report.text import table

    return Group(*(table(one) for one in results), f"\nreport: {report}")


def _require(results: list[dict[str, Any]]) -> None:
    for one in results:
        for point in one.get("fronts", {}).get("mc-cpo", []):
            if point["satisfaction_strict"] < 1:
                share = f"meets its budgets in {point['satisfaction_strict']:.0%} of the seeds"
                raise GateFailed(f"{one['table']} at κ = {point.get('kappa')}: mc-cpo {share}")
        for name, part in (one.get("settings") or {"": one}).items():
            met = part["rows"].get("mc-cpo", {}).get("satisfaction_strict")
            if met is None or met["mean"] < 1:
                share = "was not run" if met is None else f"meets its budgets in {met['mean']:.0%} of the seeds"
                raise GateFailed(f"{one['table']} {name}: mc-cpo {share}".replace(" :", ":"))


def _free(name: str) -> Path:
    """The first folder of that name under runs/ that is not there yet."""
    place, count = Path("runs") / name, 1
    while place.exists():
        count += 1
        place = Path("runs") / f"{name}-{count}"
    return place


def _numbers(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        return tuple(number(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--kappa is {text!r}", fix="give numbers joined by commas, such as 0.9,0.7") from None
