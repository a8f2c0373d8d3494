"""What a neural run learnt, kept in its folder: enough to execute every policy again, wherever NumPy runs.

policies.safetensors   for each part and method, one row of network parameters per seed: what validation selected
policies.json          for each part: the environment in full, the budgets, what they refer to, the methods; and the
                       hashes of this and of the parameters, so that neither is changed unseen
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mccpo import files
from mccpo._version import __version__
from mccpo.env import Environment, check_budgets, describe_environment, rebuild_environment
from mccpo.errors import InputError, MccpoError
from mccpo.exact import Values
from mccpo.files import dump_json, read_json, sha256_json
from mccpo.methods import MethodSpec, as_numbers, execute, masked_softmax
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.rollout import network_of

FORMAT = "mccpo-policies/1"
TENSORS = "policies.safetensors"
DOCUMENT = "policies.json"


@dataclass(frozen=True, eq=False)
class Policies:
    """The policies of one method in one part of a run, one a seed, and what it takes to execute and to judge them.

    - `budgets`: those that the part was trained under; `anchor`: what the unconstrained policies were worth.
    - `seed`: the root of the run's random numbers, which its own tables were judged with.
    """

    part: str
    env: Environment[Any]
    method: MethodSpec
    budgets: dict[str, float]
    anchor: Values
    parameters: Float[np.ndarray, "seeds parameters"]
    seed: int

    def __post_init__(self) -> None:
        check_budgets(self.env.cost_names, self.budgets)

    @cached_property
    def network(self) -> Network:
        return network_of(self.env)

    def act(
        self, features: Float[np.ndarray, "*batch features"], mask: Bool[np.ndarray, "*batch actions"], policy: int = 0
    ) -> Float[np.ndarray, "*batch actions+1"]:
        """The chances with which the policy of a seed acts, as it is executed; the last is that of the no-op."""
        seen: Any = np.asarray(features, np.float32).reshape(-1, self.network.features).T
        gate: Any = np.asarray(mask, bool)
        logits, _ = self.network.apply(self.parameters[policy], seen)
        probs = masked_softmax(logits.T.reshape(gate.shape), gate | (not self.method.masked)).probs
        if self.method.filter == "none":
            return np.concatenate([probs, np.zeros_like(probs[..., :1])], axis=-1)
        return np.asarray(execute(as_numbers(self.method, self.env), probs, gate, jnp.asarray(self.env.hack)))


def write_policies(folder: Path, policies: Sequence[Policies]) -> None:
    """Keeps policies in a run's folder, each file whole or not at all."""
    parts: dict[str, dict[str, Any]] = {}
    for one in policies:
        part = parts.setdefault(one.part, _part(one))
        if one.method.name in part["methods"] or dump_json({**part, "methods": {}}) != dump_json(_part(one)):
            raise MccpoError(f"two parts of the run go by the name '{one.part}'")
        part["methods"][one.method.name] = asdict(one.method)
    tensors = save({_key(one): np.ascontiguousarray(one.parameters, np.float32) for one in policies})
    document = {
        "format": FORMAT,
        "mccpo": __version__,
        "sha256": hashlib.sha256(tensors).hexdigest(),
        "parts_sha256": sha256_json(json.loads(dump_json(parts))),  # as it will be read, lists for tuples and all
        "parts": parts,
    }
    files.write_bytes(folder / TENSORS, tensors)
    files.write_text(folder / DOCUMENT, dump_json(document, indent=2) + "\n")


def read_policies(folder: Path) -> list[Policies]:
    """The policies that a run's folder keeps, in the order of its tables."""
    document = read_json(folder / DOCUMENT, fix="train it again")
    if document.get("format") != FORMAT:
        raise InputError(f"{folder / DOCUMENT} has the format {document.get('format')!r}", fix=f"give one of {FORMAT}")
    tensors = _tensors(folder, document.get("sha256"))
    try:
        _check_parts(document)
        found = [_policies(name, part, method, tensors) for name, part, method in _entries(document)]
    except InputError as error:
        raise InputError(f"{folder / DOCUMENT}: {error.what}", fix="train it again") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{folder / DOCUMENT} is damaged ({error!r})", fix="train it again") from error
    if not found:
        raise InputError(f"{folder / DOCUMENT} holds no policies", fix="train it again")
    return found


def digest(folder: Path) -> str:
    """A digest of all that a folder keeps of its policies, by which a certificate knows what it is about."""
    whole = hashlib.sha256()
    for name in (DOCUMENT, TENSORS):
        whole.update(hashlib.sha256(_content(folder / name)).digest())
    return whole.hexdigest()


def _key(one: Policies) -> str:
    return f"{one.part}/{one.method.name}"


def _part(one: Policies) -> dict[str, Any]:
    return {
        "environment": one.env.name,
        "parameters": describe_environment(one.env),
        "actions": one.env.action_names,
        "network": asdict(one.network),
        "budgets": one.budgets,
        "anchor": asdict(one.anchor),
        "seed": one.seed,
        "methods": {},
    }


def _entries(document: Mapping[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    return [(name, part, method) for name, part in document["parts"].items() for method in part["methods"].values()]


def _check_parts(document: Mapping[str, Any]) -> None:
    """Refuses what was edited after the run had saved it, such as an edge; older runs do not say what they saved."""
    saved = document.get("parts_sha256")
    if saved is not None and saved != sha256_json(document["parts"]):
        what = "its curriculum, or what else it says of its parts, is not what the run saved"
        raise InputError(what, fix="train it again")


def _tensors(folder: Path, expected: object) -> dict[str, np.ndarray]:
    path = folder / TENSORS
    content = _content(path)
    if hashlib.sha256(content).hexdigest() != expected:
        raise InputError(f"{path} does not hold the policies that {DOCUMENT} describes", fix="train it again")
    try:
        return dict(load(content))
    except SafetensorError as error:
        raise InputError(f"{path} is damaged: {error}", fix="train it again") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix="train it again") from error


def _policies(name: str, part: dict[str, Any], method: dict[str, Any], tensors: Mapping[str, np.ndarray]) -> Policies:
    found = Policies(
        part=name,
        env=rebuild_environment(part["environment"], part["parameters"]),
        method=MethodSpec(**method),
        budgets={cost: float(budget) for cost, budget in part["budgets"].items()},
        anchor=Values(**part["anchor"]),
        parameters=tensors[f"{name}/{method['name']}"],
        seed=int(part["seed"]),
    )
    if missing := [cost for cost in found.env.constrained if cost not in found.budgets]:
        raise InputError(f"{name} has no budget on {', '.join(missing)}", fix="train it again")
    as_numbers(found.method, found.env)  # fails on a method that this version cannot execute
    expected = json.loads(dump_json(asdict(found.network)))
    if part["network"] != expected or found.parameters.shape[1:] != (found.network.size,):
        raise InputError(f"the network of {name} is another than the environment's", fix="train it again")
    if not (len(found.parameters) and np.isfinite(found.parameters).all()):
        raise InputError(f"the policies of {name} are not finite numbers", fix="train it again")
    return found
