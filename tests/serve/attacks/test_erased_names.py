"""Looking for erased people: in the database's files, its log of writes, older copies, and after restoring one."""

import asyncio
import os
import shutil
import sqlite3
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from alembic import command
from sqlalchemy import insert, select, text

from mccpo.bench.serve import servers
from mccpo.cli import main
from mccpo.errors import InputError
from mccpo.files import canonical_json
from mccpo.serve.policy import Releases
from mccpo.serve.problems import Gone
from mccpo.serve.record import Keyring, Store, engine_of, migrations, verify
from mccpo.serve.record.schema import METADATA
from mccpo.serve.service import Erase, Next, Override, Register, Service

WORDS = ("Xylophonia", "Quartzite", "Zephyrine", "Obsidiana", "idempotent-Xylophonia")


async def _teach_and_erase(url, release, before_erasure=None):
    """A learner with labels, an override and idempotency keys is erased; another stays."""
    async with Service(Store(url), Releases(release)) as service:
        learner = (await service.register("t", Register(WORDS[0], {"school": WORDS[1]}), WORDS[4])).id
        await service.override("t", Override(learner, release.concepts[0], WORDS[2], WORDS[3]), "key")
        other = (await service.register("t", Register("Somebody", {"school": "2"}))).id
        if before_erasure is not None:
            await before_erasure(service)
        await service.erase("t", Erase(learner))
        assert (await service.learner_named("t", "Somebody")).id == other
        assert (await verify(service.store)).wrong is None
        return learner, other


def _found(folder):
    """Which of the words are in the files of a folder, in any encoding that a database would use."""
    contents = [path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()]
    assert contents
    return {word for word in WORDS for content in contents if word.encode() in content}


def test_nobody_who_was_erased_is_in_the_files_of_sqlite(release, tmp_path):
    async def look(service):
        copy = tmp_path / "copy"
        copy.mkdir()
        for path in tmp_path.glob("record.db*"):  # an old backup, log and all, without the keyring
            shutil.copy(path, copy)
        assert _found(copy) == set()

    asyncio.run(_teach_and_erase(str(tmp_path / "record.db"), release, look))
    assert _found(tmp_path) == set()


def test_nobody_who_was_erased_is_in_the_files_of_postgres(postgres_server, release, tmp_path):
    with servers.database_in(postgres_server) as url:
        asyncio.run(_teach_and_erase(f"{url}&keyring={tmp_path / 'a.keyring'}", release))
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute("CHECKPOINT")  # what is in memory goes to the files of the tables; the log stays
            folder = Path(connection.execute("SHOW data_directory").fetchone()[0])
        if not os.access(folder, os.R_OK | os.X_OK):
            pytest.skip("the files of this server cannot be read from here")
        files = [path for path in (folder / "pg_wal").rglob("*") if path.is_file()]
        assert any(b"lrn_" in path.read_bytes() for path in files)  # the log is looked through, and is of this record
        assert _found(folder) == set()


def test_a_copy_from_before_the_erasure_is_unreadable_and_erased_again(release, tmp_path, caplog, capsys):
    record, copy = tmp_path / "record.db", tmp_path / "copy.db"

    async def back_up(service):
        await service.store.clear_log()
        shutil.copy(record, copy)

    learner, other = asyncio.run(_teach_and_erase(str(record), release, back_up))
    shutil.copy(record.with_suffix(".keyring"), copy.with_suffix(".keyring"))
    keyring = Keyring.open(record.with_suffix(".keyring"))
    with sqlite3.connect(copy) as connection:
        slot, sealed = connection.execute("SELECT slot, sealed FROM learner WHERE id = ?", (learner,)).fetchone()
    connection.close()
    with pytest.raises(ValueError, match="erased"):
        keyring.unseal(learner, slot, "identity", sealed)
    keyring.close()
    assert main(["verify", str(copy)]) == 0
    assert "the names of 1 learners: their keys were erased" in capsys.readouterr().out

    async def serve_the_copy():
        async with Service(Store(str(copy)), Releases(release)) as service:
            with pytest.raises(Gone):
                await service.next("t", Next(learner))
            assert (await service.learner("t", other)).name == "Somebody"
            assert (await verify(service.store)).wrong is None

    asyncio.run(serve_the_copy())
    assert "1 learners were erased once more" in caplog.text


def test_an_erasure_that_a_crash_cut_short_is_finished_at_the_next_start(release, tmp_path, monkeypatch):
    record = str(tmp_path / "record.db")

    async def disk_fails(_):
        monkeypatch.setattr(Keyring, "erase", _fail)

    with pytest.raises(AssertionError):  # of `verify`, which finds that the key is still there
        asyncio.run(_teach_and_erase(record, release, disk_fails))
    monkeypatch.undo()

    async def story():
        async with Service(Store(record), Releases(release)) as service:
            assert (await verify(service.store)).wrong is None
            assert len(list(service.store.keyring.erased())) == 1

    asyncio.run(story())


def _fail(*_):
    raise OSError("the disk is gone")


def test_a_record_is_not_served_without_its_own_keyring(release, tmp_path):
    record = tmp_path / "record.db"
    asyncio.run(_teach_and_erase(str(record), release))
    keyring = record.with_suffix(".keyring")
    elsewhere = keyring.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="cannot open the keyring"):
        asyncio.run(_open(Store(str(record))))
    assert not keyring.exists()
    Keyring.create(keyring).close()
    with pytest.raises(InputError, match="of another record"):
        asyncio.run(_open(Store(str(record))))
    asyncio.run(_open(Store(str(record), keyring=elsewhere)))


def test_a_record_is_not_served_with_an_older_copy_of_its_keyring(release, tmp_path):
    """The next learner would get the slot of one whom the copy does not know, and neither could be read again."""

    async def register(name):
        async with Service(Store(str(tmp_path / "record.db")), Releases(release)) as service:
            return await service.register("t", Register(name))

    asyncio.run(register("Ana"))
    keyring, older, newest = (tmp_path / f"{name}.keyring" for name in ("record", "older", "newest"))
    shutil.copy(keyring, older)
    asyncio.run(register("Bea"))
    shutil.copy(keyring, newest)
    shutil.copy(older, keyring)
    with pytest.raises(InputError, match="older copy of the keyring"):
        asyncio.run(register("Cyd"))
    shutil.copy(newest, keyring)
    assert not asyncio.run(register("Bea")).new
    assert asyncio.run(register("Cyd")).new


async def _open(store):
    await store.open()
    await store.close()


def test_on_a_server_the_keyring_must_be_named(postgres_server):
    with servers.database_in(postgres_server) as url, pytest.raises(InputError, match="--keyring"):
        asyncio.run(_open(Store(url)))


# ---- records from before there was a keyring


async def _old_record(url, new):
    """Makes a record of the version before, with the same content, and names that anybody can read."""
    store = Store(url)
    target = Store(str(new))
    await target.open()
    config = migrations._config()

    def make_tables(connection):
        config.attributes["connection"] = connection
        command.upgrade(config, "0006")

    try:
        await _connect(store)
        async with store.engine.begin() as writing, target.reading() as reading:
            await writing.run_sync(make_tables)
            await writing.execute(text("DELETE FROM head"))
            for table in METADATA.sorted_tables:
                stored = (await reading.execute(select(table))).mappings().all()
                for row in stored:
                    await writing.execute(_insert(table.name, _plain(table.name, dict(row), target.keyring, reading)))
    finally:
        await target.close()
        await store.close()


async def _connect(store):
    if store.is_sqlite:
        Path(store.name).touch()
    store._engine = engine_of(store._url, 2)


SLOTS = {}


def _plain(table, row, keyring, _):
    if table == "head":
        del row["keyring"]
    if table == "learner":
        slot, sealed = row.pop("slot"), row.pop("sealed")
        del row["name_hash"], row["class_hash"]
        SLOTS[row["id"]] = slot
        row["name"], labels, row["salt"] = keyring.unseal(row["id"], slot, "identity", sealed)
        row["labels"] = canonical_json(labels)
    if table == "standing":
        del row["draws"]
    if table == "note":
        words = keyring.unseal(row["learner"], SLOTS[row["learner"]], f"note {row['number']}", row.pop("sealed"))
        row["teacher"], row["reason"], row["salt"] = words
    return row


def _insert(table, row):
    return insert(sqlalchemy.table(table, *map(sqlalchemy.column, row))).values(row)


def test_an_existing_record_migrates_and_its_names_are_sealed(database, release, tmp_path):
    new = tmp_path / "made" / "new.db"
    new.parent.mkdir()

    async def story():
        async with Service(Store(str(new)), Releases(release)) as service:
            ada = (await service.register("t", Register(WORDS[0], {"school": WORDS[1], "class": "3b"}))).id
            await service.override("t", Override(ada, release.concepts[0], WORDS[2], WORDS[3]))
        await _old_record(database, new)
        async with Service(Store(database), Releases(release)) as service:
            assert (await service.learner_named("t", WORDS[0])).id == ada
            exported = await service.export_learner("t", ada)
            assert exported["learner"].labels == {"school": WORDS[1], "class": "3b"}
            assert [one.id for one in await service.learners("t", classes=["3b"])] == [ada]
            assert exported["notes"][0]["reason"] == WORDS[2]
            assert (await verify(service.store)).wrong is None
            if service.store.is_sqlite:
                shutil.rmtree(new.parent)
                assert _found(os.fspath(tmp_path)) == set()
            await service.erase("t", Erase(ada))
            assert (await verify(service.store)).wrong is None

    asyncio.run(story())


def test_two_processes_migrate_one_record_at_once(database, release, tmp_path):
    new = tmp_path / "made" / "new.db"
    new.parent.mkdir()

    async def start(name):
        async with Service(Store(database), Releases(release)) as service:
            assert not (await service.register("t", Register(WORDS[0]))).new
            assert (await service.register("t", Register(name))).new

    async def story():
        async with Service(Store(str(new)), Releases(release)) as service:
            await service.register("t", Register(WORDS[0], {"school": WORDS[1]}))
        await _old_record(database, new)
        await asyncio.gather(*(start(f"Pupil {number}") for number in range(3)))
        async with Service(Store(database), Releases(release)) as service:
            assert (await verify(service.store)).wrong is None

    asyncio.run(story())
