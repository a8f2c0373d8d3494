"""What every graph format asks of a name, a demand and a text, with messages that say where."""

from __future__ import annotations

import codecs
from typing import Any

from mccpo.curriculum.formats.raw import fault_in_name
from mccpo.errors import InputError

_MOST_SHOWN = 40


def decode(content: bytes, source: str) -> str:
    """A file's text: UTF-8, with or without a byte-order mark, or UTF-16 with one."""
    utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if utf_16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{source} line {line} is not UTF-8", fix="save the file as UTF-8") from error


def concept_name(name: object, where: str) -> str:
    """A concept's name as it stands; `where` is the file and the line or entry."""
    if not isinstance(name, str):
        raise InputError(f"{where} has the name {name!r}", fix="give each concept a text as its name")
    if fault := fault_in_name(name):
        raise InputError(f"{where} has a name that {fault}", fix="give each concept a readable name")
    return name


def shorten(text: str) -> str:
    """A text as a message may show it: a number of hundreds of digits is cut.

    >>> shorten("9" * 400).endswith("…")
    True
    """
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, for `object_pairs_hook`: of a key that is given twice JSON would silently take the last value.

    >>> unrepeated([("name", "counting"), ("demand", 0.2)])
    {'name': 'counting', 'demand': 0.2}
    """
    entry = dict(pairs)
    if len(entry) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is given twice")
    return entry


def concept_demand(value: object, where: str) -> float | None:
    """A demand from 0 to 1, or None where nothing is stated."""
    if value is None or value == "":
        return None
    try:
        # float(True) is 1.0, but a flag is no demand
        demand = float("nan") if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        demand = float("nan")
    if not 0.0 <= demand <= 1.0:
        raise InputError(f"{where} has the demand {shorten(repr(value))}", fix="give a number from 0 to 1")
    return demand
