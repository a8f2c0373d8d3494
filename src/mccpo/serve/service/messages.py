"""The requests to the service and its answers: plain dataclasses.

Whoever builds a request checks its form (the API does, strictly); the service checks what only it knows.
Times are text: RFC 3339, UTC, milliseconds. Ids are opaque: `lrn_…` a learner, `ses_…` a session, `dec_…` a decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

By = Literal["policy", "fallback", "teacher", "deferred", "probe"]
"""Who chose: the policy; the fallback rule when it fails; a teacher, by an override.

Where choices are deferred: a safe choice, while a teacher is asked; a probe of the prerequisites that are in doubt.
"""


# ---- requests; `key` is the id, the role and the label of the API key that one came by, if any


@dataclass(frozen=True, slots=True)
class Register:
    """Registers a learner by the tenant's own `name`. A known name returns the existing learner, with these labels."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    key: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class BeginSession:
    """Begins a session, and ends the learner's open one if there is one."""

    learner: str
    key: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class EndSession:
    session: str
    key: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Next:
    """Asks for the next activity. A decision of the session without an outcome is repeated, while it is ready."""

    learner: str
    key: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the activity of a decision went.

    `statement` is the id of the xAPI statement that reported it; `key` is the API key it came by, if any.
    """

    decision: str
    correct: bool
    hints: int | None = None
    seconds: float | None = None
    statement: str | None = None
    key: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Override:
    """A teacher's choice instead of the policy's. It passes the same gate: an unready concept is refused.

    `teacher` is who they say they are; `key` is the id, the role and the label of the key they came by, if any.
    """

    learner: str
    concept: str
    reason: str
    teacher: str
    activity: str | None = None
    key: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Erase:
    """Removes a learner's name, labels and texts about them; what was decided stays, under the opaque id.

    `restored`: the learner was erased before, and an older copy of the record was restored since.
    """

    learner: str
    cause: Literal["asked", "retention", "restored"] = "asked"
    key: Mapping[str, str] | None = None


# ---- answers


@dataclass(frozen=True, slots=True)
class LearnerView:
    id: str
    name: str
    labels: Mapping[str, str]
    registered: str
    new: bool = False
    """Whether this very request registered the learner."""
    number: int | None = None
    hash: str | None = None
    """Of the event that this request added; null where it added none. `number:hash` is an anchor."""


@dataclass(frozen=True, slots=True)
class SessionView:
    id: str
    learner: str
    began: str
    ended: str | None = None
    cause: Literal["asked", "timeout", "next", "erased", "release"] | None = None
    """Why it ended: asked for, too long without a request, the next session began, the learner was erased, a release
    with other parameters decides."""
    number: int | None = None
    hash: str | None = None
    """Of the event that this request added; null where it added none. `number:hash` is an anchor."""


@dataclass(frozen=True, slots=True)
class DecisionView:
    """A decision as it is on record.

    - `number`: its position in the record; `at`: when it was taken.
    - `certificate`: what the gate and the choice rest on; `by` and `reason`: who chose, and why it was not the policy.
    - `again`: this answer repeats an open decision of an earlier request.
    - `outcome`: what was reported for it, as far as it is known when it is listed.
    - `teacher`, `key`: of an override, the name that the teacher gave, until the learner is erased; and the id,
      role and label of the key they came by, null where the service asked for none.
    - `supersedes`: the open decision that this one replaced: by a teacher's choice, or because its concept was no
      longer ready.
    - `redraw`: how many decisions before it were drawn since the learner's last answer, and got none. Above 0, whoever
      asked may have chosen among draws, so leave both out where propensities must be exact; null where a teacher chose.
    - `shadow`: where decisions are listed, what the shadow release would have done.
    - `hash`: that of its event, which covers all events before it. `number:hash` is an anchor for `mccpo verify`.
    """

    id: str
    number: int
    learner: str
    session: str
    at: str
    concept: str
    activity: str
    by: By
    reason: str | None
    propensity: float | None
    release: str
    certificate: Mapping[str, Any]
    again: bool = False
    outcome: Mapping[str, Any] | None = None
    teacher: str | None = None
    key: Mapping[str, str] | None = None
    supersedes: str | None = None
    redraw: int | None = None
    shadow: Mapping[str, Any] | None = None
    hash: str = ""


@dataclass(frozen=True, slots=True)
class ClassView:
    """A class: its name, how many learners are in it, how many of these have a session open, and the last sign of one.

    `waiting` are those with a decision that has no outcome yet.
    """

    name: str
    learners: int
    in_session: int
    waiting: int
    active: str


@dataclass(frozen=True, slots=True)
class OutcomeView:
    """What an outcome did.

    - `counted`: it updated mastery. It does so once for a decision, and not when it came too `late`.
    - `again`: the same outcome was on record already; this answer repeats it.
    - `before`, `after`: mastery of the concept around the update; equal when it did not count.
    """

    decision: str
    number: int
    learner: str
    at: str
    concept: str
    correct: bool
    hints: int | None
    seconds: float | None
    counted: bool
    late: bool
    before: float
    after: float
    again: bool = False
    hash: str = ""


@dataclass(frozen=True, slots=True)
class ErasureView:
    learner: str
    number: int
    at: str
    cause: Literal["asked", "retention", "restored"] = "asked"
    hash: str = ""


@dataclass(frozen=True, slots=True)
class AnchorView:
    """The end of the record now: `anchor` is what `mccpo verify --anchor` takes, to show later that all is still so.

    `at` is the time of its last event. Where the service signs, `signature` (Ed25519, base64) is over the text
    `mccpo-anchor/1 ANCHOR AT`, by the key whose public half is `public_key`.
    """

    anchor: str
    number: int
    hash: str
    at: str
    signature: str | None = None
    public_key: str | None = None


@dataclass(frozen=True, slots=True)
class ConceptState:
    """`trusted`: the mastery that the gate counts on, less its doubt; without a confidence it is `mastery` itself.

    `unmet`: the prerequisites that keep the gate shut, each with its mastery; empty for a ready concept.
    """

    concept: str
    mastery: float
    trusted: float
    practised: int
    ready: bool
    unmet: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateView:
    """A learner's state: the open session and decision, if any, and every concept in the curriculum's order.

    `theta` opens the gate, or `confidence` where it is given; a concept counts as mastered whose
    `trusted` is at least `mastered`.
    """

    learner: str
    session: str | None
    decision: str | None
    t: int
    horizon: int
    theta: float
    release: str
    concepts: tuple[ConceptState, ...]
    confidence: float | None
    mastered: float


@dataclass(frozen=True, slots=True)
class PresenceView:
    """A learner in a list: when last active, whether in a session, and how many of the concepts are mastered."""

    learner: LearnerView
    active: str
    session: str | None
    mastered: int
    concepts: int


Answer = LearnerView | SessionView | DecisionView | OutcomeView | ErasureView
A = TypeVar("A", LearnerView, SessionView, DecisionView, OutcomeView, ErasureView)
