"""What the pages say of methods, from their own entries in the registry."""

from __future__ import annotations

from mccpo.methods import METHODS, GradientEntry, Setting
from mccpo.methods import method_names as registered_names


def method_names() -> list[str]:
    """Every method that has a page: ours, without the variants of others."""
    return registered_names(variants=False, others=False)


def method_about(name: str) -> str:
    """What a method is, in the parts that every method's docstring has."""
    return METHODS[name].about


def default_numbers(name: str) -> Setting:
    """A method's own numbers, with their defaults."""
    entry = METHODS[name]
    return entry.numbers if isinstance(entry, GradientEntry) else {}
