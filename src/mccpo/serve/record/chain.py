"""The record: events in one chain, of which each seals all before it.

An event's text is canonical JSON: keys sorted, no spaces, no NaN. Its hash is SHA-256 over the hash before it and this
text, so that no event can be changed, taken out, added or moved without every later hash being another. What says who a
learner is never enters an event: events know the opaque id only.

kinds      what it says
learner    a learner was registered, with the release that mastery starts from, and what seals name and labels
labels     a learner has other labels; with what seals them and the name now
session    a session began or ended
decision   the policy, or the rule that stands in for it, chose an activity; with its certificate
override   a teacher chose one; with its certificate, and what seals the teacher's words, which are kept apart
outcome    how the activity of a decision went, and what that did to mastery
erasure    who the learner was is no longer known
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

Kind: TypeAlias = Literal["learner", "labels", "session", "decision", "override", "outcome", "erasure"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_ENVELOPE = ("number", "at", "kind", "tenant", "learner", "content")


class Head(NamedTuple):
    """The end of the chain: the number, hash and time of its last event."""

    number: int
    hash: str
    at: int


GENESIS = Head(0, hashlib.sha256(b"mccpo-record/1").hexdigest(), 0)


class Event(NamedTuple):
    """One event.

    - `number`: its place in the chain, from 1 on; `at`: its time in milliseconds since 1970, which never goes back.
    - `learner`: the opaque id that it is about; `content`: what its kind says.
    - `text`: all of this in canonical form; `hash`: what seals it and all before it.
    """

    number: int
    at: int
    kind: Kind
    tenant: str
    learner: str
    content: Mapping[str, Any]
    text: str
    hash: str

    @property
    def head(self) -> Head:
        return Head(self.number, self.hash, self.at)


class Broken(Exception):  # noqa: N818 - a finding, not a fault of the program
    """What is read is not what was written."""


def canonical(value: Any) -> str:
    """The one JSON text of a value; NaN and what JSON has no word for are refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def link(previous: str, text: str) -> str:
    """The hash of an event's text that comes after the event of hash `previous`."""
    return hashlib.sha256(previous.encode() + text.encode()).hexdigest()


def seal(head: Head, now: int, kind: Kind, tenant: str, learner: str, content: Mapping[str, Any]) -> Event:
    """The event that comes after `head`. A clock that went back gives it the time of the event before."""
    number, at = head.number + 1, max(now, head.at)
    text = canonical(dict(zip(_ENVELOPE, (number, at, kind, tenant, learner, content), strict=True)))
    return Event(number, at, kind, tenant, learner, content, text, link(head.hash, text))


def unseal(text: str, hash: str) -> Event:
    """The event of a text and hash that were kept; says nothing about the chain."""
    try:
        parts = json.loads(text, parse_constant=_refused)
        if not isinstance(parts, dict) or set(parts) != set(_ENVELOPE) or canonical(parts) != text:
            raise Broken("its text is not in the form of an event")
    except (ValueError, RecursionError) as error:
        raise Broken("its text is not JSON") from error
    number, at, kind, tenant, learner, content = (parts[name] for name in _ENVELOPE)
    whole = all(type(value) is int for value in (number, at)) and all(isinstance(v, str) for v in (tenant, learner))
    if not whole or kind not in KINDS or not isinstance(content, dict):
        raise Broken("its text is not in the form of an event")
    return Event(number, at, kind, tenant, learner, content, text, hash)


def continues(head: Head, event: Event) -> str | None:
    """What is wrong with an event that is said to come after `head`; None if nothing is."""
    if event.number != head.number + 1:
        return f"comes after event {head.number}"
    if event.hash != link(head.hash, event.text):
        return "does not bear the hash of its text and the events before it"
    if event.at < head.at:
        return "is older than the event before it"
    return None


def commitment(salt: str, *words: str) -> str:
    """What seals words that are kept apart and may be erased; without the salt, nobody can guess them from it."""
    return hashlib.sha256(canonical([salt, *words]).encode()).hexdigest()


def new_id(prefix: Literal["lrn", "ses", "dec"]) -> str:
    """A fresh opaque id."""
    return f"{prefix}_{secrets.token_hex(12)}"


def told(at: int) -> str:
    """A time in milliseconds since 1970 as text: RFC 3339, UTC."""
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"


def _refused(name: str) -> Any:
    raise ValueError(name)
