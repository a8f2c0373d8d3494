"""Environments built: by name, from a prepared folder or a file, and again from what was kept of them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mccpo.curriculum import Curriculum
from mccpo.env.contract import Environment
from mccpo.env.description import decode
from mccpo.env.registry import EnvironmentEntry, UnknownEnvironment, choice, class_entry, environment_entry, registered
from mccpo.errors import InputError
from mccpo.files import read_json
from mccpo.policy import PER_CONCEPT

TUTOR_FILE = "tutor.json"
"""The file of a prepared folder that holds the environment to train in."""
JUDGE_FILE, OTHERS_FILE = "judge.json", "judge-others.json"
BEST_LR_FILE, RECURRENT_FILE = "judge-best-lr.json", "judge-recurrent.json"
JUDGE_FILES = (JUDGE_FILE, OTHERS_FILE, BEST_LR_FILE, RECURRENT_FILE)
"""Those that hold environments to judge by."""


@dataclass(frozen=True, eq=False)
class TrainTest:
    """The environment that methods are trained in, and the one that they are tested in, most often the same."""

    train: Environment[Any]
    test: Environment[Any]


def make(name: str, **overrides: Any) -> Environment[Any]:
    """Builds an environment by name, with its parameters overridden.

    The name may also be that of a folder that `mccpo prepare` made, or of an environment's file in it. Such a folder
    goes before an environment of another package, or from data, of the same name.

    >>> make("gate", R=0.7).action_names
    ('prog', 'next', 'hack')
    """
    own = registered().get(name)
    if (own is None or own.needs_data) and is_file(name):
        name, kept = _read(Path(name))
        overrides = kept | overrides
    return _build(environment_entry(name), overrides)


def train_and_test(name: str, data: Path | None = None) -> TrainTest:
    """The environments by a name that methods are trained and tested in; `data` is the folder of real data."""
    entry = environment_entry(name)
    given = {"data": data} if entry.needs_data and data is not None else {}
    train = _build(entry, given)
    return TrainTest(train, _build(entry, given | dict(entry.test)) if entry.test else train)


def rebuild_environment(name: str, parameters: Mapping[str, Any]) -> Environment[Any]:
    """The environment that `describe_environment` described."""
    try:
        entry = class_entry(name)
    except UnknownEnvironment as error:
        raise UnknownEnvironment(
            f"no package that is installed here has the environment '{name}'", fix="install the one that it was made by"
        ) from error
    return _build(entry, {key: decode(key, value) for key, value in parameters.items()})


def is_file(name: str) -> bool:
    """Whether a name is that of a prepared folder or of an environment's file, by its looks or because it is there."""
    return os.sep in name or name.endswith(".json") or (Path(name) / TUTOR_FILE).exists()


def _build(entry: EnvironmentEntry, overrides: Mapping[str, Any]) -> Environment[Any]:
    signature = inspect.signature(entry.build)
    known = signature.parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    for key, value in overrides.items():
        if key in known:
            _check_kind(entry.name, key, value, known[key].default)
        elif key == "confidence" and not takes_any:
            raise InputError(
                f"{entry.name} estimates nothing that a gate could be confident of", fix="leave --ready out"
            )
        elif not takes_any:
            raise InputError(f"{entry.name} has no parameter '{key}'", fix=choice(key, known))
    try:
        signature.bind(**overrides)
    except TypeError as error:
        raise InputError(f"{entry.name}: {error}", fix="give it a value") from error
    env = entry.build(**overrides)
    if not isinstance(env, Environment):
        made_by = entry.source or entry.name
        raise InputError(f"{made_by} makes no Environment", fix=f"let '{entry.name}' name what makes one")
    return env


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of an environment that a file holds."""
    file = path / TUTOR_FILE if path.is_dir() else path
    content = read_json(file, fix="name an environment, or a folder that `mccpo prepare` made")
    try:
        return content["environment"], {key: decode(key, value) for key, value in content["parameters"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{file} does not describe an environment",
            fix="name a folder that `mccpo prepare` made, or its tutor.json, judge.json or judge-others.json",
        ) from error


def _check_kind(name: str, key: str, value: Any, default: Any) -> None:
    """Refuses a text in place of a number, a fraction in place of a whole number, and what is not a curriculum."""
    what = f"{name}: {key}"
    if key == "curriculum" and not isinstance(value, Curriculum):
        raise InputError(f"{what} is {value!r}", fix="name a file with --curriculum, or give Curriculum.read(path)")
    if key in PER_CONCEPT and isinstance(value, list | tuple | np.ndarray):
        return
    if isinstance(default, int | float) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InputError(f"{what} is {value!r}", fix=f"give a number, such as {default}")
    if isinstance(default, int) and not isinstance(value, int):
        raise InputError(f"{what} is {value!r}", fix=f"give a whole number, such as {default}")
