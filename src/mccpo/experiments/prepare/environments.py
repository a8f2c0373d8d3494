"""Environments from real data, by name. Importing this module registers them; so do this package's entry points.

Each takes `data`, the folder of real data; without it, the folder is the one that `MCCPO_DATA` names. What
`mccpo prepare` left there of a data set is taken as it is, but for the gate: `theta`, and `confidence` where one is
given.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from mccpo.env import (
    JUDGE_FILES,
    TUTOR_FILE,
    Environment,
    PreparedTutor,
    Tutoring,
    cut,
    make,
    register_environment,
    with_gate_of,
)
from mccpo.errors import InputError
from mccpo.files import read_json

DATA = "MCCPO_DATA"
_OF_CURRICULUM = {"curriculum_seed": None}  # a curriculum of its own goes with no seed
PREPARED_SEED = 0  # of what is drawn while logs are made into an environment: the same for every benchmark


class NoData(InputError):  # noqa: N818 - a finding, not a fault
    """An environment is made of data that is not here."""


@register_environment("junyi-2015-14", needs_data=True)
def junyi_2015_14(data: Path | str | None = None, theta: float = 0.7, confidence: float | None = None) -> PreparedTutor:
    """The data set `junyi-2015` as an environment, its graph cut to 14 concepts, prerequisites kept whole."""
    return cut(_from_data("junyi-2015", data, theta, confidence), 14)


@register_environment("junyi-2015-100", needs_data=True)
def junyi_2015_100(
    data: Path | str | None = None, theta: float = 0.7, confidence: float | None = None
) -> PreparedTutor:
    """The data set `junyi-2015` as an environment, its graph cut to 100 concepts, prerequisites kept whole."""
    return cut(_from_data("junyi-2015", data, theta, confidence), 100)


@register_environment("junyi-2015-835", needs_data=True)
def junyi_2015_835(
    data: Path | str | None = None, theta: float = 0.7, confidence: float | None = None
) -> PreparedTutor:
    """The data set `junyi-2015` as an environment, its graph cut to 835 concepts, prerequisites kept whole."""
    return cut(_from_data("junyi-2015", data, theta, confidence), 835)


@register_environment("assistments-2009", needs_data=True)
def assistments_2009(
    data: Path | str | None = None, theta: float = 0.7, confidence: float | None = None
) -> PreparedTutor:
    """The data set `assistments-2009` as an environment, its whole graph."""
    return _from_data("assistments-2009", data, theta, confidence)


def data_folder(data: Path | str | None) -> Path | None:
    """The folder of real data: the one given, else the one that `MCCPO_DATA` names, else none."""
    if data is None:
        data = os.environ.get(DATA) or None
    return None if data is None else Path(data)


def _from_data(dataset: str, data: Path | str | None, theta: float, confidence: float | None) -> PreparedTutor:
    if (folder := data_folder(data)) is None:
        raise NoData("no data: it is made of logs", fix=f"name their folder with --data or {DATA}")
    env = _prepared_or_no_data(dataset, folder)[0]
    gate = {"theta": theta, "confidence": env.confidence if confidence is None else confidence}
    return PreparedTutor(**env.parameters | gate | _OF_CURRICULUM)


def judges_for(name: str, env: Tutoring[Any]) -> tuple[Environment[Any], ...]:
    """Learners of other kinds, fitted to other people of its logs, for the environment of that name; behind its gate.

    Empty where the environment is made of no logs. Judges that `prepare` refused are left out.
    """
    dataset = name if name == "assistments-2009" else "junyi-2015" if name.startswith("junyi-2015-") else None
    if dataset is None or (folder := data_folder(None)) is None:
        return ()
    judges = _prepared_or_no_data(dataset, folder)[1]
    if dataset == "junyi-2015":
        judges = tuple(cut(judge, len(env.curriculum)) for judge in judges)
    return tuple(with_gate_of(judge, env) for judge in judges)


def refused_judges(folder: Path) -> dict[str, str]:
    """Which files of a prepared folder do not judge, and why: their learners predict no better than a constant."""
    document = folder / "prepared.json"
    reports = read_json(document, fix="prepare it again").get("judges", []) if document.exists() else []
    return {report["file"]: report["refused"] for report in reports if report["refused"] is not None}


def _prepared_or_no_data(dataset: str, folder: Path) -> tuple[PreparedTutor, tuple[Any, ...]]:
    try:
        return _prepared(dataset, folder)
    except InputError as error:
        raise NoData(f"no data: {error.what}", fix=error.fix) from error


@cache
def _prepared(dataset: str, data: Path) -> tuple[PreparedTutor, tuple[Any, ...]]:
    """A data set as an environment, and its judges: made once for all sizes, or by `mccpo prepare` before."""
    if (data / dataset / TUTOR_FILE).exists():
        env = make(str(data / dataset / TUTOR_FILE))
        if not isinstance(env, PreparedTutor):
            raise InputError(f"{data / dataset / TUTOR_FILE} is of no logs", fix="make it with `mccpo prepare`")
        refused = refused_judges(data / dataset)
        files = (data / dataset / name for name in JUDGE_FILES if name not in refused)
        return env, tuple(make(str(path)) for path in files if path.exists())
    from mccpo.experiments.prepare.datasets import DATASETS  # noqa: PLC0415 - polars: other environments do without it

    made = DATASETS[dataset](data, PREPARED_SEED).prepared
    assert isinstance(made.tutor, PreparedTutor)  # data sets are prepared with learners by knowledge tracing
    left_out = {report.file for report in made.document.judges if report.refused is not None}
    return made.tutor, tuple(judge for name, judge in made.judges.items() if name not in left_out)
