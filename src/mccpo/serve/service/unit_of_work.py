"""What a batch of requests works on: all that they need is laid out before, and all that they change is taken after.

A request works on a `Work` of its own. Only when it has succeeded is that laid on the `Desk`, where the next request of
the batch finds it; a request that is refused leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mccpo.serve.policy.release import Release
from mccpo.serve.policy.releases import Releases
from mccpo.serve.record.chain import Event, Head, Kind, seal
from mccpo.serve.record.learner_history import Course, follow
from mccpo.serve.record.rows import Decided, Identity, Note, Reply, Sitting
from mccpo.serve.service.problems import Gone, Missing, Unavailable


@dataclass(frozen=True)
class Terms:
    """The rules of the service.

    - `session_seconds`: without a request for so long, a session is over.
    - `late_seconds`: an outcome that comes longer after its decision goes on record and does not count.
    - `forgetting`: the half-life in seconds of mastery between sessions; None: nothing is forgotten.
    - `decide_seconds`: what a policy may take before the fallback stands in for it.
    - `retention_seconds`: a learner not heard of for so long is erased by `retain`; None: nobody is.
    - `reply_seconds`: for so long an answer is kept under its idempotency key.
    - `batch`: the requests that one commit carries; `waiting`: those that may wait, before more are turned away.
    - `courses`: the learners whose course is kept in memory.
    """

    session_seconds: float = 1800.0
    late_seconds: float = 86_400.0
    forgetting: float | None = None
    decide_seconds: float = 0.05
    retention_seconds: float | None = None
    reply_seconds: float = 86_400.0
    batch: int = 128
    waiting: int = 10_000
    courses: int = 10_000


class Happened(NamedTuple):
    """An event, and the course of its learner before and after it."""

    event: Event
    before: Course | None
    after: Course


@dataclass
class Desk:
    """Everything that the requests of one batch refer to, as of the last one that succeeded.

    `damaged` are the learners of whom it cannot be read what is kept, with their tenants: only what is asked for them
    fails.
    """

    head: Head
    now: int
    terms: Terms
    live: Releases
    releases: Mapping[str, Release]
    draw: Callable[[], float]
    courses: dict[str, Course] = field(default_factory=dict)
    identities: dict[str, Identity] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    decisions: dict[str, Decided] = field(default_factory=dict)
    statements: dict[tuple[str, str], str] = field(default_factory=dict)
    sessions: dict[str, Sitting] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)
    notes: dict[int, Note] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    changed: dict[str, dict[Any, None]] = field(default_factory=dict)
    happened: list[Happened] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)

    def accept(self, work: Work) -> None:
        """Lays on the desk what a request has done."""
        self.head = work.head
        self.happened += work.happened
        for learner in work.erased:
            self._forget(learner)
        for name, entries in work.writes.items():
            getattr(self, name).update(entries)
            self.changed.setdefault(name, {}).update(dict.fromkeys(entries))
        for identity in work.writes.get("identities", {}).values():
            self.lay_identity(identity)
        for decided in work.writes.get("decisions", {}).values():
            self.lay_decision(decided)
        for one in work.happened:
            self.events[one.event.number] = one.event

    def changes(self, name: str) -> list[Any]:
        """What is to be written of a kind."""
        entries = getattr(self, name)
        return [entries[key] for key in self.changed.get(name, ())]

    def _forget(self, learner: str) -> None:
        """Takes back the words about a learner that this batch was about to write."""
        self.erased.append(learner)
        for name in ("notes", "replies"):
            entries, changed = getattr(self, name), self.changed.get(name, {})
            for key in [key for key, entry in entries.items() if entry.learner == learner]:
                del entries[key]
                changed.pop(key, None)

    def lay_identity(self, identity: Identity) -> None:
        """Lays out who a learner is."""
        self.identities[identity.id] = identity
        if identity.name is not None:
            self.names[identity.tenant, identity.name] = identity.id

    def lay_decision(self, decided: Decided) -> None:
        """Lays out a decision, to be found by its id and by the statement that its outcome came by."""
        self.decisions[decided.id] = decided
        if decided.statement is not None:
            self.statements[decided.tenant, decided.statement] = decided.id

    def named(self, tenant: str, name: str) -> Identity | None:
        """The learner of a tenant's own name."""
        found = self.identities.get(self.names.get((tenant, name), ""))
        return found if found is not None and found.name == name else None


class Work:
    """What one request does, until it has succeeded."""

    def __init__(self, desk: Desk, tenant: str) -> None:
        self.desk = desk
        self.tenant = tenant
        self.head = desk.head
        self.happened: list[Happened] = []
        self.erased: list[str] = []
        self.writes: dict[str, dict[Any, Any]] = {}

    @property
    def now(self) -> int:
        """The time of this request: never before the last event, whatever the clock says."""
        return max(self.desk.now, self.head.at)

    def course(self, learner: str) -> Course:
        """The course of a learner of this tenant."""
        if self.desk.damaged.get(learner) == self.tenant:
            raise Unavailable(f"what is kept of {learner} is damaged; `mccpo verify` says more")
        found = self.writes.get("courses", {}).get(learner) or self.desk.courses.get(learner)
        if found is None or found.tenant != self.tenant:
            raise Missing(f"there is no learner {learner}")
        if found.erased:
            raise Gone(f"the learner {learner} was erased")
        return found

    def append(self, kind: Kind, learner: str, content: Mapping[str, Any]) -> Event:
        """Puts an event on record, and lets the learner's course follow it."""
        event = seal(self.head, self.desk.now, kind, self.tenant, learner, content)
        courses = self.writes.setdefault("courses", {})
        before = courses.get(learner) or self.desk.courses.get(learner)
        after = follow(before, event, self.desk.releases)
        self.head = event.head
        self.happened.append(Happened(event, before, after))
        courses[learner] = after
        return event

    def write(self, kind: str, key: str | int, entry: Any) -> None:
        """Writes an entry of one of the desk's kinds, by its key."""
        self.writes.setdefault(kind, {})[key] = entry
