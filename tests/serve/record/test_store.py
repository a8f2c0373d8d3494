"""The database: its tables on both kinds, its lock, what survives, and what is refused."""

import asyncio
import sqlite3
from contextlib import suppress

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from mccpo.errors import InputError
from mccpo.serve.record import rows, writes
from mccpo.serve.record.chain import GENESIS, seal_event
from mccpo.serve.record.engine import parse_url
from mccpo.serve.record.schema import METADATA
from mccpo.serve.record.store import Store


async def _opened(url):
    store = Store(url)
    await store.open()
    return store


def test_the_migrations_make_the_tables_that_the_code_uses(database):
    async def differences():
        store = await _opened(database)
        async with store.reading() as connection:
            found = await connection.run_sync(lambda raw: compare_metadata(MigrationContext.configure(raw), METADATA))
        await store.close()
        return found

    assert asyncio.run(differences()) == []
    assert asyncio.run(differences()) == []  # opened again, with nothing to do


def test_the_next_writer_sees_a_write_and_not_a_failed_one(database):
    async def story():
        store = await _opened(database)
        event = seal_event(GENESIS, 5, "erasure", "t", "lrn_1", {"cause": "ünïcode ☃"})
        with suppress(RuntimeError):
            async with store.writing() as (connection, head):
                assert head == GENESIS
                await writes.write_events(connection, [event])
                raise RuntimeError
        async with store.writing() as (connection, head):
            assert head == GENESIS
            await writes.write_events(connection, [event])
        await store.close()
        store = await _opened(database)
        async with store.writing() as (_, head):
            assert head == event.head
        async with store.reading() as connection:
            assert [rows.event_from_row(row) async for row in rows.events_after(connection)] == [event]
        await store.close()

    asyncio.run(story())


def test_writers_take_turns(database):
    async def story():
        one, other = await _opened(database), await _opened(database)
        order = []

        async def write(store, name):
            async with store.writing() as (connection, head):
                order.append(f"{name} in")
                await asyncio.sleep(0.05)
                await writes.write_events(connection, [seal_event(head, 1, "erasure", "t", "l", {})])
                order.append(f"{name} out")

        await asyncio.gather(*(write(store, name) for name, store in (("a", one), ("b", other)) for _ in range(3)))
        async with one.writing() as (_, head):
            assert head.number == 6
        await one.close()
        await other.close()
        return order

    order = asyncio.run(story())
    assert all(order[at].split()[0] == order[at + 1].split()[0] for at in range(0, len(order), 2))


def test_a_reader_sees_one_moment(database):
    async def story():
        store = await _opened(database)
        async with store.reading() as reader:
            count = text("SELECT number FROM head")
            assert (await reader.execute(count)).scalar() == 0
            async with store.writing() as (connection, head):
                await writes.write_events(connection, [seal_event(head, 1, "erasure", "t", "l", {})])
            assert (await reader.execute(count)).scalar() == 0
        async with store.reading() as reader:
            assert (await reader.execute(count)).scalar() == 1
        await store.close()

    asyncio.run(story())


def test_sqlite_syncs_every_commit(tmp_path):
    async def story():
        store = await _opened(str(tmp_path / "record.db"))
        async with store.reading() as connection:
            found = [(await connection.execute(text(f"PRAGMA {name}"))).scalar() for name in PRAGMAS]
        await store.close()
        return found

    PRAGMAS = ("journal_mode", "synchronous", "secure_delete")
    assert asyncio.run(story()) == ["wal", 2, 1]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("mysql://somewhere/db", "mysql is no database"),
        ("://", "no URL"),
    ],
)
def test_what_cannot_keep_a_record_is_refused(url, words):
    with pytest.raises(InputError, match=words):
        parse_url(url)


def test_a_database_that_cannot_be_opened_is_named_without_its_password(tmp_path):
    with pytest.raises(InputError, match="cannot open the database") as refused:
        asyncio.run(Store(str(tmp_path / "nowhere" / "record.db")).open())
    assert "nowhere" in str(refused.value)
    with pytest.raises(InputError) as refused:
        asyncio.run(Store("postgresql://me:secret@127.0.0.1:1/none").open())
    assert "secret" not in str(refused.value)


def test_a_database_of_a_newer_version_is_refused_whether_to_read_or_to_write(database):
    async def story():
        store = await _opened(database)
        async with store.writing() as (connection, _):
            await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        await store.close()
        for create in (True, False):
            with pytest.raises(InputError, match="written by a newer mccpo") as refused:
                await store.open(create=create)
            assert "open it with that mccpo" in str(refused.value)

    asyncio.run(story())


def test_only_a_record_is_read_as_one(tmp_path):
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE x (y)").connection.close()
    (tmp_path / "text.db").write_text("no database at all, only some text that is long enough" * 20)
    for name, words in (("none.db", "there is no database"), ("other.db", "no record"), ("text.db", "cannot open")):
        with pytest.raises(InputError, match=words):
            asyncio.run(Store(str(tmp_path / name)).open(create=False))
    assert not (tmp_path / "none.db").exists()
