"""A smaller tutor out of a larger one."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

import numpy as np

from mccpo.env.tutor.curricula import core
from mccpo.env.tutor.tutoring import Tutoring
from mccpo.errors import InputError
from mccpo.policy import PER_CONCEPT

TutoringT = TypeVar("TutoringT", bound=Tutoring[Any])


def cut(env: TutoringT, concepts: int) -> TutoringT:
    """A tutoring environment cut to the core of its curriculum, so many concepts; nothing else about it changes.

    Parameters that each concept has of its own go with their concepts. Which concepts these are, see `core`.
    """
    known = inspect.signature(type(env)).parameters
    if "curriculum" not in known:
        raise InputError(f"{env.name} has no curriculum of its own to cut", fix="build it with fewer concepts")
    curriculum = core(env.curriculum, concepts)
    places = [env.curriculum.index(name) for name in curriculum.concepts]
    values = {name: getattr(env, name) for name in known if name not in ("curriculum_seed", "concepts")}
    own: dict[str, Any] = {
        name: np.asarray(values[name])[places] for name in PER_CONCEPT if np.ndim(values.get(name, 0.0))
    }
    for name in ("population", "weights"):
        if (table := values.get(name)) is not None:
            own[name] = table.of_concepts(places)
    if "kinds" in values:
        own["kinds"] = tuple(cut(kind, concepts) for kind in values["kinds"])
    return type(env)(**values | own | {"curriculum": curriculum})
