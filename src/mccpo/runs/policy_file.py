"""The two files in which a run keeps its policies, read and written without jax.

policies.safetensors   for each part and method, one row of network parameters per seed: what validation selected;
                       the unconstrained policies that budgets refer to, also where no table has them
policies.json          for each part: the environment in full, the budgets, what they refer to, the methods; and the
                       hashes of this and of the parameters, so that neither is changed unseen
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mccpo import files
from mccpo._version import __version__
from mccpo.errors import InputError, MccpoError
from mccpo.files import dump_json, read_json, sha256_json
from mccpo.policy import GraphPolicyNetwork, PolicyNetwork, RecurrentPolicyNetwork

FORMAT = "mccpo-policies/1"
TENSORS = "policies.safetensors"
DOCUMENT = "policies.json"
_AGAIN = "train it again"

_NETWORKS: dict[str, type[PolicyNetwork]] = {
    network.kind: network for network in (PolicyNetwork, GraphPolicyNetwork, RecurrentPolicyNetwork)
}

Json: TypeAlias = Any
"""What JSON holds: it can be written back, and hashed, as it was read."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredPolicies:
    """The policies of one method in one part of a run, one a seed, as the files hold them.

    **Fields:**

    - `part`: its name in the run's tables; `environment`: the name of the environment that it was trained in.
    - `environment_parameters`: all of the environment's parameters, and its curriculum.
    - `actions`: their names, in the order of the policy head.
    - `plain_network`: the network that most methods have here; `network`: the one that the parameters are of, None
      where a rule is followed: see `network_from_json`.
    - `budgets`, `floors`, `objective`: those that the part was trained under.
    - `anchor`: what the unconstrained policies were worth.
    - `seed`: the root of the run's random numbers.
    - `method`: the method's name and settings.
    - `parameters`: of the network, one row a seed; rows without numbers where a rule is followed.
    - `kappa`: the share of the budgets that a conditioned policy is told.
    - `unconstrained`: the parameters of the unconstrained policies that budgets refer to, one row a seed; runs of
      earlier versions have none.
    """

    part: str
    environment: str
    environment_parameters: Mapping[str, Json]
    actions: Sequence[str]
    plain_network: Mapping[str, Json]
    network: Mapping[str, Json] | None
    budgets: Mapping[str, float]
    anchor: Mapping[str, Json]
    seed: int
    method: Mapping[str, Json]
    parameters: Float[np.ndarray, "seeds parameters"]
    kappa: float | None = None
    floors: Mapping[str, float] = field(default_factory=dict)
    objective: Literal["engagement", "learning"] = "engagement"
    unconstrained: Float[np.ndarray, "seeds parameters"] | None = None

    @property
    def method_name(self) -> str:
        name: str = self.method["name"]
        return name

    @property
    def tensor(self) -> str:
        """The name of the parameters among the tensors."""
        return f"{self.part}/{self.method_name}"

    def part_json(self) -> dict[str, Json]:
        """What `policies.json` says of the part, whichever method it is."""
        return {
            "environment": self.environment,
            "parameters": self.environment_parameters,
            "actions": self.actions,
            "network": self.plain_network,
            "budgets": self.budgets,
            **({"floors": self.floors} if self.floors else {}),
            **({"objective": self.objective} if self.objective != "engagement" else {}),
            "anchor": self.anchor,
            "seed": self.seed,
        }

    def method_json(self) -> dict[str, Json]:
        """What `policies.json` says of the method: its settings, and what sets its policies apart from plain ones."""
        apart: dict[str, Json] = {}
        if self.network != self.plain_network:
            apart["network"] = self.network
        if self.kappa is not None:
            apart["kappa"] = self.kappa
        return {**self.method, **apart}


@dataclass(frozen=True, eq=False)
class PolicyFile:
    """All policies of a run, in the order of its tables; `path` is where they are described."""

    path: Path
    policies: tuple[StoredPolicies, ...]


def write_policy_file(folder: Path, policies: Sequence[StoredPolicies]) -> None:
    """Keeps policies in a run's folder, each file whole or not at all."""
    parts: dict[str, dict[str, Json]] = {}
    for stored in policies:
        part = parts.setdefault(stored.part, {**stored.part_json(), "methods": {}})
        same = dump_json({**part, "methods": {}}) == dump_json({**stored.part_json(), "methods": {}})
        if stored.method_name in part["methods"] or not same:
            raise MccpoError(f"two parts of the run go by the name '{stored.part}'")
        part["methods"][stored.method_name] = stored.method_json()
    arrays = {stored.tensor: stored.parameters for stored in policies}
    for stored in policies:
        if stored.unconstrained is not None and f"{stored.part}/unconstrained" not in arrays:
            arrays[_unconstrained_of(stored.part)] = stored.unconstrained
    tensors = save({name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()})
    document = {
        "format": FORMAT,
        "mccpo": __version__,
        "sha256": hashlib.sha256(tensors).hexdigest(),
        "parts_sha256": sha256_json(json.loads(dump_json(parts))),  # as it will be read, lists for tuples and all
        "parts": parts,
    }
    files.write_bytes(folder / TENSORS, tensors)
    files.write_text(folder / DOCUMENT, dump_json(document, indent=2) + "\n")


def read_policy_file(folder: Path, *, missing: str = _AGAIN, fix: str = _AGAIN) -> PolicyFile:
    """The policies that a run's folder keeps, each checked against its hash and its network.

    Whoever reads them says what to do where there are none (`missing`) and where they are damaged (`fix`).
    """
    path = folder / DOCUMENT
    document = read_json(path, fix=missing)
    if document.get("format") != FORMAT:
        raise InputError(f"{path} has the format {document.get('format')!r}", fix=f"give one of {FORMAT}")
    tensors = _read_tensors(folder / TENSORS, document.get("sha256"), fix)
    with naming(path, fix=fix):
        saved = document.get("parts_sha256")  # older runs do not say what they saved
        if saved is not None and saved != sha256_json(document["parts"]):
            raise InputError("its curriculum, or what else it says of its parts, is not what the run saved", fix=fix)
        policies = tuple(
            _stored(name, part, method, tensors, fix)
            for name, part in document["parts"].items()
            for method in part["methods"].values()
        )
        if not policies:
            raise InputError("it holds no policies", fix=fix)
    return PolicyFile(path, policies)


@contextmanager
def naming(path: Path, *, fix: str | None = None, keeping: type[InputError] | tuple[()] = ()) -> Iterator[None]:
    """Lets every error in what a file says name the file, in one line.

    `fix` replaces what to do about it, except where the error is of the kind `keeping`.
    """
    try:
        yield
    except keeping as error:
        raise InputError(f"{path}: {error.what}", fix=error.fix) from error
    except InputError as error:
        raise InputError(f"{path}: {error.what}", fix=fix or error.fix) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is damaged ({error!r})", fix=fix or _AGAIN) from error


def network_json(network: PolicyNetwork | None) -> dict[str, Json] | None:
    """A network as JSON has it; a plain one does not say its kind, as it did not when there was no other."""
    if network is None:
        return None
    described: dict[str, Json] = json.loads(dump_json(asdict(network)))
    return described if network.kind == PolicyNetwork.kind else {"kind": network.kind, **described}


def network_from_json(content: Mapping[str, Json]) -> PolicyNetwork:
    """The network that JSON describes; refused where it is none that runs without jax."""
    kind = content.get("kind", PolicyNetwork.kind)
    if kind not in _NETWORKS:
        raise InputError(f"its network is of the kind '{kind}', which only training runs", fix="serve another method")
    shape = {name: _tuples(value) for name, value in content.items() if name != "kind"}
    network = _NETWORKS[kind](**shape)
    sizes = (network.features, network.actions, network.signals, *network.hidden)
    if len(network.hidden) != 2 or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise InputError(f"its network has the sizes {sizes}", fix=_AGAIN)
    return network


def _tuples(value: Json) -> Json:
    return tuple(_tuples(entry) for entry in value) if isinstance(value, list) else value


def read_bytes(path: Path, *, fix: str = _AGAIN) -> bytes:
    """The content of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", fix=fix) from error


def _read_tensors(path: Path, expected: object, fix: str) -> dict[str, np.ndarray]:
    content = read_bytes(path, fix=fix)
    if hashlib.sha256(content).hexdigest() != expected:
        raise InputError(f"{path} does not hold the policies that {DOCUMENT} describes", fix=fix)
    try:
        return dict(load(content))
    except SafetensorError as error:
        raise InputError(f"{path} is damaged: {error}", fix=fix) from error


def _stored(
    name: str, part: Mapping[str, Json], method: Mapping[str, Json], tensors: Mapping[str, np.ndarray], fix: str
) -> StoredPolicies:
    stored = StoredPolicies(
        part=name,
        environment=part["environment"],
        environment_parameters=part["parameters"],
        actions=part["actions"],
        plain_network=part["network"],
        network=method.get("network", part["network"]),
        budgets=part["budgets"],
        anchor=part["anchor"],
        seed=int(part["seed"]),
        method={key: value for key, value in method.items() if key not in ("network", "kappa")},
        parameters=tensors[f"{name}/{method['name']}"],
        kappa=method.get("kappa"),
        floors=part.get("floors", {}),
        objective=part.get("objective", "engagement"),
        unconstrained=tensors.get(_unconstrained_of(name)),
    )
    if stored.parameters.ndim != 2 or stored.parameters.dtype != np.float32 or not len(stored.parameters):
        raise InputError(f"the policies of {name} are no rows of single-precision numbers", fix=fix)
    network_from_json(stored.plain_network)  # refuses what is none
    if (size := _size(stored.network)) is not None and stored.parameters.shape[1] != size:
        raise InputError(f"the policies of {name} do not fit their network", fix=fix)
    return stored


def _unconstrained_of(part: str) -> str:
    """The name among the tensors of the unconstrained policies that a part's table does not have."""
    return f"{part}/@unconstrained"


def _size(network: Mapping[str, Json] | None) -> int | None:
    """How many parameters a network has; none of a rule, and not known of one that only training runs."""
    if network is None:
        return 0
    return network_from_json(network).size if network.get("kind", PolicyNetwork.kind) in _NETWORKS else None


def digest(folder: Path) -> str:
    """A digest of all that a folder keeps of its policies, by which a certificate knows what it is about."""
    whole = hashlib.sha256()
    for name in (DOCUMENT, TENSORS):
        whole.update(hashlib.sha256(read_bytes(folder / name)).digest())
    return whole.hexdigest()
