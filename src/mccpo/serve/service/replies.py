"""Stores answers under idempotency keys, for requests that the writer does not carry out as one.

The writer stores its own replies together with what it writes, in the same table: a key stands for one request of a
tenant, of whatever kind.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.files import canonical_json
from mccpo.serve.problems import Conflict, Unprocessable
from mccpo.serve.record import rows, writes
from mccpo.serve.record.keyring import Keyring
from mccpo.serve.record.schema import REPLY
from mccpo.serve.record.store import Store
from mccpo.serve.service.database import unavailable_on_failure

KEY_REUSED = "this idempotency key was used for another request"


class IdempotentRequest(NamedTuple):
    """A request that is carried out once: the id of its idempotency key, and a hash of what it asks."""

    id: str
    digest: str


class Completed(NamedTuple):
    """An answer in JSON values. One that is not `finished` is not stored: asked again, the rest may succeed."""

    answer: Any
    finished: bool


def reply_id(keyring: Keyring, tenant: str, key: str) -> str:
    """The id of the reply to a tenant's idempotency key, from which nobody can guess the key."""
    return keyring.keyed_hash("reply", tenant, key)


class ReplyStore:
    """The answers in a database, each stored for `seconds`."""

    def __init__(self, store: Store, clock: Callable[[], int], seconds: float) -> None:
        self.store, self.clock, self.seconds = store, clock, seconds
        self._under_way: set[str] = set()

    def request(self, tenant: str, key: str | None, request: Any) -> IdempotentRequest | None:
        """A request, as JSON values, under a tenant's key; None without a key.

        Neither is stored, but keyed hashes of them, from which nobody can guess what was asked.
        """
        if key is None:
            return None
        keyring = self.store.keyring
        digest = keyring.keyed_hash("request", key, canonical_json(request))
        return IdempotentRequest(reply_id(keyring, tenant, key), digest)

    async def stored_answer(self, request: IdempotentRequest | None) -> Any:
        """What was answered to a request, None if nothing was."""
        if request is None:
            return None
        return await self._in_transaction(lambda connection: self.lookup(connection, request))

    async def run_once(self, request: IdempotentRequest | None, act: Callable[[], Awaitable[Completed]]) -> Any:
        """Carries out something made of several requests, once for an idempotency key.

        While it is under way the key serves no other request. What cannot be finished may be asked for again: `act` has
        to know what it has done already.
        """
        if request is None:
            return (await act()).answer
        if request.id in self._under_way:
            raise Conflict("a request with this idempotency key is under way", retry_after=1)
        self._under_way.add(request.id)
        try:
            stored = await self._in_transaction(lambda connection: self._reserve(connection, request))
            if stored is not None:
                return stored
            completed = await act()
            if completed.finished:
                await self._in_transaction(lambda connection: self.save(connection, request, completed.answer))
            return completed.answer
        finally:
            self._under_way.discard(request.id)

    async def lookup(self, connection: AsyncConnection, request: IdempotentRequest) -> Any:
        """What was answered, None if nothing was; refuses a key that was used for another request."""
        for row in await rows.select_rows(connection, REPLY, "id", [request.id]):
            if row.at >= self.clock() - self.seconds * 1000:
                if row.request != request.digest:
                    raise Unprocessable(KEY_REUSED)
                return json.loads(row.answer)
        return None

    async def save(self, connection: AsyncConnection, request: IdempotentRequest, answer: Any) -> None:
        """Stores an answer; None reserves the key for a request that is under way."""
        reply = rows.ReplyRow(request.id, request.digest, canonical_json(answer), "", self.clock())
        await writes.write_replies(connection, [reply])

    async def _reserve(self, connection: AsyncConnection, request: IdempotentRequest) -> Any:
        stored = await self.lookup(connection, request)
        if stored is None:
            await self.save(connection, request, None)
        return stored

    async def _in_transaction(self, act: Callable[[AsyncConnection], Awaitable[Any]]) -> Any:
        with unavailable_on_failure():
            async with self.store.writing() as (connection, _):
                return await act(connection)
