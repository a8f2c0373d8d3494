"""Writes many rows to PostgreSQL at once: one statement a table, to which each column is an array.

Writers hold the lock of the record meanwhile, so what a row costs here bounds what all processes together can write.
A statement a row costs five times as much, most of it in the driver.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Float, Integer, LargeBinary, Table
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

_TYPES = {BigInteger: "bigint", Integer: "integer", Float: "float8", LargeBinary: "bytea", Boolean: "boolean"}
"""The types of PostgreSQL for the columns that are not text."""


def is_postgres(connection: AsyncConnection) -> bool:
    return connection.dialect.name == "postgresql"


@asynccontextmanager
async def together(connection: AsyncConnection) -> AsyncIterator[None]:
    """Sends all that is written within to PostgreSQL without waiting for each answer; at the end, all have come.

    Within, only functions of this module may use the connection.
    """
    if not is_postgres(connection):
        yield
        return
    raw = await _driver(connection)
    with _told():
        async with raw.pipeline():
            yield


async def write_rows(
    connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]], key: str | None = None
) -> None:
    """Inserts rows, each with all columns in their order; those with the same `key` are replaced."""
    columns = [list(values) for values in zip(*(row.values() for row in rows), strict=True)]
    await _execute(connection, _inserting(table, key), columns)


async def update_one(connection: AsyncConnection, table: Table, values: Mapping[str, Any]) -> None:
    """Changes columns of the only row of a table."""
    changes = ", ".join(f"{name} = %s" for name in values)
    await _execute(connection, f"UPDATE {table.name} SET {changes}", list(values.values()))


async def _execute(connection: AsyncConnection, statement: str, values: list[Any]) -> None:
    raw = await _driver(connection)
    with _told():
        await raw.execute(statement, values, prepare=True)


async def _driver(connection: AsyncConnection) -> Any:
    return (await connection.get_raw_connection()).driver_connection


@contextmanager
def _told() -> Iterator[None]:
    """Raises the driver's errors as SQLAlchemy does, by whose errors a failed commit is known."""
    import psycopg  # noqa: PLC0415 - an extra of its own

    try:
        yield
    except psycopg.Error as error:
        told = DBAPIError.instance("", None, error, psycopg.Error)
        raise (told if isinstance(told, DBAPIError) else OperationalError("", None, error)) from error


@lru_cache
def _inserting(table: Table, key: str | None) -> str:
    names = [column.name for column in table.c]
    arrays = ", ".join(f"%b::{_type(column)}[]" for column in table.c)
    statement = f"INSERT INTO {table.name} ({', '.join(names)}) SELECT * FROM unnest({arrays})"
    if key is None:
        return statement
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name != key)
    return f"{statement} ON CONFLICT ({key}) DO UPDATE SET {changes}"


def _type(column: Column[Any]) -> str:
    return _TYPES.get(type(column.type), "text")
