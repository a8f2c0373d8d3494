"""What JSON holds, checked: every complaint names the place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError

Json = Mapping[str, Any]
"""An object of JSON, as it is read from a file or about to be written to one."""

_MOST_SHOWN = 40
_ROUNDING = 1e-4  # by which a mean of shares may leave [0, 1]


def as_mapping(raw: object, where: str) -> Json:
    """An object with named entries; an empty one for nothing."""
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise InputError(f"{where} is a {type(raw).__name__}", fix="it must be an object with named entries")
    return raw


def as_list(raw: object, where: str) -> Sequence[Any]:
    """A list; an empty one for nothing."""
    if raw is None:
        return ()
    if not isinstance(raw, Sequence) or isinstance(raw, str):
        raise InputError(f"{where} is a {type(raw).__name__}", fix="it must be a list")
    return raw


def as_number(raw: object, where: str) -> float:
    """A finite number, as the file has it: a count stays a whole number."""
    if isinstance(raw, int | float) and not isinstance(raw, bool) and _finite(raw):
        return raw
    shown = repr(raw)
    shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
    raise InputError(f"{where} is {shown}", fix="it must be a finite number; leave out what was not measured")


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond what floating point can hold
        return False


def as_numbers(raw: object, where: str) -> dict[str, float]:
    """Numbers by name, without those that were not measured."""
    return {
        key: as_number(value, f"{where}, {key}") for key, value in as_mapping(raw, where).items() if value is not None
    }


def as_counts(raw: object, where: str) -> dict[str, float]:
    """Numbers by name, of which those that are whole stay whole: counts, and means beside them."""
    entries = as_mapping(raw, where)
    return {
        name: entries[name] if isinstance(entries[name], int) else value
        for name, value in as_numbers(raw, where).items()
    }


def as_optional_number(raw: object, where: str) -> float | None:
    """A finite number, or None for nothing."""
    return None if raw is None else as_number(raw, where)


def as_whole(raw: object, where: str) -> int | None:
    """A whole number, or None for nothing."""
    number = as_optional_number(raw, where)
    return None if number is None else round(number)


def as_tables(raw: object, where: str) -> dict[str, dict[str, float]]:
    """Numbers by name, in tables by name."""
    return {name: as_numbers(numbers, f"{where}, {name}") for name, numbers in as_mapping(raw, where).items()}


def stated(**entries: object) -> Json:
    """The entries that are not None: JSON leaves out what a table does not speak of."""
    return {name: value for name, value in entries.items() if value is not None}


def as_texts(raw: object, where: str) -> tuple[str, ...]:
    """Sentences or names."""
    return tuple(str(text) for text in as_list(raw, where))


def as_truth(raw: object, where: str) -> bool:
    """Yes or no."""
    if not isinstance(raw, bool):
        raise InputError(f"{where} is {raw!r}", fix="it must be true or false")
    return raw


def as_shares(raw: object, where: str, rows: int | None, columns: int) -> Float[np.ndarray, "rows columns"]:
    """A table of numbers from 0 to 1, as a list of rows; `rows` is None where any number of them will do."""
    listed = as_list(raw, where)
    wanted = f"give {'one row per step' if rows is None else f'{rows} rows'}, each with {columns} numbers from 0 to 1"
    if not listed or (rows is not None and len(listed) != rows):
        raise InputError(f"{where} has {len(listed)} rows", fix=wanted)
    for number, row in enumerate(listed):
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != columns:
            raise InputError(f"{where}, row {number} is not {columns} numbers", fix=wanted)
    try:
        values = np.asarray(listed, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where} is not a table of numbers", fix=wanted) from error
    if not np.all((values >= -_ROUNDING) & (values <= 1.0 + _ROUNDING)):  # refuses what is not a number, too
        raise InputError(f"{where} has a number outside of 0 to 1", fix=wanted)
    return values.clip(0.0, 1.0)
