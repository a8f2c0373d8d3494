"""What policies are held to with the learners of a judge: the same shares as in training of what is reached there.

Budgets are shares of what the run's unconstrained policies cost. Floors are shares of what can be reached, so that they
move with the rule that teaches most: with both kinds of learners the same rules are asked, and a floor is then the same
share of the best of them. A floor on engagement moves with the return of the unconstrained policies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from mccpo.env import Environment, PreparedEnsemble
from mccpo.errors import DoesNotApply
from mccpo.exact import Values
from mccpo.experiments.saved_policies import Policies
from mccpo.experiments.worth import values_of
from mccpo.methods import EVALUATION_EPISODES, METHODS, Episodes, RuleEntry, RulePolicies, one_ahead

RULES = ("greedy-gain", "mastery-learning", "zpdes", "curriculum-order")
"""Those that are asked how much can be taught; planning, which thinks for long, is not."""


def budgets_elsewhere(saved: Policies, anchor: Values) -> dict[str, float]:
    """Budgets where the unconstrained policies are worth `anchor`."""
    shares = {cost: budget / (saved.anchor.costs[cost] or 1.0) for cost, budget in saved.budgets.items()}
    return {cost: share * anchor.costs[cost] for cost, share in shares.items()}


def floors_elsewhere(
    saved: Policies, env: Environment[Any], anchor: Values, episodes: int, seed: int
) -> dict[str, float]:
    """Floors in another environment, where the unconstrained policies are worth `anchor`.

    One is left out where no rule teaches anything, in training or there: there is nothing to have a share of.
    """
    if not saved.floors:
        return {}
    here, there = {"engagement": saved.anchor.ret}, {"engagement": anchor.ret}
    taught = [name for name in saved.floors if name != "engagement"]
    if taught:
        here |= _most_of(taught, saved.env, episodes, seed)
        there |= _most_of(taught, env, episodes, seed)
    return {
        name: floor * there[name] / here[name]
        for name, floor in saved.floors.items()
        if here[name] > 0 and there[name] > 0
    }


def in_one_unit(env: PreparedEnsemble, unconstrained: Episodes, *, teaches: bool, seed: int) -> PreparedEnsemble:
    """An ensemble of kinds of learners with their costs, and their learning where it `teaches`, in one unit.

    The unconstrained policies, whose episodes are given (leading axes are methods and seeds), then cost as much with
    every kind, and the rule that teaches most teaches as much: shares of either mean the same for all of them.
    """
    of_kind = np.array(env.ensemble.kinds)
    assert unconstrained.member is not None
    kind = of_kind[np.asarray(unconstrained.member)[0]]
    costs = np.moveaxis(np.asarray(unconstrained.costs)[0], 1, 0)
    relative = [_ratios(cost, kind, env.shares) for cost in costs]
    taught = np.ones(len(env.kinds))
    if teaches:
        played = max(_played(env, EVALUATION_EPISODES, seed), key=lambda one: float(np.mean(one.learning)))
        assert played.member is not None
        taught = _ratios(np.asarray(played.learning), of_kind[np.asarray(played.member)], env.shares)
    return env.relative_to(np.stack([*relative, taught], axis=1))


def _ratios(
    values: Float[np.ndarray, "*episodes"], kind: Int[np.ndarray, "*episodes"], shares: tuple[float, ...]
) -> Float[np.ndarray, " kinds"]:
    """The mean of each kind relative to that of all; 1 where there is nothing to be relative to."""
    means = np.array([values[kind == one].mean() if (kind == one).any() else 0.0 for one in range(len(shares))])
    whole = float(means @ np.array(shares))
    return np.where((means > 0) & (whole > 0), means / (whole or 1.0), 1.0)


def _most_of(names: list[str], env: Environment[Any], episodes: int, seed: int) -> Mapping[str, float]:
    """The most that a rule reaches of what each floor is about."""
    values = [values_of(env, played, 0) for played in _played(env, episodes, seed)]
    return {name: max((one.reached(name) for one in values), default=0.0) for name in names}


def _played(env: Environment[Any], episodes: int, seed: int) -> Iterator[Episodes]:
    """The episodes of every rule that applies."""

    def play(name: str) -> Episodes | None:
        entry = METHODS[name]
        assert isinstance(entry, RuleEntry)
        try:
            return RulePolicies(entry.build(), 1).play(env, episodes=episodes, seed=seed)
        except DoesNotApply:
            return None

    yield from (played for played in one_ahead(play, RULES) if played is not None)
