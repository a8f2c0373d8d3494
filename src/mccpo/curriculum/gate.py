"""The gate: which concepts a learner is ready for, and what holds back the others.

The functions that policies use take arrays of NumPy and of JAX alike and never look at values, so they can be compiled;
those that check a user's input take NumPy arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mccpo.curriculum.fan_in import Tables
from mccpo.errors import InputError

if TYPE_CHECKING:
    from mccpo.curriculum.graph import Curriculum


def ready(tables: Tables, K: Any, theta: Any) -> Any:
    """Says for each concept whether all its prerequisites, listed in `tables`, have mastery of at least `theta`."""
    if isinstance(theta, int | float):
        check_theta(theta)
    K = _fitting(tables, K)
    # The padding points one past the end, at a prerequisite that counts as mastered. NaN passes no comparison, so an
    # unknown mastery keeps the gate shut.
    mastered = theta <= K
    for table in tables:
        mastered = _with_one_more(mastered, True).take(table, axis=-1).all(axis=-1)
    return mastered


def joint_chance(tables: Tables, K: Any, doubt: Any = 0.0) -> Any:
    """The chance that all prerequisites of each concept are mastered, where K is the chance of each one.

    Each concept's mastery is taken to be a draw of its own, as knowledge tracing takes it. NaN stays NaN, which reaches
    no confidence.
    """
    chance = trusted(_fitting(tables, K), doubt)
    for table in tables:
        chance = _with_one_more(chance, 1).take(table, axis=-1).prod(axis=-1)
    return chance


def prerequisites_hold(tables: Tables, mastered: Any, concept: Any) -> Any:
    """Whether the prerequisites of one concept are mastered, without working it out for all where one table will do."""
    for table in tables[:-1]:
        mastered = _with_one_more(mastered, True).take(table, axis=-1).all(axis=-1)
    return _with_one_more(mastered, True)[mastered.__array_namespace__().asarray(tables[-1])[concept]].all()


def concept_chance(tables: Tables, K: Any, doubt: Any, concept: Any) -> Any:
    """What `joint_chance` says of one concept, in the same way."""
    chance = trusted(K, doubt)
    for table in tables[:-1]:
        chance = _with_one_more(chance, 1).take(table, axis=-1).prod(axis=-1)
    return _with_one_more(chance, 1)[chance.__array_namespace__().asarray(tables[-1])[concept]].prod()


def _with_one_more(values: Any, last: Any) -> Any:
    """The values with one more at the end, where padding points."""
    xp = values.__array_namespace__()
    return xp.concat([values, xp.full((*values.shape[:-1], 1), last, dtype=values.dtype)], axis=-1)


def trusted(K: Any, doubt: Any) -> Any:
    """The chance of mastery once a share `doubt` of its odds is not counted on: odds·(1 − doubt).

    Were the learner's start believed at these lower odds, the same answers would leave odds at least this high: an
    answer multiplies both odds alike, and a lesson draws them together. So no second estimate has to be kept.

    >>> trusted(0.9, 0.0), round(trusted(0.9, 0.5), 3)
    (0.9, 0.818)
    """
    return (1 - doubt) * K / (1 - doubt * K)


def frontier(mask: Any, previous_mask: Any) -> Any:
    """Says which concepts have just become ready: those in `mask` that were not in `previous_mask`.

    >>> frontier(np.array([True, True, False]), np.array([True, False, False])).tolist()
    [False, True, False]
    """
    return mask & ~previous_mask


def blocking(curriculum: Curriculum, K: npt.NDArray[np.floating[Any]], theta: float) -> dict[str, tuple[str, ...]]:
    """For each concept that is not ready, the prerequisites that are not yet mastered (for one learner, K: [V]).

    >>> from mccpo import Curriculum
    >>> blocking(Curriculum.from_edges([("counting", "adding")]), np.array([0.4, 0.0]), theta=0.7)
    {'adding': ('counting',)}
    """
    check_theta(theta)
    unmastered = {name for name, mastery in zip(curriculum.concepts, K, strict=True) if not mastery >= theta}
    held: dict[str, list[str]] = {}
    for prerequisite, concept in curriculum.edges:
        if prerequisite in unmastered:
            held.setdefault(concept, []).append(prerequisite)
    return {name: tuple(held[name]) for name in curriculum.concepts if name in held}


def check_theta(theta: float) -> None:
    """Refuses a mastery threshold that does not lie strictly between 0 and 1.

    >>> check_theta(1.5)
    Traceback (most recent call last):
        ...
    mccpo.errors.InputError: theta is 1.5; give a mastery threshold strictly between 0 and 1, such as 0.7
    """
    if not 0.0 < theta < 1.0:
        raise InputError(f"theta is {theta}", fix="give a mastery threshold strictly between 0 and 1, such as 0.7")


def check_confidence(confidence: float) -> None:
    """Refuses a confidence that does not lie strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise InputError(
            f"the confidence is {confidence}",
            fix="give the least chance that a learner is ready, strictly between 0 and 1, such as 0.95",
        )


def check_mastery(K: npt.ArrayLike, curriculum: Curriculum) -> npt.NDArray[np.float64]:
    """Gives a user's mastery, [..., V], as an array; one that is NaN or outside [0, 1] is refused by concept."""
    mastery = np.asarray(K, dtype=np.float64)
    if not mastery.ndim or mastery.shape[-1] != len(curriculum):
        raise InputError(
            f"mastery of shape {mastery.shape} does not fit {len(curriculum)} concepts",
            fix="give one mastery for each concept, on the last axis",
        )
    wrong = np.argwhere(~((mastery >= 0.0) & (mastery <= 1.0)))
    if len(wrong):
        where = tuple(wrong[0])
        name = curriculum.concepts[where[-1]]
        raise InputError(f"the mastery of {name!r} is {mastery[where]}", fix="give a number from 0 to 1")
    return mastery


def _fitting(tables: Tables, K: Any) -> Any:
    """K as an array with one entry for each concept on its last axis; any other is refused."""
    concepts = len(tables[-1])
    if not hasattr(K, "__array_namespace__"):
        K = _as_array(K)
    if not K.ndim or K.shape[-1] != concepts:
        raise InputError(
            f"mastery of shape {tuple(K.shape)} does not fit {concepts} concepts",
            fix="give one mastery for each concept, on the last axis",
        )
    return K


def _as_array(K: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        mastery = np.asarray(K)
    except ValueError:  # rows of different lengths
        mastery = np.asarray(None)
    if mastery.dtype.kind not in "biuf":
        raise InputError("the mastery is not an array of numbers", fix="give an array of NumPy or JAX")
    return mastery
