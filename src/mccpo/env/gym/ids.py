"""The ids of environments in Gymnasium, and what builds them."""

from __future__ import annotations

import re
from typing import Any

import gymnasium

from mccpo.env.building import make
from mccpo.env.gym.single import TutorEnv
from mccpo.env.gym.vector import TutorVectorEnv
from mccpo.env.registry import environment_names

_MODULE = "mccpo.env.gym"


def build(name: str, render_mode: str | None = None, **overrides: Any) -> TutorEnv:
    """Builds a named environment for `gymnasium.make`, which passes on its keywords."""
    _check_render_mode(name, render_mode)
    return TutorEnv(make(name, **overrides))


def build_vector(name: str, num_envs: int = 1, render_mode: str | None = None, **overrides: Any) -> TutorVectorEnv:
    """Builds copies of a named environment for `gymnasium.make_vec`, which passes on its keywords."""
    _check_render_mode(name, render_mode)
    return TutorVectorEnv(make(name, **overrides), num_envs)


def gym_id(name: str) -> str:
    """The Gymnasium name of an environment.

    >>> gym_id("random-finite")
    'mccpo/RandomFinite-v0'
    """
    return f"mccpo/{''.join(part.capitalize() for part in re.split(r'[^A-Za-z0-9.]+', name))}-v0"


def register_ids() -> None:
    """Gives every environment its id in Gymnasium; importing `mccpo.env.gym` has done so already. Imports none."""
    for name in environment_names():
        if gym_id(name) not in gymnasium.registry:  # of names that give the same id, ours comes first
            gymnasium.register(
                gym_id(name),
                entry_point=f"{_MODULE}:build",
                vector_entry_point=f"{_MODULE}:build_vector",
                kwargs={"name": name},
            )


def _check_render_mode(name: str, render_mode: str | None) -> None:
    if render_mode is not None:
        # A TypeError, because that is how learners that ask for frames by default find out that there are none.
        raise TypeError(f"{name} draws nothing: leave out render_mode={render_mode!r}")
