"""The requests of the service, how often they are sent, and what their answers mean: all of it without a connection."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from itertools import count
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from mccpo.client.answers import Anchor, Decision, Learner, Outcome, Registered, Session, State, parsed
from mccpo.errors import MccpoError

T = TypeVar("T")
AT_ONCE = 500
"""Learners in one request that registers many."""
_TRY_AGAIN = frozenset({408, 429, 502, 503, 504})


class RefusedError(MccpoError):
    """The service refused a request, for good: sending it again would change nothing.

    >>> print(RefusedError(404, "not found", "there is no learner lrn_9"))
    404 not found: there is no learner lrn_9
    """

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(f"{status} {title}: {detail}")
        self.status, self.title, self.detail = status, title, detail


class UnansweredError(MccpoError):
    """The service gave no answer, however often it was asked. Whether the request was carried out is not known.

    `key` is the idempotency key: the same request with it is carried out once, whenever it is sent.

    >>> print(UnansweredError("the connection was lost", key="k-17"))
    no answer: the connection was lost (idempotency key k-17)
    """

    def __init__(self, why: str, key: str | None) -> None:
        super().__init__(f"no answer: {why}" + (f" (idempotency key {key})" if key else ""))
        self.key = key


@dataclass(frozen=True)
class Retries:
    """How often a request is sent, and how long to wait between: twice as long each time, less a random share of it.

    >>> len(list(Retries(tries=3).waits()))
    2
    """

    tries: int = 5
    first_seconds: float = 0.2
    most_seconds: float = 5.0

    def waits(self) -> Iterator[float]:
        """The seconds before each further try."""
        for turn in range(self.tries - 1):
            yield min(self.most_seconds, self.first_seconds * 2**turn) * random.uniform(0.5, 1.0)


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how to read its answer. `key` is the idempotency key of what changes something."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    key: str | None = None

    @property
    def content(self) -> bytes | None:
        return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()

    @property
    def headers(self) -> dict[str, str]:
        headers = {} if self.body is None else {"content-type": "application/json"}
        return headers if self.key is None else {**headers, "idempotency-key": self.key}


def should_retry(status: int, retry_after: str | None) -> bool:
    """Whether a refusal is for now only: the service is busy or away, or the same request is still under way."""
    return status in _TRY_AGAIN or (status == HTTPStatus.CONFLICT and retry_after is not None)


def wait_for(seconds: float, retry_after: str | None) -> float:
    """How long to wait: at least as long as the service says, if it does."""
    return max(seconds, float(retry_after)) if retry_after is not None and retry_after.isdecimal() else seconds


def refusal(status: int, content: bytes) -> RefusedError:
    """What the service says of a refusal, in whatever form."""
    try:
        problem = json.loads(content)
        return RefusedError(status, str(problem["title"]), str(problem["detail"]))
    except (ValueError, LookupError, TypeError):
        return RefusedError(status, "refused", content[:200].decode(errors="replace"))


# ---- the requests


def _write(path: str, read: Callable[[Any], T], body: Mapping[str, Any] | None, key: str | None) -> Call[T]:
    return Call("POST", path, read, body, secrets.token_urlsafe(24) if key is None else key)


def register(name: str, labels: Mapping[str, str] | None, key: str | None) -> Call[Learner]:
    return _write("/v1/learners", partial(parsed, Learner), {"name": name, "labels": dict(labels or {})}, key)


def register_many(learners: Sequence[tuple[str, Mapping[str, str]]]) -> Iterator[Call[list[Registered]]]:
    """Requests of at most 500 learners each. A name is registered once, so that they need no idempotency key."""
    for start in count(0, AT_ONCE):
        share = [{"name": name, "labels": dict(labels)} for name, labels in learners[start : start + AT_ONCE]]
        if not share:
            return
        yield Call("POST", "/v1/learners/bulk", _registered, {"learners": share})


def learner_named(name: str) -> Call[Learner]:
    path = f"/v1/learners?name={quote(name, safe='')}"
    return Call("GET", path, lambda content: parsed(Learner, content["learners"][0]))


def state(learner: str) -> Call[State]:
    return Call("GET", f"/v1/learners/{_id(learner)}/state", State.of)


def begin_session(learner: str, key: str | None) -> Call[Session]:
    return _write(f"/v1/learners/{_id(learner)}/sessions", partial(parsed, Session), None, key)


def end_session(session: str, key: str | None) -> Call[Session]:
    return _write(f"/v1/sessions/{_id(session)}/end", partial(parsed, Session), None, key)


def next_activity(learner: str, key: str | None) -> Call[Decision]:
    return _write(f"/v1/learners/{_id(learner)}/next", partial(parsed, Decision), None, key)


def outcome(decision: str, correct: bool, hints: int | None, seconds: float | None, key: str | None) -> Call[Outcome]:
    body = {"correct": correct, "hints": hints, "seconds": seconds}
    return _write(f"/v1/decisions/{_id(decision)}/outcome", partial(parsed, Outcome), body, key)


def anchor() -> Call[Anchor]:
    return Call("GET", "/v1/anchor", partial(parsed, Anchor))


def _registered(content: Mapping[str, Any]) -> list[Registered]:
    return [
        Registered(parsed(Learner, one["learner"]))
        if one["learner"] is not None
        else Registered(None, one["problem"]["detail"])
        for one in content["results"]
    ]


def _id(id: str) -> str:
    return quote(id, safe="")
