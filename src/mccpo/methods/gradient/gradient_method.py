"""What a neural learner is: how a run begins, and how one iteration takes it further.

The methods of the paper are one learner, `PrimalDual`, in different numbers. Methods with a mechanism of their own are
learners too: see `mccpo.methods.constrained`. All of them share how policies are selected, judged, checkpointed and
resumed.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.episodes import NetworkPolicy
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.graph_network import shared_network_of
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import PPOState, Progress
from mccpo.methods.gradient.rollout import Sizes, network_of
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.mc_cpo.spec import MethodArrays

if TYPE_CHECKING:
    from mccpo.methods.gradient.training import NeuralPlan


class RunState(Protocol):
    """What every learner's state has, whatever else it has: the policy's parameters, the iterations made."""

    @property
    def parameters(self) -> Float[Array, " parameters"]: ...

    @property
    def iteration(self) -> Int[Array, ""]: ...


class GradientMethod(eqx.Module):
    """How a policy is learnt by gradient. Its numbers are leaves, so that another setting is not another program.

    **Class variables:**

    - `name`: what commands call it; one of another package goes by the name of its entry point.
    - `constrained`: whether it knows of the budgets. By it, its final policy is selected for meeting them or not.
    - `conditioned`: whether it is trained once and told the budgets when it is asked: see `training_environment`.
    - `search`: the settings that are tried for it, the recommended first: its own numbers by name, those of
      `PPOSettings` as `settings.NAME`.
    """

    name: ClassVar[str] = ""
    constrained: ClassVar[bool] = True
    conditioned: ClassVar[bool] = False
    search: ClassVar[tuple[Mapping[str, float], ...]] = ({},)

    _: KW_ONLY
    settings: PPOSettings = PPOSettings()
    shared: bool = eqx.field(static=True, default=False)
    """Whether concepts share the weights of the network, where concepts are known."""

    @abc.abstractmethod
    def playing(self, env: Environment[Any]) -> MethodArrays:
        """How the policy plays: its mask, its frontier rate, its filter, the reward that is learnt from."""

    def training_environment(self, env: Environment[Any]) -> Environment[Any]:
        """Where it is trained: the environment itself, or with budgets as part of what is seen."""
        return env

    def environment_at(self, env: Environment[Any], kappa: float) -> Environment[Any]:
        """The environment as its policy sees it at one κ; one that has no answer there raises an `InputError`."""
        del kappa
        return env

    def plan(self, plan: NeuralPlan) -> NeuralPlan:
        """How long it is trained where others are trained by a plan: as long as they are."""
        return plan

    def network(self, env: Environment[Any]) -> Network:
        """The network whose parameters are learnt."""
        return shared_network_of(env) if self.shared else network_of(env)

    @abc.abstractmethod
    def start(self, env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> Any:
        """A run before its first iteration: a `RunState`."""

    @abc.abstractmethod
    def iterate(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: Any, share: Float[Array, ""]
    ) -> tuple[Any, Progress]:
        """One iteration, `sizes.steps` steps of the environment, at `share` of training."""

    def own_score(
        self,
        env: Environment[Any],
        budgets: Budgets,
        caution: Float[Array, ""] | float,
        actor: NetworkPolicy,
        key: PRNGKeyArray,
        episodes: int,
    ) -> Float[Array, ""] | None:
        """How good a policy is in episodes of its own, where its budgets are not all that it is to meet; else None."""
        del env, budgets, caution, actor, key, episodes
        return None

    def conclude(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: Any, key: PRNGKeyArray
    ) -> Float[Array, " parameters"] | None:
        """The policy that a run ends with, where the method chooses it by itself; else None: a finalist is chosen."""
        del env, sizes, budgets, state, key
        return None

    def contender(self, state: Any) -> Float[Array, " parameters"] | None:
        """A policy that competes with the finalists of a run, beside those that looks found; None by default."""
        del state
        return None

    @abc.abstractmethod
    def prices(self, state: Any) -> Float[Array, "*runs costs"]:
        """What a unit of each cost takes off the reward at this point: the multipliers, 0 where there are none."""


class PrimalDual(GradientMethod):
    """MC-CPO, and what becomes of it without one part or another: the methods of the paper."""

    method: MethodArrays

    def playing(self, env: Environment[Any]) -> MethodArrays:
        del env
        return self.method

    def start(self, env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> PPOState:
        return ppo.start(env, sizes, self.network(env), key)

    def iterate(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: PPOState, share: Float[Array, ""]
    ) -> tuple[PPOState, Progress]:
        network = self.network(env)
        return ppo.iterate(env, sizes, self.method, budgets, self.settings, network, state, share)

    def prices(self, state: PPOState) -> Float[Array, "*runs costs"]:
        return state.prices
