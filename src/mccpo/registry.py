"""Things by name: ours, which register themselves in the files that define them, and those of other packages.

Another package adds its own through an entry point of the registry's group. It is loaded when it is asked for, so a
package that is broken stops nobody who does not use it. A name of ours stays ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from mccpo.errors import InputError

T = TypeVar("T")


class Registry(Generic[T]):
    """What is registered under which name.

    **Fields:**

    - `what`: what is registered, in the words of messages, such as "log format".
    - `group`: the group of entry points through which other packages add to it.
    - `kind`: the type of what is registered.
    - `adapt`: makes such an entry of what an entry point names, where that is not one itself; it is given its name.
    """

    def __init__(self, what: str, group: str, kind: type[T], adapt: Callable[[str, Any], T] | None = None) -> None:
        self.what, self.group, self.kind, self.adapt = what, group, kind, adapt
        self._registered: dict[str, T] = {}

    def register(self, name: str, entry: T) -> T:
        """Registers an entry; a name that is taken is refused."""
        if name in self._registered:
            raise InputError(f"there is a {self.what} '{name}' already", fix="choose another name")
        self._registered[name] = entry
        return entry

    def __getitem__(self, name: str) -> T:
        """The entry of this name; InputError where there is none, or where its package cannot be imported."""
        if name in self._registered:
            return self._registered[name]
        self.check(name)
        return self._loaded(self._others()[name])

    def check(self, name: str) -> None:
        """Refuses a name that nobody has; imports nothing."""
        if name not in self:
            close = difflib.get_close_matches(name, self, n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            raise InputError(f"unknown {self.what} '{name}'", fix=f"{hint}choose from {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        """All names: those registered, in that order, then those of other packages, which are not loaded for it."""
        return iter([*self._registered, *self._others()])

    @property
    def registered(self) -> Mapping[str, T]:
        """What has been registered so far, which imports nothing."""
        return self._registered

    def get(self, name: str) -> T | None:
        """The entry of this name, None where there is none."""
        return self[name] if name in self else None  # noqa: SIM401 - this is that get

    def items(self) -> Iterator[tuple[str, T]]:
        """All names with their entries; those of other packages are imported for it."""
        return ((name, self[name]) for name in self)

    def __contains__(self, name: object) -> bool:
        return name in self._registered or name in self._others()

    def __len__(self) -> int:
        return len(self._registered) + len(self._others())

    def _others(self) -> dict[str, EntryPoint]:
        points = sorted(entry_points(group=self.group), key=lambda point: point.name)
        return {point.name: point for point in points if point.name not in self._registered}

    def _loaded(self, point: EntryPoint) -> T:
        """What an entry point names. It may register itself while it is imported."""
        fix = "repair the package that has it, or uninstall it"
        try:
            entry = point.load()
        except Exception as error:  # whatever another package does wrong, here it is one line
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(f"the {self.what} '{point.name}' of {point.value} fails: {reason}", fix=fix) from error
        if point.name in self._registered:  # it registered itself
            return self._registered[point.name]
        if self.adapt is not None and not isinstance(entry, self.kind):
            entry = self.adapt(point.name, entry)
        if not isinstance(entry, self.kind):
            raise InputError(f"{point.value} is no {self.what} but a {type(entry).__name__}", fix=fix)
        return self._registered.setdefault(point.name, entry)
