"""What a neural learner is: how a run begins, and how one iteration takes it further.

The methods of the paper are one learner, `PrimalDual`, in different numbers. Methods with a mechanism of their own are
learners too: see `mccpo.methods.constrained`. All of them share how policies are selected, judged, checkpointed and
resumed.
"""

from __future__ import annotations

import abc
from dataclasses import KW_ONLY
from typing import Any, Protocol

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.env import Environment
from mccpo.methods.episodes import NetworkActor
from mccpo.methods.gradient import ppo
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import PPOState, Progress
from mccpo.methods.gradient.rollout import Sizes, network_of
from mccpo.methods.gradient.settings import CAREFUL, PPOSettings
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.mc_cpo.spec import Method


class RunState(Protocol):
    """What every learner's state has, whatever else it has: the policy's parameters, the iterations made."""

    @property
    def parameters(self) -> Float[Array, " parameters"]: ...

    @property
    def iteration(self) -> Int[Array, ""]: ...


class Learner(eqx.Module):
    """How a neural policy is learnt. Its numbers are leaves, so that another setting is not another program."""

    _: KW_ONLY
    settings: PPOSettings = CAREFUL

    @abc.abstractmethod
    def playing(self, env: Environment[Any]) -> Method:
        """How the policy plays: its mask, its frontier rate, its filter, the reward that is learnt from."""

    def network(self, env: Environment[Any]) -> Network:
        """The network whose parameters are learnt."""
        return network_of(env)

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
        actor: NetworkActor,
        key: PRNGKeyArray,
        episodes: int,
    ) -> Float[Array, ""] | None:
        """How good a policy is in episodes of its own, where its budgets are not all that it is to meet; else None."""
        del env, budgets, caution, actor, key, episodes
        return None

    @abc.abstractmethod
    def prices(self, state: Any) -> Float[Array, "*runs costs"]:
        """What a unit of each cost takes off the reward at this point: the multipliers, 0 where there are none."""


class PrimalDual(Learner):
    """MC-CPO, and what becomes of it without one part or another: the methods of the paper."""

    method: Method

    def playing(self, env: Environment[Any]) -> Method:
        del env
        return self.method

    def start(self, env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> PPOState:
        return ppo.start(env, sizes, key)

    def iterate(
        self, env: Environment[Any], sizes: Sizes, budgets: Budgets, state: PPOState, share: Float[Array, ""]
    ) -> tuple[PPOState, Progress]:
        return ppo.iterate(env, sizes, self.method, budgets, self.settings, state, share)

    def prices(self, state: PPOState) -> Float[Array, "*runs costs"]:
        return state.multipliers.value
