"""A release: one trained policy with all that serving it takes, read from a run's folder and checked to the last bit.

It comes from `policies.json` and `policies.safetensors`, without jax. It can also be kept elsewhere, as the text
`description` and the bytes `weights`, and rebuilt from these two alone: a record then verifies without the run.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from mccpo.curriculum import Curriculum, render_json
from mccpo.errors import InputError
from mccpo.files import canonical_json, read_json, sha256_json
from mccpo.mastery import BKT
from mccpo.policy import Activity, Costs, Filter, Prices
from mccpo.runs import PolicyFile, StoredPolicies, naming, network_from_json, read_policy_file
from mccpo.serve.policy.deferral import Deferral, read_deferral
from mccpo.serve.policy.gate import Opening
from mccpo.serve.policy.network import ServedNetwork, served_network
from mccpo.serve.policy.parameters import Tutor, read_tutor
from mccpo.serve.policy.rule import ServedRule, served_rule

FORMAT = "mccpo-release/1"
_AGAIN = "train it again, or serve another run"
# Post-hoc methods leave the rule to the environment; tutors spread what they filter over what is ready.
_RULES: dict[str, Filter] = {
    "none": "none",
    "block": "block",
    "renormalise": "renormalise",
    "environment": "renormalise",
}


Ready: TypeAlias = float | Literal["theta"]
"""What is to open the gate: the least chance that a learner is ready, or θ."""


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
    - `network`: what chooses: a network, or a rule in its place.
    - `masked`, `rule`: whether the policy is confined to the ready set, and the filter it is executed through.
    - `budgets`, `floors`: those it was trained under, by cost and by name.
    - `description`, `weights`: what `build_release` takes.
    - `deferral`: what is done with choices that only just pass the gate; None: they are served.
    """

    version: str
    part: str
    method: str
    seed: int
    tutor: Tutor
    network: ServedNetwork | ServedRule
    masked: bool
    rule: Filter
    budgets: Mapping[str, float]
    sha256: Hashes
    description: str
    weights: bytes
    floors: Mapping[str, float]
    deferral: Deferral | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, over everything; the version is how it begins."""
        return _digest(self.description, self.weights)

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
    def opening(self) -> Opening:
        """What opens the gate."""
        return self.tutor.opening

    @cached_property
    def stricter(self) -> Opening | None:
        """What opens the gate that choices pass without being deferred; None where none is deferred."""
        return None if self.deferral is None else self.deferral.stricter(self.opening)

    def ready(self, K: Float[np.ndarray, " concepts"]) -> Bool[np.ndarray, " concepts"]:
        """The concepts that the gate opens at a K, by the arrays that the policy sees."""
        ready: Bool[np.ndarray, " concepts"]
        if self.tutor.confidence is None:
            ready = self.curriculum.ready(K, self.theta)
        else:
            ready = self.curriculum.joint_chance(K, self.tutor.doubt) >= self.tutor.confidence
        return ready

    @property
    def horizon(self) -> int:
        return self.tutor.horizon

    @property
    def activities(self) -> tuple[Activity, ...]:
        return self.tutor.offered

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


def load_release(
    run: Path,
    *,
    part: str | None = None,
    method: str | None = None,
    seed: int = 0,
    ready: Ready | None = None,
    deferral: Deferral | None = None,
) -> Release:
    """Reads one policy of a finished run: of a part (needed where there are several), a method and a seed.

    `ready` is what opens the gate of this release, whatever it was in training.
    `deferral` says what is done with choices that only just pass it.
    """
    manifest = run / "manifest.json"
    if manifest.exists() and read_json(manifest, fix=_AGAIN).get("finished") is not True:
        raise InputError(f"{run} is not finished", fix="finish it with --resume")
    missing = "name the folder of a finished run of a tutor, such as tutor-15"
    file = read_policy_file(run, missing=missing, fix=_AGAIN)
    with naming(file.path):
        stored = _chosen(file, part, method)
        if not 0 <= seed < len(stored.parameters):
            raise InputError(f"there is no seed {seed}", fix=f"choose from 0 to {len(stored.parameters) - 1}")
        weights = stored.parameters[seed].astype("<f4").tobytes()
        return build_release(_description(stored, seed, ready, deferral), weights)


def _description(stored: StoredPolicies, seed: int, ready: Ready | None, deferral: Deferral | None) -> str:
    """All that a policy is but its weights, as the one text that is hashed."""
    about = stored.part_json()
    parts = ("environment", "parameters", "actions", "budgets", "floors")
    content: dict[str, Any] = {key: about[key] for key in parts if key in about}
    if ready is not None and (ready != "theta" or content["parameters"].get("confidence") is not None):
        content["parameters"] = {**content["parameters"], "confidence": None if ready == "theta" else ready}
    if deferral is not None:
        content["deferral"] = asdict(deferral)
    own = {"network": stored.network, "format": FORMAT, "part": stored.part, "method": stored.method, "seed": seed}
    return canonical_json(content | own)


def build_release(description: str, weights: bytes, *, version: str | None = None) -> Release:
    """The release of a description and weights; one of another version than was expected is refused."""
    found = _digest(description, weights)[:16]
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
    _check_actions(tutor, content)
    choosing = served_rule(method["name"], tutor) if network is None else _network(tutor, content, weights)
    policy = {"network": network, "method": method, "actions": content["actions"]}
    return Release(
        version=version,
        part=content["part"],
        method=method["name"],
        seed=content["seed"],
        tutor=tutor,
        network=choosing,
        masked=method["masked"] or network is None,
        rule=_RULES[method["filter"]],
        budgets=_in_tutors_units(_budgets(content["budgets"]), content["parameters"]),
        sha256=Hashes(
            policy=_sha256(canonical_json(policy).encode() + b"\0" + weights),
            curriculum=sha256_json(json.loads(render_json(tutor.curriculum.to_raw()))),
            learner=sha256_json(tutor.learning),
        ),
        description=description,
        weights=weights,
        floors=_budgets(content.get("floors", {})),
        deferral=read_deferral(content.get("deferral"), tutor.opening),
    )


def _check_actions(tutor: Tutor, content: Mapping[str, Any]) -> None:
    """Refuses a policy of other actions than its environment's."""
    if list(tutor.action_names) != content["actions"]:
        raise InputError("its actions are others than those of its curriculum and activities", fix=_AGAIN)


def _network(tutor: Tutor, content: Mapping[str, Any], weights: bytes) -> ServedNetwork:
    """The network of a policy; refused where it does not fit, where it remembers, or its weights are no numbers."""
    network, parameters = network_from_json(content["network"]), np.frombuffer(weights, "<f4")
    if network.remembers:
        raise InputError(
            f"a policy of '{content['method']['name']}' remembers a learner's episode, which the service does not keep",
            fix="serve a policy of another method, such as mc-cpo",
        )
    if (network.features, network.actions) != (tutor.layout.size, len(tutor.action_names)):
        raise InputError("its network does not fit its curriculum and activities", fix=_AGAIN)
    if len(parameters) != network.size:
        raise InputError("its weights do not fit its network", fix=_AGAIN)
    if not np.isfinite(parameters).all():
        raise InputError("its weights are not finite numbers", fix=_AGAIN)
    return served_network(network, parameters)


def _chosen(file: PolicyFile, part: str | None, method: str | None) -> StoredPolicies:
    """The policies to serve: of the part that is named, or of the only one with the method.

    Without a method, MC-CPO is meant, or the only one there is, or the only one that was held to something.
    """
    parts = dict.fromkeys(stored.part for stored in file.policies)
    if method is None:
        method = _preferred(file)
    having = {stored.part: stored for stored in file.policies if stored.method_name == method}
    if part is not None and part not in parts:
        raise InputError(f"there is no part {part!r}", fix=f"choose from {', '.join(parts)}")
    if not having or (part is not None and part not in having):
        methods = dict.fromkeys(stored.method_name for stored in file.policies)
        raise InputError(f"there is no policy of the method {method!r}", fix=f"choose from {', '.join(methods)}")
    if part is None and len(having) > 1:
        raise InputError(f"the run has {len(having)} parts", fix=f"name one with --part: {', '.join(having)}")
    return having[next(iter(having)) if part is None else part]


def _preferred(file: PolicyFile) -> str:
    """The method that is meant where none is named."""
    held = {stored.method_name: stored.method.get("constrained") is True for stored in file.policies}
    only = [name for name, constrained in held.items() if constrained or len(held) == 1]
    return only[0] if "mc-cpo" not in held and len(only) == 1 else "mc-cpo"


def _budgets(given: Mapping[str, Any]) -> dict[str, float]:
    for cost, budget in given.items():
        if isinstance(budget, bool) or not 0 <= budget < math.inf:
            raise InputError(f"its budget of {cost} is {budget}", fix=_AGAIN)
    return {cost: float(budget) for cost, budget in given.items()}


def _in_tutors_units(budgets: dict[str, float], parameters: Mapping[str, Any]) -> dict[str, float]:
    """Budgets of an ensemble of learners in the units of what the tutor believes, which is its first kind."""
    if "relative" not in parameters:
        return budgets
    first = dict(zip(Costs._fields, parameters["relative"][0], strict=False))
    return {cost: budget * first[cost] for cost, budget in budgets.items()}


def _digest(description: str, weights: bytes) -> str:
    return _sha256(description.encode() + b"\0" + weights)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
