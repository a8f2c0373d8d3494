"""`mccpo evaluate`: the policies of a run on fresh episodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mccpo.cli.console.output import JsonFlag, WholeNumber, emit

if TYPE_CHECKING:
    from rich.console import RenderableType


def evaluate(
    run: Annotated[Path, Parameter(help="The folder of a finished run of a neural learner.")],
    /,
    *,
    episodes: Annotated[WholeNumber, Parameter(help="Episodes of each policy.")] = 200,
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
    """Judge the policies that a run keeps on fresh episodes, which played no part in their selection."""
    from mccpo.env import make
    from mccpo.experiments import evaluate as experiment
    from mccpo.experiments.saved_policies import load_policies

    kept = load_policies(run)
    found = experiment.choose(kept, method, part)
    where = None if on is None else make(on)
    tables = experiment.evaluate(found, episodes=episodes, seed=seed, on=where, beside=kept)
    whole = tables[0] if len(tables) == 1 else {"tables": {one["table"]: one for one in tables}}
    emit(whole, as_json=json, text=lambda: _text(tables))


def _text(tables: list[dict[str, Any]]) -> RenderableType:
    from rich.console import Group

    from mccpo.report.tables.text import table

    return Group(*(table(one) for one in tables))
