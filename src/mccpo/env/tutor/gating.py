"""One gate, and one view of them, for several kinds of learners."""

from __future__ import annotations

from typing import Any

import equinox as eqx

from mccpo.env.contract import Environment
from mccpo.env.tutor.tutoring import Tutoring


def with_gate_of(env: Environment[Any], trained: Environment[Any]) -> Environment[Any]:
    """An environment whose gate opens as that of another, and shows as much, where both go by an estimate.

    Policies then meet other learners behind the gate that they were trained with, and see of them what they saw there.
    What these learners have mastered in truth stays their environment's to say.
    """
    own = trained.unwrapped
    if not (isinstance(env, Tutoring) and isinstance(own, Tutoring) and env.estimates and own.estimates):
        return env
    if env.sees != own.sees:
        kept = {name: value for name, value in env.parameters.items() if name not in ("curriculum_seed", "concepts")}
        env = type(env)(**kept | {"sees": own.sees})
    gate = (own.theta, own.confidence, own.doubt)
    return eqx.tree_at(lambda one: (one.theta, one.confidence, one.doubt), env, gate, is_leaf=lambda leaf: leaf is None)
