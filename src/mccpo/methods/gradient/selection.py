"""Which of the policies that a run passes through is its result.

The final policy is chosen by validation episodes of their own. Looks during training pick finalists among the averaged
policies; many more episodes then decide between these: the highest return among those that meet every budget, with a
margin for chance, or else the one that misses them least. Where the gate promises how many lessons are ready in truth,
that is one more budget. Episodes by which a policy is later judged play no part in
this. Every learner's policies are selected in this way, so that methods differ by how they learn and by nothing else.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mccpo.env import ONE_MODEL, Ensemble, Environment
from mccpo.methods.episodes import EVALUATION_EPISODES, Episodes, NetworkPolicy, evaluate_policy, evaluation_episodes
from mccpo.methods.gradient.gradient_method import GradientMethod
from mccpo.methods.gradient.margin import as_long, error_of
from mccpo.methods.gradient.members import standing
from mccpo.methods.gradient.ppo import Progress
from mccpo.methods.gradient.rollout import Sizes
from mccpo.methods.mc_cpo.multipliers import Budgets
from mccpo.methods.mc_cpo.spec import MethodArrays

FINALISTS = 6


class Finalists(NamedTuple):
    """The policies that validation liked best so far."""

    score: Float[Array, " finalists"]
    parameters: Float[Array, "finalists parameters"]


class NeuralState(NamedTuple):
    """A run (a `RunState` of its learner), the running average of its parameters, and its finalists."""

    run: Any
    average: Float[Array, " parameters"]
    finalists: Finalists
    validating: PRNGKeyArray


def start(env: Environment[Any], sizes: Sizes, learner: GradientMethod, key: PRNGKeyArray) -> NeuralState:
    """A run before its first iteration."""
    training, validating = jax.random.split(key)
    run = learner.start(env, sizes, training)
    # Of a type that stays as it is: a weak one would turn strong in the first point, and the second compile anew.
    nothing = jnp.full(FINALISTS, -jnp.inf, jnp.float32)
    finalists = Finalists(nothing, jnp.tile(run.parameters, (FINALISTS, 1)))
    return NeuralState(run, run.parameters, finalists, validating)


def advance(
    env: Environment[Any],
    sizes: Sizes,
    learner: GradientMethod,
    budgets: Budgets,
    state: NeuralState,
    total: Float[Array, ""],
    iterations: int,
    validation: int,
) -> tuple[NeuralState, Progress]:
    """Some iterations of one run, and one look at the averaged policy they end with."""
    averaging = learner.settings.averaging

    def one(carry: Any, _: None) -> tuple[Any, Progress]:
        run, average = carry
        run, progress = learner.iterate(env, sizes, budgets, run, run.iteration / total)
        return (run, averaging * average + (1 - averaging) * run.parameters), progress

    (run, average), progress = jax.lax.scan(one, (state.run, state.average), length=iterations)
    validating, key = jax.random.split(state.validating)
    # Its errors are larger, so that it asks for fewer of them: a look need only find who is worth it.
    caution, share = learner.settings.look_caution, run.iteration / total
    score = scored(env, learner, budgets, caution, average, key, as_long(env, validation), share)
    point = jax.tree.map(partial(jnp.nanmean, axis=0), progress)
    point = point._replace(violation_steps=progress.violation_steps.sum(axis=0))
    return NeuralState(run, average, enter(state.finalists, score, average), validating), point


def conclude(
    env: Environment[Any], sizes: Sizes, learner: GradientMethod, budgets: Budgets, state: NeuralState
) -> Float[Array, " parameters"]:
    """The final policy: the finalist of the best score in episodes of its own, many more than of a look.

    A look's best is best by luck too; fresh episodes take that luck away. Without budgets, and without selection, it is
    the newest policy.
    """
    own = learner.conclude(env, sizes, budgets, state.run, state.validating)
    if own is not None:
        return own
    caution, contender = learner.settings.caution, learner.contender(state.run)

    def among(finalists: Finalists) -> Float[Array, " parameters"]:
        if contender is not None:
            finalists = Finalists(
                jnp.append(finalists.score, 0.0), jnp.concatenate([finalists.parameters, contender[None]])
            )
        keys = jax.random.split(state.validating, len(finalists.score))

        def score(one: Any) -> Float[Array, ""]:
            parameters, key = one
            return scored(env, learner, budgets, caution, parameters, key, as_long(env, sizes.final), jnp.zeros(()))

        # A short run has looked at fewer policies than there are places; the others hold what it began with.
        scores = jax.lax.map(score, (finalists.parameters, keys))
        return finalists.parameters[jnp.where(finalists.score > -jnp.inf, scores, -jnp.inf).argmax()]

    return jax.lax.cond(selects(env, learner), among, lambda _: state.average, state.finalists)


def selects(env: Environment[Any], learner: GradientMethod) -> Bool[Array, ""]:
    """Whether a final policy is chosen among the finalists."""
    return (learner.playing(env).constrained > 0) & (learner.settings.selecting > 0)


def enter(finalists: Finalists, score: Float[Array, ""], parameters: Float[Array, " parameters"]) -> Finalists:
    """The finalists after a look: the new policy takes the place of the worst, if it is no worse."""
    worst = finalists.score.argmin()
    takes = (jnp.arange(FINALISTS) == worst) & (score >= finalists.score)
    return Finalists(
        jnp.where(takes, score, finalists.score), jnp.where(takes[:, None], parameters, finalists.parameters)
    )


def scored(
    env: Environment[Any],
    learner: GradientMethod,
    budgets: Budgets,
    caution: Float[Array, ""] | float,
    parameters: Float[Array, " parameters"],
    key: PRNGKeyArray,
    episodes: int,
    share: Float[Array, ""],
) -> Float[Array, ""]:
    """The score of a policy in episodes of its own: the learner's, where it has one, else that of all learners."""
    actor = NetworkPolicy(learner.playing(env), parameters, learner.network(env))
    own = learner.own_score(env, budgets, caution, actor, key, episodes)
    if own is not None:
        return own
    seen = evaluate_policy(env, actor, key, episodes)
    unready = unready_excess(env, caution, seen)
    return score_of(actor.method, budgets, caution, seen, share, evaluation_episodes(env), env.ensemble, unready)


def score_of(
    method: MethodArrays,
    budgets: Budgets,
    caution: Float[Array, ""] | float,
    seen: Episodes,
    share: Float[Array, ""],
    later: float = EVALUATION_EPISODES,
    ensemble: Ensemble = ONE_MODEL,
    unready: Float[Array, ""] | float = -jnp.inf,
) -> Float[Array, ""]:
    """Return where the budgets are met with a margin, minus the worst excess elsewhere; the newest without budgets.

    `unready` is by how much the gate's promise is exceeded (`unready_excess`), which counts as a budget does.

    The margin is `caution` standard errors of the difference between this mean and that of an evaluation by `later`
    episodes: what chance can do to a policy that is as good as it looks. Where learners are drawn from several members,
    every member has to meet the budgets so.
    """
    excess = excess_of(budgets, caution, seen, later, ensemble).max()
    missed = jnp.maximum(excess, 0.0) + jnp.maximum(unready, 0.0)
    bounded = jnp.where(missed > 0, -1e3 * (1.0 + missed), seen.ret.mean())
    return jnp.where(method.constrained > 0, bounded, share)


def excess_of(
    budgets: Budgets,
    caution: Float[Array, ""] | float,
    seen: Episodes,
    later: float = EVALUATION_EPISODES,
    ensemble: Ensemble = ONE_MODEL,
) -> Float[Array, " costs"]:
    """By how much each cost, with that margin, exceeds its budget, for the worst member; −∞ where it has no budget."""
    found = standing(seen, ensemble, later)
    excess = (found.J_c + caution * found.error - budgets.limit) / budgets.scale
    return jnp.where(budgets.active > 0, excess, -jnp.inf).reshape(-1, excess.shape[-1]).max(axis=0)


def unready_excess(
    env: Environment[Any], caution: Float[Array, ""] | float, seen: Episodes
) -> Float[Array, ""] | float:
    """By how much the share of lessons that are unready in truth, with that margin, exceeds what the gate allows.

    It is relative to what is allowed, and of all learners together, whatever member they are drawn from; −∞ where the
    gate promises nothing.
    """
    if (allowed := env.unready_allowed) is None:
        return -jnp.inf
    share = seen.untrue.sum() / seen.length.sum()
    spread = (seen.untrue - share * seen.length).std() / seen.length.mean()
    error = error_of(spread, seen.length.shape[0], evaluation_episodes(env))
    return (share + caution * error - allowed) / jnp.maximum(allowed, 1e-6)
