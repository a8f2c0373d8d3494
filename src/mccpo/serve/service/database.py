"""Access to the database on behalf of a request: a database that fails makes the service unavailable, not faulty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from types import TracebackType

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from mccpo.serve.problems import Unavailable
from mccpo.serve.record.store import Store, failure_text


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
