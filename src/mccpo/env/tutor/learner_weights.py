"""The numbers of fitted models of answers, as environments keep them: tables that go to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from mccpo.errors import InputError
from mccpo.policy import Array

PRACTICE_FEATURES = 6
"""Right and wrong answers, as logarithms, then those that fade fast and slowly."""


class PracticeWeights(NamedTuple):
    """A regression on what was practised (Best-LR), for each concept and for all.

    **Fields:**

    - `ease`, `wins`, `fails`: of each concept: the log-odds of a right answer without practice, and what is added for
      the logarithms of 1 + right and wrong answers on it.
    - `concept`: what is added for practice on a concept, whichever it is.
    - `ability`: what is added for all that learners answered, on any concept. Each level stands for as many learners.
    - `items`: what the items of a concept add, [concepts, levels]. Each level stands for as many answers in the logs.
    """

    ease: Float[Array, " concepts"]
    wins: Float[Array, " concepts"]
    fails: Float[Array, " concepts"]
    concept: Float[Array, " practice"]
    ability: Float[Array, " abilities"]
    items: Float[Array, "concepts levels"]

    @classmethod
    def example(cls, concepts: int) -> PracticeWeights:
        """Numbers of no data, to try the environment with."""
        one, none = np.ones(concepts, np.float32), np.zeros(PRACTICE_FEATURES, np.float32)
        ability, items = np.array([-0.4, 0.0, 0.4], np.float32), np.array([-0.5, 0.5], np.float32)
        return cls(-0.5 * one, 0.6 * one, 0.2 * one, none, ability, np.tile(items, (concepts, 1)))

    @property
    def concepts(self) -> int:
        return len(self.ease)

    def of_concepts(self, places: list[int]) -> PracticeWeights:
        """The same on some of the concepts."""
        own = {name: np.asarray(getattr(self, name))[places] for name in ("ease", "wins", "fails", "items")}
        return self._replace(**own)

    def as_json(self) -> dict[str, Any]:
        """The weights as lists of numbers."""
        return _lists(self)

    def check(self) -> None:
        """Refuses shapes that do not fit together."""
        own = dict.fromkeys(("ease", "wins", "fails"), (self.concepts,))
        shared = {"concept": (PRACTICE_FEATURES,), "ability": (None,), "items": (self.concepts, None)}
        _check_shapes(self, {**own, **shared})


class RecurrentWeights(NamedTuple):
    """A gated recurrent network that reads answers one by one (deep knowledge tracing).

    **Fields:**

    - `answer`: what an answer adds to the gates, [wrong or right, concepts, 3·units]: update, reset, candidate.
    - `recurrent`: what the units themselves add, [3·units, units]; `candidate`: the bias of the candidate's part.
    - `out`, `bias`: the log-odds of a right answer on each concept, from the units.
    """

    answer: Float[Array, "answers concepts gates"]
    recurrent: Float[Array, "gates units"]
    candidate: Float[Array, " units"]
    out: Float[Array, "concepts units"]
    bias: Float[Array, " concepts"]

    @classmethod
    def example(cls, concepts: int) -> RecurrentWeights:
        """Numbers of no data, to try the environment with: a unit for each concept, which practice drives up."""
        units = concepts
        one = np.eye(concepts, dtype=np.float32)
        gates = np.concatenate([2.0 - 3.0 * one, 0 * one, 3.0 * one], axis=1)  # others keep their units as they are
        gates[:, :units] = np.where(np.eye(concepts) > 0, 1.0, 8.0)
        recurrent = np.zeros((3 * units, units), np.float32)
        answers = np.stack([gates, gates]).astype(np.float32)
        answers[0, :, 2 * units :] = one  # a wrong answer drives it less high
        return cls(answers, recurrent, np.zeros(units, np.float32), 2.0 * one, np.full(concepts, -0.5, np.float32))

    @property
    def concepts(self) -> int:
        return len(self.bias)

    @property
    def units(self) -> int:
        return len(self.candidate)

    def of_concepts(self, places: list[int]) -> RecurrentWeights:
        """The same on some of the concepts."""
        return self._replace(
            answer=np.asarray(self.answer)[:, places],
            out=np.asarray(self.out)[places],
            bias=np.asarray(self.bias)[places],
        )

    def as_json(self) -> dict[str, Any]:
        """The weights as lists of numbers."""
        return _lists(self)

    def check(self) -> None:
        """Refuses shapes that do not fit together."""
        gates = 3 * self.units
        _check_shapes(
            self,
            {
                "answer": (2, self.concepts, gates),
                "recurrent": (gates, self.units),
                "candidate": (self.units,),
                "out": (self.concepts, self.units),
                "bias": (self.concepts,),
            },
        )


WeightsT = TypeVar("WeightsT", PracticeWeights, RecurrentWeights)


def as_weights(kind: type[WeightsT], given: Any) -> WeightsT | None:
    """Weights as they are, or from their JSON; their numbers in single precision."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        if set(given) != set(kind._fields):
            raise InputError(f"the weights have {', '.join(given)}", fix=f"give {', '.join(kind._fields)}")
        given = kind(**given)
    try:
        return kind(*(np.asarray(values, np.float32) for values in given))
    except (TypeError, ValueError) as error:
        raise InputError(f"the weights are no tables of numbers ({error})", fix="make them with prepare") from error


def weights_or_example(kind: type[WeightsT], given: WeightsT | None, concepts: int) -> WeightsT:
    """The weights that were given, or numbers of no data."""
    return kind.example(concepts) if given is None else given


def _lists(weights: PracticeWeights | RecurrentWeights) -> dict[str, Any]:
    return {name: np.asarray(values).tolist() for name, values in weights._asdict().items()}


def _check_shapes(weights: PracticeWeights | RecurrentWeights, shapes: Mapping[str, tuple[int | None, ...]]) -> None:
    for name, shape in shapes.items():
        values = np.asarray(getattr(weights, name))
        fits = values.ndim == len(shape) and all(
            size in (None, own) for size, own in zip(shape, values.shape, strict=True)
        )
        if not fits or not values.size:
            raise InputError(f"{name} of the weights has the shape {values.shape}", fix=f"give one of {shape}")
        if not np.isfinite(values).all():
            raise InputError(f"{name} of the weights is not a finite number", fix="give finite numbers")
