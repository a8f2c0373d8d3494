"""Training of neural learners: all methods and seeds of a table by one compiled program.

On CPU the program holds one run, and one thread per core calls it run after run, which is faster there than a vmapped
one; on an accelerator one vmapped call takes all runs. Because a method is data, both compile once for all methods.

The final policy is chosen by validation episodes of their own. Looks during training pick finalists among the averaged
policies; many more episodes then decide between these: the highest return among those that meet every budget, with a
margin for chance, or else the one that misses them least. Episodes by which a policy is later judged play no part in
this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mccpo.algo import engine, ppo
from mccpo.algo.engine import Snapshot
from mccpo.algo.judging import Episodes, judge
from mccpo.algo.method import Method, MethodSpec
from mccpo.algo.multipliers import Budgets, budgets_of
from mccpo.algo.ppo import PPOSettings, PPOState, Progress
from mccpo.algo.rollout import Sizes, network_of
from mccpo.env import Environment
from mccpo.errors import InputError

ITERATIONS = 3  # between two looks by validation
FINALISTS = 6
FINAL_EPISODES = 1024
EVALUATION_EPISODES = 200  # by which tables judge a policy
EVALUATION = 2**31 - 1  # folded into the root key for the episodes that judge, where seeds of runs are small numbers
BLOCK = 1000  # episodes of a policy that are judged in one call, between which Ctrl-C is heard


class Finalists(NamedTuple):
    """The policies that validation liked best so far."""

    score: Float[Array, " finalists"]
    parameters: Float[Array, "finalists parameters"]


class NeuralState(NamedTuple):
    """A run, the running average of its parameters, and its finalists."""

    run: PPOState
    average: Float[Array, " parameters"]
    finalists: Finalists
    validating: PRNGKeyArray


def start(env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> NeuralState:
    """A run before its first iteration."""
    training, validating = jax.random.split(key)
    run = ppo.start(env, sizes, training)
    # Of a type that stays as it is: a weak one would turn strong in the first point, and the second compile anew.
    nothing = jnp.full(FINALISTS, -jnp.inf, jnp.float32)
    finalists = Finalists(nothing, jnp.tile(run.parameters, (FINALISTS, 1)))
    return NeuralState(run, run.parameters, finalists, validating)


def advance(
    env: Environment[Any],
    sizes: Sizes,
    method: Method,
    budgets: Budgets,
    settings: PPOSettings,
    state: NeuralState,
    total: Float[Array, ""],
    iterations: int,
    validation: int,
) -> tuple[NeuralState, Progress]:
    """Some iterations of one run, and one look at the averaged policy they end with."""

    def one(carry: Any, _: None) -> tuple[Any, Progress]:
        run, average = carry
        run, progress = ppo.iterate(env, sizes, method, budgets, settings, run, run.iteration / total)
        return (run, settings.averaging * average + (1 - settings.averaging) * run.parameters), progress

    (run, average), progress = jax.lax.scan(one, (state.run, state.average), length=iterations)
    validating, key = jax.random.split(state.validating)
    seen = judge(env, method, average, key, validation)
    # One standard error here, `caution` of them when it comes to the choice: a look need only find who is worth it.
    score = _score(method, budgets, 1.0, seen, run.iteration / total)
    point = jax.tree.map(partial(jnp.nanmean, axis=0), progress)
    point = point._replace(violation_steps=progress.violation_steps.sum(axis=0))
    return NeuralState(run, average, _enter(state.finalists, score, average), validating), point


def conclude(
    env: Environment[Any], method: Method, budgets: Budgets, settings: PPOSettings, state: NeuralState
) -> Float[Array, " parameters"]:
    """The final policy: the finalist of the best score in episodes of its own, many more than of a look.

    A look's best is best by luck too; fresh episodes take that luck away. Without budgets it is the newest policy.
    """

    def among(finalists: Finalists) -> Float[Array, " parameters"]:
        keys = jax.random.split(state.validating, FINALISTS)

        def score(one: Any) -> Float[Array, ""]:
            parameters, key = one
            seen = judge(env, method, parameters, key, FINAL_EPISODES)
            return _score(method, budgets, settings.caution, seen, jnp.zeros(()))

        return finalists.parameters[jax.lax.map(score, (finalists.parameters, keys)).argmax()]

    return jax.lax.cond(method.constrained > 0, among, lambda _: state.average, state.finalists)


def _enter(finalists: Finalists, score: Float[Array, ""], parameters: Float[Array, " parameters"]) -> Finalists:
    """The finalists after a look: the new policy takes the place of the worst, if it is no worse."""
    worst = finalists.score.argmin()
    takes = (jnp.arange(FINALISTS) == worst) & (score >= finalists.score)
    return Finalists(
        jnp.where(takes, score, finalists.score), jnp.where(takes[:, None], parameters, finalists.parameters)
    )


def _score(
    method: Method, budgets: Budgets, caution: Float[Array, ""] | float, seen: Episodes, share: Float[Array, ""]
) -> Float[Array, ""]:
    """Return where the budgets are met with a margin, minus the worst excess elsewhere; the newest without budgets.

    The margin is `caution` standard errors of the difference between this mean and that of a later evaluation: what
    chance can do to a policy that is as good as it looks.
    """
    error = seen.costs.std(axis=1) * jnp.sqrt(1 / seen.ret.shape[0] + 1 / EVALUATION_EPISODES)
    J_c = seen.costs.mean(axis=1) + caution * error
    excess = jnp.where(budgets.active > 0, (J_c - budgets.limit) / budgets.scale, -jnp.inf).max()
    bounded = jnp.where(excess <= 0, seen.ret.mean(), -1e3 * (1.0 + excess))
    return jnp.where(method.constrained > 0, bounded, share)


@dataclass(frozen=True)
class NeuralPlan:
    """How long and how to train: `steps` of the environment a run, looked at by validation every few iterations."""

    steps: int = 1_000_000
    seeds: int = 10
    seed: int = 0
    sizes: Sizes = field(default_factory=Sizes)
    settings: PPOSettings = field(default_factory=PPOSettings)
    validation: int = 128

    def __post_init__(self) -> None:
        engine.check_plan(self.seed, steps=self.steps, seeds=self.seeds, validation=self.validation)

    @property
    def points(self) -> int:
        return -(-self.steps // (ITERATIONS * self.sizes.steps))

    @property
    def iterations(self) -> int:
        return self.points * ITERATIONS


@dataclass(frozen=True, eq=False)
class NeuralRuns:
    """What training gave. Leading axes are methods and seeds; policies are flat parameter vectors of `network_of(env)`.

    `selected` is the policy that validation chose, `last` the averaged one that training ended with.
    """

    selected: Float[np.ndarray, "methods seeds parameters"]
    last: Float[np.ndarray, "methods seeds parameters"]
    multipliers: Float[np.ndarray, "methods seeds costs"]
    curves: Progress
    steps: Int[np.ndarray, " points"]


def train_neural(
    env: Environment[Any],
    methods: Sequence[MethodSpec],
    budgets: dict[str, float],
    plan: NeuralPlan,
    *,
    resume: engine.Arrays | None = None,
    after_point: Callable[[Snapshot[NeuralState, Progress]], None] | None = None,
) -> NeuralRuns:
    """Trains every method with every seed, calling `after_point` with a snapshot from which training can resume."""
    limits = budgets_of(env, budgets)
    env = engine.as_arrays(env)
    runs = engine.stack_methods(list(methods), env, plan.seeds)
    first = engine.starts(start, (env, plan.sizes), len(methods), plan.seeds, plan.seed)
    total = jnp.asarray(plan.iterations, jnp.float32)
    context = _Context(env, plan.sizes, limits, engine.as_arrays(plan.settings), total, plan.validation)
    begin = engine.begin(_step, context, runs, first, plan.points, resume)
    end = engine.run(_step, context, runs, begin, plan.points, together=False, after_point=after_point)
    chosen = engine.each(_conclude, context, runs, end.states)
    shape = (len(methods), plan.seeds)

    def split(leaf: Any) -> Any:
        return np.asarray(leaf).reshape(*shape, *leaf.shape[1:])

    return NeuralRuns(
        selected=split(chosen),
        last=split(end.states.average),
        multipliers=split(end.states.run.multipliers.value),
        curves=engine.gather(end, shape),
        steps=np.arange(1, plan.points + 1) * ITERATIONS * plan.sizes.steps,
    )


def evaluate_neural(
    env: Environment[Any],
    methods: Sequence[MethodSpec],
    parameters: Float[np.ndarray, "methods seeds parameters"],
    *,
    episodes: int,
    seed: int,
) -> Episodes:
    """Plays fresh episodes with every policy, with random keys of their own; leading axes are methods and seeds.

    Many episodes are played in blocks, and the n-th is the same however many there are.
    """
    engine.check_plan(seed, episodes=episodes)
    expected = (len(methods), network_of(env).size)
    if parameters.ndim != 3 or (len(parameters), parameters.shape[2]) != expected:
        raise InputError(
            f"the policies have the shape {parameters.shape}", fix=f"give ({expected[0]}, seeds, {expected[1]})"
        )
    env = engine.as_arrays(env)
    runs = engine.stack_methods(list(methods), env, parameters.shape[1])
    flat = jnp.asarray(parameters).reshape(-1, parameters.shape[-1])
    blocks = []
    for block in range(-(-episodes // BLOCK)):
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), EVALUATION + block), len(flat))
        blocks.append(jax.device_get(_judge_all(env, runs, flat, keys, min(episodes, BLOCK))))

    def joined(*leaves: np.ndarray) -> np.ndarray:
        whole = np.concatenate(leaves, axis=-1)[..., :episodes]
        return whole.reshape(*parameters.shape[:2], *whole.shape[1:])

    return jax.tree.map(joined, *blocks)


class _Context(NamedTuple):
    """What all runs of a table share; the whole numbers fix the program."""

    env: Environment[Any]
    sizes: Sizes
    limits: Budgets
    settings: PPOSettings
    total: Float[Array, ""]
    validation: int


def _step(context: _Context, method: Method, state: NeuralState) -> tuple[NeuralState, Progress]:
    env, sizes, limits, settings, total, validation = context
    return advance(env, sizes, method, limits, settings, state, total, ITERATIONS, validation)


def _conclude(context: _Context, method: Method, state: NeuralState) -> Float[Array, " parameters"]:
    return conclude(context.env, method, context.limits, context.settings, state)


@eqx.filter_jit
def _judge_all(
    env: Environment[Any], runs: Method, parameters: Float[Array, "runs parameters"], keys: Any, episodes: int
) -> Episodes:
    return jax.lax.map(lambda one: judge(env, one[0], one[1], one[2], episodes), (runs, parameters, keys))
