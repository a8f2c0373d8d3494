"""Where a benchmark takes place, by name; and the suites.

A package adds environments by entry points of the group `mccpo.environments`, each the path of something that makes an
`Environment` when it is called without arguments. In its pyproject.toml:

    [project.entry-points."mccpo.environments"]
    my-course = "my_package.my_module:MyCourse"

A name of ours stays ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from mccpo.env import Environment, PreparedTutor, make
from mccpo.env.registry import TUTOR
from mccpo.env.tutor.cut import cut
from mccpo.errors import InputError
from mccpo.methods import unknown

GROUP = "mccpo.environments"
DATA = "MCCPO_DATA"
PREPARED_SEED = 0  # of what is drawn while logs are made into an environment: the same for every benchmark


class NoData(InputError):  # noqa: N818 - a finding, not a fault
    """An environment is made of data that is not here."""


@dataclass(frozen=True, eq=False)
class World:
    """The environment that methods are trained in, and the one that they are judged in, most often the same."""

    train: Environment[Any]
    test: Environment[Any]


@dataclass(frozen=True)
class Suite:
    """Which environments, for how long, and whether settings are searched for or those recommended taken."""

    environments: tuple[str, ...]
    seeds: int
    steps: int
    search: bool = True


_PLAIN = ("gate", "chain", "tutor-15", "tutor-25", "tutor-15-activities", "tutor-15-goal")
_FAMILIES = {"random-curricula": 1}
"""Environments drawn from a family by number: those that are judged in are of another family."""

FROM_DATA: dict[str, tuple[str, int | None]] = {
    "junyi-2015-14": ("junyi-2015", 14),
    "junyi-2015-100": ("junyi-2015", 100),
    "junyi-2015-835": ("junyi-2015", 835),
    "assistments-2009": ("assistments-2009", None),
}
"""The data set of an environment, and to how many concepts its graph is cut."""

OURS = (*_PLAIN, *_FAMILIES, *FROM_DATA)
SUITES = {
    "quick": Suite(("gate", "chain", "tutor-15"), seeds=3, steps=100_000, search=False),
    "paper": Suite(("gate", "chain", "tutor-15", "tutor-25"), seeds=10, steps=1_000_000),
    "full": Suite(OURS, seeds=10, steps=1_000_000),
}


def names() -> list[str]:
    """Every environment: ours, then those of other packages."""
    return [*OURS, *(point.name for point in _others())]


def check(name: str) -> None:
    """Refuses a name that no environment has, before anything is trained."""
    if name not in names():
        raise unknown("environment", name, names())


def world(name: str, data: Path | None = None) -> World:
    """An environment by name; `data` is the folder of real data, else the one that `MCCPO_DATA` names."""
    check(name)
    if name in FROM_DATA:
        if (folder := data_folder(data)) is None:
            raise NoData("no data: it is made of logs", fix=f"name their folder with --data or {DATA}")
        return _same(_from_data(name, folder))
    if name in _FAMILIES:
        return World(make(name), make(name, family=_FAMILIES[name]))
    if name in _PLAIN:
        return _same(make(name))
    return _same(_loaded(next(point for point in _others() if point.name == name)))


def _same(env: Environment[Any]) -> World:
    return World(env, env)


def data_folder(data: Path | None) -> Path | None:
    """The folder of real data: the one given, else the one that `MCCPO_DATA` names, else none."""
    if data is None and (named := os.environ.get(DATA)):
        return Path(named)
    return data


def _from_data(name: str, data: Path) -> Environment[Any]:
    dataset, concepts = FROM_DATA[name]
    try:
        prepared = _prepared(dataset, data)
    except InputError as error:
        raise NoData(f"no data: {error.what}", fix=error.fix) from error
    return prepared if concepts is None else cut(prepared, concepts)


@cache
def _prepared(dataset: str, data: Path) -> PreparedTutor:
    """A data set as an environment, made once for all the sizes that it is cut to, or by `mccpo prepare` before."""
    if (data / dataset / TUTOR).exists():
        found = make(str(data / dataset))
        if not isinstance(found, PreparedTutor):
            raise InputError(f"{data / dataset / TUTOR} is of no logs", fix="make it with `mccpo prepare`")
        return found
    from mccpo.experiments.prepare.datasets import DATASETS  # noqa: PLC0415 - polars: other environments do without it

    return DATASETS[dataset](data, PREPARED_SEED).prepared.tutor


def _others() -> list[EntryPoint]:
    return [point for point in entry_points(group=GROUP) if point.name not in OURS]


def _loaded(point: EntryPoint) -> Environment[Any]:
    build: Callable[[], Any] = point.load()
    found = build()
    if not isinstance(found, Environment):
        raise InputError(f"{point.value} makes no Environment", fix=f"let '{point.name}' name what makes one")
    return found
