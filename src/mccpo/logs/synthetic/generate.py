"""Made-up logs of a named format and size, exact in schema, with faults in stated numbers where they are asked for."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from mccpo import files
from mccpo.errors import InputError
from mccpo.logs.synthetic import delimited, junyi, sequences, xapi
from mccpo.logs.synthetic.item_bank import ItemBank
from mccpo.logs.synthetic.line_logs import Contents
from mccpo.logs.synthetic.simulation import ANSWERS_A_LEARNER, MOST_ANSWERS_A_LEARNER, Answers, simulate

MOST_FAULTS = 0.5
Write: TypeAlias = Callable[[ItemBank, Answers, Path, int, int], Contents]
"""Writes answers to a file or into a folder, with so many faulty rows, by a seed."""


@dataclass(frozen=True)
class Platform:
    """How a format is made.

    **Fields:**

    - `file`: the name of its file, where it has but one; else it is a folder of files.
    - `takes_faults`: whether faulty rows can be planted, which takes a line for each answer.
    - `mapping`: canonical columns to the file's own, where a reader has to be told.
    """

    bank: ItemBank
    write: Write
    file: str | None = None
    takes_faults: bool = True
    mapping: Mapping[str, str] = field(default_factory=dict)


def _without_faults(write: Callable[[ItemBank, Answers, Path], Contents]) -> Write:
    return lambda bank, answers, path, _faulty, _seed: write(bank, answers, path)


PLATFORMS: Mapping[str, Platform] = {
    "junyi-2020": Platform(junyi.BANK, junyi.write),
    "xes3g5m": Platform(sequences.XES_BANK, _without_faults(sequences.write_xes3g5m), takes_faults=False),
    "assistments-2009": Platform(
        delimited.ASSISTMENTS_BANK, delimited.ASSISTMENTS.write, "skill_builder_data_corrected.csv"
    ),
    "ednet-kt1": Platform(sequences.EDNET_BANK, _without_faults(sequences.write_ednet), takes_faults=False),
    "datashop": Platform(delimited.DATASHOP_BANK, delimited.DATASHOP.write, "student_step.txt"),
    "pykt": Platform(sequences.PYKT_BANK, _without_faults(sequences.write_pykt), "data.txt", takes_faults=False),
    "xapi": Platform(xapi.XAPI_BANK, xapi.XAPI.write, "statements.jsonl"),
    "table": Platform(delimited.TABLE_BANK, delimited.TABLE.write, "table.csv", mapping=delimited.TABLE_MAP),
}


@dataclass(frozen=True)
class SyntheticLog:
    """A made-up log: where it is, how it is read, and what must be found in it."""

    path: Path
    mapping: Mapping[str, str]
    contents: Contents


def generate(
    format: str, out: str | Path, *, rows: int, learners: int | None = None, seed: int = 0, faults: float = 0.0
) -> SyntheticLog:
    """Writes a made-up log of a format, whole or not at all; the same seed gives the same bytes.

    `rows` counts answers and faulty rows; a format with a row for each concept of an answer has more. `faults` is the
    share of faulty rows: repetitions, lines too long or cut short, without a learner, with an answer or a time that
    cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = generate("table", Path(folder) / "answers.csv", rows=300, learners=5)
    >>> made.contents.learners, made.mapping["concept"]
    (5, 'skill')
    """
    platform = _platform(format)
    faulty = _faulty(platform, format, rows, faults)
    many = _learners(rows - faulty, learners)
    if seed < 0:
        raise InputError(f"the seed is {seed}", fix="give 0 or a larger whole number")
    target = _target(platform, Path(out))
    with _staged(target, platform.file is None) as scratch:
        answers = simulate(platform.bank, rows - faulty, many, seed)
        contents = platform.write(platform.bank, answers, scratch, faulty, seed)
    return SyntheticLog(target, platform.mapping, contents)


def _platform(format: str) -> Platform:
    if format not in PLATFORMS:
        close = difflib.get_close_matches(format, PLATFORMS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InputError(
            f"no logs of the format {format!r} can be made", fix=f"{hint}choose from {', '.join(PLATFORMS)}"
        )
    return PLATFORMS[format]


def _faulty(platform: Platform, format: str, rows: int, faults: float) -> int:
    if rows < 1:
        raise InputError(f"a log of {rows} rows cannot be made", fix="give --rows of at least 1")
    if not 0 <= faults <= MOST_FAULTS:
        raise InputError(f"the share of faults is {faults:g}", fix=f"give a number from 0 to {MOST_FAULTS}")
    if faults and not platform.takes_faults:
        takers = ", ".join(name for name, platform in PLATFORMS.items() if platform.takes_faults)
        raise InputError(f"{format} has no line for each answer to plant faults in", fix=f"choose from {takers}")
    return int(rows * faults)


def _learners(answers: int, learners: int | None) -> int:
    if learners is None:
        return max(1, answers // ANSWERS_A_LEARNER)
    fewest = -(-answers // MOST_ANSWERS_A_LEARNER)
    if not fewest <= learners <= answers:
        raise InputError(f"{learners} learners cannot give {answers} answers", fix=f"give from {fewest} to {answers}")
    return learners


def _target(platform: Platform, out: Path) -> Path:
    """The file or the folder to write."""
    if platform.file is not None:
        return out / platform.file if out.is_dir() or not out.suffix else out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        what = "is not empty" if out.is_dir() else "is a file"
        raise InputError(
            f"{out} {what}, and this format is a folder of files", fix="name a folder that is not there yet"
        )
    return out


@contextmanager
def _staged(target: Path, folder: bool) -> Iterator[Path]:
    """A scratch path that takes the place of the target when all is written, and is removed otherwise."""
    if not folder:
        with files.replacing(target) as scratch:
            yield scratch
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror or error}", fix="choose a folder that you may write to"
        ) from error
    try:
        yield scratch
        umask = os.umask(0)
        os.umask(umask)
        scratch.chmod(0o777 & ~umask)
        scratch.replace(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
