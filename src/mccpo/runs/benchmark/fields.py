"""The entries of a JSON object, each read as the kind of value that it must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonObject: TypeAlias = dict[str, object]


class Fields:
    """A JSON object whose entries are read by name and kind.

    A missing entry raises KeyError, one of another kind TypeError: who reads a file says which file it was.
    """

    def __init__(self, raw: object) -> None:
        if not isinstance(raw, Mapping):
            raise TypeError(f"{type(raw).__name__} instead of an object")
        self._raw: Mapping[str, object] = raw

    def __contains__(self, key: str) -> bool:
        return key in self._raw

    def text(self, key: str) -> str:
        """A text; null counts as empty."""
        value = self._raw[key]
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{key} is no text")
        return value or ""

    def number(self, key: str, default: float | None = None) -> float:
        """A number; `default` stands for a missing one."""
        if default is not None and key not in self._raw:
            return default
        return as_number(self._raw[key], key)

    def optional_number(self, key: str) -> float | None:
        """A number, or None where it is missing or null."""
        value = self._raw.get(key)
        return None if value is None else as_number(value, key)

    def whole(self, key: str) -> int:
        """A whole number."""
        return int(self.number(key))

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """True or false; `default` stands for a missing entry."""
        return bool(self._raw[key] if default is None else self._raw.get(key, default))

    def items(self, key: str) -> Sequence[object]:
        """A list."""
        return as_list(self._raw[key], key)

    def numbers(self, key: str) -> tuple[float, ...]:
        """A list of numbers."""
        return tuple(as_number(value, key) for value in self.items(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(str(value) for value in self.items(key))

    def named_numbers(self, key: str) -> dict[str, float]:
        """Numbers by name."""
        return {name: as_number(value, name) for name, value in Fields(self._raw[key]).raw.items()}

    def part(self, key: str) -> Fields:
        """An object within this one."""
        return Fields(self._raw[key])

    def parts(self, key: str) -> dict[str, Fields]:
        """Objects by name."""
        return Fields(self._raw[key]).all_parts()

    def all_parts(self) -> dict[str, Fields]:
        """All entries, each of which is an object."""
        return {name: Fields(value) for name, value in self._raw.items()}

    @property
    def raw(self) -> Mapping[str, object]:
        return self._raw


def as_number(value: object, name: str) -> float:
    """A number, as a float or an int."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is no number")
    return value


def as_list(value: object, name: str) -> Sequence[object]:
    """A list."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} is no list")
    return value


def as_interval(value: object, name: str) -> tuple[float, float]:
    """The lower and the upper end of an interval."""
    low, high = as_list(value, name)
    return as_number(low, name), as_number(high, name)
