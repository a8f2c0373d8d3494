"""The policies of a run, which can be executed and evaluated again on the environment they were trained in.

They are kept in the run's folder: see `mccpo.runs.policy_file`, which reads and writes them without jax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from mccpo.env import Constraints, Environment, Objective, UnknownEnvironment, describe_environment, rebuild_environment
from mccpo.errors import InputError
from mccpo.exact import Values
from mccpo.methods import (
    METHODS,
    GradientEntry,
    GradientMethod,
    MethodSpec,
    NetworkPolicies,
    PolicySet,
    PrimalDual,
    RuleEntry,
    RulePolicies,
    execute,
    method_arrays,
    network_of,
)
from mccpo.policy import masked_softmax
from mccpo.runs import (
    DOCUMENT,
    StoredPolicies,
    naming,
    network_from_json,
    network_json,
    read_policy_file,
    read_run,
    write_policy_file,
)

_AGAIN = "train it again"


@dataclass(frozen=True, eq=False)
class Policies:
    """The policies of one method in one part of a run, one a seed, and what it takes to execute and evaluate them.

    - `budgets`, `floors`: those that the part was trained under; `anchor`: what the unconstrained policies were worth.
    - `parameters`: of the network, one row a seed; rows without numbers where a rule is followed.
    - `seed`: the root of the run's random numbers, which its own tables were evaluated with.
    - `kappa`: the share of the budgets that a conditioned policy is told.
    - `unconstrained`: parameters of the unconstrained policies that budgets refer to, one row a seed, where known.
    """

    part: str
    env: Environment[Any]
    method: MethodSpec
    budgets: dict[str, float]
    anchor: Values
    parameters: Float[np.ndarray, "seeds parameters"]
    seed: int
    kappa: float | None = None
    floors: dict[str, float] = field(default_factory=dict)
    objective: Objective = "engagement"
    unconstrained: Float[np.ndarray, "seeds parameters"] | None = None

    def __post_init__(self) -> None:
        self.constraints.check(self.env)

    @property
    def constraints(self) -> Constraints:
        """What the policies are held to."""
        return Constraints(self.budgets, self.floors, objective=self.objective)

    @cached_property
    def policies(self) -> PolicySet:
        """The policies as they play."""
        entry = METHODS.get(self.method.name)
        if isinstance(entry, RuleEntry):
            return RulePolicies(entry.build(), len(self.parameters))
        return NetworkPolicies(self._method, self.parameters, self.kappa)

    @property
    def _method(self) -> GradientMethod:
        entry = METHODS.get(self.method.name)
        if isinstance(entry, GradientEntry) and entry.spec is None:
            return entry.build(self.env, {})
        return PrimalDual(
            method_arrays(self.method, self.env), shared=self.method.shared
        )  # also of a sweep, whose names nobody registered

    def act(
        self, features: Float[np.ndarray, "*batch features"], mask: Bool[np.ndarray, "*batch actions"], policy: int = 0
    ) -> Float[np.ndarray, "*batch actions+1"]:
        """The chances with which the policy of a seed acts, as it is executed; the last is that of the no-op."""
        if (network := self.policies.network(self.env)) is None:
            raise InputError(f"{self.method.name} is a rule, which has no network", fix="ask a policy that was trained")
        if network.remembers:
            raise InputError(f"{self.method.name} acts by the whole episode", fix="play episodes with `policies.play`")
        seen: Any = np.asarray(features, np.float32).reshape(-1, network.features).T
        gate: Any = np.asarray(mask, bool)
        logits, _ = network.apply(self.parameters[policy], seen)
        probs = masked_softmax(logits.T.reshape(gate.shape), gate | (not self.method.masked)).probs
        if self.method.filter == "none":
            return np.concatenate([probs, np.zeros_like(probs[..., :1])], axis=-1)
        return np.asarray(execute(method_arrays(self.method, self.env), probs, gate, jnp.asarray(self.env.hack)))

    def stored(self) -> StoredPolicies:
        """The same as a run's folder keeps it."""
        return StoredPolicies(
            part=self.part,
            environment=self.env.name,
            environment_parameters=describe_environment(self.env),
            actions=self.env.action_names,
            plain_network=network_json(network_of(self.env)) or {},
            network=network_json(self.policies.network(self.env)),
            budgets=self.budgets,
            anchor=asdict(self.anchor),
            seed=self.seed,
            method=asdict(self.method),
            parameters=self.parameters,
            kappa=self.kappa,
            floors=self.floors,
            objective=self.objective,
            unconstrained=self.unconstrained,
        )


def write_policies(folder: Path, policies: Sequence[Policies]) -> None:
    """Keeps policies in a run's folder, each file whole or not at all."""
    write_policy_file(folder, [saved.stored() for saved in policies])


def read_policies(folder: Path) -> list[Policies]:
    """The policies that a run's folder keeps, in the order of its tables."""
    file = read_policy_file(folder)
    with naming(file.path, fix=_AGAIN, keeping=UnknownEnvironment):
        return [_policies(stored) for stored in file.policies]


def load_policies(run: Path) -> list[Policies]:
    """The policies that a finished run keeps."""
    read_run(run)
    if not (run / DOCUMENT).exists():
        raise InputError(
            f"{run} keeps no policies",
            fix="name a run of a neural learner, such as of tutor-15; what a finite environment's tables say is exact",
        )
    return read_policies(run)


def _policies(stored: StoredPolicies) -> Policies:
    policies = Policies(
        part=stored.part,
        env=rebuild_environment(stored.environment, stored.environment_parameters),
        method=MethodSpec(**stored.method),
        budgets={cost: float(budget) for cost, budget in stored.budgets.items()},
        anchor=Values(**stored.anchor),
        parameters=stored.parameters,
        seed=stored.seed,
        kappa=stored.kappa,
        floors={name: float(floor) for name, floor in stored.floors.items()},
        objective=stored.objective,
        unconstrained=stored.unconstrained,
    )
    unheld = () if policies.floors or policies.objective == "learning" else policies.env.constrained
    if missing := [cost for cost in unheld if cost not in policies.budgets]:
        raise InputError(f"{stored.part} has no budget on {', '.join(missing)}", fix=_AGAIN)
    method_arrays(policies.method, policies.env)  # fails on a method that this version cannot execute
    network = policies.policies.network(policies.env)
    kept = None if stored.network is None else network_json(network_from_json(stored.network))  # as it reads today
    if kept != network_json(network):
        raise InputError(f"the network of {stored.part} is another than the environment's", fix=_AGAIN)
    if stored.parameters.shape[1] != (0 if network is None else network.size):
        raise InputError(f"the policies of {stored.part} do not fit their network", fix=_AGAIN)
    if not np.isfinite(policies.parameters).all():
        raise InputError(f"the policies of {stored.part} are not finite numbers", fix=_AGAIN)
    return policies
