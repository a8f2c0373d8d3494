"""Elo: items have a difficulty, learners an ability, overall and on each concept, which moves with every answer.

Items and concepts as in item response theory (Rasch 1960); abilities as in Pelánek (2016), Applications of the Elo
rating system in adaptive educational systems: an answer moves them by how surprising it is, and the less, the more
answers there were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from mccpo.mastery.model import Prediction
from mccpo.mastery.response_model import NO_CLOCK, Weights, logistic


@dataclass(slots=True)
class Ability:
    """How able a learner is, in log-odds, and from how many answers that is known."""

    value: float = 0.0
    answers: int = 0


@dataclass(slots=True)
class Abilities:
    """The ability of a learner overall, and what is added on each concept.

    >>> Abilities.from_json(Abilities().as_json()).overall.answers
    0
    """

    overall: Ability = field(default_factory=Ability)
    concepts: dict[str, Ability] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The abilities as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Abilities:
        """The abilities of `as_json`."""
        by_concept = {name: Ability(**ability) for name, ability in document["concepts"].items()}
        return cls(Ability(**document["overall"]), by_concept)


@dataclass(frozen=True, eq=False)
class Elo:
    """Log-odds of a right answer: ability, overall and on the concepts, and ease of the concepts and the item.

    `gain` is how far the first answer moves an ability, `fade` how fast that becomes less: the move is
    gain / (1 + fade · answers) times the surprise. They are apart for the ability overall and that on a concept.
    """

    weights: Weights

    OWN: ClassVar[tuple[str, ...]] = ("ease",)
    SHARED: ClassVar[tuple[str, ...]] = ("bias", "gain", "fade", "concept_gain", "concept_fade")

    @property
    def concepts(self) -> tuple[str, ...]:
        return self.weights.concepts

    def init(self) -> Abilities:
        return Abilities()

    def predict(
        self, state: Abilities, item: str | None, concepts: Sequence[str], time: float = NO_CLOCK
    ) -> Prediction:
        logit = float(self.weights.shared[0]) + state.overall.value
        for name in concepts:
            ability = state.concepts.get(name)
            logit += float(self.weights.of_concept(name)[0]) + (ability.value if ability is not None else 0.0)
        return Prediction(logistic(logit), logistic(logit + self.weights.of_item(item)))

    def update(
        self, state: Abilities, item: str | None, concepts: Sequence[str], correct: bool, time: float = NO_CLOCK
    ) -> None:
        surprise = correct - self.predict(state, item, concepts).correct
        _, gain, fade, concept_gain, concept_fade = self.weights.shared.tolist()
        _move(state.overall, surprise, gain, fade)
        for name in concepts:
            _move(state.concepts.setdefault(name, Ability()), surprise, concept_gain, concept_fade)


def _move(ability: Ability, surprise: float, gain: float, fade: float) -> None:
    ability.value += gain / (1 + fade * ability.answers) * surprise
    ability.answers += 1
