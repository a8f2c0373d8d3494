"""Training of neural learners: all methods and seeds of a table by one compiled program.

On CPU the program holds one run, and one thread per core calls it run after run, which is faster there than a vmapped
one; on an accelerator one vmapped call takes all runs. Because a method is data, both compile once for all methods.

The final policy is chosen by validation episodes of their own: of the policies validated during training, the one of
highest return among those that meet every budget, with a margin, or else the one that misses them least. Episodes by
which a policy is later judged play no part in this.
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
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.algo import engine, ppo
from mccpo.algo.engine import Snapshot
from mccpo.algo.masked import masked_softmax, sample
from mccpo.algo.method import Method, MethodSpec, execute
from mccpo.algo.multipliers import Budgets, budgets_of
from mccpo.algo.ppo import PPOSettings, PPOState, Progress
from mccpo.algo.rollout import Sizes, network_of
from mccpo.env import Environment

ITERATIONS = 3  # between two looks by validation
EVALUATION = 2**31 - 1  # folded into the root key for the episodes that judge, where seeds of runs are small numbers


class Episodes(NamedTuple):
    """What a policy did in episodes of its own, one entry an episode. `ret` and `costs` are discounted."""

    ret: Float[Array, " episodes"]
    costs: Float[Array, "costs episodes"]
    engagement: Float[Array, " episodes"]
    gain: Float[Array, " episodes"]
    violates: Bool[Array, " episodes"]
    unready: Float[Array, " episodes"]
    length: Float[Array, " episodes"]


class Best(NamedTuple):
    """The policy that validation likes best so far."""

    score: Float[Array, ""]
    parameters: Float[Array, " parameters"]


class NeuralState(NamedTuple):
    """A run and its best policy so far."""

    run: PPOState
    best: Best
    validating: PRNGKeyArray


def start(env: Environment[Any], sizes: Sizes, key: PRNGKeyArray) -> NeuralState:
    """A run before its first iteration."""
    training, validating = jax.random.split(key)
    run = ppo.start(env, sizes, training)
    return NeuralState(run, Best(jnp.asarray(-jnp.inf), run.parameters), validating)


def judge(
    env: Environment[Any],
    method: Method,
    parameters: Float[Array, " parameters"],
    key: PRNGKeyArray,
    episodes: int,
) -> Episodes:
    """Plays episodes with the executed policy: no frontier mixing, and the method's filter where it has one."""
    network = network_of(env)
    hack = jnp.asarray(env.hack)
    beginning, playing = jax.random.split(key)
    state, obs = jax.vmap(env.reset, out_axes=-1)(jax.random.split(beginning, episodes))
    zero = jnp.zeros(episodes)
    nothing = Episodes(zero, jnp.zeros((len(env.cost_names), episodes)), zero, zero, zero > 0, zero, zero)
    which = jnp.array([name in env.constrained for name in env.cost_names])[:, None]

    def act(carry: Any, draw: PRNGKeyArray) -> tuple[Any, None]:
        state, obs, alive, discount, so_far = carry
        choosing, moving = jax.random.split(draw)
        mask = obs.action_mask | ~method.masked
        logits, _ = network.apply(parameters, obs.features)
        probs = masked_softmax(logits, mask, axis=0).probs
        executed = execute(method, probs.T, obs.action_mask.T, hack).T
        action = sample(jax.random.uniform(choosing, (episodes,)), executed, executed > 0, axis=0)
        keys = jax.random.split(moving, episodes)
        step = jax.vmap(env.step, in_axes=(0, -1, -1), out_axes=-1)(keys, state, action)
        counts = jnp.where(alive, 1.0, 0.0)
        after = Episodes(
            ret=so_far.ret + counts * discount * step.reward,
            costs=so_far.costs + counts * discount * step.costs,
            engagement=so_far.engagement + counts * step.reward,
            gain=so_far.gain + counts * step.gain,
            violates=so_far.violates | (((step.costs > 0) & which).any(axis=0) & alive),
            unready=so_far.unready + counts * step.unready,
            length=so_far.length + counts,
        )
        alive = alive & ~(step.terminated | step.truncated)
        return (step.state, step.obs, alive, discount * env.gamma, after), None

    first = (state, obs, jnp.ones(episodes, bool), jnp.ones(()), nothing)
    (*_, found), _ = jax.lax.scan(act, first, jax.random.split(playing, env.horizon))
    return found


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
    """Some iterations of one run, and one look at the policy they end with."""

    def one(run: PPOState, _: None) -> tuple[PPOState, Progress]:
        return ppo.iterate(env, sizes, method, budgets, settings, run, run.iteration / total)

    run, progress = jax.lax.scan(one, state.run, length=iterations)
    validating, key = jax.random.split(state.validating)
    seen = judge(env, method, run.parameters, key, validation)
    score = _score(method, budgets, settings, seen, run.iteration / total)
    better = score >= state.best.score
    best = Best(jnp.where(better, score, state.best.score), jnp.where(better, run.parameters, state.best.parameters))
    point = jax.tree.map(partial(jnp.nanmean, axis=0), progress)
    return NeuralState(run, best, validating), point._replace(violation_steps=progress.violation_steps.sum(axis=0))


def _score(
    method: Method, budgets: Budgets, settings: PPOSettings, seen: Episodes, share: Float[Array, ""]
) -> Float[Array, ""]:
    """Return where the budgets are met with a margin, minus the worst excess elsewhere; the newest without budgets."""
    J_c = seen.costs.mean(axis=1)
    aim = budgets.limit * (1.0 - settings.margin)  # of the budget, so that a budget of 0 can be met
    excess = jnp.where(budgets.active > 0, (J_c - aim) / budgets.scale, -jnp.inf).max()
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
    validation: int = 256

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

    `selected` is the policy that validation liked best, `last` the one that training ended with.
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
    first = engine.starts(partial(start, env, plan.sizes), len(methods), plan.seeds, plan.seed)
    begin = Snapshot(first, []) if resume is None else engine.from_arrays(resume, first, Progress)
    total = jnp.asarray(plan.iterations, jnp.float32)
    context = _Context(env, plan.sizes, limits, engine.as_arrays(plan.settings), total, plan.validation)
    end = engine.run(_step, context, runs, begin, plan.points, together=False, after_point=after_point)
    shape = (len(methods), plan.seeds)

    def split(leaf: Any) -> Any:
        return np.asarray(leaf).reshape(*shape, *leaf.shape[1:])

    return NeuralRuns(
        selected=split(end.states.best.parameters),
        last=split(end.states.run.parameters),
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
    """Plays fresh episodes with every policy, with random keys of their own; leading axes are methods and seeds."""
    env = engine.as_arrays(env)
    runs = engine.stack_methods(list(methods), env, parameters.shape[1])
    flat = jnp.asarray(parameters).reshape(-1, parameters.shape[-1])
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), EVALUATION), len(flat))
    found = _judge_all(env, runs, flat, keys, episodes)
    return jax.tree.map(lambda leaf: np.asarray(leaf).reshape(*parameters.shape[:2], *leaf.shape[1:]), found)


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


@eqx.filter_jit
def _judge_all(
    env: Environment[Any], runs: Method, parameters: Float[Array, "runs parameters"], keys: Any, episodes: int
) -> Episodes:
    return jax.lax.map(lambda one: judge(env, one[0], one[1], one[2], episodes), (runs, parameters, keys))
