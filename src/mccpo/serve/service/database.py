"""Access to the database on behalf of a request: a database that fails makes the service unavailable, not faulty."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from types import TracebackType

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.problems import Problem, Unavailable
from mccpo.serve.record.engine import failure_text
from mccpo.serve.record.store import Store

READY = 5.0
"""Seconds for which a database that could be written to counts as ready."""
NOT_READY = 0.25
"""Seconds for which one that could not counts as not ready."""


@contextmanager
def unavailable_on_failure() -> Iterator[None]:
    """Turns a failure of the database within the block into `Unavailable`."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        raise Unavailable(f"the database failed: {failure_text(error)}") from error


class Reading:
    """A connection to read by. Used as `async with Reading(store) as connection`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> AsyncConnection:
        try:
            return await self._stack.enter_async_context(self._store.reading())
        except (SQLAlchemyError, OSError, RuntimeError) as error:
            raise Unavailable(f"the database failed: {failure_text(error)}") from error

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)
        if isinstance(error, SQLAlchemyError):
            raise Unavailable(f"the database failed: {failure_text(error)}") from error


class Readiness:
    """Whether the database can be written to: found out once for all who ask, and kept for a while.

    `changes` counts how often writing began to fail or to succeed again: a result from before such a change is no news.
    """

    def __init__(self, check: Callable[[], Awaitable[None]], changes: Callable[[], int]) -> None:
        self._check, self._changes = check, changes
        self._under_way: asyncio.Task[None] | None = None
        self._problem: Problem | None = None
        self._until, self._known = 0.0, -1

    async def check(self) -> None:
        """Raises the problem that keeps the service from being ready, if there is one."""
        if self._known != self._changes() or time.monotonic() >= self._until:
            if self._under_way is None or self._under_way.done():
                self._under_way = asyncio.create_task(self._find_out())
            await asyncio.shield(self._under_way)  # one who goes away does not end it for the others
        if self._problem is not None:
            raise self._problem

    async def _find_out(self) -> None:
        known, problem = self._changes(), None
        try:
            await self._check()
        except Problem as found:
            problem = found
        self._problem, self._known = problem, known
        self._until = time.monotonic() + (READY if problem is None else NOT_READY)
