"""What the commands that train share: the run folder, the caches, the report, the printed table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mccpo.cli.commands import cache
from mccpo.cli.commands.report import with_certificates
from mccpo.cli.console.interrupt import interrupted
from mccpo.cli.console.output import emit, note
from mccpo.cli.console.progress import progress
from mccpo.cli.flags import OnRay, Training
from mccpo.errors import GateFailed, InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mccpo.evaluation import Curves
    from mccpo.experiments import Options, Policies, Produced, Session
    from mccpo.methods import Arrays, Snapshot
    from mccpo.runs import RunFolder, StoredPolicies
    from mccpo.runs.results import Facts, Results
    from mccpo.work import Crew


@dataclass(frozen=True, eq=False)
class Finished:
    """A run that is done: its folder, its tables as types and as JSON, and its report."""

    path: Path
    results: list[Results]
    document: Facts
    report: Path


def perform(
    name: str,
    tables: Mapping[str, Callable[[Options, Session], Produced]],
    options: Options,
    flags: Training,
    *,
    checks: Sequence[Callable[[Options], None]] = (),
    on_ray: OnRay = OnRay(),  # noqa: B008 - nothing in it can change
) -> None:
    """Runs tables into a run folder, writes the report and prints the results; `checks` go before any training."""
    run = carry_out(name, tables, options, flags, checks=checks, on_ray=on_ray)
    emit(run.document, as_json=flags.json, text=lambda: _text(run.results, run.report))
    if flags.require_satisfied:
        _require(run.results)


def carry_out(
    name: str,
    tables: Mapping[str, Callable[[Options, Session], Produced]],
    options: Options,
    flags: Training,
    *,
    checks: Sequence[Callable[[Options], None]] = (),
    begin: Callable[[Path], None] | None = None,
    about: Mapping[str, Any] | None = None,
    on_ray: OnRay = OnRay(),  # noqa: B008 - nothing in it can change
) -> Finished:
    """Runs tables into a run folder and writes the report; `begin` is told the folder before the first of them.

    `about` is what the run depends on besides its options: one that is resumed must have the same. On a Ray cluster,
    several tables are a cell each; of a single one, the seeds of its methods are.
    """
    from mccpo.runs.results import as_document

    crew = on_ray.cluster
    if crew is not None:
        crew.check()
    folder = _folder(name, options, flags, about or {})
    policies: list[Policies] = []
    with _session(folder, flags, policies, crew) as session:
        for check in checks:
            check(options)
        if begin is not None:
            begin(folder.path)
        if crew is not None and len(tables) > 1:
            produced, stored = _produced_by(crew, tables, options, folder, flags, session)
        else:
            produced = {table: produce(options, session) for table, produce in tables.items()}
            stored = [saved.stored() for saved in policies]
    results = [table.results for table in produced.values()]
    document = as_document(results)
    curves = _parts(produced.values())
    note(f"writing the results and the report to {folder.path}")
    manifest = folder.finish(document, curves, stored)
    report = folder.path / "report.html"
    _write_report(report, list(produced.values()), manifest)
    return Finished(folder.path, results, document, report)


def _folder(name: str, options: Options, flags: Training, about: Mapping[str, Any]) -> RunFolder:
    """The run's folder, new or taken up again."""
    from mccpo.experiments import describe
    from mccpo.runs import RunFolder

    if flags.resume and flags.out is None:
        raise InputError("--resume does not say which run", fix="add --out with the run's folder")
    if flags.out is not None and flags.out == Path():
        raise InputError("--out is the current folder", fix="name a folder for the run")
    configuration = {"run": name, **asdict(options), "parameters": describe(options.parameters), **about}
    return RunFolder(flags.out or free(name), configuration, resume=flags.resume)


@contextmanager
def _session(folder: RunFolder, flags: Training, policies: list[Policies], crew: Crew | None) -> Iterator[Session]:
    """Shows and keeps what an experiment tells; when it stops, however it does, what it needs to go on is kept."""
    from mccpo.experiments import Session, cells
    from mccpo.methods import to_arrays

    newest: dict[str, Snapshot[Any, Any]] = {}

    def save(label: str, snapshot: Snapshot[Any, Any]) -> None:
        for ended in [other for other in newest if other != label]:
            folder.save(ended, partial(to_arrays, newest[ended]), last=True)
            del newest[ended]
        newest[label] = snapshot
        folder.save(label, partial(to_arrays, snapshot))
        if interrupted():  # a Ctrl-C that arrived where Python could not raise it
            raise KeyboardInterrupt

    recall, remember = (None, None) if flags.no_cache else caches()
    record = _event_files(folder, flags) if flags.tensorboard else None
    with progress() as show:
        try:
            yield Session(
                progress=show,
                load=folder.load,
                save=save,
                record=record,
                recall=recall,
                remember=remember,
                keep=policies.append,
                ahead=None if crew is None else partial(cells.train_ahead, folder, crew, show),
            )
        except KeyboardInterrupt:
            if newest or (crew is not None and (folder.path / "manifest.json").exists()):
                note(f"go on with --out {folder.path} --resume")
            raise
        finally:
            for label, snapshot in newest.items():
                folder.save(label, partial(to_arrays, snapshot), last=True)


def _produced_by(
    crew: Crew,
    tables: Mapping[str, Callable[[Options, Session], Produced]],
    options: Options,
    folder: RunFolder,
    flags: Training,
    session: Session,
) -> tuple[dict[str, Produced], list[StoredPolicies]]:
    """Tables by a crew, and the policies of all of them."""
    from mccpo.experiments import Session, cells

    if flags.tensorboard:
        raise InputError("--tensorboard shows training here, and --ray trains elsewhere", fix="leave one of them out")
    opening = Session if flags.no_cache else quiet_session
    return cells.produce_tables(tables, options, folder, crew, opening, session.progress)


def quiet_session() -> Session:
    """The session of one of several processes, none of which tells how far it is."""
    from mccpo.experiments import Session

    recall, remember = caches()
    return Session(recall=recall, remember=remember)


def caches() -> tuple[Callable[[str], Arrays | None] | None, Callable[[str, Arrays], None] | None]:
    """How unconstrained runs are recalled and remembered, where there is a folder for it; programs are kept, too."""
    from mccpo.runs import Cache

    place = cache.folder()
    if place is None:
        return None, None
    cache.keep_programs(place)
    anchors = Cache(place / "anchors")

    def recall(key: str) -> Arrays | None:
        found = anchors.recall(key)
        if found is not None:
            note(f"unconstrained runs: taken from the cache in {place}; --no-cache trains them again")
        return found

    return recall, anchors.remember


def _event_files(folder: RunFolder, flags: Training) -> Callable[[str, Any], None]:
    """Where the curves of training go as TensorBoard event files."""
    if find_spec("tensorboardX") is None:
        raise InputError("--tensorboard needs the package tensorboardX", fix="pip install 'mccpo[tensorboard]'")
    from mccpo.runs import tensorboard

    events = folder.path / "tensorboard"
    if events.exists() and not flags.resume:
        raise InputError(f"{events} already holds event files", fix="choose another --out")
    return tensorboard.EventFiles(events).record


def _parts(produced: Iterable[Produced]) -> dict[str, Curves]:
    """The curves of all tables by part, which goes by the table's name and, where it is not all of it, its own."""
    return {
        part if part == table.results.table else f"{table.results.table} {part}": curves
        for table in produced
        for part, curves in table.curves.items()
    }


def _write_report(path: Path, produced: list[Produced], manifest: Facts) -> None:
    from mccpo.report.page import write_report

    tables = with_certificates(path.parent, [table.results for table in produced])  # a resumed run may have one
    write_report(path, tables, [table.curves for table in produced], manifest=manifest)


def _text(results: list[Results], report: Path) -> RenderableType:
    from rich.console import Group

    from mccpo.report.tables import table

    required = [f"\nrequired: {sentence}" for one in results for sentence in one.requirements or ()]
    return Group(*(table(one) for one in results), *required, f"\nreport: {report}")


def _require(tables: list[Results]) -> None:
    """Fails unless MC-CPO meets its budgets in every seed, wherever a table shows it."""
    for results in tables:
        for point in results.tradeoff.fronts.get("mc-cpo", ()) if results.tradeoff is not None else ():
            met = point.metrics["satisfaction_strict"]
            if met < 1:
                at = "" if point.kappa is None else f" at κ = {point.kappa}"
                raise GateFailed(f"{results.table}{at}: mc-cpo meets its budgets in {met:.0%} of the seeds")
        for setting in results.settings:
            summary = setting.rows.get("mc-cpo", {}).get("satisfaction_strict")
            if summary is None or summary.mean < 1:
                share = "was not run" if summary is None else f"meets its budgets in {summary.mean:.0%} of the seeds"
                raise GateFailed(f"{results.table} {setting.name}: mc-cpo {share}".replace(" :", ":"))


def free(name: str) -> Path:
    """The first folder of that name under runs/ that is not there yet."""
    name = name.replace(os.sep, "-")  # that of an environment may be a path
    place, count = Path("runs") / name, 1
    while place.exists():
        count += 1
        place = Path("runs") / f"{name}-{count}"
    return place
