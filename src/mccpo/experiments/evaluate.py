"""Saved policies judged again, on episodes that had no part in training, selection or the run's own tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mccpo.env import Environment
from mccpo.errors import InputError
from mccpo.experiments import neural
from mccpo.experiments.finite import tests
from mccpo.experiments.saved_policies import Policies
from mccpo.experiments.table import description
from mccpo.methods.episodes import EVALUATION_EPISODES

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


def choose(found: Sequence[Policies], method: str | None, part: str | None) -> list[Policies]:
    """The policies of a part and a method, where they are named."""
    for what, name, known in (
        ("part", part, dict.fromkeys(one.part for one in found)),
        ("method", method, dict.fromkeys(one.method.name for one in found)),
    ):
        if name is not None and name not in known:
            raise InputError(f"the run has no {what} '{name}'", fix=f"choose from {', '.join(known)}")
    chosen = [one for one in found if part in (None, one.part) and method in (None, one.method.name)]
    if not chosen:
        raise InputError(f"{part} has no policies of {method}", fix="choose another part or method")
    return chosen


def evaluate(
    found: Sequence[Policies],
    *,
    episodes: int = EVALUATION_EPISODES,
    seed: int | None = None,
    on: Environment[Any] | None = None,
    beside: Sequence[Policies] = (),
) -> list[dict[str, Any]]:
    """A table for each environment, in the shape of `compare`'s; without a seed, of another than the run's.

    With `on`, the policies are judged there instead of where they were trained. The unconstrained policies that
    budgets then refer to are looked for among these and those `beside` them.
    """
    if not 1 <= episodes <= 10**6:
        raise InputError(f"episodes is {episodes}", fix="give a whole number from 1 to 1000000")
    drawn = (found[0].seed + 1) % 2**32 if seed is None else seed
    if not 0 <= drawn < 2**32:
        raise InputError(f"seed is {drawn}", fix="give a whole number from 0 to 4294967295")
    if on is not None:
        moved = [_moved(one, on, [*found, *beside], episodes, drawn) for one in found]
        return [_table(moved, episodes, drawn, NOTE_ELSEWHERE)]
    note = NOTE_SAME if drawn == found[0].seed else NOTE_FRESH
    environments = dict.fromkeys(one.env.name for one in found)
    return [_table([one for one in found if one.env.name == name], episodes, drawn, note) for name in environments]


def _moved(one: Policies, env: Environment[Any], others: Sequence[Policies], episodes: int, seed: int) -> Policies:
    """Policies in an environment that they were not trained in, with budgets and an anchor of its own."""
    if (env.action_names, env.num_features) != (one.env.action_names, one.env.num_features):
        raise InputError(f"{one.part} was trained to teach other concepts than {env.name} has", fix="name another")
    free = [each for each in others if each.method.name == neural.ANCHOR and each.env.name == one.env.name]
    if not free:
        raise InputError(
            f"the run keeps no {neural.ANCHOR} policies, which budgets refer to", fix="name them in --methods as well"
        )
    same = next((each for each in free if each.part == one.part), free[0])
    anchor = neural.worth(env, same.parameters, episodes=episodes, seed=seed)
    shares = {cost: budget / (one.anchor.costs[cost] or 1.0) for cost, budget in one.budgets.items()}
    return replace(
        one, env=env, anchor=anchor, budgets={cost: share * anchor.costs[cost] for cost, share in shares.items()}
    )


def _table(found: Sequence[Policies], episodes: int, seed: int, note: str) -> dict[str, Any]:
    env = found[0].env
    parts = dict.fromkeys(one.part for one in found)
    settings = {name: _setting([one for one in found if one.part == name], episodes, seed) for name in parts}
    shown = settings[found[0].part] if len(settings) == 1 else {"settings": settings}
    return {
        "table": env.name,
        "title": f"Saved policies on {env.name}, judged again",
        "protocol": {"seeds": len(found[0].parameters), "seed": seed, "evaluation episodes": episodes},
        "environment": description(env),
        **shown,
        "tests": {
            f"{name}: {test}" if len(settings) > 1 else test: result
            for name, setting in settings.items()
            for test, result in tests(setting["rows"]).items()
        },
        "notes": [note],
    }


def _setting(policies: Sequence[Policies], episodes: int, seed: int) -> dict[str, Any]:
    rows = {one.method.name: neural.judged(one, one.env, episodes=episodes, seed=seed) for one in policies}
    return {"budgets": policies[0].budgets, "rows": rows, "optimum": None, "paper": {}, "verdicts": {}}
