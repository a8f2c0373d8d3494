"""Who takes part in a benchmark, by name.

A package adds methods by entry points of the group `mccpo.methods`, each the path of a class: a `Learner` that makes
policies (see `mccpo.methods.constrained`), or an `Actor` that is one. In its pyproject.toml:

    [project.entry-points."mccpo.methods"]
    my-method = "my_package.my_module:MyMethod"

A learner's numbers have defaults; `search` (class variable) lists the settings that are tried for it, overrides of its
numbers by name, the recommended first. `constrained` says whether it knows of the budgets. A name of ours stays ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeAlias

import equinox as eqx
import numpy as np
from jaxtyping import Float

from mccpo.env import Environment
from mccpo.errors import InputError
from mccpo.exact import FiniteModel
from mccpo.exact.lyapunov import safe_policy_iteration
from mccpo.methods import METHODS, MethodSpec, as_numbers
from mccpo.methods.constrained import RIVALS
from mccpo.methods.episodes import Actor
from mccpo.methods.gradient.gradient_method import Learner, PrimalDual
from mccpo.methods.rules import TUTORS

Kind = Literal["learner", "tutor", "solver", "outside"]
Setting: TypeAlias = Mapping[str, float]
GROUP = "mccpo.methods"
OURS = "mc-cpo"
MOST_SETTINGS = 6  # every method has the same allowance


@dataclass(frozen=True)
class Learning:
    """A method that is trained.

    **Fields:**

    - `build`: the learner for an environment in one setting; `search`: the settings to try, the recommended first.
    - `sees_budgets`: whether training depends on the budgets, so that each κ is trained for.
    - `seeks_budgets`: whether its setting is chosen for meeting the budgets, or for its return alone.
    - `conditioned`: whether it is trained once and asked for every κ.
    """

    name: str
    build: Callable[[Environment[Any], Setting], Learner]
    search: tuple[Setting, ...] = ({},)
    sees_budgets: bool = True
    seeks_budgets: bool = True
    conditioned: bool = False
    kind: Kind = field(default="learner", init=False)


@dataclass(frozen=True)
class Ruling:
    """A tutor that follows a rule."""

    name: str
    actor: Callable[[], Actor]
    kind: Kind = field(default="tutor", init=False)


@dataclass(frozen=True)
class Solving:
    """A method that computes a policy from the arrays of a finite environment."""

    name: str
    solve: Callable[[FiniteModel, Mapping[str, float]], Float[np.ndarray, "states actions"]]
    kind: Kind = field(default="solver", init=False)


Entrant: TypeAlias = Learning | Ruling | Solving

_PPO_SEARCH: tuple[Setting, ...] = (
    {},
    {"settings.learning_rate": 5e-4},
    {"settings.learning_rate": 2e-3},
    {"settings.entropy": 0.01},
    {"settings.gae": 0.95},
    {"settings.foresight": 0.0},
)
_MC_CPO_SEARCH: tuple[Setting, ...] = (
    {},
    {"settings.entropy": 0.02},
    {"settings.rule.proportional": 1.0},
    {"settings.gae": 0.95},
    {"settings.learning_rate": 2e-3},
    {"settings.follow": 3.0},
)
_SCALES: tuple[Setting, ...] = ({}, {"scale": 0.1}, {"scale": 0.3}, {"scale": 0.35}, {"scale": 0.5}, {"scale": 2.0})


def names() -> list[str]:
    """Everyone who takes part: the paper's, rivals, tutors, solvers, then those of other packages."""
    return [*_own(), *(point.name for point in _others())]


def entrant(name: str) -> Entrant:
    """A method by name; one of another package is imported now."""
    own = _own()
    if name in own:
        return own[name]
    for point in _others():
        if point.name == name:
            return _loaded(point)
    raise unknown("method", name, names())


def unknown(what: str, name: str, known: list[str]) -> InputError:
    """That there is no such method or environment, and which there are."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return InputError(f"unknown {what} '{name}'", fix=f"{hint}choose from {', '.join(known)}")


def adjusted(learner: Learner, setting: Setting) -> Learner:
    """A learner with some of its numbers replaced, each named by its path, such as `settings.entropy`."""
    for path, value in setting.items():
        try:
            learner = eqx.tree_at(partial(_at, path), learner, float(value))
        except AttributeError as error:
            raise InputError(f"{type(learner).__name__} has no number '{path}'", fix="name one of its own") from error
    return learner


def _at(path: str, tree: Any) -> Any:
    return reduce(getattr, path.split("."), tree)


def _own() -> dict[str, Entrant]:
    found: list[Entrant] = [*_paper(), *map(_rival, RIVALS.values())]
    found += [Ruling(name, actor) for name, actor in TUTORS.items()]
    found.append(Solving("lyapunov-lp", lambda model, budgets: safe_policy_iteration(model, budgets)[0]))
    return {one.name: one for one in found}


def _paper() -> list[Learning]:
    """The five of the paper, and shaping with its weights searched for, which the paper's own are not."""
    free = partial(Learning, sees_budgets=False)
    return [
        free("unconstrained", _primal_dual("unconstrained"), _PPO_SEARCH, seeks_budgets=False),
        free("reward-shaped", _primal_dual("reward-shaped")),
        free("reward-shaped-tuned", _shaped, _SCALES),
        free("post-hoc", _primal_dual("post-hoc"), _PPO_SEARCH),
        Learning("mc-cpo", _primal_dual("mc-cpo"), _MC_CPO_SEARCH),
        Learning("mc-cpo-no-frontier", _primal_dual("mc-cpo-no-frontier"), _MC_CPO_SEARCH),
    ]


def _primal_dual(name: str) -> Callable[[Environment[Any], Setting], Learner]:
    return partial(_as_learner, METHODS[name])


def _as_learner(spec: MethodSpec, env: Environment[Any], setting: Setting) -> Learner:
    return adjusted(PrimalDual(as_numbers(spec, env)), setting)


def _shaped(env: Environment[Any], setting: Setting) -> Learner:
    """Shaping by a multiple of the paper's prices."""
    spec, scale = METHODS["reward-shaped"], setting.get("scale", 1.0)
    prices = {cost: scale * price for cost, price in spec.shaping.items()}
    return _as_learner(replace(spec, shaping=prices), env, {})


def _rival(learner: type[Learner], name: str | None = None) -> Learning:
    constrained = bool(getattr(learner, "constrained", True))
    search = tuple(getattr(learner, "search", ({},)))
    if len(search) > MOST_SETTINGS:
        raise InputError(f"{learner.__name__} names {len(search)} settings", fix=f"name {MOST_SETTINGS} at most")
    return Learning(
        name or learner.name,  # type: ignore[attr-defined]  # every rival has one
        lambda _env, setting: adjusted(learner(), setting),
        search,
        sees_budgets=constrained,
        seeks_budgets=constrained,
        conditioned=bool(getattr(learner, "conditioned", False)),
    )


def _others() -> list[EntryPoint]:
    return [point for point in entry_points(group=GROUP) if point.name not in _own()]


def _loaded(point: EntryPoint) -> Entrant:
    found = point.load()
    if isinstance(found, type) and issubclass(found, Learner):
        return _rival(found, point.name)
    if isinstance(found, type) and issubclass(found, Actor):
        return Ruling(point.name, found)
    raise InputError(f"{point.value} is neither a Learner nor an Actor", fix=f"give '{point.name}' such a class")
