"""Training of tabular learners: all methods and seeds of a table by one compiled program.

The runs (methods × seeds) are vmapped. On CPU they are dealt to one thread per core, each thread calling the same
program on its share; on an accelerator one call takes them all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from mccpo.algo import tabular
from mccpo.algo.method import Method, MethodSpec, as_numbers, execute
from mccpo.algo.multipliers import Budgets, budgets_of
from mccpo.algo.tabular import Progress, TabularSettings, TabularState
from mccpo.env import FiniteEnvironment
from mccpo.errors import InputError

POINTS = 100  # how often the curves are sampled, and the state handed to the caller, over a run


@dataclass(frozen=True)
class TabularPlan:
    """How long and how to train. `batch` episodes make an update; `seeds` are folded into the root `seed`."""

    episodes: int
    batch: int
    seeds: int = 10
    seed: int = 0
    settings: TabularSettings = field(default_factory=TabularSettings)

    def __post_init__(self) -> None:
        for name in ("episodes", "batch", "seeds"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}", fix="give a whole number of at least 1")
        if self.episodes < self.batch:
            raise InputError(
                f"{self.episodes} episodes are fewer than one update's {self.batch}", fix="train for more episodes"
            )

    @property
    def points(self) -> int:
        return min(POINTS, self.episodes // self.batch)

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


@dataclass(eq=False)
class Snapshot:
    """Where training stands after a point: the state of every run, and the curves so far."""

    states: TabularState
    curves: list[Progress]

    @property
    def point(self) -> int:
        return len(self.curves)


def train_tabular(
    env: FiniteEnvironment[Any],
    methods: Sequence[MethodSpec],
    budgets: dict[str, float],
    plan: TabularPlan,
    *,
    resume: Snapshot | None = None,
    after_point: Callable[[Snapshot], None] | None = None,
) -> TabularRuns:
    """Trains every method with every seed, calling `after_point` with a snapshot from which training can resume."""
    env = _numbers(env)
    numbers = [as_numbers(spec, env) for spec in methods for _ in range(plan.seeds)]
    runs: Method = jax.tree.map(lambda *leaves: jnp.stack(leaves), *numbers)
    limits = budgets_of(env, budgets)
    snapshot = resume or Snapshot(_starts(env, len(methods), plan), [])
    advance = partial(_advance, env, runs, limits, _numbers(plan.settings), plan)
    with ThreadPoolExecutor(workers()) as pool:
        for _ in range(snapshot.point, plan.points):
            snapshot = advance(pool, snapshot)
            if after_point is not None:
                after_point(snapshot)
    return _results(env, runs, snapshot, (len(methods), plan.seeds), plan)


def _numbers(tree: Any) -> Any:
    """The tree with its floats as arrays: another R or step size is then another input, not another program."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32) if isinstance(leaf, float) else leaf, tree)


def workers() -> int:
    """How many threads share the runs: one per core on CPU, one call for all on an accelerator."""
    return len(os.sched_getaffinity(0)) if jax.default_backend() == "cpu" else 1


def _starts(env: FiniteEnvironment[Any], methods: int, plan: TabularPlan) -> TabularState:
    root = jax.random.key(plan.seed)
    keys = jax.vmap(partial(jax.random.fold_in, root))(jnp.arange(plan.seeds))
    # Every method meets the same seeds, so that a row differs from the next by its method alone.
    return jax.jit(jax.vmap(partial(tabular.start, env)))(jnp.tile(keys, methods))


def _advance(
    env: FiniteEnvironment[Any],
    runs: Method,
    limits: Budgets,
    settings: TabularSettings,
    plan: TabularPlan,
    pool: ThreadPoolExecutor,
    snapshot: Snapshot,
) -> Snapshot:
    total = runs.masked.shape[0]
    shares = np.array_split(np.arange(total), min(workers(), total))
    width = max(len(share) for share in shares)
    half = jnp.asarray(plan.updates // 2)

    def one(share: Int[np.ndarray, " runs"]) -> tuple[TabularState, Progress]:
        # Every share is padded to the same width, so that one program serves them all; the padding is cut off again.
        padded = np.pad(share, (0, width - len(share)), mode="edge")
        pick = partial(jax.tree.map, lambda leaf: leaf[padded])
        found = _segment(
            env, pick(runs), limits, settings, pick(snapshot.states), half, plan.batch, plan.updates_per_point
        )
        return jax.block_until_ready(jax.tree.map(lambda leaf: leaf[: len(share)], found))

    # The first call compiles; the other threads would only compile the same again beside it.
    parts = [one(shares[0]), *map(one, shares[1:])] if not snapshot.curves else list(pool.map(one, shares))
    states, progress = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)
    return Snapshot(states, [*snapshot.curves, jax.tree.map(np.asarray, progress)])


@eqx.filter_jit
def _segment(
    env: FiniteEnvironment[Any],
    runs: Method,
    limits: Budgets,
    settings: TabularSettings,
    states: TabularState,
    average_from: Int[Any, ""],
    batch: int,
    updates: int,
) -> tuple[TabularState, Progress]:
    def one_run(method: Method, state: TabularState) -> tuple[TabularState, Progress]:
        def one_update(state: TabularState, _: None) -> tuple[TabularState, Progress]:
            return tabular.learn(env, method, limits, settings, state, batch, average_from)

        state, progress = jax.lax.scan(one_update, state, length=updates)
        return state, jax.tree.map(lambda leaf: leaf.mean(axis=0), progress)

    return jax.vmap(one_run)(runs, states)


def _results(
    env: FiniteEnvironment[Any], runs: Method, snapshot: Snapshot, shape: tuple[int, int], plan: TabularPlan
) -> TabularRuns:
    averaged, last, executed, executed_last = _policies(env, runs, snapshot.states)
    average = snapshot.states.average

    def split(leaf: Any) -> Any:
        return np.asarray(leaf).reshape(*shape, *leaf.shape[1:])

    curves = jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *snapshot.curves)
    return TabularRuns(
        averaged=split(averaged),
        last=split(last),
        executed=split(executed),
        executed_last=split(executed_last),
        multipliers=split(average.multipliers / average.updates[:, None]),
        multipliers_last=split(snapshot.states.multipliers.value),
        curves=jax.tree.map(split, curves),
        episodes=np.arange(1, plan.points + 1) * plan.updates_per_point * plan.batch,
    )


@eqx.filter_jit
def _policies(
    env: FiniteEnvironment[Any], runs: Method, states: TabularState
) -> tuple[Float[Array, "runs states actions"], ...]:
    """The averaged and the last policy of every run, then both as executed."""
    mask = jax.vmap(env.observe)(jax.vmap(env.state)(jnp.arange(env.num_states))).action_mask

    def one(method: Method, state: TabularState) -> tuple[Float[Array, "states actions"], ...]:
        trained = tabular.policies(env, method, state)
        return (*trained, *(execute(method, probs, mask, jnp.asarray(env.hack)) for probs in trained))

    return jax.vmap(one)(runs, states)
