"""Connections to a record's database: what its URL may be, and how each kind is made durable and patient."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sqlalchemy import event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from mccpo.errors import InputError
from mccpo.redaction import redact
from mccpo.serve.record.sqlite_connection import connect_file

BUSY = 5.0
"""Seconds to wait for another writer's lock, or for the database to answer, before giving up."""
SERVING = (
    "journal_mode=WAL",
    "synchronous=FULL",  # a commit returns once its bytes are on the disk
    f"busy_timeout={int(BUSY * 1000)}",
    "secure_delete=ON",  # what is erased is overwritten
)
FILLING = ("journal_mode=DELETE", "synchronous=FULL")
READING = (f"busy_timeout={int(BUSY * 1000)}", "query_only=ON")


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


def readable(url: URL) -> URL:
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


def keep_private(path: Path) -> None:
    """Lets only its owner read or write a record, which names learners; what SQLite puts beside it is made alike."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if path.stat().st_mode & 0o077:
        with suppress(PermissionError):  # somebody else's file, which they share with us
            path.chmod(0o600)


def check_file(url: URL) -> None:
    """Raises what is wrong with a file, before the driver starts a thread for it."""
    path, options = url.database or "", {name: value for name, value in url.query.items() if name != "uri"}
    if "uri" in url.query:
        path += "?" + urlencode(options)
    with closing(sqlite3.connect(path, uri="uri" in url.query)) as connection:
        connection.execute("PRAGMA schema_version").fetchone()


def engine_of(url: URL, connections: int, pragmas: Sequence[str] = SERVING) -> AsyncEngine:
    """The engine over a database, whose connections make what they commit durable, or only read."""
    sqlite = url.get_backend_name() == "sqlite"
    connect: dict[str, Any] = {"timeout": BUSY, "async_creator_fn": connect_file} if sqlite else _patience(url)
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
