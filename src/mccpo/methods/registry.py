"""Methods by name: ours, the paper's, the constrained ones, rules, solvers, and those of other packages.

Every method registers itself in its own file, with the label that tables show, the docstring that is its page, and the
settings that may be searched:

    @register_method(label="My method")
    class MyMethod(OnPolicy):
        name = "my-method"

A class is a `GradientMethod`, which is trained, or a `Policy`, which follows a rule. A package adds methods by entry
points of the group `mccpo.methods`, each the path of such a class. In its pyproject.toml:

    [project.entry-points."mccpo.methods"]
    my-method = "my_package.my_module:MyMethod"

A name of ours stays ours. Every method can be named in every command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

import equinox as eqx
import numpy as np
from jaxtyping import Float

from mccpo.env import Environment
from mccpo.errors import InputError
from mccpo.methods.episodes import Policy
from mccpo.methods.gradient.gradient_method import GradientMethod
from mccpo.methods.gradient.settings import PPOSettings
from mccpo.methods.mc_cpo.spec import MethodSpec
from mccpo.methods.mc_cpo.tabular import TabularSettings
from mccpo.registry import Registry

GROUP = "mccpo.methods"
MOST_SETTINGS = 6  # every method has the same allowance

Kind = Literal["learner", "tutor", "solver", "outside"]
"""How a policy comes about, in the words of published results: it is learnt, a rule, computed, or from elsewhere."""
Setting: TypeAlias = Mapping[str, float]
Table: TypeAlias = Float[np.ndarray, "states actions"]
if TYPE_CHECKING:
    from mccpo.exact import FiniteModel

ClassT = TypeVar("ClassT", bound=type)


@dataclass(frozen=True)
class MethodEntry:
    """What every method is registered with.

    - `label`: what tables call it; `about`: its page of the docs, in Markdown.
    - `variant`: whether it is a variant of another method, which a benchmark leaves out unless it is named.
    """

    name: str
    label: str
    about: str
    kind: Kind = field(default="learner", init=False)
    variant: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class GradientEntry(MethodEntry):
    """A method that learns its policy by gradient.

    - `build`: the method for an environment in one setting; `search`: the settings to try, the recommended first.
    - `sees_budgets`: whether training depends on the budgets, so that each κ is trained for.
    - `seeks_budgets`: whether its setting is chosen for meeting the budgets, or for its return alone.
    - `conditioned`: whether it is trained once and asked for every κ.
    - `spec`: the method as data, where it is one of the primal–dual family, which a table can learn, too.
    - `settings`: the numbers of PPO where they are not the recommended ones; `tabular`: those of a table, whose last
      policy is then the result.
    - `numbers`: its own numbers with their defaults, beside those of `PPOSettings`.
    """

    build: Callable[[Environment[Any], Setting], GradientMethod]
    search: tuple[Setting, ...] = ({},)
    sees_budgets: bool = True
    seeks_budgets: bool = True
    conditioned: bool = False
    spec: MethodSpec | None = None
    settings: PPOSettings | None = None
    tabular: TabularSettings | None = None
    numbers: Setting = field(default_factory=dict)


@dataclass(frozen=True)
class RuleEntry(MethodEntry):
    """A rule that chooses by what is seen of a learner; nothing is trained."""

    build: Callable[[], Policy]
    kind: Kind = field(default="tutor", init=False)


@dataclass(frozen=True)
class SolverEntry(MethodEntry):
    """A method that computes a policy from the arrays of a finite environment."""

    solve: Callable[[FiniteModel, Mapping[str, float]], Table]
    kind: Kind = field(default="solver", init=False)


def register_method(*, label: str, variant: bool = False, also_shared: bool = False) -> Callable[[ClassT], ClassT]:
    """Registers a class under its `name`: a `GradientMethod` or a `Policy`, whose docstring is its page.

    With `also_shared`, the same method with MC-CPO's network is registered beside it, as `NAME-shared`: what a method
    gains by the network is then not taken for its own.
    """

    def enter(method: ClassT) -> ClassT:
        entry = entry_of(method, method.name, label, variant=variant)  # type: ignore[attr-defined]  # both kinds have one
        add(entry)
        if also_shared:
            assert isinstance(entry, GradientEntry)
            add(_with_shared_network(entry))
        return method

    return enter


def add(entry: MethodEntry) -> None:
    """Registers an entry; a name is given once."""
    METHODS.register(entry.name, entry)


def entry_of(method: type, name: str, label: str | None = None, *, variant: bool = False) -> MethodEntry:
    """The entry of a class."""
    about = inspect.cleandoc(method.__doc__ or "")
    shown = label or name
    if issubclass(method, Policy):
        return RuleEntry(name, shown, about, method, variant=variant)
    if not issubclass(method, GradientMethod):
        raise InputError(f"{method.__name__} is neither a GradientMethod nor a Policy", fix="make it one of them")
    if len(method.search) > MOST_SETTINGS:
        raise InputError(f"{method.__name__} names {len(method.search)} settings", fix=f"name {MOST_SETTINGS} at most")
    return GradientEntry(
        name,
        shown,
        about,
        lambda _env, setting: adjusted(method(), setting),
        tuple(method.search),
        sees_budgets=method.constrained,
        seeks_budgets=method.constrained,
        conditioned=method.conditioned,
        numbers={own.name: own.default for own in fields(method) if isinstance(own.default, float)},
        variant=variant,
    )


def _with_shared_network(entry: GradientEntry) -> GradientEntry:
    """The same method with weights shared between concepts."""
    about = (
        f"{entry.label} with the network of MC-CPO, whose weights all concepts share; all else is as in `{entry.name}`."
    )

    def build(env: Environment[Any], setting: Setting) -> GradientMethod:
        return replace(entry.build(env, setting), shared=True)

    name, label = f"{entry.name}-shared", f"{entry.label}, shared network"
    return replace(entry, name=name, label=label, about=about, build=build, variant=True)


def method_names(*, variants: bool = True, others: bool = True) -> list[str]:
    """Every method: ours in the order of the tables, then those of other packages, unless `others` is false.

    Tables have methods that learn first, then rules, then solvers, whichever file was imported first.

    >>> method_names()[:2]
    ['unconstrained', 'reward-shaped']
    """
    ours = sorted(METHODS.registered, key=lambda name: get_args(Kind).index(METHODS[name].kind))
    theirs = [name for name in METHODS if name not in METHODS.registered] if others else []
    return [name for name in ours if variants or not METHODS[name].variant] + theirs


def method_entry(name: str) -> MethodEntry:
    """A method by name; one of another package is imported now.

    >>> from mccpo.methods import method_names
    >>> method_entry("mc-cpo").label
    'MC-CPO'
    """
    return METHODS[name]


def sees_budgets(name: str) -> bool:
    """Whether what a method does depends on the budgets.

    >>> sees_budgets("mc-cpo"), sees_budgets("mastery-learning")
    (True, False)
    """
    entry = method_entry(name)
    return isinstance(entry, SolverEntry) or (isinstance(entry, GradientEntry) and entry.sees_budgets)


def is_masked(name: str) -> bool:
    """Whether a method's policies keep to what is ready; of the family that depends on the member.

    >>> is_masked("mc-cpo"), is_masked("unconstrained")
    (True, False)
    """
    entry = method_entry(name)
    return not isinstance(entry, GradientEntry) or entry.spec is None or entry.spec.masked


def adjusted(method: GradientMethod, setting: Setting) -> GradientMethod:
    """A method with some of its numbers replaced, each named by its path, such as `settings.entropy`."""
    for path, value in setting.items():
        try:
            method = eqx.tree_at(partial(_at, path), method, float(value))
        except AttributeError as error:
            raise InputError(f"{type(method).__name__} has no number '{path}'", fix="name one of its own") from error
    return method


def _at(path: str, tree: Any) -> Any:
    return reduce(getattr, path.split("."), tree)


def _adapted(name: str, method: Any) -> MethodEntry:
    if not isinstance(method, type):
        raise InputError(f"'{name}' names no class", fix="give it a GradientMethod or a Policy")
    return entry_of(method, name, getattr(method, "label", None))


METHODS: Registry[MethodEntry] = Registry("method", GROUP, MethodEntry, _adapted)
"""All methods by name."""
