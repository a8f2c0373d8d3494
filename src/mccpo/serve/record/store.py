"""The database of the record: SQLite in a file, or PostgreSQL by its URL; what is committed survives a crash.

There is one writer at a time. It takes the lock before it reads, so nothing changes between reading and writing: in
SQLite by an immediate transaction, in PostgreSQL by the one row of `head`. Readers see what is committed, without
waiting.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import func, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mccpo.errors import InputError
from mccpo.redaction import redact
from mccpo.serve.record import migrations
from mccpo.serve.record.chain import Head
from mccpo.serve.record.engine import (
    BUSY,
    FILLING,
    READING,
    SERVING,
    check_file,
    engine_of,
    failure_text,
    keep_private,
    parse_url,
    readable,
)
from mccpo.serve.record.keyring import Keyring, keyring_beside
from mccpo.serve.record.schema import HEAD, LEARNER
from mccpo.serve.record.writes import write_and_remove

ROOM = 256 * 1024
"""Bytes that must find room for the database to be ready: about what a full batch of requests takes."""
_FAILURES = (SQLAlchemyError, OSError, sqlite3.Error)
_LOCKED = (HEAD.c.number, HEAD.c.hash, HEAD.c.at, HEAD.c.live)
_MIGRATING = 0x6D6363706F  # the number of PostgreSQL's lock for migrations, ours by its letters


class Turn(NamedTuple):
    """A writer's turn: its connection, the head of the record, and the number of the event that says what is live."""

    connection: AsyncConnection
    head: Head
    live: int | None


class Store:
    """A database by its URL (`sqlite:///file`, `postgresql://…`) or the path of an SQLite file.

    `keyring` is the file with the keys of learners: by default the one that the URL names (`?keyring=FILE`), or the
    one beside an SQLite file.
    """

    def __init__(self, url: str, *, readers: int = 4, keyring: Path | None = None) -> None:
        parsed = parse_url(url)
        named = parsed.query.get("keyring")
        self._url = parsed.difference_update_query(["keyring"])
        self._readers = readers
        self.keyring_path = Path(named) if keyring is None and isinstance(named, str) else keyring
        if self.keyring_path is None and self.is_sqlite:
            self.keyring_path = keyring_beside(Path(self._url.database or ""))
        self._keyring: Keyring | None = None
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

    @property
    def keyring(self) -> Keyring:
        if self._keyring is None:
            raise RuntimeError("the keyring is not open")
        return self._keyring

    @property
    def has_keyring(self) -> bool:
        """Whether names can be read: who only reads a record may do so without its keyring."""
        return self._keyring is not None

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
                url = url if create else readable(url)
                if create:
                    keep_private(Path(url.database or ""))
                check_file(url)
                self._file = self._file_identity()
            self._engine = engine_of(url, self._readers + 1, SERVING if create else READING)
            async with self._engine.connect() as connection:
                outdated = await connection.run_sync(migrations.outdated)
            if outdated and not create:
                raise InputError(f"{self.name} is no record of this version", fix="open it with mccpo serve first")
            if outdated:
                await self._upgrade()
            await self._open_keyring(create)
        except _FAILURES as error:
            await self.close()
            raise InputError(
                f"cannot open the database {self.name}: {failure_text(error)}", fix="check its path or URL"
            ) from None
        except BaseException:
            await self.close()
            raise

    @asynccontextmanager
    async def filling(self) -> AsyncIterator[AsyncConnection]:
        """Connects to an empty database, and yields a transaction in which its tables are made and to be filled.

        What is not empty is refused. An SQLite file is made without a log of writes beside it, so that it can be moved.
        """
        try:
            if self.is_sqlite:
                keep_private(Path(self._url.database or ""))
                self._file = self._file_identity()
            self._engine = engine_of(self._url, 1, FILLING)
            async with self._immediate() as connection:
                if await connection.run_sync(lambda raw: inspect(raw).get_table_names()):
                    raise InputError(f"{self.name} is not empty", fix="name a new file, or an empty database")
                await connection.run_sync(migrations.create)
                yield connection
        except _FAILURES as error:
            raise InputError(
                f"cannot write the database {self.name}: {failure_text(error)}", fix="check its path or URL"
            ) from None
        finally:
            await self.close()

    async def downgrade(self, revision: str) -> None:
        """Takes the tables back to an earlier version, for the mccpo of that time. No service may be using them."""
        if self.is_sqlite and not Path(self._url.database or "").is_file():
            raise InputError(f"there is no database {self.name}", fix="name the file that the service wrote")
        try:
            if self.is_sqlite:
                self._file = self._file_identity()
            self._engine = engine_of(self._url, 1)
            async with self._immediate() as connection:
                await connection.run_sync(migrations.downgrade, revision)
        except _FAILURES as error:
            raise InputError(
                f"cannot change the database {self.name}: {failure_text(error)}", fix="stop what is using it"
            ) from None
        finally:
            await self.close()

    async def _upgrade(self) -> None:
        """Migrates, one process at a time: who waited for another finds the work done."""
        sealed = False
        async with self._immediate() as connection:
            if not self.is_sqlite:
                await connection.execute(select(func.pg_advisory_xact_lock(_MIGRATING)))
            if await connection.run_sync(migrations.outdated):
                keyring = Keyring.create(self._needed_keyring())
                try:
                    sealed = await connection.run_sync(migrations.upgrade, keyring)
                finally:
                    keyring.close()
        if sealed:
            await self._rewrite()

    async def _rewrite(self) -> None:
        """Writes the tables anew from which names were removed: what a database deletes stays in its files for long."""
        async with self.engine.connect() as connection:
            raw: Any = (await connection.get_raw_connection()).driver_connection
            if self.is_sqlite:
                await raw.execute("VACUUM")
            else:
                await raw.set_autocommit(True)
                await raw.execute("VACUUM FULL learner, note, reply")
                await raw.set_autocommit(False)
        await self.clear_log()

    def _needed_keyring(self) -> Path:
        if self.keyring_path is None:
            raise InputError(
                f"the record {self.name} has no keyring beside it, which holds the keys to learners' names",
                fix="name one with --keyring FILE",
            )
        return self.keyring_path

    async def _open_keyring(self, create: bool) -> None:
        """Opens the keyring that the record needs; to read, it may be missing."""
        async with self.engine.connect() as connection:
            id = (await connection.execute(select(HEAD.c.keyring))).scalar_one()
            last = select(LEARNER.c.id, LEARNER.c.slot).where(LEARNER.c.slot.is_not(None))
            newest = (await connection.execute(last.order_by(LEARNER.c.slot.desc()).limit(1))).first()
        try:
            keyring = Keyring.open(self._needed_keyring(), write=create)
        except InputError:
            if create:
                raise
            return
        # A copy from before the newest learner would give their slot to somebody else. Who only reads finds out more.
        older = keyring.id == id and newest is not None and not keyring.has_slot(newest.id, newest.slot)
        if keyring.id == id and not (older and create):
            self._keyring = keyring
            return
        keyring.close()
        if older:
            raise InputError(
                f"{keyring.path} is an older copy of the keyring of {self.name}: it lacks the keys of newer learners",
                fix="put its newest copy back, or restore a backup from the time of this one",
            )
        if create:
            raise InputError(
                f"{keyring.path} is the keyring of another record than {self.name}",
                fix="name the record's own with --keyring FILE, or put it back from its copy",
            )

    async def close(self) -> None:
        keyring, self._keyring = self._keyring, None
        if keyring is not None:
            keyring.close()
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.dispose()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[tuple[AsyncConnection, Head]]:
        """A transaction that holds the writers' lock, and the current head; committed at the end, or rolled back."""
        async with self.turn() as (connection, head, _):
            yield connection, head

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """As `writing`, with what else is read under the lock."""
        async with self.connected() as connection:
            yield Turn(connection, *await self.lock(connection))

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that may `lock` the record; committed at the end, or rolled back.

        On SQLite it holds the lock from its start. On PostgreSQL each reading sees what is committed by then, so what
        was read before `lock` may have changed.
        """
        async with self._immediate() as connection:
            yield connection

    async def lock(self, connection: AsyncConnection) -> tuple[Head, int | None]:
        """Waits for the writers' lock; the head, and the number of the event that says what is live."""
        row = (await connection.execute(select(*_LOCKED).with_for_update())).one()
        return Head(row.number, row.hash, row.at), row.live

    async def read_head(self, connection: AsyncConnection) -> Head:
        """The head without the lock: the next moment, it may be another."""
        return Head(*(await connection.execute(select(HEAD.c.number, HEAD.c.hash, HEAD.c.at))).one())

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
