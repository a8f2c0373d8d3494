"""The database of the record: SQLite in a file, or PostgreSQL by its URL; what is committed survives a crash.

There is one writer at a time. It takes the lock before it reads, so nothing changes between reading and writing: in
SQLite by an immediate transaction, in PostgreSQL by the one row of `head`. Readers see what is committed, without
waiting.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sqlalchemy import event, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from mccpo.errors import InputError
from mccpo.redaction import redact
from mccpo.serve.record import migrations
from mccpo.serve.record.chain import Head
from mccpo.serve.record.schema import HEAD
from mccpo.serve.record.writes import write_and_remove

BUSY = 5.0
"""Seconds to wait for another writer's lock, or for the database to answer, before giving up."""
ROOM = 256 * 1024
"""Bytes that must find room for the database to be ready: about what a full batch of requests takes."""
_FAILURES = (SQLAlchemyError, OSError, sqlite3.Error)
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",  # a commit returns once its bytes are on the disk
    f"busy_timeout={int(BUSY * 1000)}",
    "secure_delete=ON",  # what is erased is overwritten
)
_READING = (f"busy_timeout={int(BUSY * 1000)}", "query_only=ON")


class Store:
    """A database by its URL (`sqlite:///file`, `postgresql://…`) or the path of an SQLite file."""

    def __init__(self, url: str, *, readers: int = 4) -> None:
        self._url = parse_url(url)
        self._readers = readers
        self._engine: AsyncEngine | None = None
        self._file: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """The database's path or URL, without its password."""
        return self._url.database or "" if self.is_sqlite else redact(self._url.render_as_string(hide_password=True))

    @property
    def is_sqlite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    @property
    def engine(self) -> AsyncEngine:
        if self._engine is None:
            raise RuntimeError("the store is not open")
        return self._engine

    async def open(self, *, create: bool = True) -> None:
        """Connects, and brings the tables to today's version.

        Without `create` it is opened to be read: what is not there already is refused, nothing can be written, and it
        may lie where nothing can be written.
        """
        if self.is_sqlite and not create and not Path(self._url.database or "").is_file():
            raise InputError(f"there is no database {self.name}", fix="name the file that the service wrote")
        try:
            url = self._url
            if self.is_sqlite:
                url = url if create else _readable(url)
                _check_file(url)
                self._file = self._file_identity()
            self._engine = engine_of(url, self._readers + 1, _PRAGMAS if create else _READING)
            async with self._engine.connect() as connection:
                outdated = await connection.run_sync(migrations.outdated)
            if outdated and not create:
                raise InputError(f"{self.name} is no record of this version", fix="open it with mccpo serve first")
            if outdated:
                async with self._immediate() as connection:
                    await connection.run_sync(migrations.upgrade)
        except _FAILURES as error:
            await self.close()
            raise InputError(
                f"cannot open the database {self.name}: {failure_text(error)}", fix="check its path or URL"
            ) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.dispose()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[tuple[AsyncConnection, Head]]:
        """A transaction that holds the writers' lock, and the current head; committed at the end, or rolled back."""
        async with self._immediate() as connection:
            row = (await connection.execute(select(HEAD.c.number, HEAD.c.hash, HEAD.c.at).with_for_update())).one()
            yield connection, Head(*row)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A transaction in which everything is seen as it was at one moment."""
        self._check_there()
        async with self.engine.connect() as connection:
            if not self.is_sqlite:
                await connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    async def check_room(self) -> None:
        """Raises unless as much as a batch of requests takes can be written and is on the disk; leaves nothing behind.

        Less would not do: a disk may have room for a byte, and none for the next decision.
        """
        async with self.writing() as (connection, _):
            await write_and_remove(connection, ROOM)

    async def clear_log(self) -> bool:
        """Empties SQLite's log of writes, where what was erased is left for a while; False while somebody reads it."""
        if not self.is_sqlite:
            return True
        async with self.engine.connect() as connection:
            raw: Any = (await connection.get_raw_connection()).driver_connection
            await raw.execute("PRAGMA busy_timeout=0")
            async with raw.execute("PRAGMA wal_checkpoint(TRUNCATE)") as checkpoint:
                busy, _, _ = await checkpoint.fetchone()
            await raw.execute(f"PRAGMA busy_timeout={int(BUSY * 1000)}")
        return not busy

    @asynccontextmanager
    async def _immediate(self) -> AsyncIterator[AsyncConnection]:
        self._check_there()
        async with self.engine.connect() as connection:
            await connection.execution_options(mccpo_writes=True)
            async with connection.begin():
                yield connection

    def _check_there(self) -> None:
        """Raises where SQLite's file was removed or replaced: it would go on writing to what nobody finds again."""
        if self.is_sqlite and self._file_identity() != self._file:
            raise FileNotFoundError(f"{self.name} is another file than was opened")

    def _file_identity(self) -> tuple[int, int]:
        """The device and inode of the database file."""
        status = Path(self._url.database or "").stat()
        return status.st_dev, status.st_ino


def parse_url(url: str) -> URL:
    """The URL of a database, with the driver that is used for it."""
    try:
        parsed = make_url(url) if "://" in url else URL.create("sqlite", database=url)
    except (ArgumentError, ValueError):  # its own message may contain part of the password, so it is not shown
        scheme = url.partition("://")[0]
        raise InputError(
            f"{scheme}://… is no URL of a database", fix="give sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
        ) from None
    if parsed.get_backend_name() == "sqlite":
        if parsed.database in (None, "", ":memory:"):
            raise InputError("a record in memory would be lost", fix="name a file: sqlite:///FILE")
        return parsed.set(drivername="sqlite+aiosqlite")
    if parsed.get_backend_name() in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise InputError(
        f"{parsed.get_backend_name()} is no database that keeps a record", fix="give sqlite:///FILE or postgresql://…"
    )


def failure_text(error: BaseException) -> str:
    """The database's own message about a failure, in one line and without the statement, which may contain names."""
    origin = getattr(error, "orig", None) or error
    return redact(" ".join(str(origin).split())) or type(origin).__name__


def _readable(url: URL) -> URL:
    """The URL by which SQLite reads a file that it cannot write to, or whose folder it cannot.

    It would make files beside it, which tell others that it reads; where nobody can write, there are no others. But
    what a service has left in its log of writes is not in the file: that log must be read with it.
    """
    path = Path(url.database or "").resolve()
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return url
    log = path.with_name(f"{path.name}-wal")
    alone = not log.exists() or not log.stat().st_size
    query = {"uri": "true", "mode": "ro", **({"immutable": "1"} if alone else {})}
    return url.set(database=f"file:{quote(str(path))}", query=query)


def _check_file(url: URL) -> None:
    """Raises what is wrong with a file, before the driver starts a thread for it."""
    path, options = url.database or "", {name: value for name, value in url.query.items() if name != "uri"}
    if "uri" in url.query:
        path += "?" + urlencode(options)
    with closing(sqlite3.connect(path, uri="uri" in url.query)) as connection:
        connection.execute("PRAGMA schema_version").fetchone()


def engine_of(url: URL, connections: int, pragmas: Sequence[str] = _PRAGMAS) -> AsyncEngine:
    """The engine over a database, whose connections make what they commit durable, or only read."""
    sqlite = url.get_backend_name() == "sqlite"
    connect: dict[str, Any] = {"timeout": BUSY} if sqlite else _patience(url)
    engine = create_async_engine(
        url, pool_size=connections, max_overflow=0, pool_timeout=BUSY, pool_pre_ping=not sqlite, connect_args=connect
    )
    if sqlite:
        event.listen(engine.sync_engine, "connect", partial(_connected, pragmas))
        event.listen(engine.sync_engine, "begin", _begun)
    return engine


def _patience(url: URL) -> dict[str, Any]:
    """How long PostgreSQL may keep us waiting, for a connection, a lock or a sign of life; what the URL says goes."""
    ours = {
        "connect_timeout": int(BUSY),
        "options": f"-c lock_timeout={int(BUSY * 1000)}",
        "tcp_user_timeout": int(BUSY * 1000),
        "keepalives_idle": int(BUSY),
    }
    return {name: value for name, value in ours.items() if name not in url.query}


def _connected(pragmas: Sequence[str], connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
    try:
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
    except BaseException:
        connection.close()  # nobody else does, and its thread would wait for ever
        raise


def _begun(connection: Any) -> None:
    writes = connection.get_execution_options().get("mccpo_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
