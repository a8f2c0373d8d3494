"""Environments by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from mccpo.curriculum import Curriculum
from mccpo.env.chain import Chain
from mccpo.env.gate import Gate
from mccpo.env.random_finite import RandomFinite
from mccpo.env.tutor import Tutor, Tutor25, TutorBKT
from mccpo.env.types import Environment
from mccpo.errors import InputError

ENVIRONMENTS: dict[str, Callable[..., Environment[Any]]] = {
    "gate": Gate,
    "chain": Chain,
    "random-finite": RandomFinite,
    "tutor-15": Tutor,
    "tutor-25": Tutor25,
    "tutor-15-bkt": TutorBKT,
}


def make(name: str, **overrides: Any) -> Environment[Any]:
    """Builds an environment by name, with its parameters overridden.

    >>> make("gate", R=0.7).action_names
    ('prog', 'next', 'hack')
    """
    if name not in ENVIRONMENTS:
        raise InputError(f"unknown environment '{name}'", fix=_choice(name, list(ENVIRONMENTS)))
    build = ENVIRONMENTS[name]
    known = inspect.signature(build).parameters
    for key, value in overrides.items():
        if key not in known:
            raise InputError(f"{name} has no parameter '{key}'", fix=_choice(key, list(known)))
        _check_kind(f"{name}: {key}", value, known[key].default)
    return build(**overrides)


def _check_kind(what: str, value: Any, default: Any) -> None:
    """Refuses a text where a number is due, a fraction where a whole number is, and a curriculum that is none."""
    if what.endswith(": curriculum") and not isinstance(value, Curriculum):
        raise InputError(f"{what} is {value!r}", fix="name a file with --curriculum, or give Curriculum.read(path)")
    if isinstance(default, int | float) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InputError(f"{what} is {value!r}", fix=f"give a number, such as {default}")
    if isinstance(default, int) and not isinstance(value, int):
        raise InputError(f"{what} is {value!r}", fix=f"give a whole number, such as {default}")


def _choice(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}choose from {', '.join(known)}"
