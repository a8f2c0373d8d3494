"""Which judges a run has: the environments to judge by of the prepared folder that it was trained in."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mccpo.env import JUDGE_FILES, TUTOR_FILE, environment_names
from mccpo.experiments.prepare.environments import refused_judges
from mccpo.runs import read_run

PREPARED = "prepared"
"""The folder of a run that holds what it was made of, where `mccpo tutor` made it."""


class Judges(NamedTuple):
    """The files of a run's judges, and what to say where some judge nothing or the folder is gone."""

    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


def judges_of(run: Path, part: str) -> Judges:
    """The judges of a part of a run; none where it was not trained in a prepared folder."""
    if (run / PREPARED / TUTOR_FILE).exists():
        return _judges_in(run / PREPARED)
    _, results = read_run(run)
    tables = [table["table"] for table in results.get("tables", {"": results}).values()]
    named = [table for table in tables if part == table or part.startswith(f"{table} ")]
    if not named:
        return Judges()
    folder = Path(max(named, key=len))
    if folder.name.endswith(".json"):
        folder = folder.parent
    if (folder / TUTOR_FILE).exists():
        return _judges_in(folder)
    if str(folder) not in environment_names():  # a folder, named as it is seen from where the run was started
        return Judges(notes=(f"{folder}, where the run was trained, is not here: nobody but its own learners judges",))
    return Judges()


def _judges_in(folder: Path) -> Judges:
    refused = refused_judges(folder)
    files = tuple(folder / name for name in JUDGE_FILES if name not in refused and (folder / name).exists())
    notes = tuple(f"{name} does not judge: {why}" for name, why in refused.items())
    return Judges(files, notes)
