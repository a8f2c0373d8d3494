"""Experiments by cells of work: the runs of a method, or a whole table, each by a process of a crew.

A cell trains some seeds of a method and leaves their checkpoint in the run's folder. The command puts the checkpoints
of a lot together and goes on from there, as it would when it is resumed. So what comes out is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mccpo.errors import MccpoError
from mccpo.experiments.options import Options, Session, Stage
from mccpo.experiments.saved_policies import Policies
from mccpo.experiments.table import Produced
from mccpo.experiments.training import Lot
from mccpo.methods import Arrays, Snapshot, point_of, to_arrays, train_some
from mccpo.runs import Checkpoints, RunFolder, StoredPolicies
from mccpo.work import Cell, Crew, Ending, leave, take

SEEDS = 5
"""How many seeds of a method a cell trains at most: fewer would compile more than they train."""

Produce = Callable[[Options, Session], Produced]
Told = Callable[[Stage, int], None]


def train_ahead(run_folder: RunFolder, crew: Crew, told: Told | None, lots: Sequence[Lot]) -> None:
    """Has lots trained by a crew, and leaves their checkpoints in the run's folder."""
    wanted = [lot for lot in lots if not run_folder.has_arrived(lot.label) and not _is_trained(run_folder, lot)]
    if not wanted:
        return
    run_folder.mark(finished=False)  # so that what the cells leave can be resumed
    folder = run_folder.path.absolute()
    parts = {lot.label: _parts(lot) for lot in wanted}
    cells = [
        Cell(_part(lot.label, which), f"{__name__}:train_part", (folder, lot, which, run_folder.resumed))
        for lot in wanted
        for which in parts[lot.label]
    ]
    _do(crew, cells, told, "training")
    for lot in wanted:
        files = [run_folder.checkpoints.path(_part(lot.label, which)) for which in parts[lot.label]]
        run_folder.checkpoints.write(lot.label, _joined([_read(run_folder, lot, which) for which in parts[lot.label]]))
        run_folder.arrive(lot.label)
        for file in files:
            file.unlink()


def train_part(folder: Path, lot: Lot, which: Sequence[int], resumed: bool) -> Path:
    """What a process does for a cell: trains some runs of a lot, from where their checkpoint says if there is one."""
    checkpoints, label = Checkpoints(folder / "checkpoints"), _part(lot.label, which)
    newest: list[Snapshot[Any, Any]] = []

    def after_point(snapshot: Snapshot[Any, Any]) -> None:
        newest[:] = [snapshot]
        if checkpoints.is_due(label):
            checkpoints.write(label, to_arrays(snapshot))

    begun = checkpoints.load(label)  # by this command before, or on a node that died
    if begun is None and resumed and (whole := checkpoints.load(lot.label)) is not None:
        begun = _picked(whole, which)
    end = train_some(lot.env, lot.variants, lot.plan, which, resume=begun, after_point=after_point)
    return checkpoints.write(label, to_arrays(end))


@dataclass(frozen=True, eq=False)
class _Table:
    """What the process of a table leaves: the table, and the policies of its methods."""

    produced: Produced
    policies: list[StoredPolicies]


def produce_tables(
    tables: Mapping[str, Produce],
    options: Options,
    run_folder: RunFolder,
    crew: Crew,
    open_session: Callable[[], Session],
    told: Told | None,
) -> tuple[dict[str, Produced], list[StoredPolicies]]:
    """Has tables made by a crew, a cell each; gives them, and the policies of all, in the order of the tables."""
    run_folder.mark(finished=False)
    folder = run_folder.path.absolute()
    files = {name: folder / "cells" / f"{name.replace('/', '-')}.pickle" for name in tables}
    cells = [
        Cell(name, f"{__name__}:produce_table", (files[name], folder, produce, options, open_session))
        for name, produce in tables.items()
        if not files[name].exists()  # by an earlier call that is resumed
    ]
    _do(crew, cells, told, "tables")
    made: dict[str, _Table] = {name: take(file) for name, file in files.items()}
    for file in files.values():
        file.unlink()
    (folder / "cells").rmdir()
    stored = [policies for table in made.values() for policies in table.policies]
    return {name: table.produced for name, table in made.items()}, stored


def produce_table(
    file: Path, folder: Path, produce: Produce, options: Options, open_session: Callable[[], Session]
) -> Path:
    """What a process does for a table: makes it, keeping the checkpoints of its parts in the run's folder."""
    checkpoints, kept = Checkpoints(folder / "checkpoints"), list[Policies]()

    def save(label: str, snapshot: Snapshot[Any, Any]) -> None:
        if checkpoints.is_due(label):
            checkpoints.write(label, to_arrays(snapshot))

    opened = open_session()
    session = Session(
        load=checkpoints.load, save=save, recall=opened.recall, remember=opened.remember, keep=kept.append
    )
    return leave(file, _Table(produce(options, session), [saved.stored() for saved in kept]))


def _do(crew: Crew, cells: Sequence[Cell], told: Told | None, label: str) -> None:
    """Has cells done, and tells how many have ended; one that did not end well is an error, once all others have."""
    stage, failed, ended = Stage.of_cells(label, len(cells)), dict[str, Ending](), list[str]()

    def after_cell(cell: Cell, ending: Ending) -> None:
        ended.append(cell.name)
        if ending.how != "done":
            failed[cell.name] = ending
        if told is not None:
            told(stage, len(ended))

    if told is not None and cells:
        told(stage, 0)
    crew.do(cells, after_cell)
    for name, ending in failed.items():
        raise MccpoError(f"{name}: {ending.why}; what has ended is kept: go on with --resume")


def _is_trained(run_folder: RunFolder, lot: Lot) -> bool:
    found = run_folder.load(lot.label)
    return found is not None and point_of(found) == lot.plan.points


def _parts(lot: Lot) -> list[range]:
    """The runs of a lot in parts, each of one variant and of some seeds; runs are counted by variant, then by seed."""
    seeds = lot.plan.seeds
    return [
        range(at * seeds + first, at * seeds + min(first + SEEDS, seeds))
        for at in range(len(lot.variants))
        for first in range(0, seeds, SEEDS)
    ]


def _part(label: str, which: Sequence[int]) -> str:
    return f"{label} runs {which[0]} to {which[-1]}"


def _read(run_folder: RunFolder, lot: Lot, which: Sequence[int]) -> Arrays:
    found = run_folder.checkpoints.load(_part(lot.label, which))
    if found is None:
        raise MccpoError(f"{_part(lot.label, which)}: its checkpoint is not in {run_folder.path}; is that shared?")
    return found


def _axis(name: str) -> int:
    """The axis of the runs in an array of a checkpoint: in curves that of the points comes first."""
    return 1 if name.startswith("['curves']") else 0


def _joined(parts: Sequence[Arrays]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in parts], axis=_axis(name)) for name in parts[0]}


def _picked(whole: Arrays, which: Sequence[int]) -> dict[str, np.ndarray]:
    return {name: np.take(array, which, axis=_axis(name)) for name, array in whole.items()}
