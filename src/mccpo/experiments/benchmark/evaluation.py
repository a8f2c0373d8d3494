"""What policies are worth: exactly on a finite environment, else by fresh episodes.

The keys of these episodes follow from the seed of the protocol. Learners that are trained for each κ have a key for
each κ and seed; rules and conditioned policies have one for each seed, which serves at every κ.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from mccpo.env import Environment, FiniteEnvironment
from mccpo.exact import Values, evaluate
from mccpo.experiments.benchmark.problem import Posed
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.neural import values_of
from mccpo.methods import engine
from mccpo.methods.episodes import Episodes, Moment, NetworkPolicy, Policy, account, perform, summed
from mccpo.methods.gradient.network import Network
from mccpo.methods.gradient.training import EVALUATION, evaluate_policies
from mccpo.methods.mc_cpo.spec import MethodArrays
from mccpo.methods.rules import remembers, tabulate

_ROUNDING = 1e-4  # of chances that sum to 1 in single precision

BySeed: TypeAlias = list[Values | None]
"""What the policy of each seed is worth; None where it is not made of finite numbers."""


class Improper(Exception):  # noqa: N818 - an outcome of a trial, not a fault of the program
    """What a rule gives as chances of actions are none."""


def judge_policies(
    posed: Posed,
    env: Environment[Any],
    playing: MethodArrays,
    network: Network,
    parameters: Float[np.ndarray, "variants seeds parameters"],
    protocol: Protocol,
    seed: int,
) -> list[BySeed]:
    """What learnt policies are worth in an environment: the one judged in, or as a conditioned policy sees it."""
    sound = np.isfinite(parameters).all(axis=-1)
    policies = np.where(sound[..., None], parameters, 0.0)
    if posed.model is not None and isinstance(env, FiniteEnvironment):
        found: list[BySeed] = [
            [_exactly(posed, env, NetworkPolicy(playing, one, network)) for one in row] for row in policies
        ]
    else:
        methods = [playing] * len(policies)
        seen = evaluate_policies(env, methods, network, policies, episodes=protocol.episodes, seed=seed)
        found = [[values_of(env, seen, at, place) for place in range(len(row))] for at, row in enumerate(policies)]
    return [
        [one if good and one is not None and _finite(one) else None for one, good in zip(*row, strict=True)]
        for row in zip(found, sound, strict=True)
    ]


def judge_rule(
    posed: Posed, actor: Policy, protocol: Protocol, after: Callable[[], None] = lambda: None
) -> tuple[BySeed, float]:
    """What a rule is worth, seed by seed, and the seconds that judging one seed takes once it is compiled.

    A finite environment tells it exactly, so that all seeds agree. `after` is called after every seed, and may stop it
    by raising.
    """
    exact = posed.model is not None and not remembers(posed.env, actor)
    if exact:  # once to compile, and once more to see how long it takes
        parts = [partial(_exactly, posed, posed.env, actor)] * 2
    else:
        env, root = engine.as_arrays(posed.env), jax.random.fold_in(jax.random.key(protocol.seed), EVALUATION)
        keys = jax.random.split(root, protocol.seeds)
        parts = [partial(_by_episodes, env, actor, key, protocol.episodes) for key in keys]
    values, ticks = [], [time.perf_counter()]
    for part in parts:
        values.append(part())
        ticks.append(time.perf_counter())
        after()
    return values[-1:] * protocol.seeds if exact else values, steady(ticks) / len(parts)


def judge_table(posed: Posed, table: Float[np.ndarray, "states actions"]) -> Values:
    """The exact worth of a policy over the states of the model."""
    assert posed.model is not None  # only finite environments have tables
    return evaluate(posed.model, table, constrained=posed.env.constrained)


def steady(ticks: Sequence[float]) -> float:
    """The seconds of all parts at the pace of those after the first, which compiles; a single one counts as it is."""
    parts = len(ticks) - 1
    if parts < 2:
        return ticks[-1] - ticks[0]
    return (ticks[-1] - ticks[1]) * parts / (parts - 1)


def _exactly(posed: Posed, env: Environment[Any], actor: Policy) -> Values | None:
    assert posed.model is not None
    table = tabulate(env, actor)[posed.model.index]
    if not np.isfinite(table).all():
        return None
    _check(bool(_proper(table.T).all()))
    return judge_table(posed, table)


def _by_episodes(env: Environment[Any], actor: Policy, key: Any, episodes: int) -> Values | None:
    seen, finite, proper = jax.device_get(_play(env, actor, key, episodes))
    if not finite:
        return None
    _check(bool(proper))
    found = values_of(env, jax.tree.map(lambda leaf: np.asarray(leaf)[None, None], seen), 0, 0)
    return found if _finite(found) else None


def _check(proper: bool) -> None:
    if not proper:
        raise Improper("its chances of actions are not from 0 to 1, or do not sum to 1")


def _proper(chances: Any) -> Any:
    """Whether the chances of each column are those of a distribution."""
    return (chances >= 0).all(axis=0) & (abs(chances.sum(axis=0) - 1) < _ROUNDING)


def _finite(values: Values) -> bool:
    return all(math.isfinite(one) for one in (values.ret, values.engagement, values.gain, *values.costs.values()))


@eqx.filter_jit
def _play(
    env: Environment[Any], actor: Policy, key: Any, episodes: int
) -> tuple[Episodes, Bool[Array, ""], Bool[Array, ""]]:
    """Episodes of a rule, and whether its chances were finite, and those of a distribution, while they went on."""

    def look(moment: Moment) -> Any:
        finite, proper = jnp.isfinite(moment.chances).all(axis=0), _proper(moment.chances)
        return account(env, moment), (finite | ~moment.alive).all(), (proper | ~moment.alive).all()

    steps, finite, proper = perform(env, actor, key, episodes, look)
    return summed(env, steps), finite.all(), proper.all()
