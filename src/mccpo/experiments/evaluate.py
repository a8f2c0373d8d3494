"""Saved policies judged again, on episodes that had no part in training, selection or the run's own tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mccpo.algo.neural import EVALUATION_EPISODES
from mccpo.errors import InputError
from mccpo.experiments import neural
from mccpo.experiments.finite import tests
from mccpo.experiments.policies import Policies
from mccpo.experiments.table import description

NOTE_FRESH = (
    "Every row is a mean over episodes that were played for this table alone, of the policies that the run keeps. "
    "Budgets, and the unconstrained policies that RHSI refers to, are the run's."
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
    found: Sequence[Policies], *, episodes: int = EVALUATION_EPISODES, seed: int | None = None
) -> list[dict[str, Any]]:
    """A table for each environment, in the shape of `compare`'s; without a seed, of another than the run's."""
    if not 1 <= episodes <= 10**6:
        raise InputError(f"episodes is {episodes}", fix="give a whole number from 1 to 1000000")
    drawn = (found[0].seed + 1) % 2**32 if seed is None else seed
    if not 0 <= drawn < 2**32:
        raise InputError(f"seed is {drawn}", fix="give a whole number from 0 to 4294967295")
    environments = dict.fromkeys(one.env.name for one in found)
    return [_table([one for one in found if one.env.name == name], episodes, drawn) for name in environments]


def _table(found: Sequence[Policies], episodes: int, seed: int) -> dict[str, Any]:
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
        "notes": [NOTE_SAME if seed == found[0].seed else NOTE_FRESH],
    }


def _setting(policies: Sequence[Policies], episodes: int, seed: int) -> dict[str, Any]:
    rows = {one.method.name: neural.judged(one, one.env, episodes=episodes, seed=seed) for one in policies}
    return {"budgets": policies[0].budgets, "rows": rows, "optimum": None, "paper": {}, "verdicts": {}}
