"""Environments as JSON has them: every parameter, so that nothing depends on what a default is today."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mccpo.curriculum import Curriculum, parse_json, render_json
from mccpo.env.contract import Environment
from mccpo.env.registry import entry_of
from mccpo.env.tutor import SHARED, Activity, Group, Population, PracticeWeights, RecurrentWeights, Tutoring

_ROWS: dict[str, type[Activity] | type[Group]] = {"activities": Activity, "groups": Group}


def describe_environment(env: Environment[Any]) -> dict[str, Any]:
    """The parameters of an environment, by name; `rebuild_environment` builds it again from them.

    >>> from mccpo import make
    >>> sorted(describe_environment(make("chain")))[:2]
    ['concepts', 'gamma']
    """
    entry_of(env)  # refuses what could not be built again
    values = {name: _encode(value) for name, value in env.parameters.items()}
    if "curriculum" in values:
        values.pop("curriculum_seed", None)  # the curriculum itself says more
    if values.get("confidence", 0.0) is None:
        del values["confidence"]  # θ opens the gate, as it did before there was another way
    if not np.any(values.get("doubt", 1.0)):
        del values["doubt"]
    if values.get("population", 0) is None:
        del values["population"]  # learners are as the tutor believes
    if values.get("sees") == "belief":
        del values["sees"]  # as policies did before there was a choice
    return values


def decode(name: str, value: Any) -> Any:
    """One parameter as the environment takes it."""
    if name == "curriculum":
        return Curriculum.from_raw(parse_json(json.dumps(value).encode(), "the curriculum"))
    if name == "kinds":
        return tuple({key: decode(key, part) for key, part in kind.items()} for kind in value)
    if name in _ROWS:
        return tuple(_ROWS[name](**entry) for entry in value)
    return value


def _kind(env: Tutoring[Any]) -> dict[str, Any]:
    """A kind of learners without what it shares with the other kinds of its ensemble."""
    own = {name: value for name, value in describe_environment(env).items() if name not in SHARED}
    return {"environment": env.name, **own}


def _encode(value: Any) -> Any:
    if isinstance(value, Curriculum):
        return json.loads(render_json(value.to_raw()))
    if isinstance(value, Population | PracticeWeights | RecurrentWeights):
        return value.as_json()
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return value.tolist()
    if isinstance(value, tuple) and value and isinstance(value[0], Tutoring):
        return [_kind(env) for env in value]
    if isinstance(value, tuple):
        return [entry._asdict() if isinstance(entry, Activity | Group) else entry for entry in value]
    return value
