"""A release: one trained policy with all that serving it takes, read from a run's folder and checked to the last bit.

It comes from `policies.json` and `policies.safetensors`, without jax. It can also be kept elsewhere, as the text
`description` and the bytes `weights`, and rebuilt from these two alone: a record then verifies without the run.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.numpy import load

from mccpo.curriculum import Curriculum, render_json
from mccpo.errors import InputError
from mccpo.files import canonical_json, read_json, sha256_json
from mccpo.mastery import BKT
from mccpo.serve.policy.network import Filter, Network, Shape, network_of
from mccpo.serve.policy.parameters import Activity, Prices, Tutor, read_tutor

FORMAT = "mccpo-release/1"
_POLICIES = "mccpo-policies/1"
_DOCUMENT, _TENSORS = "policies.json", "policies.safetensors"
_AGAIN = "train it again, or serve another run"
# Post-hoc methods leave the rule to the environment; tutors spread what they filter over what is ready.
_RULES: dict[str, Filter] = {
    "none": "none",
    "block": "block",
    "renormalise": "renormalise",
    "environment": "renormalise",
}


class Hashes(NamedTuple):
    """SHA-256, in hexadecimal, of the policy (network, weights, method), of the curriculum and of the learner model."""

    policy: str
    curriculum: str
    learner: str


@dataclass(frozen=True, eq=False)
class Release:
    """A policy version that is served.

    - `version`: the first 16 hexadecimal digits of a hash over everything below, so that no two versions share it.
    - `tutor`: the curriculum, θ, the horizon, the activities, and the other numbers of the environment it learnt in.
    - `learner`: the model that updates mastery, one entry a concept.
    - `masked`, `rule`: whether the policy is confined to the ready set, and the filter it is executed through.
    - `budgets`: those it was trained under, by cost.
    - `description`, `weights`: what `build_release` takes.
    """

    version: str
    part: str
    method: str
    seed: int
    tutor: Tutor
    network: Network
    masked: bool
    rule: Filter
    budgets: Mapping[str, float]
    sha256: Hashes
    description: str
    weights: bytes

    @property
    def curriculum(self) -> Curriculum:
        return self.tutor.curriculum

    @property
    def concepts(self) -> tuple[str, ...]:
        return self.tutor.curriculum.concepts

    @property
    def theta(self) -> float:
        return self.tutor.theta

    @property
    def horizon(self) -> int:
        return self.tutor.horizon

    @property
    def activities(self) -> tuple[Activity, ...]:
        return self.tutor.activities

    @property
    def learner(self) -> BKT:
        return self.tutor.learner

    @property
    def prices(self) -> Prices:
        return self.tutor.prices

    @cached_property
    def actions(self) -> tuple[tuple[str, str], ...]:
        """The concept and the activity of every action."""
        return tuple((concept, activity.name) for concept in self.concepts for activity in self.activities)

    @cached_property
    def prerequisites(self) -> dict[str, tuple[str, ...]]:
        """The direct prerequisites of every concept, as the gate takes them."""
        return {row.name: row.prerequisites for row in self.curriculum.to_raw().rows}

    def action(self, concept: str, activity: str | None = None) -> int:
        """The number of an action by its names; without an activity, the first there is."""
        at = self.curriculum.index(concept) * len(self.activities)
        if activity is None:
            return at
        names = [each.name for each in self.activities]
        if activity not in names:
            raise InputError(f"there is no activity {activity!r}", fix=f"choose from {', '.join(names)}")
        return at + names.index(activity)


def load_release(run: Path, *, part: str | None = None, method: str = "mc-cpo", seed: int = 0) -> Release:
    """Reads one policy of a finished run: of a part (needed where there are several), a method and a seed."""
    path = run / _DOCUMENT
    document = read_json(path, fix="name the folder of a finished run of a neural learner, such as of tutor-15")
    manifest = run / "manifest.json"
    if manifest.exists() and read_json(manifest, fix=_AGAIN).get("finished") is not True:
        raise InputError(f"{run} is not finished", fix="finish it with --resume")
    if document.get("format") != _POLICIES:
        raise InputError(f"{path} has the format {document.get('format')!r}", fix=f"give one of {_POLICIES}")
    tensors = _tensors(run / _TENSORS, document.get("sha256"))
    try:
        _check_parts(document)
        name = _part(document["parts"], part, method)
        found = document["parts"][name]
        content = {key: found[key] for key in ("environment", "parameters", "actions", "network", "budgets")}
        content |= {"format": FORMAT, "part": name, "method": found["methods"][method], "seed": seed}
        parameters = tensors[f"{name}/{method}"]
        if parameters.ndim != 2 or parameters.dtype != np.float32:
            raise InputError(f"the policies of {name} are no rows of single-precision numbers", fix=_AGAIN)
        if not 0 <= seed < len(parameters):
            raise InputError(f"there is no seed {seed}", fix=f"choose from 0 to {len(parameters) - 1}")
        return build_release(canonical_json(content), parameters[seed].astype("<f4").tobytes())
    except InputError as error:
        raise InputError(f"{path}: {error.what}", fix=error.fix) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is damaged ({error!r})", fix=_AGAIN) from error


def build_release(description: str, weights: bytes, *, version: str | None = None) -> Release:
    """The release of a description and weights; one of another version than was expected is refused."""
    found = hashlib.sha256(description.encode() + b"\0" + weights).hexdigest()[:16]
    if version is not None and version != found:
        raise InputError(f"the release {version} has been changed: its content is that of {found}", fix=_AGAIN)
    try:
        content = json.loads(description)
        if content["format"] != FORMAT:
            raise InputError(f"a release has the format {content['format']!r}", fix=f"give one of {FORMAT}")
        return _release(found, content, description, weights)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the release {found} is damaged ({error!r})", fix=_AGAIN) from error


def _release(version: str, content: dict[str, Any], description: str, weights: bytes) -> Release:
    tutor = read_tutor(content["environment"], content["parameters"])
    method = content["method"]
    if not isinstance(method["masked"], bool) or method["filter"] not in _RULES:
        raise InputError(f"the method {method['name']!r} is not one that can be executed", fix=_AGAIN)
    network = content["network"]
    shape = Shape(**network | {"hidden": tuple(network["hidden"])})
    parameters = np.frombuffer(weights, "<f4")
    _check_policy(tutor, content, shape, parameters)
    policy = {"network": network, "method": method, "actions": content["actions"]}
    return Release(
        version=version,
        part=content["part"],
        method=method["name"],
        seed=content["seed"],
        tutor=tutor,
        network=network_of(shape, parameters),
        masked=method["masked"],
        rule=_RULES[method["filter"]],
        budgets=_budgets(content["budgets"]),
        sha256=Hashes(
            policy=_sha256(canonical_json(policy).encode() + b"\0" + weights),
            curriculum=sha256_json(json.loads(render_json(tutor.curriculum.to_raw()))),
            learner=sha256_json(tutor.learning),
        ),
        description=description,
        weights=weights,
    )


def _check_policy(
    tutor: Tutor, content: Mapping[str, Any], shape: Shape, parameters: Float[np.ndarray, " parameters"]
) -> None:
    """Refuses a policy that does not fit its environment, or whose weights are no numbers."""
    actions = len(tutor.action_names)
    if list(tutor.action_names) != content["actions"]:
        raise InputError("its actions are others than those of its curriculum and activities", fix=_AGAIN)
    if (shape.features, shape.actions) != (3 * len(tutor.curriculum) + actions + 1, actions):
        raise InputError("its network does not fit its curriculum and activities", fix=_AGAIN)
    if not (len(shape.hidden) == 2 and min(shape.hidden) > 0 and shape.signals > 0 and len(parameters) == shape.size):
        raise InputError("its weights do not fit its network", fix=_AGAIN)
    if not np.isfinite(parameters).all():
        raise InputError("its weights are not finite numbers", fix=_AGAIN)


def _check_parts(document: Mapping[str, Any]) -> None:
    """Refuses what was edited after the run had saved it, such as an edge; older runs do not say what they saved."""
    saved = document.get("parts_sha256")
    if saved is not None and saved != sha256_json(document["parts"]):
        raise InputError("its curriculum, or what else it says of its parts, is not what the run saved", fix=_AGAIN)


def _part(parts: Mapping[str, Any], part: str | None, method: str) -> str:
    """The part to serve: the one that is named, or the only one with the method."""
    having = [name for name, found in parts.items() if method in found["methods"]]
    if part is not None and part not in parts:
        raise InputError(f"there is no part {part!r}", fix=f"choose from {', '.join(parts)}")
    if not having or (part is not None and part not in having):
        methods = dict.fromkeys(name for found in parts.values() for name in found["methods"])
        raise InputError(f"there is no policy of the method {method!r}", fix=f"choose from {', '.join(methods)}")
    if part is None and len(having) > 1:
        raise InputError(f"the run has {len(having)} parts", fix=f"name one with --part: {', '.join(having)}")
    return having[0] if part is None else part


def _budgets(given: Mapping[str, Any]) -> dict[str, float]:
    for cost, budget in given.items():
        if isinstance(budget, bool) or not 0 <= budget < math.inf:
            raise InputError(f"its budget of {cost} is {budget}", fix=_AGAIN)
    return {cost: float(budget) for cost, budget in given.items()}


def _tensors(path: Path, expected: object) -> dict[str, np.ndarray]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix=_AGAIN) from error
    if _sha256(content) != expected:
        raise InputError(f"{path} does not hold the policies that {_DOCUMENT} describes", fix=_AGAIN)
    try:
        return dict(load(content))
    except SafetensorError as error:
        raise InputError(f"{path} is damaged: {error}", fix=_AGAIN) from error


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
