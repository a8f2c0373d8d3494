"""A gate that calibrates itself: how cautious must it be, so that few lessons are unready in truth?

The mastery that a gate goes by is wrong in ways that nobody tells it. What can be known is which lessons came too
early: a test afterwards shows it. So the gate is tried on held-out learners with every setting of a small grid. A
setting passes for a share δ where an upper confidence bound on the share of unready lessons is at most δ, for every
policy. The bounds hold together, over all policies and settings, so that picking the best of those that passed costs
nothing, whatever δ is asked for. The best is what selection in training takes for it: the highest return where the
budgets are met, else the setting that misses them least.

Where no setting passes, the gate is shut to all that has prerequisites. It then teaches nothing that could be unready,
so there is always an answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from mccpo.env import Constraints, Environment, Estimated
from mccpo.errors import InputError
from mccpo.evaluation import upper_bound
from mccpo.evaluation.policy import slack_of
from mccpo.methods import EVALUATION_EPISODES, Episodes, PolicySet

CONFIDENCE = 0.95
"""With which all bounds of one calibration hold together."""
SHARES = (0.0, 1 / 6, 1 / 3, 2 / 3, 5 / 6, 0.95, 0.99)
"""Cautions to try, as shares of the room between what the gate asks for without caution and 1."""
MEMORIES = (0.0, 0.8, 0.9)
SHUT = 1.0
"""The caution that opens the gate for nobody: see `Estimated`."""


class GateSettings(NamedTuple):
    """What a gate can do about an estimate that is wrong: see `Estimated`."""

    caution: float
    memory: float

    @property
    def shut(self) -> bool:
        """Whether nothing that has prerequisites is ever taught."""
        return self.caution >= SHUT

    def of(self, env: Estimated[Any]) -> Estimated[Any]:
        """The environment behind a gate with these settings; they are leaves, so no program is compiled again."""
        leaves = (jnp.asarray(self.caution, jnp.float32), jnp.asarray(self.memory, jnp.float32))
        return eqx.tree_at(lambda one: (one.caution, one.memory), env, leaves)


@dataclass(frozen=True)
class Trial:
    """What one setting did on the held-out learners.

    - `unready`, `bound`: the share of lessons unready in truth and the upper bound on it, each that of the policy where
      it is highest.
    - `returned`, `excess`: the return, and how far the costs are above their budgets, relative to these and 0 where
      they are met; means over policies.
    """

    settings: GateSettings
    unready: float
    bound: float
    returned: float
    excess: float


@dataclass(frozen=True)
class Calibration:
    """The trials of all settings, by `episodes` of each policy; the last is that of the gate that is shut."""

    trials: tuple[Trial, ...]
    episodes: int
    confidence: float = CONFIDENCE

    def choose(self, delta: float) -> Trial:
        """The best of the settings that keep at most a share `delta` of unready lessons, at the confidence stated."""
        if not 0 <= delta <= 1:
            raise InputError(f"delta is {delta}", fix="give the share of lessons that may be unready, from 0 to 1")
        passed = [trial for trial in self.trials if trial.bound <= delta and not trial.settings.shut]
        # A shut gate is for want of another: it can have the highest return, since what is known is easy to enjoy.
        return max(passed, key=lambda trial: (-trial.excess, trial.returned), default=self.trials[-1])


def grid(env: Estimated[Any]) -> tuple[GateSettings, ...]:
    """The settings that are tried: each caution with each memory, then the gate that is shut."""
    room = 1 - float(env.threshold)
    settings = [GateSettings(share * room, memory) for memory in MEMORIES for share in SHARES]
    return (*settings, GateSettings(SHUT, 0.0))


def calibrate(
    policies: PolicySet,
    env: Estimated[Any],
    constraints: Constraints,
    *,
    seed: int,
    episodes: int = EVALUATION_EPISODES,
    progress: Callable[[int], None] | None = None,
) -> Calibration:
    """Tries every setting of the gate on held-out learners, the same ones for each setting.

    Of the environment it uses what a platform would have: lessons, returns, costs, and which lessons a test showed to
    be unready. The error of the estimate is not among them. `progress` is told how many settings were tried.
    """
    settings = grid(env)
    alpha = (1 - CONFIDENCE) / ((len(settings) - 1) * policies.seeds)  # the shut gate needs no bound
    held_out = calibration_seed(seed)
    trials = []
    for done, tried in enumerate(settings):
        if progress is not None:
            progress(done)
        played = policies.play(tried.of(env), episodes=episodes, seed=held_out)
        trials.append(_trial(tried, env, played, constraints.budgets, alpha))
    if progress is not None:
        progress(len(settings))
    return Calibration(tuple(trials), episodes)


def calibration_seed(seed: int) -> int:
    """The root of the random numbers of held-out learners: those of training and of judging have the seed itself."""
    return int.from_bytes(hashlib.sha256(f"calibrate {seed}".encode()).digest()[:4], "big")


def unready_bounds(played: Episodes, alpha: float) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
    """For each policy, the mean share of lessons unready in truth, and a number it exceeds with chance `alpha`."""
    shares = np.asarray(played.untrue, float) / np.asarray(played.length, float)
    return shares.mean(axis=-1), np.array([upper_bound(policy, 1.0, alpha) for policy in shares])


def _trial(
    settings: GateSettings, env: Environment[Any], played: Episodes, budgets: Mapping[str, float], alpha: float
) -> Trial:
    unready, bounds = unready_bounds(played, alpha)
    if settings.shut:
        if unready.any():
            raise InputError(
                "lessons are unready even behind a gate that is shut",
                fix="calibrate the gate of policies that are masked or filtered by it",
            )
        bounds = unready  # by construction: what has no prerequisites is always ready
    costs = np.asarray(played.costs, float).mean(axis=-1)
    return Trial(
        settings,
        unready=float(unready.max()),
        bound=float(bounds.max()),
        returned=float(np.mean(played.ret)),
        excess=float(np.mean(_excess(env, costs, budgets))),
    )


def _excess(
    env: Environment[Any], costs: Float[np.ndarray, "seeds costs"], budgets: Mapping[str, float]
) -> Float[np.ndarray, " seeds"]:
    """How far each policy's costs are above their budgets, by the cost that is furthest, relative to its budget."""
    slack = slack_of(env)
    over = [costs[:, env.cost_names.index(name)] / (budget or slack[name]) - 1 for name, budget in budgets.items()]
    return np.maximum(np.max([np.zeros(len(costs)), *over], axis=0), 0.0)
