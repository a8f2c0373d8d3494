"""Learners who differ from what the tutor believes: several sets of parameters, of which each learner has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError
from mccpo.policy import Array


class Population(NamedTuple):
    """What is true of learners, [members, concepts]: a learner is drawn from one of the members, all alike in number.

    **Fields:**

    - `K0`, `eta`: the chance to have mastered a concept at the start, and to learn it in a lesson.
    - `guess`, `slip`: the chances of a right answer without mastery and a wrong one with it.
    """

    K0: Float[Array, "members concepts"]
    eta: Float[Array, "members concepts"]
    guess: Float[Array, "members concepts"]
    slip: Float[Array, "members concepts"]

    @property
    def members(self) -> int:
        return len(self.K0)

    def of_concepts(self, places: list[int]) -> Population:
        """The same learners on some of the concepts."""
        return Population(*(np.asarray(values)[:, places] for values in self))

    def as_json(self) -> dict[str, Any]:
        """The parameters as lists of numbers."""
        return {name: np.asarray(values).tolist() for name, values in self._asdict().items()}


def as_population(given: Any) -> Population | None:
    """A population as it is, or from its JSON; its numbers in single precision."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        if set(given) != set(Population._fields):
            raise InputError(f"a population has {', '.join(given)}", fix=f"give {', '.join(Population._fields)}")
        given = Population(**given)
    try:
        return Population(*(np.asarray(values, np.float32) for values in given))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"a population is no table of numbers ({error})", fix="give a row for each member, a number a concept"
        ) from error


def check_population(population: Population, concepts: int) -> None:
    """Refuses a population of other concepts, and what is no chance."""
    for name, values in population._asdict().items():
        if values.ndim != 2 or values.shape[1] != concepts or values.shape != population.K0.shape or not len(values):
            raise InputError(
                f"the {name} of a population has the shape {values.shape}",
                fix=f"give a row for each member, of {concepts} numbers",
            )
        if not ((values >= 0) & (values <= 1)).all():
            raise InputError(f"the {name} of a population lies beyond [0, 1]", fix="give chances")
