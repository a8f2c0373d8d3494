"""The record: events in one chain of hashes.

An event's text is canonical JSON: keys sorted, no spaces, no NaN. Its hash is SHA-256 over the previous event's hash
and this text. Changing, removing, adding or moving an event therefore changes every later hash. Events name a learner
by an opaque id only; nothing that identifies the person enters an event.

kinds      what it says
learner    a learner was registered, with the release that mastery starts from, and a commitment to name and labels
labels     a learner has other labels; with a commitment to them and the name
session    a session began or ended
decision   the policy, or its fallback, chose an activity; with its certificate
override   a teacher chose one; with its certificate, and a commitment to the teacher's words, which are stored apart
outcome    how the activity of a decision went, and what that did to mastery
erasure    the learner's identity was erased
release    which releases are live from here on, each with its hash and gate; of no tenant and no learner
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from mccpo.files import canonical_json, sha256_json

EventKind: TypeAlias = Literal["learner", "labels", "session", "decision", "override", "outcome", "erasure", "release"]
KINDS: tuple[EventKind, ...] = get_args(EventKind)
_WITHIN = frozenset({"activity", "statement", "key", "away", "forgetting"})
"""What of an outcome is on record and not answered."""
_ENVELOPE = ("number", "at", "kind", "tenant", "learner", "content")


class Head(NamedTuple):
    """The end of the chain: the number, hash and time of its last event."""

    number: int
    hash: str
    at: int


GENESIS = Head(0, hashlib.sha256(b"mccpo-record/1").hexdigest(), 0)


class Event(NamedTuple):
    """One event.

    - `number`: its position in the chain, from 1 on; `at`: its time in milliseconds since 1970, which never decreases.
    - `learner`: the opaque id that it is about; `content`: what its kind says.
    - `text`: all of this in canonical form; `hash`: covers this text and every earlier event.
    """

    number: int
    at: int
    kind: EventKind
    tenant: str
    learner: str
    content: Mapping[str, Any]
    text: str
    hash: str

    @property
    def head(self) -> Head:
        return Head(self.number, self.hash, self.at)


class BrokenRecord(Exception):  # noqa: N818 - a finding, not a fault of the program
    """The record is not what was written."""


def chain_hash(previous: str, text: str) -> str:
    """The hash of an event with this text, after the event with the hash `previous`."""
    return hashlib.sha256(previous.encode() + text.encode()).hexdigest()


def seal_event(head: Head, now: int, kind: EventKind, tenant: str, learner: str, content: Mapping[str, Any]) -> Event:
    """The event that comes after `head`. If the clock went back, it gets the time of the event before."""
    number, at = head.number + 1, max(now, head.at)
    text = canonical_json(dict(zip(_ENVELOPE, (number, at, kind, tenant, learner, content), strict=True)))
    return Event(number, at, kind, tenant, learner, content, text, chain_hash(head.hash, text))


def parse_event(text: str, hash: str) -> Event:
    """The event of a stored text and hash; does not check the chain."""
    try:
        parts = json.loads(text, parse_constant=_refuse_constant)
        if not isinstance(parts, dict) or set(parts) != set(_ENVELOPE) or canonical_json(parts) != text:
            raise BrokenRecord("its text is not in the form of an event")
    except (ValueError, RecursionError) as error:
        raise BrokenRecord("its text is not JSON") from error
    number, at, kind, tenant, learner, content = (parts[name] for name in _ENVELOPE)
    typed = all(type(value) is int for value in (number, at)) and all(isinstance(v, str) for v in (tenant, learner))
    if not typed or kind not in KINDS or not isinstance(content, dict):
        raise BrokenRecord("its text is not in the form of an event")
    return Event(number, at, kind, tenant, learner, content, text, hash)


def link_error(head: Head, event: Event) -> str | None:
    """Why an event cannot come directly after `head`; None if it can."""
    if event.number != head.number + 1:
        return f"comes after event {head.number}"
    if event.hash != chain_hash(head.hash, event.text):
        return "does not bear the hash of its text and the events before it"
    if event.at < head.at:
        return "is older than the event before it"
    return None


def commitment(salt: str, *words: str) -> str:
    """A hash that commits to words which are stored apart and may be erased; without the salt nobody can guess them."""
    return sha256_json([salt, *words])


def new_id(prefix: Literal["lrn", "ses", "dec"]) -> str:
    """A fresh opaque id."""
    return f"{prefix}_{secrets.token_hex(12)}"


def rfc3339(at: int) -> str:
    """A time in milliseconds since 1970 as RFC 3339 text in UTC."""
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"


def outcome_fields(event: Event) -> dict[str, Any]:
    """What an event says about an outcome, as the service answers it."""
    said = {name: value for name, value in event.content.items() if name not in _WITHIN}
    return {"number": event.number, "learner": event.learner, "at": rfc3339(event.at), **said}


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)
