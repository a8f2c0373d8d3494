"""A finite environment written out as arrays: every reachable state, action and outcome."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # whose parts load when they are used: training need not wait for them
from jaxtyping import Bool, Float, Int

from mccpo.env import FiniteEnvironment, TimeStep
from mccpo.errors import InputError


@dataclass(frozen=True, eq=False)
class FiniteModel:
    """The arrays of a finite CMDP. The last action of each state is the no-op, which only a filter executes.

    `index` holds the environment's number of each state, so that a table learnt over those numbers can be evaluated
    here; `successor` is -1 where the episode has ended. `mastered_at_end` is the number of mastered concepts with which
    an action is expected to end the episode, 0 where it goes on.
    """

    index: Int[np.ndarray, " states"]
    start: Float[np.ndarray, " states"]
    mask: Bool[np.ndarray, "states actions"]
    probability: Float[np.ndarray, "states actions+1 outcomes"]
    successor: Int[np.ndarray, "states actions+1 outcomes"]
    outcome_costs: Float[np.ndarray, "states actions+1 outcomes costs"]
    outcome_rewards: Float[np.ndarray, "states actions+1 outcomes"]
    gain: Float[np.ndarray, "states actions+1"]
    mastered_at_end: Float[np.ndarray, "states actions+1"]
    unready: Bool[np.ndarray, "states actions"]
    hack: Bool[np.ndarray, " actions"]
    gamma: float
    action_names: tuple[str, ...]
    cost_names: tuple[str, ...]
    constrained: tuple[str, ...]

    @property
    def num_states(self) -> int:
        return len(self.index)

    @property
    def num_actions(self) -> int:
        return len(self.action_names)

    @cached_property
    def reward(self) -> Float[np.ndarray, "states actions+1"]:
        """The expected reward of each action."""
        expected: Float[np.ndarray, "states actions+1"]
        expected = np.einsum("sao,sao->sa", self.probability, self.outcome_rewards)
        return expected

    @cached_property
    def costs(self) -> Float[np.ndarray, "states actions+1 costs"]:
        """The expected costs of each action."""
        expected: Float[np.ndarray, "states actions+1 costs"]
        expected = np.einsum("sao,saoc->sac", self.probability, self.outcome_costs)
        return expected

    @cached_property
    def flow(self) -> scipy.sparse.csr_array:
        """Row s·(A+1)+a, column s': the chance of going from s to s' by a."""
        rows = np.repeat(np.arange(self.successor[..., 0].size), self.successor.shape[-1])
        columns, chances = self.successor.ravel(), self.probability.ravel()
        goes_on = (columns >= 0) & (chances > 0)
        shape = (self.successor[..., 0].size, self.num_states)
        return scipy.sparse.csr_array((chances[goes_on], (rows[goes_on], columns[goes_on])), shape=shape)

    @cached_property
    def elapsed(self) -> Int[np.ndarray, " states"] | None:
        """The steps before each state; None where some state can be reached after more or fewer."""
        steps = np.full(self.num_states, -1)
        steps[self.start > 0] = 0
        goes_on = (self.successor >= 0) & (self.probability > 0)
        wave = np.flatnonzero(self.start > 0)
        while wave.size:
            reached = np.unique(self.successor[wave][goes_on[wave]])
            wave = reached[steps[reached] < 0]
            steps[wave] = steps.max() + 1
        before = np.broadcast_to(steps[:, None, None], self.successor.shape)[goes_on]
        return steps if (steps[self.successor[goes_on]] == before + 1).all() else None

    def cost_index(self, name: str) -> int:
        """The place of a cost, or an error that lists the costs there are."""
        if name not in self.cost_names:
            raise InputError(f"unknown cost '{name}'", fix=f"choose from {', '.join(self.cost_names)}")
        return self.cost_names.index(name)


def enumerate_model(env: FiniteEnvironment[Any]) -> FiniteModel:
    """Writes a finite environment out as arrays, keeping the states that some policy, masked or not, can reach.

    >>> import mccpo
    >>> model = enumerate_model(mccpo.make("chain"))
    >>> model.cost_names, model.reward.shape  # states, actions and the no-op
    (('c2', 'c3', 'c4'), (15, 7))
    """
    if not isinstance(env, FiniteEnvironment):
        raise InputError(f"{env.name} is not finite", fix="name one that is, such as gate, chain or random-finite")
    # In double precision, so that the solver's answers are not limited by the training arrays' float32.
    with jax.enable_x64(True):
        return _enumerate(env)


def _enumerate(env: FiniteEnvironment[Any]) -> FiniteModel:
    found = jax.device_get(jax.jit(lambda: _everything(env))())
    probability, steps = found.probability, found.steps
    successor = np.where(steps.terminated | steps.truncated, -1, found.index)
    kept = _reachable(int(found.first), successor, probability)
    if not found.mask[kept].any(axis=1).all():
        raise InputError(f"{env.name}: some state has no ready action", fix="give the curriculum a source concept")
    renumber = np.full(env.num_states + 1, -1)
    renumber[kept] = np.arange(len(kept))
    return FiniteModel(
        index=kept,
        start=(kept == found.first).astype(float),
        mask=found.mask[kept],
        probability=probability[kept],
        successor=renumber[successor[kept]],
        outcome_costs=steps.costs[kept].astype(float),
        outcome_rewards=steps.reward[kept].astype(float),
        gain=np.einsum("sao,sao->sa", probability, steps.gain)[kept],
        mastered_at_end=np.einsum("sao,sao->sa", probability, np.where(successor < 0, found.mastered, 0.0))[kept],
        unready=steps.unready[kept, :-1, 0],
        hack=env.hack,
        gamma=env.gamma,
        action_names=env.action_names,
        cost_names=env.cost_names,
        constrained=env.constrained,
    )


class _Everything(NamedTuple):
    """The first state's number, and for every number the mask and what each action may bring about."""

    first: Any
    mask: Any
    probability: Any
    steps: TimeStep[Any]
    index: Any
    mastered: Any


def _everything(env: FiniteEnvironment[Any]) -> _Everything:
    states = jax.vmap(env.state)(jnp.arange(env.num_states))
    over_actions = jax.vmap(env.outcomes, in_axes=(None, 0))
    probability, steps = jax.vmap(over_actions, in_axes=(0, None))(states, jnp.arange(env.num_actions + 1))
    known = jax.vmap(jax.vmap(jax.vmap(env.mastered)))(steps.state)
    return _Everything(
        first=env.index(env.reset(jax.random.key(0))[0]),
        mask=jax.vmap(env.observe)(states).action_mask,
        probability=probability,
        steps=steps,
        index=jax.vmap(jax.vmap(jax.vmap(env.index)))(steps.state),
        mastered=jnp.zeros(()) if known is None else known,
    )


def _reachable(
    first: int, successor: Int[np.ndarray, "s a o"], probability: Float[np.ndarray, "s a o"]
) -> Int[np.ndarray, " kept"]:
    seen = np.zeros(len(successor), bool)
    wave = np.array([first])
    while wave.size:
        seen[wave] = True
        found = successor[wave][probability[wave] > 0]
        wave = np.unique(found[found >= 0])
        wave = wave[~seen[wave]]
    return np.flatnonzero(seen)
