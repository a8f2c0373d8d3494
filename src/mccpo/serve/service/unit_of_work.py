"""What a batch of requests reads and changes: everything is loaded before the batch and written after it.

Each request works on a `RequestWork` of its own. Only if the request succeeds is its work merged into the `UnitOfWork`,
where the next request of the batch sees it. A refused request leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from mccpo.serve.policy.decision import Decision, decide
from mccpo.serve.policy.learner_state import LearnerState, same_state
from mccpo.serve.policy.release import Release
from mccpo.serve.policy.releases import Releases, look_on
from mccpo.serve.problems import Gone, Missing, Unavailable
from mccpo.serve.record.chain import Event, EventKind, Head, seal_event
from mccpo.serve.record.learner_history import LearnerHistory, apply_event, needs_restating
from mccpo.serve.record.rows import DecisionRow, Identity, NoteRow, ReplyRow, SessionRow, normal_name
from mccpo.serve.service.terms import Terms

RowKind: TypeAlias = Literal["histories", "identities", "decisions", "sessions", "notes", "replies"]
"""The kinds of rows that a request may write; each is a field of `UnitOfWork`."""


class RecordedEvent(NamedTuple):
    """An event, and its learner's history before and after it; an event about releases has no learner."""

    event: Event
    before: LearnerHistory | None
    after: LearnerHistory | None


class Draft(NamedTuple):
    """A decision, and all that it was worked out from: it is taken if nothing of this has changed."""

    live: Releases
    state: LearnerState
    uniform: float
    decision: Decision
    shadow: Mapping[str, Any] | None

    def fits(self, live: Releases, state: LearnerState) -> bool:
        return self.live is live and same_state(self.state, state)


Drafts: TypeAlias = dict[str, Draft]
"""Drafts by their learners."""


@dataclass
class UnitOfWork:
    """Everything that the requests of one batch refer to, as of the last request that succeeded.

    `damaged` holds the learners whose rows cannot be read, with their tenants: only requests about them fail.
    `learners` are all that the requests are about, whether they are there or not. `drafts` are decisions about them
    that were worked out before the record was locked. `pasts` has the sessions and outcomes so far of learners whose
    mastery was estimated by other parameters than those of the live release.
    """

    head: Head
    now: int
    terms: Terms
    live: Releases
    releases: Mapping[str, Release]
    draw: Callable[[], float]
    drafts: Drafts = field(default_factory=dict)
    learners: set[str] = field(default_factory=set)
    histories: dict[str, LearnerHistory] = field(default_factory=dict)
    identities: dict[str, Identity] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    decisions: dict[str, DecisionRow] = field(default_factory=dict)
    statements: dict[tuple[str, str], str] = field(default_factory=dict)
    sessions: dict[str, SessionRow] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)
    pasts: dict[str, list[Event]] = field(default_factory=dict)
    notes: dict[int, NoteRow] = field(default_factory=dict)
    replies: dict[str, ReplyRow] = field(default_factory=dict)
    changed: dict[RowKind, dict[Any, None]] = field(default_factory=dict)
    recorded: list[RecordedEvent] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)

    def merge(self, work: RequestWork) -> None:
        """Takes over what a request has done."""
        self.head = work.head
        self.recorded += work.recorded
        for learner in work.erased:
            self._forget(learner)
        for kind, entries in work.writes.items():
            getattr(self, kind).update(entries)
            self.changed.setdefault(kind, {}).update(dict.fromkeys(entries))
        for identity in work.writes.get("identities", {}).values():
            self.add_identity(identity)
        for decision in work.writes.get("decisions", {}).values():
            self.add_decision(decision)
        for recorded in work.recorded:
            self.events[recorded.event.number] = recorded.event

    def decided(self, history: LearnerHistory) -> Draft:
        """What the live release decides about a learner: as it was drafted, or else by a new draw.

        A draft is used once, so no two decisions share a draw.
        """
        draft = self.drafts.pop(history.learner, None)
        if draft is not None and draft.fits(self.live, history.state):
            return draft
        live, state, uniform, seconds = self.live, history.state, self.draw(), self.terms.decide_seconds
        decision = decide(live.current, state, uniform, timeout=seconds)
        shadow = live.shadow_for(history.learner)
        looked = None if shadow is None else look_on(shadow, state, uniform, decision, timeout=seconds)
        return Draft(live, state, uniform, decision, looked)

    def changes(self, kind: RowKind) -> list[Any]:
        """The rows of a kind that are to be written."""
        entries = getattr(self, kind)
        return [entries[key] for key in self.changed.get(kind, ())]

    def _forget(self, learner: str) -> None:
        """Drops the words about a learner that this batch was about to write."""
        self.erased.append(learner)
        kinds: tuple[RowKind, ...] = ("notes", "replies")
        for kind in kinds:
            entries, changed = getattr(self, kind), self.changed.get(kind, {})
            for key in [key for key, entry in entries.items() if entry.learner == learner]:
                del entries[key]
                changed.pop(key, None)

    def add_identity(self, identity: Identity) -> None:
        """Adds a learner's identity, to be found by id and by name."""
        self.identities[identity.id] = identity
        if identity.name is not None:
            self.names[identity.tenant, identity.name] = identity.id

    def add_decision(self, decision: DecisionRow) -> None:
        """Adds a decision, to be found by its id and by the xAPI statement that reported its outcome."""
        self.decisions[decision.id] = decision
        if decision.statement is not None:
            self.statements[decision.tenant, decision.statement] = decision.id

    def learner_named(self, tenant: str, name: str) -> Identity | None:
        """The learner whom a tenant calls by this name."""
        for form in (name, normal_name(name)):
            identity = self.identities.get(self.names.get((tenant, form), ""))
            if identity is not None and identity.name == form:
                return identity
        return None


class RequestWork:
    """What one request does, until it has succeeded; `key` is the API key that it came by, which its events name."""

    def __init__(self, unit: UnitOfWork, tenant: str, key: Mapping[str, str] | None = None) -> None:
        self.unit = unit
        self.tenant = tenant
        self.key = key
        self.head = unit.head
        self.recorded: list[RecordedEvent] = []
        self.erased: list[str] = []
        self.writes: dict[RowKind, dict[Any, Any]] = {}

    @property
    def now(self) -> int:
        """The time of this request: never before the last event, whatever the clock says."""
        return max(self.unit.now, self.head.at)

    def history(self, learner: str) -> LearnerHistory:
        """The history of a learner of this tenant."""
        if self.unit.damaged.get(learner) == self.tenant:
            raise Unavailable(f"what is kept of {learner} is damaged; `mccpo verify` says more")
        history = self._latest(learner)
        if history is None or history.tenant != self.tenant:
            raise Missing(f"there is no learner {learner}")
        if history.erased:
            raise Gone(f"the learner {learner} was erased")
        return history

    def restates(self, history: LearnerHistory) -> bool:
        """Whether the mastery of a learner is to be restated by the parameters of the live release."""
        return needs_restating(history, self.unit.live.current, self.unit.releases)

    def past(self, learner: str) -> list[Event]:
        """The learner's events so far, as far as mastery follows from them."""
        recent = [*self.unit.recorded, *self.recorded]
        return [*self.unit.pasts[learner], *(one.event for one in recent if one.event.learner == learner)]

    def append(self, kind: EventKind, learner: str, content: Mapping[str, Any]) -> Event:
        """Adds an event to the record, and applies it to the learner's history."""
        event = seal_event(self.head, self.unit.now, kind, self.tenant, learner, {**content, "key": self.key})
        before = self._latest(learner)
        after = apply_event(before, event, self.unit.releases)
        self.head = event.head
        self.recorded.append(RecordedEvent(event, before, after))
        self.write("histories", learner, after)
        return event

    def write(self, kind: RowKind, key: str | int, row: Any) -> None:
        """Writes a row of a kind, by its key."""
        self.writes.setdefault(kind, {})[key] = row

    def _latest(self, learner: str) -> LearnerHistory | None:
        return self.writes.get("histories", {}).get(learner) or self.unit.histories.get(learner)
