"""Training of neural learners: all methods and seeds of a table by one compiled program.

On CPU the program holds one run, and one thread per core calls it run after run, which is faster there than a vmapped
one; on an accelerator one vmapped call takes all runs. Because a method is data, both compile once for all methods.

Which of a run's policies is its result: see `mccpo.methods.gradient.selection`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from mccpo.env import Environment
from mccpo.errors import InputError
from mccpo.methods import engine
from mccpo.methods.engine import Snapshot
from mccpo.methods.episodes import Episodes, NetworkPolicy, evaluate_policy
from mccpo.methods.gradient import selection
from mccpo.methods.gradient.gradient_method import GradientMethod, PrimalDual
from mccpo.methods.gradient.margin import as_long
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.ppo import Progress
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.gradient.selection import NeuralState
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.multipliers import Budgets, budgets_of
from mccpo.methods.mc_cpo.spec import MethodArrays, MethodSpec, method_arrays

ITERATIONS = 3  # between two looks by validation
EVALUATION = 2**31 - 1  # folded into the root key for the episodes that judge, where seeds of runs are small numbers
LEAST_FINAL = 64  # episodes that choose the policy of the shortest run
STEPS_A_FINAL = 250  # steps of training for each such episode, until there are as many as sizes allow
BLOCK = 1000  # episodes of a policy that are judged in one call, between which Ctrl-C is heard


@dataclass(frozen=True)
class NeuralPlan:
    """How long and how to train: `steps` of the environment a run, looked at by validation every few iterations.

    >>> NeuralPlan(steps=500_000, seeds=2).iterations
    123
    """

    steps: int = 1_000_000
    seeds: int = 10
    seed: int = 0
    sizes: Sizes = field(default_factory=Sizes)
    settings: PPOSettings = field(default_factory=PPOSettings)
    validation: int = 128
    steps_a_final: int = STEPS_A_FINAL

    def __post_init__(self) -> None:
        engine.check_plan(self.seed, steps=self.steps, seeds=self.seeds, validation=self.validation)

    @property
    def program(self) -> Sizes:
        """The sizes of the program: a short run is not chosen by many more episodes than it is trained by."""
        return replace(self.sizes, final=min(self.sizes.final, max(LEAST_FINAL, self.steps // self.steps_a_final)))

    @property
    def points(self) -> int:
        return -(-self.steps // (ITERATIONS * self.sizes.steps))

    @property
    def iterations(self) -> int:
        return self.points * ITERATIONS


def validation_steps(env: Environment[Any], plan: NeuralPlan) -> int:
    """Steps of the environment that selection takes, besides those of training: all looks, and the final choice."""
    return plan.points * as_long(env, plan.validation) * env.horizon + choice_steps(env, plan)


def choice_steps(env: Environment[Any], plan: NeuralPlan) -> int:
    """Those of them that the final choice of a run takes."""
    return selection.FINALISTS * as_long(env, plan.program.final) * env.horizon


@dataclass(frozen=True, eq=False)
class NeuralRuns:
    """What training gave. Leading axes are methods and seeds; policies are flat parameter vectors.

    `selected` is the policy that validation chose, `last` the averaged one that training ended with.
    """

    selected: Float[np.ndarray, "methods seeds parameters"]
    last: Float[np.ndarray, "methods seeds parameters"]
    multipliers: Float[np.ndarray, "methods seeds costs"]
    curves: Progress
    steps: Int[np.ndarray, " points"]


class Variant(NamedTuple):
    """A learner in one setting under one set of budgets: what is trained with every seed."""

    learner: GradientMethod
    budgets: dict[str, float]


def train_neural(
    env: Environment[Any],
    methods: Sequence[MethodSpec],
    budgets: dict[str, float],
    plan: NeuralPlan,
    *,
    resume: engine.Arrays | None = None,
    after_point: Callable[[Snapshot[NeuralState, Progress]], None] | None = None,
) -> NeuralRuns:
    """Trains every method with every seed, calling `after_point` with a snapshot from which training can resume.

    >>> import mccpo
    >>> plan = NeuralPlan(steps=64, seeds=1, sizes=Sizes(2, 8, 8, 1), validation=2)  # far too short to learn
    >>> runs = train_neural(mccpo.make("gate"), [mccpo.method_spec("mc-cpo")], {"c": 0.0}, plan)
    >>> runs.selected.shape[:2], runs.multipliers.shape  # methods, seeds; and costs
    ((1, 1), (1, 1, 1))
    """
    engine.check_methods(methods)
    _of_one_kind(methods)
    variants = [
        Variant(PrimalDual(method_arrays(spec, env), settings=plan.settings, shared=spec.shared), budgets)
        for spec in methods
    ]
    return train_variants(env, variants, plan, resume=resume, after_point=after_point)


def train_variants(
    env: Environment[Any],
    variants: Sequence[Variant],
    plan: NeuralPlan,
    *,
    resume: engine.Arrays | None = None,
    after_point: Callable[[Snapshot[NeuralState, Progress]], None] | None = None,
    after_choice: Callable[[int], None] | None = None,
) -> NeuralRuns:
    """Trains learners of one kind, which differ in numbers and budgets, with every seed, by one compiled program.

    The leading axes of what comes back are variants and seeds. `after_choice` is told of how many variants the final
    policies have been chosen, first of none.
    """
    context, runs, first = _set_up(env, variants, plan)
    begin = engine.begin(_step, context, runs, first, plan.points, resume)
    with ThreadPoolExecutor(1) as beside:  # what chooses is compiled while there is training
        ready = beside.submit(_compile_choice, context, runs, begin.states)
        end = engine.run(_step, context, runs, begin, plan.points, together=False, after_point=after_point)
        ready.result()
    chosen = _choose(context, runs, end.states, len(variants), after_choice)
    shape = (len(variants), plan.seeds)
    env = context.env
    network = variants[0].learner.network(env)
    own = 1 + len(env.cost_names) - len(env.floors)  # a policy acts without floors, which only training priced

    def split(leaf: Any) -> Any:
        return np.asarray(leaf).reshape(*shape, *leaf.shape[1:])

    return NeuralRuns(
        selected=network.without_values(split(chosen), own),
        last=network.without_values(split(end.states.average), own),
        multipliers=split(variants[0].learner.prices(end.states.run)),
        curves=engine.gather(end, shape),
        steps=np.arange(1, plan.points + 1) * ITERATIONS * plan.sizes.steps,
    )


def train_some(
    env: Environment[Any],
    variants: Sequence[Variant],
    plan: NeuralPlan,
    which: Sequence[int],
    *,
    resume: engine.Arrays | None = None,
    after_point: Callable[[Snapshot[NeuralState, Progress]], None] | None = None,
) -> Snapshot[NeuralState, Progress]:
    """Trains some of the runs that `train_variants` trains, counted variant by variant, then by seed.

    What comes back is where they end. On a CPU it has the same bits as where all are trained at once.
    """
    context, *whole = _set_up(env, variants, plan)
    runs, first = jax.tree.map(lambda leaf: leaf[np.asarray(which)], tuple(whole))
    begin = engine.begin(_step, context, runs, first, plan.points, resume)
    return engine.run(_step, context, runs, begin, plan.points, together=False, after_point=after_point)


def _set_up(env: Environment[Any], variants: Sequence[Variant], plan: NeuralPlan) -> tuple[_Context, Any, Any]:
    """What all runs share, what each has of its own, and the state in which each begins."""
    runs = engine.stacked([_Run(one.learner, budgets_of(env, one.budgets)) for one in variants], plan.seeds)
    env = engine.as_arrays(env)
    first = engine.starts(
        selection.start, (env, plan.program, variants[0].learner), len(variants), plan.seeds, plan.seed
    )
    total = jnp.asarray(plan.iterations, jnp.float32)
    return _Context(env, plan.program, total, plan.validation), runs, first


def _nobody(done: int) -> None:
    """Who is told of progress where nobody asked."""
    del done


def _choose(
    context: _Context, runs: _Run, states: NeuralState, variants: int, after_choice: Callable[[int], None] | None
) -> Float[np.ndarray, "runs parameters"]:
    """The final policy of every run, variant by variant."""
    told = after_choice or _nobody
    told(0)
    seeds = len(jax.tree.leaves(states)[0]) // variants
    chosen = []
    for at in range(variants):
        own = slice(at * seeds, (at + 1) * seeds)
        part = jax.tree.map(lambda leaf, own=own: leaf[own], (runs, states))
        chosen.append(np.asarray(_concluded(context, *part)))
        told(at + 1)
    return np.concatenate(chosen)


def _concluded(context: _Context, runs: _Run, states: NeuralState) -> Float[Array, "runs parameters"]:
    """The final policy of every run of a variant; where none is chosen, no program is compiled for it."""
    if _ends_as_it_is(context, runs):
        return states.average
    chosen: Float[Array, "runs parameters"] = engine.each(_conclude, context, runs, states)
    return chosen


def _compile_choice(context: _Context, runs: _Run, states: NeuralState) -> None:
    """Compiles what `_concluded` will call, where runs are taken one by one and some policy is to be chosen."""
    if jax.default_backend() == "cpu" and not _ends_as_it_is(context, runs):
        engine.compile_alone(_conclude, context, runs, states)


def _ends_as_it_is(context: _Context, runs: _Run) -> bool:
    """Whether nothing is chosen at the end of the first of some runs."""
    one = jax.tree.map(lambda leaf: leaf[0], runs)
    by_the_book = type(one.learner).conclude is GradientMethod.conclude
    return by_the_book and not selection.selects(context.env, one.learner)


def evaluate_neural(
    env: Environment[Any],
    methods: Sequence[MethodSpec],
    parameters: Float[np.ndarray, "methods seeds parameters"],
    *,
    episodes: int,
    seed: int,
) -> Episodes:
    """Plays fresh episodes with every policy, with random keys of their own; leading axes are methods and seeds.

    >>> import mccpo
    >>> env, method = mccpo.make("gate"), mccpo.method_spec("unconstrained")
    >>> untrained = PrimalDual(method_arrays(method, env)).network(env).init(jax.random.key(0))
    >>> played = evaluate_neural(env, [method], untrained[None, None], episodes=20, seed=0)
    >>> played.ret.shape  # methods, seeds, episodes
    (1, 1, 20)
    """
    playing = [method_arrays(spec, env) for spec in engine.check_methods(methods)]
    network = PrimalDual(playing[0], shared=_of_one_kind(methods)).network(env)
    return evaluate_policies(env, playing, network, parameters, episodes=episodes, seed=seed)


def _of_one_kind(methods: Sequence[MethodSpec]) -> bool:
    """Whether the networks of methods share weights between concepts; refused where some do and some do not."""
    kinds = {spec.shared for spec in methods}
    if len(kinds) > 1:
        raise InputError("the methods have networks of two kinds", fix="take those of each kind by themselves")
    return kinds.pop()


def evaluate_policies(
    env: Environment[Any],
    playing: Sequence[MethodArrays],
    network: Network,
    parameters: Float[np.ndarray, "variants seeds parameters"],
    *,
    episodes: int,
    seed: int,
) -> Episodes:
    """Plays fresh episodes with the policies of a network, each as its method plays.

    Many episodes are played in blocks, and the n-th is the same however many there are. Random numbers are common: the
    policies of one seed meet the same learners, whatever they were trained by (`evaluation_keys`).
    """
    engine.check_plan(seed, episodes=episodes)
    expected = (len(playing), network.size)
    if parameters.ndim != 3 or (len(parameters), parameters.shape[2]) != expected:
        raise InputError(
            f"the policies have the shape {parameters.shape}", fix=f"give ({expected[0]}, seeds, {expected[1]})"
        )
    asked = _judging(env, playing, network, parameters, episodes=episodes, seed=seed)

    def judged(block: int) -> Episodes:
        played: Episodes = jax.device_get(_judge_all(*asked(block)))
        return played

    if episodes > BLOCK:  # threads that began together would all compile it
        _prepare_judge(*asked(0)).compile()
    blocks: list[Episodes] = []
    while (done := len(blocks)) * BLOCK < episodes:  # some at a time, so that Ctrl-C is heard between them
        most = min(done + engine.workers(), -(-episodes // BLOCK))
        blocks += engine.side_by_side(judged, range(done, most))

    def joined(*leaves: np.ndarray) -> np.ndarray:
        whole = np.concatenate(leaves, axis=-1)[..., :episodes]
        return whole.reshape(*parameters.shape[:2], *whole.shape[1:])

    return jax.tree.map(joined, *blocks)


def prepare_policies(
    env: Environment[Any],
    playing: Sequence[MethodArrays],
    network: Network,
    parameters: Float[np.ndarray, "variants seeds parameters"],
    *,
    episodes: int,
) -> None:
    """Compiles what `evaluate_policies` will call for policies like these."""
    _prepare_judge(*_judging(env, playing, network, parameters, episodes=episodes, seed=0)(0)).compile()


def _judging(
    env: Environment[Any],
    playing: Sequence[MethodArrays],
    network: Network,
    parameters: Float[np.ndarray, "variants seeds parameters"],
    *,
    episodes: int,
    seed: int,
) -> Callable[[int], tuple[Any, ...]]:
    """What `_judge_all` is asked for each block."""
    env = engine.as_arrays(env)
    runs = engine.stacked(playing, parameters.shape[1])
    flat = jnp.asarray(parameters).reshape(-1, parameters.shape[-1])

    def asked(block: int) -> tuple[Any, ...]:
        keys = jnp.tile(evaluation_keys(seed, parameters.shape[1], block), len(playing))
        return env, network, runs, flat, keys, min(episodes, BLOCK)

    return asked


def evaluation_keys(seed: int, seeds: int, block: int = 0) -> Any:
    """The random keys of the episodes that judge: one for each seed of a table, the same for all of its methods."""
    return jax.random.split(jax.random.fold_in(jax.random.key(seed), EVALUATION + block), seeds)


class _Context(NamedTuple):
    """What all runs of a table share; the whole numbers fix the program."""

    env: Environment[Any]
    sizes: Sizes
    total: Float[Array, ""]
    validation: int


class _Run(NamedTuple):
    """What one run has of its own."""

    learner: GradientMethod
    limits: Budgets


def _step(context: _Context, run: _Run, state: NeuralState) -> tuple[NeuralState, Progress]:
    env, sizes, total, validation = context
    return selection.advance(env, sizes, run.learner, run.limits, state, total, ITERATIONS, validation)


def _conclude(context: _Context, run: _Run, state: NeuralState) -> Float[Array, " parameters"]:
    return selection.conclude(context.env, context.sizes, run.learner, run.limits, state)


@eqx.filter_jit
def _judge_all(
    env: Environment[Any],
    network: Network,
    runs: MethodArrays,
    parameters: Float[Array, "runs parameters"],
    keys: Any,
    episodes: int,
) -> Episodes:
    def one(run: Any) -> Episodes:
        method, policy, key = run
        return evaluate_policy(env, NetworkPolicy(method, policy, network), key, episodes)

    return jax.lax.map(one, (runs, parameters, keys))


_prepare_judge = _judge_all.lower  # type: ignore[attr-defined]  # what a compiled function has
"""Gives what compiles `_judge_all` for arguments like these, without a call."""
