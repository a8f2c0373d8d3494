"""Visits to the pages: a browser sends a key once, and from then on a cookie that stands for it.

A visit is held in memory, under the hash of its cookie, and ends with the service. It allows no more than its key, and
revoking the key ends the visit. Every form of a page contains the visit's own token, which no page of another site can
know.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from mccpo.serve.access.keys import EVERYONE, Caller, KeyFile
from mccpo.serve.problems import Forbidden, Unauthorised

COOKIE = "mccpo_visit"
LASTS = 12 * 3600
"""Seconds after which a key must be given again: a day at school."""
MOST_VISITS = 10_000
"""The most visits at a time; the oldest ends first."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A person at the pages: on whose behalf, and the token that their forms must bear."""

    caller: Caller
    token: str
    until: float = float("inf")

    def check(self, token: str) -> None:
        """Refuses a form that does not come from a page of this visit."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise Forbidden("the form is not from a page of this visit; load the page again, then send it")


class Visitors:
    """All visits. While there are no keys, everybody on the loopback is one visitor, who needs no cookie."""

    def __init__(self, keys: KeyFile | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.keys, self.clock = keys, clock
        self._visits: OrderedDict[str, Visit] = OrderedDict()
        self._everyone = Visit(EVERYONE, secrets.token_urlsafe(32))

    def sign_in(self, key: str) -> str:
        """Begins a visit by a key; returns the value of its cookie."""
        keys = self._asking
        caller = EVERYONE if keys is None else keys.caller(key)
        if caller is None:
            raise Unauthorised("this key is not known, or was revoked")
        if not caller.may("audit"):
            raise Forbidden(f"a key with the role {caller.role} is for programs, and opens no page")
        cookie = secrets.token_urlsafe(32)
        self._visits[_hash(cookie)] = Visit(caller, secrets.token_urlsafe(32), self.clock() + LASTS)
        while len(self._visits) > MOST_VISITS:
            self._visits.popitem(last=False)
        return cookie

    def visit(self, cookie: str | None) -> Visit:
        """The visit of a cookie; `Unauthorised` where there is none, or its key does not work any more."""
        keys = self._asking
        if keys is None:
            return self._everyone
        visit = self._visits.get(_hash(cookie)) if cookie else None
        if visit is not None and visit.until > self.clock() and keys.holder(str(visit.caller.key)) == visit.caller:
            return visit
        self.sign_out(cookie)
        raise Unauthorised("sign in with a key")

    @property
    def _asking(self) -> KeyFile | None:
        return self.keys if self.keys is not None and self.keys.asks else None

    def sign_out(self, cookie: str | None) -> None:
        """Ends a visit."""
        if cookie:
            self._visits.pop(_hash(cookie), None)


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
