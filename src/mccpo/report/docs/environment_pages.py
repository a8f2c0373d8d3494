"""The page of an environment: its definition in its own words, and figures computed from it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from mccpo.env import (
    BinaryMastery,
    Environment,
    EnvironmentEntry,
    FiniteEnvironment,
    PreparedTutor,
    RandomCurricula,
    Tutoring,
    environment_entry,
    train_and_test,
)
from mccpo.exact import Infeasible, Optimum, Values, enumerate_model, solve
from mccpo.experiments.benchmark import KAPPAS
from mccpo.report import numbers
from mccpo.report.docs.docstrings import parse_docstring, table

_SHARED = (Environment, FiniteEnvironment)  # the contract, which is no rule of any environment


def environment_page(name: str, verdicts: Sequence[str]) -> str:
    """The page of an environment; `verdicts` are what published benchmarks say of it."""
    parts = [f"# {name}"]
    entry = environment_entry(name)
    if entry.needs_data:
        parts += [_from_data(entry), *_definition(PreparedTutor)]
    else:
        pair = train_and_test(name)
        env = pair.train
        first, *rest = _definition(type(env))
        parts += [first, *rest, _figures(env), _costs(env), _parameters(type(env))]
        if isinstance(env, RandomCurricula) and isinstance(pair.test, RandomCurricula):
            parts.append(f"The benchmark trains on family {env.family} and judges on family {pair.test.family}.")
        if isinstance(env, FiniteEnvironment):
            parts.append(_optima(env))
    if verdicts:
        parts += ["## In published benchmarks", *verdicts]
    return "\n\n".join(part for part in parts if part) + "\n"


def _definition(build: type) -> list[str]:
    """What the class says of itself, then what it shares with others: the rules of the classes that it is made from."""
    docstring = parse_docstring(build.__doc__)
    parts = [docstring.first, docstring.rest, *(f"**{name}:**\n\n{text}" for name, text in docstring.parts.items())]
    for base in build.__mro__[1:]:
        if base.__module__.startswith("mccpo.env") and base not in _SHARED and base.__doc__:
            parts.append(f"## The rules of `{base.__name__}`, which it shares\n\n{inspect.cleandoc(base.__doc__)}")
    return [part for part in parts if part]


def _from_data(entry: EnvironmentEntry) -> str:
    return (
        f"{entry.doc}\n\n"
        f"It is made of logs, from the folder that `--data` or `MCCPO_DATA` names; where there are none, the "
        "benchmark says so and goes on. Figures are those of the logs, so that none stand here."
    )


def _figures(env: Environment[Any]) -> str:
    rows = []
    if isinstance(env, BinaryMastery | Tutoring):
        curriculum = env.curriculum
        rows += [
            ["concepts", f"{len(curriculum)}"],
            ["edges", f"{len(curriculum.edges)}"],
            ["depth", f"{curriculum.depth}"],
        ]
    rows += [
        ["actions", f"{env.num_actions}"],
        ["features", f"{env.num_features}"],
        ["horizon", f"{env.horizon}"],
        ["γ", f"{env.gamma:g}"],
    ]
    if isinstance(env, FiniteEnvironment):
        rows.append(["states", f"{env.num_states:,}"])
    note = "\n\nThe edges and the depth are those of its first curriculum." if isinstance(env, RandomCurricula) else ""
    return "## Figures\n\n" + table(["", "value"], rows) + note


def _costs(env: Environment[Any]) -> str:
    rows = [
        [cost, "yes" if cost in env.constrained else "no", numbers.short(float(bound))]
        for cost, bound in zip(env.cost_names, env.cost_bounds, strict=True)
    ]
    return table(["cost", "has a budget", "largest in a step"], rows)


def _parameters(build: type) -> str:
    """The numbers of the definition, as they are by default."""
    defaults = {key: parameter.default for key, parameter in inspect.signature(build).parameters.items()}
    rows = [[f"`{key}`", _shown(value)] for key, value in defaults.items() if isinstance(value, int | float | str)]
    return "## Parameters\n\n" + table(["parameter", "default"], rows)


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _optima(env: FiniteEnvironment[Any]) -> str:
    """What is to be had without budgets and within them, by linear program."""
    model = enumerate_model(env)
    free = solve(model)
    assert isinstance(free, Optimum)  # without budgets every environment has an optimum
    rows = [["none", *_worth(env, free.values, {})]]
    for kappa in sorted(KAPPAS, reverse=True):
        limits = {cost: kappa * free.values.costs[cost] for cost in env.constrained}
        best = solve(model, limits)
        if isinstance(best, Infeasible):
            rows.append([f"κ = {kappa:g}", "cannot be met", *("" for _ in env.constrained)])
            continue
        rows.append([f"κ = {kappa:g}", *_worth(env, best.values, best.multipliers)])
    head = ["budgets", "return", *(f"J({cost}), multiplier" for cost in env.constrained)]
    return "## The exact optimum\n\n" + table(head, rows)


def _worth(env: FiniteEnvironment[Any], values: Values, multipliers: Mapping[str, float]) -> list[str]:
    spent = [
        f"{values.costs[cost]:.4f}" + (f", {multipliers[cost]:.4f}" if cost in multipliers else "")
        for cost in env.constrained
    ]
    return [f"{values.ret:.4f}", *spent]
