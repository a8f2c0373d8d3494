"""Saved policies evaluated again, on episodes that had no part in training, selection or the run's own tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mccpo.env import Environment, with_gate_of
from mccpo.errors import InputError
from mccpo.experiments.asked.elsewhere import budgets_elsewhere, floors_elsewhere
from mccpo.experiments.finite import tests
from mccpo.experiments.problem import ANCHOR, FREE
from mccpo.experiments.saved_policies import Policies
from mccpo.experiments.table import description
from mccpo.experiments.worth import evaluated, mean_values, values_of
from mccpo.methods import EVALUATION_EPISODES, OURS, PolicySet, method_spec
from mccpo.runs.results import Results, Setting

NOTE_FRESH = (
    "Every row is a mean over episodes that were played for this table alone, of the policies that the run keeps. "
    "Budgets, and the unconstrained policies that RHSI refers to, are the run's."
)
NOTE_ELSEWHERE = (
    "The policies were trained in another environment. Budgets are the same shares as there of what the unconstrained "
    "policies of the run cost here, and RHSI refers to what these return here. Floors on learning are the same shares "
    "as there of what the rule reaches that teaches most."
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


def preferred(saved: Iterable[Policies]) -> str:
    """The method that is meant where none is named: ours, the only one, or the only one that is held to something."""
    held = {policies.method.name: policies.method.constrained for policies in saved}
    only = [name for name, constrained in held.items() if constrained or len(held) == 1]
    return only[0] if OURS not in held and len(only) == 1 else OURS


def evaluate(
    saved: Sequence[Policies],
    *,
    episodes: int = EVALUATION_EPISODES,
    seed: int | None = None,
    on: Environment[Any] | None = None,
    named: str | None = None,
    beside: Sequence[Policies] = (),
) -> list[Results]:
    """A table for each environment, in the shape of `compare`'s; without a seed, of another than the run's.

    With `on`, the policies are evaluated there instead of where they were trained; `named` is what the heading calls
    it, by default the environment's name. The unconstrained policies that budgets then refer to are looked for among
    these and those `beside` them.
    """
    if not 1 <= episodes <= 10**6:
        raise InputError(f"episodes is {episodes}", fix="give a whole number from 1 to 1000000")
    drawn = (saved[0].seed + 1) % 2**32 if seed is None else seed
    if not 0 <= drawn < 2**32:
        raise InputError(f"seed is {drawn}", fix="give a whole number from 0 to 4294967295")
    if on is not None:
        there = [moved(policies, on, [*saved, *beside], episodes, drawn) for policies in saved]
        return [_table(there, episodes, drawn, NOTE_ELSEWHERE, named)]
    note = NOTE_SAME if drawn == saved[0].seed else NOTE_FRESH
    by_environment: dict[str, list[Policies]] = {}
    for policies in saved:
        by_environment.setdefault(policies.env.name, []).append(policies)
    return [_table(kept, episodes, drawn, note) for kept in by_environment.values()]


def moved(saved: Policies, env: Environment[Any], others: Sequence[Policies], episodes: int, seed: int) -> Policies:
    """Policies in an environment that they were not trained in, with budgets, floors and an anchor of its own.

    The anchor is what the unconstrained policies among `others` are worth there. The gate is that of training.
    """
    env = with_gate_of(env, saved.env)
    if (env.action_names, env.num_features) != (saved.env.action_names, saved.env.num_features):
        raise InputError(f"{saved.part} was trained to teach other concepts than {env.name} has", fix="name another")
    unconstrained = unconstrained_of(saved, others)
    if unconstrained is None:
        raise InputError(f"the run keeps no {ANCHOR} policies, which budgets refer to", fix="train it again")
    played = unconstrained.play(env, episodes=episodes, seed=seed)
    anchor = mean_values([values_of(env, played, policy) for policy in range(unconstrained.seeds)])
    floors = floors_elsewhere(saved, env, anchor, episodes, seed)
    return replace(saved, env=env, anchor=anchor, floors=floors, budgets=budgets_elsewhere(saved, anchor))


def unconstrained_of(saved: Policies, others: Sequence[Policies]) -> PolicySet | None:
    """The unconstrained policies that budgets in another environment refer to; None where a run has none.

    A part may have them as a row; otherwise they are kept beside it. Runs of earlier versions may have them elsewhere.
    """
    rows = [other for other in others if other.method.name in (ANCHOR, FREE) and other.env.name == saved.env.name]
    if saved.unconstrained is not None:
        rows.append(replace(saved, method=method_spec(ANCHOR), parameters=saved.unconstrained, kappa=None))
    same = [row for row in rows if row.part == saved.part]
    return next((row.policies for row in [*same, *rows]), None)


def _table(policies: Sequence[Policies], episodes: int, seed: int, note: str, named: str | None = None) -> Results:
    env = policies[0].env
    parts = dict.fromkeys(one.part for one in policies)
    by_part = {part: [one for one in policies if one.part == part] for part in parts}
    settings = [_setting(part if len(parts) > 1 else "", kept, episodes, seed) for part, kept in by_part.items()]
    return Results(
        table=env.name,
        title=f"Saved policies on {named or env.name}, judged again",
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
