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
    """A learner; `new` if this request has registered them.

    >>> parsed(Learner, {"id": "lrn_1", "name": "Ana", "labels": {}, "registered": "2026-03-02T09:00:00Z"}).new
    False
    """

    id: str
    name: str
    labels: Mapping[str, str]
    registered: str
    new: bool = False


@dataclass(frozen=True)
class Registered:
    """What became of one of many registrations: the learner, or why there is none.

    >>> Registered(None, problem="the name is empty").problem
    'the name is empty'
    """

    learner: Learner | None
    problem: str | None = None


@dataclass(frozen=True)
class Session:
    """A session of a learner.

    >>> Session("ses_1", learner="lrn_1", began="2026-03-02T09:00:00Z").ended is None
    True
    """

    id: str
    learner: str
    began: str
    ended: str | None = None
    cause: str | None = None


@dataclass(frozen=True)
class Decision:
    """What to teach next, and the certificate of why that may be taught; `number` and `hash` are an anchor.

    >>> answer = {"id": "dec_1", "number": 84, "learner": "lrn_1", "session": "ses_1", "at": "2026-03-02T09:00:00Z"}
    >>> answer |= {"concept": "adding", "activity": "practise", "by": "policy", "reason": None, "propensity": 0.7}
    >>> parsed(Decision, answer | {"release": "rel_1", "certificate": {}}).concept
    'adding'
    """

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
    """What an outcome did to mastery.

    >>> outcome = Outcome("dec_1", "adding", counted=True, late=False, before=0.42, after=0.61)
    >>> round(outcome.after - outcome.before, 2)
    0.19
    """

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
    """A concept as a learner has it: ready, or locked by the prerequisites in `unmet`.

    >>> Concept("adding", mastery=0.2, practised=0, ready=False, unmet={"counting": 0.55}).unmet
    {'counting': 0.55}
    """

    concept: str
    mastery: float
    practised: int
    ready: bool
    unmet: Mapping[str, float]


@dataclass(frozen=True)
class State:
    """What is known of a learner now.

    >>> concept = {"concept": "adding", "mastery": 0.2, "practised": 0, "ready": True, "unmet": {}}
    >>> state = State.of(
    ...     {"learner": "lrn_1", "session": None, "decision": None, "release": "rel_1", "concepts": [concept]}
    ... )
    >>> [each.concept for each in state.concepts if each.ready]
    ['adding']
    """

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
    """The end of the record, as `mccpo verify --anchor` takes it.

    >>> Anchor("84:9f2c", number=84, hash="9f2c", at="2026-03-02T09:00:00Z").anchor
    '84:9f2c'
    """

    anchor: str
    number: int
    hash: str
    at: str
