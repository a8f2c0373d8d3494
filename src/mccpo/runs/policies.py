"""What a neural run learnt: policies that can be executed and judged again, on the environment they were trained in.

They are kept in the run's folder: see `mccpo.runs.policy_file`, which reads and writes them without jax.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from mccpo.env import Environment, check_budgets, describe_environment, rebuild_environment
from mccpo.errors import InputError
from mccpo.exact import Values
from mccpo.methods import MethodSpec, as_numbers, execute
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.rollout import network_of
from mccpo.policy import masked_softmax
from mccpo.runs.policy_file import (
    DOCUMENT,
    FORMAT,
    TENSORS,
    StoredPolicies,
    naming,
    network_json,
    read_bytes,
    read_policy_file,
    write_policy_file,
)

__all__ = ["DOCUMENT", "FORMAT", "TENSORS", "Policies", "digest", "read_policies", "write_policies"]

_AGAIN = "train it again"


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
        return np.asarray(execute(method_arrays(self.method, self.env), probs, gate, jnp.asarray(self.env.hack)))


def write_policies(folder: Path, policies: Sequence[Policies]) -> None:
    """Keeps policies in a run's folder, each file whole or not at all."""
    write_policy_file(folder, [_stored(kept) for kept in policies])


def read_policies(folder: Path) -> list[Policies]:
    """The policies that a run's folder keeps, in the order of its tables."""
    file = read_policy_file(folder)
    with naming(file.path, fix=_AGAIN):
        return [_policies(stored) for stored in file.policies]


def digest(folder: Path) -> str:
    """A digest of all that a folder keeps of its policies, by which a certificate knows what it is about."""
    whole = hashlib.sha256()
    for name in (DOCUMENT, TENSORS):
        whole.update(hashlib.sha256(read_bytes(folder / name)).digest())
    return whole.hexdigest()


def _stored(policies: Policies) -> StoredPolicies:
    return StoredPolicies(
        part=policies.part,
        environment=policies.env.name,
        environment_parameters=describe_environment(policies.env),
        actions=policies.env.action_names,
        network=policies.network,
        budgets=policies.budgets,
        anchor=asdict(policies.anchor),
        seed=policies.seed,
        method=asdict(policies.method),
        parameters=policies.parameters,
    )


def _policies(stored: StoredPolicies) -> Policies:
    policies = Policies(
        part=stored.part,
        env=rebuild_environment(stored.environment, stored.environment_parameters),
        method=MethodSpec(**stored.method),
        budgets={cost: float(budget) for cost, budget in stored.budgets.items()},
        anchor=Values(**stored.anchor),
        parameters=stored.parameters,
        seed=stored.seed,
    )
    if missing := [cost for cost in policies.env.constrained if cost not in policies.budgets]:
        raise InputError(f"{stored.part} has no budget on {', '.join(missing)}", fix=_AGAIN)
    as_numbers(policies.method, policies.env)  # fails on a method that this version cannot execute
    if network_json(stored.network) != network_json(policies.network):
        raise InputError(f"the network of {stored.part} is another than the environment's", fix=_AGAIN)
    if not np.isfinite(policies.parameters).all():
        raise InputError(f"the policies of {stored.part} are not finite numbers", fix=_AGAIN)
    return policies
