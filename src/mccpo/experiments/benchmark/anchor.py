"""The best known unconstrained policy of an environment that is not finite; budgets and shares refer to it.

One network may find what another does not, so the anchor is the best of many runs and not the mean of one setting's.
Policies of nearly the same return may cost very different amounts; which of them is best remains in part a matter of
luck.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mccpo.env import Environment, TrainTest
from mccpo.exact import Values
from mccpo.experiments.benchmark.protocol import Protocol
from mccpo.experiments.options import Session, Stage
from mccpo.experiments.problem import ANCHOR
from mccpo.experiments.worth import mean_values, values_of
from mccpo.methods import (
    ITERATIONS,
    GradientEntry,
    NetworkPolicies,
    PrimalDual,
    Variant,
    adjusted,
    method_arrays,
    method_entry,
    train_variants,
)


def best_known(opened: TrainTest, protocol: Protocol, session: Session) -> tuple[Values, Values]:
    """What the best known unconstrained policy is worth where methods are trained, and where they are tested.

    It is the best of both networks, of all settings that are searched for the method, and of the validation seeds, by
    episodes of its own. Other episodes, those of every method, say what it is worth.
    """
    plan = protocol.search_plan
    candidates = [one for shared in (False, True) for one in _trained(opened.train, protocol, session, shared=shared)]
    returns = [
        policy.play(opened.train, episodes=protocol.episodes, seed=plan.seed).ret.mean() for policy in candidates
    ]
    best = candidates[int(np.argmax(returns))]
    anchor = _worth(best, opened.train, protocol)
    return anchor, anchor if opened.test is opened.train else _worth(best, opened.test, protocol)


def _trained(env: Environment[Any], protocol: Protocol, session: Session, *, shared: bool) -> Iterator[NetworkPolicies]:
    """Unconstrained policies with a network of one kind, of every setting and validation seed, each by itself."""
    entry, plan = method_entry(ANCHOR), protocol.search_plan
    assert isinstance(entry, GradientEntry)
    assert entry.spec is not None
    spec = replace(entry.spec, shared=shared)
    plain = PrimalDual(method_arrays(spec, env), shared=shared)
    methods = [adjusted(plain, setting) for setting in (entry.search if protocol.search else ({},))]
    stage = Stage(
        f"{env.name} {ANCHOR}{' shared' if shared else ''}",
        plan.points,
        len(methods) * plan.seeds * ITERATIONS * plan.sizes.steps,
    )
    session.begin(stage)

    def after_point(snapshot: Any) -> None:
        if session.progress is not None:
            session.progress(stage, snapshot.point)

    runs = train_variants(env, [Variant(method, {}) for method in methods], plan, after_point=after_point)
    for method, selected in zip(methods, runs.selected, strict=True):
        for parameters in selected:
            if np.isfinite(parameters).all():
                yield NetworkPolicies(method, parameters[None])


def _worth(policy: NetworkPolicies, env: Environment[Any], protocol: Protocol) -> Values:
    """What a policy is worth by the episodes of all seeds of the protocol."""
    copies = replace(policy, parameters=np.repeat(policy.parameters, protocol.seeds, axis=0))
    played = copies.play(env, episodes=protocol.episodes, seed=protocol.seed)
    return mean_values([values_of(env, played, seed) for seed in range(protocol.seeds)])
