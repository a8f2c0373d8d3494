"""Environments by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from mccpo.env.chain import Chain
from mccpo.env.gate import Gate
from mccpo.env.random_finite import RandomFinite
from mccpo.env.types import Environment
from mccpo.errors import InputError

ENVIRONMENTS: dict[str, Callable[..., Environment[Any]]] = {
    "gate": Gate,
    "chain": Chain,
    "random-finite": RandomFinite,
}


def make(name: str, **overrides: Any) -> Environment[Any]:
    """Builds an environment by name, with its parameters overridden.

    >>> make("gate", R=0.7).action_names
    ('prog', 'next', 'hack')
    """
    if name not in ENVIRONMENTS:
        close = difflib.get_close_matches(name, ENVIRONMENTS, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise InputError(f"unknown environment '{name}'", fix=f"{hint}choose from {', '.join(ENVIRONMENTS)}")
    build = ENVIRONMENTS[name]
    known = list(inspect.signature(build).parameters)
    for key in overrides:
        if key not in known:
            raise InputError(f"{name} has no parameter '{key}'", fix=f"choose from {', '.join(known)}")
    return build(**overrides)
