"""Saved policies evaluated again, on episodes that had no part in training, selection or the run's own tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mccpo.env import Environment, with_gate_of
from mccpo.errors import InputError
from mccpo.experiments.finite import tests
from mccpo.experiments.problem import ANCHOR, worth
from mccpo.experiments.saved_policies import Policies
from mccpo.experiments.table import description
from mccpo.experiments.worth import evaluated
from mccpo.methods import EVALUATION_EPISODES, OURS
from mccpo.runs.results import Results, Setting

NOTE_FRESH = (
    "Every row is a mean over episodes that were played for this table alone, of the policies that the run keeps. "
    "Budgets, and the unconstrained policies that RHSI refers to, are the run's."
)
NOTE_ELSEWHERE = (
    "The policies were trained in another environment. Budgets are the same shares as there of what the unconstrained "
    "policies of the run cost here, and RHSI refers to what these return here."
)
NOTE_SAME = (
    "The seed is that of the run: these are the very episodes of its own tables, as many of them as were asked for."
)


def choose(saved: Sequence[Policies], method: str | None, part: str | None) -> list[Policies]:
    """The policies of a part and a method, where they are named."""
    for what, name, known in (
        ("part", part, dict.fromkeys(policies.part for policies in saved)),
        ("method", method, dict.fromkeys(policies.method.name for policies in saved)),
    ):
        if name is not None and name not in known:
            raise InputError(f"the run has no {what} '{name}'", fix=f"choose from {', '.join(known)}")
    chosen = [
        policies for policies in saved if part in (None, policies.part) and method in (None, policies.method.name)
    ]
    if not chosen:
        raise InputError(f"{part} has no policies of {method}", fix="choose another part or method")
    return chosen


def preferred(methods: Iterable[str]) -> str:
    """The method that is meant where none is named: ours, or the only one there is."""
    names = list(dict.fromkeys(methods))
    if OURS in names or len(names) != 1:
        return OURS
    return names[0]


def evaluate(
    saved: Sequence[Policies],
    *,
    episodes: int = EVALUATION_EPISODES,
    seed: int | None = None,
    on: Environment[Any] | None = None,
    beside: Sequence[Policies] = (),
) -> list[Results]:
    """A table for each environment, in the shape of `compare`'s; without a seed, of another than the run's.

    With `on`, the policies are evaluated there instead of where they were trained. The unconstrained policies that
    budgets then refer to are looked for among these and those `beside` them.
    """
    if not 1 <= episodes <= 10**6:
        raise InputError(f"episodes is {episodes}", fix="give a whole number from 1 to 1000000")
    drawn = (saved[0].seed + 1) % 2**32 if seed is None else seed
    if not 0 <= drawn < 2**32:
        raise InputError(f"seed is {drawn}", fix="give a whole number from 0 to 4294967295")
    if on is not None:
        there = [moved(policies, on, [*saved, *beside], episodes, drawn) for policies in saved]
        return [_table(there, episodes, drawn, NOTE_ELSEWHERE)]
    note = NOTE_SAME if drawn == saved[0].seed else NOTE_FRESH
    by_environment: dict[str, list[Policies]] = {}
    for policies in saved:
        by_environment.setdefault(policies.env.name, []).append(policies)
    return [_table(kept, episodes, drawn, note) for kept in by_environment.values()]


def moved(saved: Policies, env: Environment[Any], others: Sequence[Policies], episodes: int, seed: int) -> Policies:
    """Policies in an environment that they were not trained in, with budgets and an anchor of its own.

    The anchor is what the unconstrained policies among `others` are worth there. The gate is that of training.
    """
    if (env.action_names, env.num_features) != (saved.env.action_names, saved.env.num_features):
        raise InputError(f"{saved.part} was trained to teach other concepts than {env.name} has", fix="name another")
    env = with_gate_of(env, saved.env)
    anchors = [other for other in others if other.method.name == ANCHOR and other.env.name == saved.env.name]
    if not anchors:
        raise InputError(
            f"the run keeps no {ANCHOR} policies, which budgets refer to", fix="name them in --methods as well"
        )
    same = next((anchor for anchor in anchors if anchor.part == saved.part), anchors[0])
    anchor = worth(env, same.parameters, episodes=episodes, seed=seed)
    shares = {cost: budget / (saved.anchor.costs[cost] or 1.0) for cost, budget in saved.budgets.items()}
    return replace(
        saved,
        env=env,
        anchor=anchor,
        floors={},
        budgets={cost: share * anchor.costs[cost] for cost, share in shares.items()},
    )


def _table(policies: Sequence[Policies], episodes: int, seed: int, note: str) -> Results:
    env = policies[0].env
    parts = dict.fromkeys(one.part for one in policies)
    by_part = {part: [one for one in policies if one.part == part] for part in parts}
    settings = [_setting(part if len(parts) > 1 else "", kept, episodes, seed) for part, kept in by_part.items()]
    return Results(
        table=env.name,
        title=f"Saved policies on {env.name}, judged again",
        settings=tuple(settings),
        protocol={"seeds": len(policies[0].parameters), "seed": seed, "evaluation episodes": episodes},
        environment=description(env),
        tests={
            f"{setting.name}: {name}" if setting.name else name: test
            for setting in settings
            for name, test in tests(setting.rows).items()
        },
        notes=(note,),
    )


def _setting(name: str, policies: Sequence[Policies], episodes: int, seed: int) -> Setting:
    rows = {
        saved.method.name: evaluated(
            saved.policies, saved.env, saved.anchor, saved.constraints, episodes=episodes, seed=seed
        )
        for saved in policies
    }
    return Setting(name, policies[0].budgets, rows, floors=policies[0].floors)
