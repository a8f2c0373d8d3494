"""Environments by name."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mccpo.curriculum import Curriculum
from mccpo.env.contract import Environment
from mccpo.env.finite.chain import Chain
from mccpo.env.finite.gate import Gate
from mccpo.env.finite.random_finite import RandomFinite
from mccpo.env.tutor import (
    PreparedJudge,
    PreparedTutor,
    RandomCurricula,
    Tutor,
    Tutor25,
    TutorActivities,
    TutorBKT,
    TutorGoal,
)
from mccpo.errors import InputError
from mccpo.files import read_json
from mccpo.policy import PER_CONCEPT

ENVIRONMENTS: dict[str, Callable[..., Environment[Any]]] = {
    "gate": Gate,
    "chain": Chain,
    "random-finite": RandomFinite,
    "tutor-15": Tutor,
    "tutor-25": Tutor25,
    "tutor-15-bkt": TutorBKT,
    "tutor-15-activities": TutorActivities,
    "tutor-15-goal": TutorGoal,
    "random-curricula": RandomCurricula,
    "prepared": PreparedTutor,
    "prepared-judge": PreparedJudge,
}
TUTOR, JUDGE = "tutor.json", "judge.json"
"""The files of a prepared folder that hold the environment to train in, and the one to judge by."""


def make(name: str, **overrides: Any) -> Environment[Any]:
    """Builds an environment by name, with its parameters overridden.

    The name may also be that of a folder that `mccpo prepare` made, or of an environment's file in it.

    >>> make("gate", R=0.7).action_names
    ('prog', 'next', 'hack')
    """
    if name not in ENVIRONMENTS and is_file(name):
        name, kept = _read(Path(name))
        overrides = kept | overrides
    if name not in ENVIRONMENTS:
        raise InputError(f"unknown environment '{name}'", fix=_choice(name, list(ENVIRONMENTS)))
    build = ENVIRONMENTS[name]
    known = inspect.signature(build).parameters
    for key, value in overrides.items():
        if key not in known:
            raise InputError(f"{name} has no parameter '{key}'", fix=_choice(key, list(known)))
        _check_kind(name, key, value, known[key].default)
    return build(**overrides)


def is_file(name: str) -> bool:
    """Whether a name is that of a prepared folder or of an environment's file, by its looks or because it is there."""
    return os.sep in name or name.endswith(".json") or (Path(name) / TUTOR).exists()


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of an environment that a file holds."""
    from mccpo.env.description import decode  # noqa: PLC0415 - it needs the names above

    file = path / TUTOR if path.is_dir() else path
    content = read_json(file, fix="name an environment, or a folder that `mccpo prepare` made")
    try:
        return content["environment"], {key: decode(key, value) for key, value in content["parameters"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} does not describe an environment ({error!r})", fix="prepare it again") from error


def _check_kind(name: str, key: str, value: Any, default: Any) -> None:
    """Refuses a text where a number is due, a fraction where a whole number is, and a curriculum that is none."""
    what = f"{name}: {key}"
    if key == "curriculum" and not isinstance(value, Curriculum):
        raise InputError(f"{what} is {value!r}", fix="name a file with --curriculum, or give Curriculum.read(path)")
    if key in PER_CONCEPT and isinstance(value, list | tuple | np.ndarray):
        return
    if isinstance(default, int | float) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InputError(f"{what} is {value!r}", fix=f"give a number, such as {default}")
    if isinstance(default, int) and not isinstance(value, int):
        raise InputError(f"{what} is {value!r}", fix=f"give a whole number, such as {default}")


def _choice(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}choose from {', '.join(known)}"
