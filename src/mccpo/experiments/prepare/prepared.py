"""A folder that logs were made into, ready to be written: the same to the byte for the same input.

curriculum.json   the graph, with the demands found
tutor.json        the environment to train in: `mccpo.make(folder)`
judge.json        the one to judge by, of another kind of learners: `mccpo.make(folder/judge.json)`
judge-others.json another: learners of the tutor's kind, as other people are
judge-best-lr.json, judge-recurrent.json   more kinds, where their models are good enough to judge
learner.json, judge-learner.json   the two models, as `mccpo fit-learner` writes them
episodes.parquet  the retained episodes, as a canonical table
prepared.json     where all of it comes from, and every number that was chosen or found
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from mccpo import files
from mccpo.curriculum import RawGraph, write_raw
from mccpo.env import (
    JUDGE_FILE,
    JUDGE_FILES,
    OTHERS_FILE,
    TUTOR_FILE,
    PreparedJudge,
    PreparedTutor,
    Tutoring,
    describe_environment,
)
from mccpo.errors import InputError
from mccpo.experiments.prepare.agreement import compare_kinds
from mccpo.experiments.prepare.document import PreparedDocument
from mccpo.files import dump_json
from mccpo.logs import NAMES, encode, write_table
from mccpo.mastery import BKT, PFA, write_model

DOCUMENT = "prepared.json"
"""The file that makes a folder a prepared one; it is put there last."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """What logs were made into: environments, the models of learners behind them, and the retained episodes.

    `more_judges` are those of further kinds, by their files.
    """

    graph: RawGraph
    tutor: Tutoring[Any]
    judge: PreparedJudge
    others: PreparedTutor
    tutor_model: BKT
    judge_model: PFA
    episodes: pl.DataFrame
    document: PreparedDocument
    more_judges: Mapping[str, Tutoring[Any]] = field(default_factory=dict)

    @property
    def judges(self) -> dict[str, Tutoring[Any]]:
        """All environments to judge by, by their files."""
        return {JUDGE_FILE: self.judge, OTHERS_FILE: self.others, **self.more_judges}

    def warned(self, lines: Iterable[str]) -> Prepared:
        """The same with these warnings before its own: of what was found while the input was read."""
        document = replace(self.document, warnings=(*lines, *self.document.warnings))
        return replace(self, document=document)

    def compared(self) -> Prepared:
        """The same with what simple rules bring every kind of learners, and a warning where kinds disagree."""
        agreement = compare_kinds({TUTOR_FILE: self.tutor, **self.judges}, self.document.options.seed)
        document = replace(
            self.document, agreement=agreement, warnings=(*self.document.warnings, *agreement.disagreements)
        )
        return replace(self, document=document)

    def write(self, folder: Path) -> None:
        """Writes the folder. All is written elsewhere first, so that what fails leaves the folder as it was."""
        check_folder(folder)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.")
        except OSError as error:
            fix = "choose a folder that you may write to"
            raise InputError(f"cannot write {folder}: {error.strerror or error}", fix=fix) from error
        with scratch as staged:
            self._write_into(Path(staged))
            folder.mkdir(exist_ok=True)
            for name in set(JUDGE_FILES) - set(self.judges):
                (folder / name).unlink(missing_ok=True)  # of another preparation
            for path in sorted(Path(staged).iterdir(), key=lambda path: (path.name == DOCUMENT, path.name)):
                path.replace(folder / path.name)

    def _write_into(self, folder: Path) -> None:
        write_raw(self.graph, folder / "curriculum.json")
        write_model(self.tutor_model, folder / "learner.json")
        write_model(self.judge_model, folder / "judge-learner.json")
        tight = self.episodes.with_columns(encode(self.episodes[name]) for name in NAMES)
        write_table(tight, folder / "episodes.parquet")
        for name, env in (self.judges | {TUTOR_FILE: self.tutor}).items():
            described = {"environment": env.name, "parameters": describe_environment(env)}
            files.write_text(folder / name, dump_json(described, indent=1) + "\n")
        files.write_text(folder / DOCUMENT, dump_json(self.document.as_json(), indent=2) + "\n")


def check_folder(folder: Path) -> None:
    """Refuses a folder that holds something else than what was prepared before."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / DOCUMENT).exists())):
        raise InputError(f"{folder} holds something else", fix="name a new folder")
