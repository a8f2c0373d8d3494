"""Training on the distribution of problems: PPO on what counts, drawn for each episode, without budgets.

One iteration draws problems and some learners of each, and plays every one of them for as long as the longest episode
is; an episode that ends is followed by one of the same problem, in which something else counts. All of it is one
compiled program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from mccpo.env.tutor.problems import LONGEST, DrawnProblem, draw_problem
from mccpo.methods.engine import check_plan
from mccpo.methods.gradient.gae import advantages
from mccpo.methods.gradient.ppo import Fitted, clipped, learn
from mccpo.methods.gradient.rollout import Sizes, choose
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.pretrained.context import context_of, draw_weights, drawn_numbers_of
from mccpo.methods.pretrained.network import BLOCKS, Graphs, conditioned, forward, graphs_of
from mccpo.policy import masked_softmax

GAMMA = 0.99
ROWS, EPOCHS = 8, 3  # time steps in a minibatch, passes over what was played
AVERAGING = 0.95  # the share of the old average that an iteration keeps


class Pass(NamedTuple):
    """A part of training: its share of all steps, the problems of an iteration, and the numbers of PPO."""

    share: float
    concepts: int
    problems: int
    settings: PPOSettings


PASSES = (
    Pass(0.55, 32, 128, PPOSettings(learning_rate=1e-3, entropy=0.02, entropy_end=0.7, foresight=0.05, gae=0.97)),
    Pass(0.30, 64, 96, PPOSettings(learning_rate=5e-4, entropy=0.005, entropy_end=0.5, foresight=0.0, gae=0.97)),
    Pass(0.15, 160, 48, PPOSettings(learning_rate=3e-4, entropy=0.003, entropy_end=0.5, foresight=0.0, gae=0.97)),
)
"""Each goes on from the average that the one before ended with, on larger graphs and by smaller steps."""


@dataclass(frozen=True)
class PretrainingPlan:
    """How much is trained on: so many steps in all passes together, `learners` of each problem at a time."""

    steps: int = 100_000_000
    seed: int = 0
    learners: int = 4
    passes: tuple[Pass, ...] = PASSES

    def __post_init__(self) -> None:
        check_plan(self.seed, steps=self.steps)

    @property
    def courses(self) -> tuple[tuple[Course, int], ...]:
        """All passes in their order, each with its iterations."""
        return tuple(map(self._course, self.passes))

    @property
    def played(self) -> int:
        """The steps that are played: whole iterations."""
        return sum(iterations * course.sizes.steps for course, iterations in self.courses)

    def _course(self, one: Pass) -> tuple[Course, int]:
        sizes = Sizes(one.problems * self.learners, LONGEST, ROWS * one.problems * self.learners, EPOCHS)
        course = Course(one.concepts, one.problems, self.learners, sizes, one.settings)
        return course, -(-round(one.share * self.steps) // sizes.steps)


class Course(NamedTuple):
    """What fixes the compiled program of a pass, however long the pass is."""

    concepts: int
    problems: int
    learners: int
    sizes: Sizes
    settings: PPOSettings


class PretrainingState(NamedTuple):
    """Where a pass stands: `average` is the running average of the parameters, which is what is kept."""

    key: PRNGKeyArray
    iteration: Int[Array, ""]
    fitted: Fitted
    average: Float[Array, " parameters"]


class Experience(NamedTuple):
    """What was played: time first, then whatever it is about, then problems, and learners last."""

    own: Float[Array, "time blocks problems concepts learners"]
    rest: Float[Array, "time rest problems learners"]
    mask: Bool[Array, "time problems concepts learners"]
    action: Int[Array, "time problems learners"]
    log_prob: Float[Array, "time problems learners"]
    signals: Float[Array, "time signals problems learners"]
    values: Float[Array, "time signals problems learners"]
    weights: Float[Array, "time signals problems learners"]
    ended: Bool[Array, "time problems learners"]


class Batch(NamedTuple):
    """What the clipped update learns from; rows of time."""

    own: Float[Array, "rows blocks problems concepts learners"]
    rest: Float[Array, "rows rest problems learners"]
    mask: Bool[Array, "rows problems concepts learners"]
    action: Int[Array, "rows problems learners"]
    log_prob: Float[Array, "rows problems learners"]
    advantage: Float[Array, "rows problems learners"]
    targets: Float[Array, "rows signals problems learners"]


class Progress(NamedTuple):
    """What an iteration looked like: means over its steps, in the units of what counts, and the policy's entropy."""

    worth: Float[Array, ""]
    engagement: Float[Array, ""]
    learning: Float[Array, ""]
    surprise: Float[Array, ""]


def pretrain(
    plan: PretrainingPlan, after: Callable[[int, Progress], None] | None = None
) -> Float[np.ndarray, " parameters"]:
    """Trains the network from a seed; gives the averaged parameters. `after` is called after every iteration."""
    key, weights = jax.random.split(jax.random.key(plan.seed))
    parameters, done = conditioned().init(weights), 0
    for course, iterations in plan.courses:
        state = begin(parameters, key)
        for at in range(iterations):
            state, progress = iterate(course, state, jnp.asarray((at + 1) / iterations, jnp.float32))
            done += 1
            if after is not None:
                after(done, jax.device_get(progress))
        parameters, key = state.average, state.key
    return np.asarray(parameters, np.float32)


def begin(parameters: Float[Array, " parameters"], key: PRNGKeyArray) -> PretrainingState:
    """A pass before its first iteration."""
    fitted = Fitted(parameters, jnp.zeros_like(parameters), jnp.zeros_like(parameters))
    return PretrainingState(key, jnp.zeros((), jnp.int32), fitted, parameters)


@eqx.filter_jit
def iterate(course: Course, state: PretrainingState, share: Float[Array, ""]) -> tuple[PretrainingState, Progress]:
    """One iteration, after which `share` of the pass is done: draw problems, play, learn."""
    key, drawing, playing, shuffling = jax.random.split(state.key, 4)
    problems = jax.vmap(lambda one: draw_problem(one, course.concepts))(jax.random.split(drawing, course.problems))
    graphs = graphs_of(problems)
    seen, last = play(course, problems, graphs, state.fitted.parameters, playing)
    batch = appraise(course.settings, problems, seen, last, share)
    told: Any = graphs  # where networks on one graph have a `Network`
    fitted = learn(
        told, course.sizes, course.settings, state.fitted, state.iteration, batch, shuffling, share, objective
    )
    kept = jnp.minimum(AVERAGING, state.iteration / (state.iteration + 1.0))
    average = kept * state.average + (1 - kept) * fitted.parameters
    signed = seen.weights * SIGNS[:, None, None] * seen.signals
    return PretrainingState(key, state.iteration + 1, fitted, average), Progress(
        worth=signed.sum(axis=1).mean(),
        engagement=seen.signals[:, 0].mean(),
        learning=seen.signals[:, -1].mean(),
        surprise=-seen.log_prob.mean(),
    )


SIGNS = np.array([1.0, -1.0, -1.0, -1.0, 1.0])
"""Whether more of a signal is better: of engagement and learning it is, of costs it is not."""


def play(
    course: Course,
    problems: DrawnProblem,
    graphs: Graphs,
    parameters: Float[Array, " parameters"],
    key: PRNGKeyArray,
) -> tuple[Experience, Float[Array, "signals problems learners"]]:
    """Learners of every problem for as long as the longest episode is, and the values of where they then are."""
    beginning, choosing, moving, again = jax.random.split(key, 4)
    shape = (course.problems, course.learners)
    numbers = jax.vmap(drawn_numbers_of)(problems)
    units = jnp.moveaxis(jax.vmap(_units)(problems, numbers.pace), -1, 0)[:, :, None]

    def reset(one: PRNGKeyArray) -> Any:
        learners, counting = jax.random.split(one)
        fresh = jax.vmap(lambda env, keys: jax.vmap(env.reset)(keys))(problems, jax.random.split(learners, shape))
        weights = jax.vmap(jax.vmap(draw_weights))(jax.random.split(counting, shape))
        told = jax.vmap(jax.vmap(context_of, in_axes=(None, 0)))(numbers, weights)
        return *fresh, weights, told

    def look(obs: Any, told: Any) -> tuple[Any, Any, Any]:
        parts = obs.features[..., :-1].reshape(*shape, BLOCKS, course.concepts)
        rest = jnp.concatenate([obs.features[..., -1:], told], axis=-1)
        mask = jnp.moveaxis(obs.action_mask, -1, 1)
        return parts.transpose(2, 0, 3, 1), jnp.moveaxis(rest, -1, 0), mask

    def act(now: Any, draw: Any) -> tuple[Any, Experience]:
        state, obs, weights, told = now
        own, rest, mask = look(obs, told)
        uniform, move, begin = draw
        logits, values = forward(parameters, graphs, own, rest)
        flat = (
            jnp.moveaxis(logits, 1, 0).reshape(course.concepts, -1),
            jnp.moveaxis(mask, 1, 0).reshape(course.concepts, -1),
        )
        choice = choose(*flat, jnp.zeros_like(flat[1]), 0.0, uniform.ravel())
        action, log_prob = choice.action.reshape(shape), choice.log_prob.reshape(shape)
        keys = jax.random.split(move, shape)
        step = jax.vmap(lambda env, *each: jax.vmap(env.step)(*each))(problems, keys, state, action)
        signals = jnp.concatenate([step.reward[None], jnp.moveaxis(step.costs, -1, 0), step.gain[None]]) / units
        fresh = reset(begin)
        after = jax.tree.map(
            lambda new, old: jnp.where(step.terminated.reshape(*shape, *(1,) * (new.ndim - 2)), new, old),
            fresh,
            (step.state, step.obs, weights, told),
        )
        return after, Experience(
            own, rest, mask, action, log_prob, signals, values, jnp.moveaxis(weights, -1, 0), step.terminated
        )

    draws = (
        jax.random.uniform(choosing, (LONGEST, *shape)),
        jax.random.split(moving, LONGEST),
        jax.random.split(again, LONGEST),
    )
    (_, obs, _, told), seen = jax.lax.scan(act, reset(beginning), draws)
    own, rest, _ = look(obs, told)
    return seen, forward(parameters, graphs, own, rest)[1]


def appraise(
    settings: PPOSettings,
    problems: DrawnProblem,
    seen: Experience,
    last: Float[Array, "signals problems learners"],
    share: Float[Array, ""],
) -> Batch:
    """Advantages of what counts, standardised within each problem, so that none outweighs the others by its scale."""
    gamma = GAMMA * jnp.minimum(1.0, share / settings.foresight) if settings.foresight else jnp.asarray(GAMMA)
    scale = 0.5 * (1 - GAMMA**problems.length) / (1 - GAMMA)
    values, last = seen.values * scale[:, None], last * scale[:, None]
    found = advantages(seen.signals, values, seen.ended, last, gamma, settings.gae)
    worth = (found * seen.weights * SIGNS[:, None, None]).sum(axis=1)
    axes = (0, 2)
    spread = worth.std(axis=axes, keepdims=True)
    standard = (worth - worth.mean(axis=axes, keepdims=True)) / (spread + 1e-3)
    targets = (found + values) / scale[:, None]
    return Batch(seen.own, seen.rest, seen.mask, seen.action, seen.log_prob, standard, targets)


def objective(
    graphs: Any,
    settings: PPOSettings,
    entropy_weight: Float[Array, ""],
    parameters: Float[Array, " parameters"],
    batch: Batch,
) -> Float[Array, ""]:
    """The loss: clipped surrogate, squared error of the value heads, entropy bonus."""
    wide = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -2).reshape(*leaf.shape[1:-1], -1), batch)
    logits, values = forward(parameters, graphs, wide.own, wide.rest)
    policy = masked_softmax(logits, wide.mask, axis=1)
    log_probs = jnp.where(wide.mask, policy.log_probs, 0.0)
    pick = jnp.arange(logits.shape[1])[:, None] == wide.action[:, None]
    log_prob = jnp.where(pick, log_probs, 0.0).sum(axis=1)
    ratio = jnp.exp(jnp.minimum(log_prob - wide.log_prob, 20.0))
    surrogate = clipped(ratio, wide.advantage, settings.clip).mean()
    misses = 0.5 * ((values - wide.targets) ** 2).mean(axis=(1, 2)).sum()
    entropy = -(policy.probs * log_probs).sum(axis=1).mean()
    return -surrogate + settings.value_weight * misses - entropy_weight * entropy


def _units(problem: DrawnProblem, pace: Float[Array, ""]) -> Float[Array, " signals"]:
    """What each signal is counted in."""
    return jnp.concatenate([jnp.ones(1), problem.bounds, pace[None]])
