"""Connections to SQLite whose statements take one trip each to the connection's thread.

aiosqlite makes a trip for each of: a cursor, its statement, its rows, its end. A trip costs as much as a small
statement itself, and a batch of requests has a dozen statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from typing import Any, Self

import aiosqlite

AHEAD = 500
"""Rows that come back with the statement itself; more are fetched as they are asked for."""


class OneTripCursor:
    """A cursor that is made, executed and read at once; only a long result needs further trips."""

    arraysize = 1
    description: Any = None
    rowcount = lastrowid = -1

    def __init__(self, connection: FileConnection) -> None:
        self._connection = connection
        self._rest: sqlite3.Cursor | None = None  # what has rows that were not read yet
        self._ahead: list[Any] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def execute(self, statement: str, parameters: Iterable[Any] | None = None) -> Self:
        return await self._begin(self._connection._conn.execute, statement, parameters or ())

    async def executemany(self, statement: str, parameters: Iterable[Iterable[Any]]) -> Self:
        return await self._begin(self._connection._conn.executemany, statement, parameters)

    async def fetchone(self) -> Any:
        rows = await self.fetchmany(1)
        return rows[0] if rows else None

    async def fetchmany(self, size: int | None = None) -> Sequence[Any]:
        size = self.arraysize if size is None else size
        if len(self._ahead) < size and self._rest is not None:
            await self._read(max(AHEAD, size))
        rows, self._ahead = self._ahead[:size], self._ahead[size:]
        return rows

    async def fetchall(self) -> Sequence[Any]:
        if self._rest is not None:
            await self._read(None)
        rows, self._ahead = self._ahead, []
        return rows

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._rows()

    async def close(self) -> None:
        self._ahead = []
        if self._rest is not None:
            rest, self._rest = self._rest, None
            await self._connection.run(rest.close)

    async def _rows(self) -> AsyncIterator[Any]:
        while (row := await self.fetchone()) is not None:
            yield row

    async def _begin(self, run: Any, statement: str, parameters: Any) -> Self:
        await self.close()
        executed = await self._connection.run(_execute, run, statement, parameters)
        self.description, self.rowcount, self.lastrowid, self._ahead, self._rest = executed
        return self

    async def _read(self, size: int | None) -> None:
        rows, self._rest = await self._connection.run(_fetch, self._rest, size)
        self._ahead += rows


class FileConnection(aiosqlite.Connection):
    """A connection to a file, with cursors of one trip."""

    def cursor(self) -> OneTripCursor:  # type: ignore[override]
        return OneTripCursor(self)

    async def run(self, function: Any, *arguments: Any) -> Any:
        """What a function gives in the connection's thread."""
        return await self._execute(function, *arguments)  # type: ignore[no-untyped-call]


def connect_file(database: str, **options: Any) -> FileConnection:
    """A connection that opens when it is awaited; its thread does not keep the process alive."""
    connection = FileConnection(partial(sqlite3.connect, database, **options), iter_chunk_size=64)
    connection._thread.daemon = True
    return connection


def _execute(
    run: Any, statement: str, parameters: Any
) -> tuple[Any, int, int | None, list[Any], sqlite3.Cursor | None]:
    cursor: sqlite3.Cursor = run(statement, parameters)
    rows, rest = _fetch(cursor, AHEAD) if cursor.description else ([], None)
    return cursor.description, cursor.rowcount, cursor.lastrowid, rows, rest


def _fetch(cursor: sqlite3.Cursor, size: int | None) -> tuple[list[Any], sqlite3.Cursor | None]:
    """So many rows, or all, and the cursor if there may be more. One that is read to its end holds no lock."""
    rows = cursor.fetchall() if size is None else cursor.fetchmany(size)
    return rows, cursor if size is not None and len(rows) == size else None
