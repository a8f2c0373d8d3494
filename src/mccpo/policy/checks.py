"""Checks of single parameters: each refuses what cannot be meant, in one line that names it and says what to give."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError
from mccpo.policy.arrays import Array

PerConcept: TypeAlias = Float[Array, ""] | Float[Array, " concepts"]
"""One number for all concepts, or one for each."""
PER_CONCEPT = ("K0", "eta", "guess", "slip", "doubt", "ease", "success", "failure")
"""The parameters of tutors that can be such."""


def is_number(value: object) -> bool:
    """Whether a value is a single number: not a truth value, nor a text, nor a list.

    >>> is_number(0.7), is_number(True), is_number("0.7")
    (True, False, False)
    """
    if isinstance(value, int | float):
        return not isinstance(value, bool)
    array = np.asarray(value)
    return array.ndim == 0 and np.issubdtype(array.dtype, np.number)


def check_gamma(gamma: float) -> None:
    """Refuses a discount outside (0, 1].

    >>> check_gamma(1.2)
    Traceback (most recent call last):
        ...
    mccpo.errors.InputError: gamma is 1.2; give a discount in (0, 1]
    """
    if not is_number(gamma) or not 0 < gamma <= 1:
        raise InputError(f"gamma is {gamma}", fix="give a discount in (0, 1]")


def check_horizon(horizon: int) -> None:
    """Refuses a horizon that is not a positive whole number.

    >>> check_horizon(0)
    Traceback (most recent call last):
        ...
    mccpo.errors.InputError: horizon is 0; give a whole number of steps of at least 1
    """
    if not isinstance(horizon, int) or isinstance(horizon, bool) or horizon < 1:
        raise InputError(f"horizon is {horizon}", fix="give a whole number of steps of at least 1")


def check_probability(name: str, value: float) -> None:
    """Refuses a number that is not a probability.

    >>> check_probability("guess", 20)
    Traceback (most recent call last):
        ...
    mccpo.errors.InputError: guess is 20; give a probability in [0, 1]
    """
    if not is_number(value) or not 0 <= value <= 1:
        raise InputError(f"{name} is {value}", fix="give a probability in [0, 1]")


def check_at_least_0(name: str, value: float) -> None:
    """Refuses a number that is negative or not finite.

    >>> check_at_least_0("novelty", -1.0)
    Traceback (most recent call last):
        ...
    mccpo.errors.InputError: novelty is -1.0; give a finite number of at least 0
    """
    if not is_number(value) or not 0 <= value < math.inf:
        raise InputError(f"{name} is {value}", fix="give a finite number of at least 0")


def check_span(name: str, value: float) -> None:
    """Refuses a number of lessons that is not above 0 and finite.

    >>> check_span("half_life", 0)
    Traceback (most recent call last):
        ...
    mccpo.errors.InputError: half_life is 0; give a number of lessons above 0
    """
    if not is_number(value) or not 0 < value < math.inf:
        raise InputError(f"{name} is {value}", fix="give a number of lessons above 0")


def per_concept(value: Any) -> Any:
    """Lists and tuples as arrays; a number stays one.

    >>> per_concept([0.25, 0.5])
    array([0.25, 0.5 ], dtype=float32)
    """
    return np.asarray(_numbers(value), np.float32) if isinstance(value, list | tuple) else value


def for_each_concept(value: Any, concepts: int) -> Float[np.ndarray, " concepts"]:
    """One number for each concept in double precision, also where one was given for all; read-only.

    >>> for_each_concept(0.2, concepts=3)
    array([0.2, 0.2, 0.2])
    """
    numbers = np.asarray(_numbers(value if isinstance(value, list | tuple) else [value] * concepts), np.float64)
    numbers.setflags(write=False)
    return numbers


def check_length(name: str, value: PerConcept, concepts: tuple[str, ...]) -> None:
    """Refuses numbers that are not finite, or not as many as there are concepts.

    >>> check_length("ease", np.zeros(3), ("counting", "adding"))
    Traceback (most recent call last):
        ...
    mccpo.errors.InputError: ease has 3 numbers; give one for each of the 2 concepts
    """
    if np.ndim(value) and np.shape(value) != (len(concepts),):
        raise InputError(
            f"{name} has {np.size(value)} numbers", fix=f"give one for each of the {len(concepts)} concepts"
        )
    if not np.isfinite(value).all():
        raise InputError(f"{name} is not a finite number", fix="give finite numbers")


def check_per_concept(name: str, value: PerConcept, concepts: tuple[str, ...]) -> None:
    """Refuses what is not a probability, or not as many as there are concepts.

    >>> check_per_concept("slip", np.array([0.1, 1.3]), ("counting", "adding"))
    Traceback (most recent call last):
        ...
    mccpo.errors.InputError: slip of 'adding' is 1.3; give a probability in [0, 1]
    """
    if np.ndim(value):
        check_length(name, value, concepts)
    wrong = np.flatnonzero(~((np.asarray(value) >= 0) & (np.asarray(value) <= 1)))
    if len(wrong):
        whose = f" of {concepts[wrong[0]]!r}" if np.ndim(value) else ""
        raise InputError(f"{name}{whose} is {np.ravel(value)[wrong[0]]}", fix="give a probability in [0, 1]")


def _numbers(values: Any) -> Any:
    """A list, refused where it is not one of numbers."""
    if not all(map(is_number, values)):
        raise InputError(f"{values!r} is no list of numbers", fix="give one number, or one for each concept")
    return values
