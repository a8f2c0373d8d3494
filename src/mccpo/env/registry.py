"""Environments by name: ours, those that a user registers, and those that other packages add.

An environment registers itself in its own file:

    @register("tutor-15")
    class Tutor(Tutoring): ...

A package adds environments by entry points of the group `mccpo.environments`. Each leads to an `Environment` class, or
to a function that makes one; either may carry the decorator as well. In its pyproject.toml:

    [project.entry-points."mccpo.environments"]
    my-course = "my_package.my_module:MyCourse"

`mccpo.make`, Gymnasium and every command then know the name. A name of ours stays ours. A package is imported when one
of its environments is asked for, so that one that cannot be imported is in nobody else's way.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeGuard, TypeVar

from mccpo.env.contract import Environment
from mccpo.errors import InputError

GROUP = "mccpo.environments"
_OUR_PACKAGE = "mccpo."

BuildT = TypeVar("BuildT", bound=Callable[..., Any])


class UnknownEnvironment(InputError):  # noqa: N818 - the call is at fault, not the program
    """No environment of that name is registered here."""


@dataclass(frozen=True)
class EnvironmentEntry:
    """What the registry knows of an environment.

    **Fields:**

    - `name`: by which it is asked for.
    - `build`: its class, or a function that gives one; what it takes are the parameters of the environment.
    - `test`: parameters that differ where policies are tested, if these are tested elsewhere than trained.
    - `needs_data`: whether it is made from real data, in the folder that the parameter `data` names.
    - `source`: the path of an entry point, empty for what this process registered itself.
    """

    name: str
    build: Callable[..., Any]  # that it gives an Environment is checked when it is called
    test: Mapping[str, Any] = field(default_factory=dict)
    needs_data: bool = False
    source: str = ""

    @property
    def doc(self) -> str:
        """What it says of itself, for the docs."""
        return inspect.getdoc(self.build) or ""


_registered: dict[str, EnvironmentEntry] = {}


def register(
    name: str, *, test: Mapping[str, Any] | None = None, needs_data: bool = False
) -> Callable[[BuildT], BuildT]:
    """Registers the class or function below under a name. See `EnvironmentEntry` for what can be said of it."""

    def decorate(build: BuildT) -> BuildT:
        taken = _registered.get(name)
        if taken is not None and _path(taken.build) != _path(build):  # else its module was imported again
            raise InputError(f"'{name}' is already registered, for {_path(taken.build)}", fix="choose another name")
        _registered[name] = EnvironmentEntry(name, build, dict(test or {}), needs_data)
        return build

    return decorate


def registered() -> dict[str, EnvironmentEntry]:
    """What this process has registered, in the order of names, those that need data last. Imports nothing."""
    return dict(sorted(_registered.items(), key=lambda item: (item[1].needs_data, item[0])))


def environment_names() -> list[str]:
    """Every name that there is: what is registered, then what other packages add. Imports none of them.

    >>> environment_names()[:3]
    ['chain', 'fractions', 'gate']
    """
    return [*registered(), *_points()]


def check_environment_name(name: str) -> None:
    """Refuses a name that no environment has."""
    if name not in _registered and name not in _points():
        raise UnknownEnvironment(f"unknown environment '{name}'", fix=choice(name, environment_names()))


def environment_entry(name: str) -> EnvironmentEntry:
    """The entry of a name; the package of an entry point is imported now.

    >>> environment_entry("gate").needs_data
    False
    """
    if name in _registered:
        return _registered[name]
    check_environment_name(name)
    return _entry(_points()[name])


def needs_data(name: str) -> bool:
    """Whether an environment is made from real data; one that is not to be had here is not.

    >>> from mccpo.env import environment_names
    >>> needs_data("tutor-15")
    False
    """
    with suppress(InputError):
        return environment_entry(name).needs_data
    return False


def class_entry(name: str) -> EnvironmentEntry:
    """The entry of the environment class that calls itself so, under whichever name it is registered."""
    try:
        return environment_entry(name)
    except UnknownEnvironment:
        for entry, calls_itself in _classes():
            if calls_itself == name:
                return entry
        raise


def entry_of(env: Environment[Any]) -> EnvironmentEntry:
    """The entry of an environment's own class, which builds it again from its parameters."""
    with suppress(UnknownEnvironment):
        if (entry := class_entry(env.name)).build is type(env):
            return entry
    raise InputError(
        f"{_path(type(env))} is not registered as '{env.name}', so its parameters cannot be kept",
        fix="register the class itself, by the decorator or by an entry point",
    )


def choice(name: str, known: Iterable[str]) -> str:
    """What to do about a name that is not known: the closest there is, and all there are."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}choose from {', '.join(known)}"


def _points() -> dict[str, EntryPoint]:
    """Entry points by name, less those whose name is registered already."""
    found = sorted(entry_points(group=GROUP), key=lambda point: (not point.value.startswith(_OUR_PACKAGE), point.name))
    first = dict[str, EntryPoint]()
    for point in found:
        first.setdefault(point.name, point)
    return {name: point for name, point in first.items() if name not in _registered}


def _entry(point: EntryPoint) -> EnvironmentEntry:
    try:
        build = point.load()
    except (Exception, SystemExit) as error:  # whatever a package does when it is imported
        why = " ".join(f"{type(error).__name__}: {error}".split())
        package = f"the package {point.dist.name}" if point.dist is not None else "its package"
        raise InputError(
            f"the environment '{point.name}' cannot be imported from {point.value} ({why})", fix=f"repair {package}"
        ) from error
    if not callable(build):
        raise InputError(f"{point.value} makes no Environment", fix=f"let '{point.name}' name what makes one")
    # Its own decorator may say more of it, under this name or another.
    own = next((entry for entry in _registered.values() if entry.build is build), None)
    entry = EnvironmentEntry(point.name, build) if own is None else own
    return replace(entry, name=point.name, source=point.value)


def _classes() -> Iterator[tuple[EnvironmentEntry, object]]:
    """The entries of classes, each with what the class calls itself; imports what packages can be imported."""
    yield from ((entry, entry.build.name) for entry in _registered.values() if _is_class(entry.build))
    for point in _points().values():
        with suppress(InputError):
            entry = _entry(point)
            if _is_class(entry.build):
                yield entry, entry.build.name


def _is_class(build: object) -> TypeGuard[type[Environment[Any]]]:
    return isinstance(build, type) and issubclass(build, Environment)


def _path(build: Any) -> str:
    return f"{build.__module__}.{build.__qualname__}"
