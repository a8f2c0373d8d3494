"""What the service answers, as types. Fields that a newer service adds are passed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

T = TypeVar("T")


def parsed(kind: type[T], content: Mapping[str, Any]) -> T:
    """An answer of a kind from its JSON.

    >>> parsed(Learner, {"id": "lrn_1", "name": "Ana", "labels": {}, "registered": "…", "of a later version": 1}).name
    'Ana'
    """
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in content.items() if name in known})


@dataclass(frozen=True)
class Learner:
    """A learner; `new` if this request has registered them."""

    id: str
    name: str
    labels: Mapping[str, str]
    registered: str
    new: bool = False


@dataclass(frozen=True)
class Registered:
    """What became of one of many registrations: the learner, or why there is none."""

    learner: Learner | None
    problem: str | None = None


@dataclass(frozen=True)
class Session:
    """A session of a learner."""

    id: str
    learner: str
    began: str
    ended: str | None = None
    cause: str | None = None


@dataclass(frozen=True)
class Decision:
    """What to teach next, and the certificate of why that may be taught; `number` and `hash` are an anchor."""

    id: str
    number: int
    learner: str
    session: str
    at: str
    concept: str
    activity: str
    by: str
    reason: str | None
    propensity: float | None
    release: str
    certificate: Mapping[str, Any]
    again: bool = False
    redraw: int | None = None
    supersedes: str | None = None
    hash: str = ""


@dataclass(frozen=True)
class Outcome:
    """What an outcome did to mastery."""

    decision: str
    concept: str
    counted: bool
    late: bool
    before: float
    after: float
    again: bool = False
    number: int = 0
    hash: str = ""


@dataclass(frozen=True)
class Concept:
    """A concept as a learner has it: ready, or locked by the prerequisites in `unmet`."""

    concept: str
    mastery: float
    practised: int
    ready: bool
    unmet: Mapping[str, float]


@dataclass(frozen=True)
class State:
    """What is known of a learner now."""

    learner: str
    session: str | None
    decision: str | None
    release: str
    concepts: tuple[Concept, ...]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> State:
        concepts = tuple(parsed(Concept, concept) for concept in content["concepts"])
        return cls(content["learner"], content["session"], content["decision"], content["release"], concepts)


@dataclass(frozen=True)
class Anchor:
    """The end of the record, as `mccpo verify --anchor` takes it."""

    anchor: str
    number: int
    hash: str
    at: str
