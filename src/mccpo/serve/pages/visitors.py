"""Visits to the pages: a browser sends a key once, and from then on a cookie that stands for it.

A visit is kept in the store, under the hash of its cookie, so that every process of the service knows it. It allows no
more than its key, and revoking the key ends the visit. Every form of a page contains the visit's own token, which no
page of another site can know.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import delete, insert, select

from mccpo.serve.access.keys import EVERYONE, Caller, KeyFile
from mccpo.serve.problems import Forbidden, Unauthorised
from mccpo.serve.record.schema import VISIT
from mccpo.serve.record.store import Store
from mccpo.serve.service.database import Reading, unavailable_on_failure
from mccpo.serve.service.service import wall_clock

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

    def check(self, token: str) -> None:
        """Refuses a form that does not come from a page of this visit."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise Forbidden("the form is not from a page of this visit; load the page again, then send it")


class Visitors:
    """All visits. While there are no keys, everybody on the loopback is one visitor, who needs no cookie."""

    def __init__(self, store: Store, keys: KeyFile | None, clock: Callable[[], int] = wall_clock) -> None:
        self.store, self.keys, self.clock = store, keys, clock
        self._everyone = Visit(EVERYONE, secrets.token_urlsafe(32))

    async def sign_in(self, key: str) -> tuple[str, Caller]:
        """Begins a visit by a key; returns the value of its cookie, and whose visit it is."""
        keys = self._asking
        if keys is None:
            return "", EVERYONE
        caller = keys.caller(key)
        if caller is None or caller.key is None:
            raise Unauthorised("this key is not known, or was revoked")
        if not caller.may("audit"):
            raise Forbidden(f"a key with the role {caller.role} opens no page")
        cookie, now = secrets.token_urlsafe(32), self.clock()
        begun = {"id": _hash(cookie), "key": caller.key, "until": now + LASTS * 1000}
        with unavailable_on_failure():
            async with self.store.writing() as (connection, _):
                await connection.execute(delete(VISIT).where(VISIT.c.until <= now))
                newest = select(VISIT.c.id).order_by(VISIT.c.until.desc()).limit(MOST_VISITS - 1)
                await connection.execute(delete(VISIT).where(VISIT.c.id.not_in(newest)))
                await connection.execute(insert(VISIT), begun)
        return cookie, caller

    async def visit(self, cookie: str | None) -> Visit:
        """The visit of a cookie; `Unauthorised` where there is none, or its key does not work any more."""
        keys = self._asking
        if keys is None:
            return self._everyone
        caller = None
        if cookie:
            known = select(VISIT.c.key).where(VISIT.c.id == _hash(cookie), VISIT.c.until > self.clock())
            async with Reading(self.store) as connection:
                key = (await connection.execute(known)).scalar()
            caller = None if key is None else keys.holder(key)
        if caller is None or cookie is None:
            raise Unauthorised("sign in with a key")
        return Visit(caller, _hash(f"{cookie} form"))

    async def sign_out(self, cookie: str | None) -> None:
        """Ends a visit."""
        if cookie:
            with unavailable_on_failure():
                async with self.store.writing() as (connection, _):
                    await connection.execute(delete(VISIT).where(VISIT.c.id == _hash(cookie)))

    @property
    def _asking(self) -> KeyFile | None:
        return self.keys if self.keys is not None and self.keys.asks else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
