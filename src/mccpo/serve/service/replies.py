"""Answers that are kept under idempotency keys, for requests that the writer does not carry out as one.

The writer keeps its own, with what it does, in the same table: a key stands for one request of a tenant, of whatever
kind.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.record import rows
from mccpo.serve.record.chain import canonical
from mccpo.serve.record.schema import REPLY
from mccpo.serve.record.store import Store, cause
from mccpo.serve.service.problems import Conflict, Unavailable, Unprocessable

OTHER = "this idempotency key was used for another request"


class Once(NamedTuple):
    """A request that is carried out once: the id of its idempotency key, and a hash of what it asks."""

    id: str
    digest: str


class Done(NamedTuple):
    """An answer in JSON values. One that is not `finished` is not kept: asked again, what is left may succeed."""

    answer: Any
    finished: bool


def once(tenant: str, key: str | None, request: Any) -> Once | None:
    """A request, as JSON values, under a tenant's key; None without one.

    The key itself is kept nowhere, and is hashed with the request: nobody can guess from the hash what was asked.
    """
    return None if key is None else Once(reply_id(tenant, key), _hash([key, request]))


def reply_id(tenant: str, key: str) -> str:
    """By what the reply to a tenant's idempotency key is kept."""
    return _hash([tenant, key])


class Replies:
    """The answers that a store keeps, each for `seconds`."""

    def __init__(self, store: Store, clock: Callable[[], int], seconds: float) -> None:
        self.store, self.clock, self.seconds = store, clock, seconds
        self._under_way: set[str] = set()

    async def kept(self, one: Once | None) -> Any:
        """What was answered to a request, None while nothing was."""
        return None if one is None else await self._within(lambda connection: self.found(connection, one))

    async def carry_out(self, one: Once | None, act: Callable[[], Awaitable[Done]]) -> Any:
        """Does what is made of several requests, once for an idempotency key.

        While it is under way the key serves no other request. What cannot be finished may be asked for again: `act` has
        to know what it has done already.
        """
        if one is None:
            return (await act()).answer
        if one.id in self._under_way:
            raise Conflict("a request with this idempotency key is under way", retry_after=1)
        self._under_way.add(one.id)
        try:
            found = await self._within(lambda connection: self._reserve(connection, one))
            if found is not None:
                return found
            done = await act()
            if done.finished:
                await self._within(lambda connection: self.keep(connection, one, done.answer))
            return done.answer
        finally:
            self._under_way.discard(one.id)

    async def found(self, connection: AsyncConnection, one: Once) -> Any:
        """What was answered, None while nothing was; refuses a key that was used for another request."""
        for row in await rows.rows_of(connection, REPLY, "id", [one.id]):
            if row.at >= self.clock() - self.seconds * 1000:
                if row.request != one.digest:
                    raise Unprocessable(OTHER)
                return json.loads(row.answer)
        return None

    async def keep(self, connection: AsyncConnection, one: Once, answer: Any) -> None:
        """Keeps an answer; None says that the request is under way, so that the key serves no other."""
        await rows.write_replies(connection, [rows.Reply(one.id, one.digest, canonical(answer), "", self.clock())])

    async def _reserve(self, connection: AsyncConnection, one: Once) -> Any:
        found = await self.found(connection, one)
        if found is None:
            await self.keep(connection, one, None)
        return found

    async def _within(self, act: Callable[[AsyncConnection], Awaitable[Any]]) -> Any:
        """Works on the database, in one transaction."""
        try:
            async with self.store.writing() as (connection, _):
                return await act(connection)
        except (SQLAlchemyError, OSError) as error:
            raise Unavailable(f"the database failed: {cause(error)}") from error


def _hash(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()
