"""Finds names that most likely mean one concept: `linear_equations`, `Linear-Equation`, `linearequations`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015]+")
_PIECES = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_LEAST_PLURAL = 4
"""A shorter word that ends in s (`gas`, `is`) is hardly a plural."""


def spelling(name: str) -> str:
    """A name without what people write now one way, now another: case, spaces, hyphens, underscores and plurals.

    Digits stay apart from each other, so that `unit_1_15` is not `unit_11_5`. Other marks count: `a<b` is not `a>b`.

    >>> spelling("Linear_Equations") == spelling("linear-equation") == spelling("linearequations")
    True
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    spelt = ""
    for word in _SEPARATORS.split(folded):
        for piece in _PIECES.findall(word):
            part = piece.lstrip("0") or "0" if piece.isdecimal() else _singular(piece)
            # Only digits need a mark between them: words are written together or apart.
            spelt += f" {part}" if spelt[-1:].isdecimal() and part[0].isdecimal() else part
    return spelt or name


def near_duplicates(names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The sets of distinct names that are spelt alike, in the order given.

    >>> near_duplicates(["angle_types", "area", "angle types"])
    (('angle_types', 'angle types'),)
    """
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        alike.setdefault(spelling(name), []).append(name)
    return tuple(tuple(group) for group in alike.values() if len(group) > 1)


def _singular(word: str) -> str:
    if len(word) < _LEAST_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    return f"{word[:-3]}y" if word.endswith("ies") and len(word) > _LEAST_PLURAL else word[:-1]
