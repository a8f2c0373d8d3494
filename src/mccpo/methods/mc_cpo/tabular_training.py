"""Training of tabular learners: all methods and seeds of a table by one compiled program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from mccpo.env import FiniteEnvironment
from mccpo.errors import InputError
from mccpo.methods import engine
from mccpo.methods.engine import Snapshot
from mccpo.methods.mc_cpo import tabular
from mccpo.methods.mc_cpo.multipliers import Budgets, budgets_of
from mccpo.methods.mc_cpo.spec import MethodArrays, MethodSpec, execute
from mccpo.methods.mc_cpo.tabular import Progress, TabularSettings, TabularState

TabularSnapshot = Snapshot[TabularState, Progress]
POINTS = 100  # how often the curves are sampled, and the state handed to the caller, over a run


@dataclass(frozen=True)
class TabularPlan:
    """How long and how to train. `batch` episodes make an update; `seeds` are folded into the root `seed`.

    >>> TabularPlan(episodes=3200, batch=32, seeds=2).updates
    100
    """

    episodes: int
    batch: int
    seeds: int = 10
    seed: int = 0
    settings: TabularSettings = field(default_factory=TabularSettings)

    def __post_init__(self) -> None:
        engine.check_plan(self.seed, episodes=self.episodes, batch=self.batch, seeds=self.seeds)
        if self.episodes < self.batch:
            raise InputError(
                f"{self.episodes} episodes are fewer than one update's {self.batch}", fix="train for more episodes"
            )

    @property
    def points(self) -> int:
        updates = self.episodes // self.batch
        # As many points as lose the fewest updates to rounding, since every point must be equally long.
        candidates = range(min(POINTS // 2, updates), min(POINTS, updates) + 1)
        return max(candidates, key=lambda points: (updates // points * points, points))

    @property
    def updates_per_point(self) -> int:
        return self.episodes // self.batch // self.points

    @property
    def updates(self) -> int:
        return self.points * self.updates_per_point


@dataclass(frozen=True, eq=False)
class TabularRuns:
    """What training gave. Leading axes are methods and seeds; policies are over the environment's state numbers.

    `averaged` and `last` are trained policies; `executed` and `executed_last` are the same through the method's filter,
    with the no-op as their last action.
    """

    averaged: Float[np.ndarray, "methods seeds states actions"]
    last: Float[np.ndarray, "methods seeds states actions"]
    executed: Float[np.ndarray, "methods seeds states actions+1"]
    executed_last: Float[np.ndarray, "methods seeds states actions+1"]
    multipliers: Float[np.ndarray, "methods seeds costs"]
    multipliers_last: Float[np.ndarray, "methods seeds costs"]
    curves: Progress
    episodes: Int[np.ndarray, " points"]


def train_tabular(
    env: FiniteEnvironment[Any],
    methods: Sequence[MethodSpec],
    budgets: dict[str, float],
    plan: TabularPlan,
    *,
    resume: engine.Arrays | None = None,
    after_point: Callable[[TabularSnapshot], None] | None = None,
) -> TabularRuns:
    """Trains every method with every seed, calling `after_point` with a snapshot from which training can resume.

    >>> import mccpo
    >>> plan = TabularPlan(episodes=320, batch=32, seeds=2)
    >>> runs = train_tabular(mccpo.make("gate"), [mccpo.method_spec("mc-cpo")], {"c": 0.0}, plan)
    >>> runs.averaged.shape  # methods, seeds, states, actions
    (1, 2, 4, 3)
    """
    if not isinstance(env, FiniteEnvironment):
        raise InputError(f"{env.name} is not finite, so that no table holds its states", fix="train it by train_neural")
    env = engine.as_arrays(env)
    runs = engine.stack_methods(list(methods), env, plan.seeds)
    first = engine.starts(tabular.start, (env,), len(methods), plan.seeds, plan.seed)
    half = jnp.asarray(plan.updates // 2)
    settings = engine.as_arrays(plan.settings)
    context = _Context(env, budgets_of(env, budgets), settings, half, plan.batch, plan.updates_per_point)
    begin = engine.begin(_step, context, runs, first, plan.points, resume)
    end = engine.run(_step, context, runs, begin, plan.points, together=True, after_point=after_point)
    return _results(env, runs, end, (len(methods), plan.seeds), plan)


class _Context(NamedTuple):
    """What all runs of a table share; the whole numbers fix the program."""

    env: FiniteEnvironment[Any]
    limits: Budgets
    settings: TabularSettings
    average_from: Int[Array, ""]
    batch: int
    updates: int


def _step(context: _Context, method: MethodArrays, state: TabularState) -> tuple[TabularState, Progress]:
    env, limits, settings, average_from, batch, updates = context

    def one_update(state: TabularState, _: None) -> tuple[TabularState, Progress]:
        return tabular.learn(env, method, limits, settings, state, batch, average_from)

    state, progress = jax.lax.scan(one_update, state, length=updates)
    return state, jax.tree.map(lambda leaf: leaf.mean(axis=0), progress)


def _results(
    env: FiniteEnvironment[Any],
    runs: MethodArrays,
    snapshot: TabularSnapshot,
    shape: tuple[int, int],
    plan: TabularPlan,
) -> TabularRuns:
    averaged, last, executed, executed_last = _policies(env, runs, snapshot.states)
    average = snapshot.states.average

    def split(leaf: Any) -> Any:
        return np.asarray(leaf).reshape(*shape, *leaf.shape[1:])

    return TabularRuns(
        averaged=split(averaged),
        last=split(last),
        executed=split(executed),
        executed_last=split(executed_last),
        multipliers=split(average.multipliers / average.updates[:, None]),
        multipliers_last=split(snapshot.states.multipliers.value),
        curves=engine.gather(snapshot, shape),
        episodes=np.arange(1, plan.points + 1) * plan.updates_per_point * plan.batch,
    )


@eqx.filter_jit
def _policies(
    env: FiniteEnvironment[Any], runs: MethodArrays, states: TabularState
) -> tuple[Float[Array, "runs states actions"], ...]:
    """The averaged and the last policy of every run, then both as executed."""
    mask = jax.vmap(env.observe)(jax.vmap(env.state)(jnp.arange(env.num_states))).action_mask

    def one(method: MethodArrays, state: TabularState) -> tuple[Float[Array, "states actions"], ...]:
        trained = tabular.policies(env, method, state)
        return (*trained, *(execute(method, probs, mask, jnp.asarray(env.hack)) for probs in trained))

    return jax.vmap(one)(runs, states)
