"""`mccpo evaluate`: the policies of a run on fresh episodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mccpo.cli.commands import cache
from mccpo.cli.console.output import JsonFlag, WholeNumber, emit

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mccpo.runs.results import Results


def evaluate(
    run: Annotated[Path, Parameter(help="The folder of a finished run of a neural learner.")],
    /,
    *,
    episodes: Annotated[WholeNumber, Parameter(help="Episodes of each policy.")] = 2000,
    seed: Annotated[
        WholeNumber | None, Parameter(help="The root of the episodes' random numbers; one above the run's by default.")
    ] = None,
    method: Annotated[str | None, Parameter(help="One method of the run; all by default.")] = None,
    part: Annotated[
        str | None, Parameter(help="One part of the run, such as 'tutor-15 κ=0.9'; all by default.")
    ] = None,
    on: Annotated[
        str | None,
        Parameter(help="Another environment than that of training, such as the judge.json of a prepared folder."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Judge the policies that a run keeps on fresh episodes, which played no part in their selection.

    The result is kept in the run's folder, under evaluations/, and shown in its report.
    """
    from mccpo.cli.commands.report import refresh
    from mccpo.env import make
    from mccpo.experiments import evaluate as experiment
    from mccpo.experiments import evaluations, load_policies
    from mccpo.runs.results import as_document

    cache.use()
    saved = load_policies(run)
    chosen = experiment.choose(saved, method, part)
    elsewhere = None if on is None else make(on)
    # Several judges of a prepared folder are environments of one name: their files tell them apart.
    tables = experiment.evaluate(chosen, episodes=episodes, seed=seed, on=elsewhere, named=on, beside=saved)
    path = evaluations.keep_evaluation(run, tables, on=on, method=method, part=part)
    refresh(run)
    document = {**as_document(tables), "written": str(path)}
    emit(document, as_json=json, text=lambda: _text(tables, path))


def _text(tables: list[Results], path: Path) -> RenderableType:
    from rich.console import Group

    from mccpo.report.tables import table

    return Group(*(table(one) for one in tables), f"\nevaluation: {path}")
