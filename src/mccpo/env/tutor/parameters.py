"""Parameters that are one number for all concepts, or one for each."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Array, Float

from mccpo.errors import InputError

PerConcept: TypeAlias = float | Float[np.ndarray, " concepts"] | Float[Array, ""] | Float[Array, " concepts"]
PER_CONCEPT = ("K0", "eta", "guess", "slip", "ease", "success", "failure")
"""The parameters of tutors that can be such."""


def per_concept(value: Any) -> Any:
    """Lists and tuples as arrays; a number stays one."""
    if not isinstance(value, list | tuple):
        return value
    try:
        return np.asarray(value, np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"{value!r} is no list of numbers", fix="give one number, or one for each concept") from error


def check_length(name: str, value: PerConcept, concepts: tuple[str, ...]) -> None:
    """Refuses numbers that are not finite, or not as many as there are concepts."""
    if np.ndim(value) and np.shape(value) != (len(concepts),):
        raise InputError(
            f"{name} has {np.size(value)} numbers", fix=f"give one for each of the {len(concepts)} concepts"
        )
    if not np.isfinite(value).all():
        raise InputError(f"{name} is not a finite number", fix="give finite numbers")


def check_per_concept(name: str, value: PerConcept, concepts: tuple[str, ...]) -> None:
    """Refuses what is not a probability, or not as many as there are concepts."""
    if np.ndim(value):
        check_length(name, value, concepts)
    wrong = np.flatnonzero(~((np.asarray(value) >= 0) & (np.asarray(value) <= 1)))
    if len(wrong):
        whose = f" of {concepts[wrong[0]]!r}" if np.ndim(value) else ""
        raise InputError(f"{name}{whose} is {np.ravel(value)[wrong[0]]}", fix="give a probability in [0, 1]")
