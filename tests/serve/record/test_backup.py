"""Backups: taken while the record is written to, verified, and restored to either kind of database."""

import asyncio
import json
import shutil
import sqlite3

import pytest

from mccpo.bench.serve import servers
from mccpo.cli import main
from mccpo.errors import GateFailed, InputError
from mccpo.serve.policy import Releases
from mccpo.serve.record import Store, back_up, restore, verify
from mccpo.serve.service import Erase, Next, Outcome, Override, Register, Service, Terms


async def _teach(service, name, lessons=3):
    learner = (await service.register("t", Register(name, {"class": "1"}))).id
    for _ in range(lessons):
        decision = await service.next("t", Next(learner))
        await service.outcome("t", Outcome(decision.id, True))
    return learner


async def _keep_teaching(service, stop):
    while not stop.is_set():
        await asyncio.gather(*(_teach(service, f"learner {number}", 1) for number in range(4)))


async def _opened(url, **options):
    store = Store(str(url), **options)
    await store.open(create=False)
    return store


async def _verdict(url, **options):
    store = await _opened(url)
    try:
        return await verify(store, **options)
    finally:
        await store.close()


def test_a_backup_is_taken_while_decisions_are_written_and_serves_again(database, release, tmp_path):
    out, restored = tmp_path / "backups" / "one.db", tmp_path / "restored" / "record.db"
    copied = tmp_path / "keys" / "copy.keyring"

    async def story():
        async with Service(Store(database), Releases(release), Terms(decide_seconds=60.0)) as service:
            ada = await _teach(service, "Ada")
            await service.override("t", Override(ada, release.concepts[0], "a reason", "Ms B"))
            stop = asyncio.Event()
            teaching = asyncio.create_task(_keep_teaching(service, stop))
            reader = await _opened(database)
            taken = await back_up(reader, out, keyring_copy=copied)
            await reader.close()
            stop.set()
            await teaching
            assert (await service.anchor()).number > taken.head.number  # it went on meanwhile
            await service.erase("t", Erase(ada))
        assert out.stat().st_mode & 0o777 == copied.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in out.parent.iterdir()] == ["one.db"]
        before = await _verdict(out)
        assert (before.wrong, before.head) == (None, taken.head)
        assert (await _verdict(database, anchors=[(taken.head.number, taken.head.hash)])).wrong is None
        return ada, taken.head

    ada, head = asyncio.run(story())
    with_keys = asyncio.run(restore(out, str(restored), keyring=copied))
    assert (with_keys.head, with_keys.verdict.wrong, with_keys.erased) == (head, None, 0)

    async def serve_again():
        async with Service(Store(str(restored)), Releases(release)) as service:
            assert (await service.learner("t", ada)).name == "Ada"  # by keys from before the erasure
            await service.next("t", Next(ada))
            assert (await verify(service.store)).wrong is None

    asyncio.run(serve_again())


def test_a_backup_of_sqlite_is_restored_to_postgres(postgres_server, release, tmp_path):
    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(release)) as service:
            ada = await _teach(service, "Ada")
            await back_up(service.store, tmp_path / "backup.db")
        keyring = tmp_path / "record.keyring"
        with servers.database_in(postgres_server) as url:
            restored = await restore(tmp_path / "backup.db", url, keyring=keyring)
            assert (restored.keyring, restored.needed) == (keyring, None)
            with pytest.raises(InputError, match="is not empty"):
                await restore(tmp_path / "backup.db", url, keyring=keyring)
            async with Service(Store(url, keyring=keyring), Releases(release)) as service:
                assert (await service.learner("t", ada)).name == "Ada"
                await service.next("t", Next(ada))
                assert (await verify(service.store)).wrong is None

    asyncio.run(story())


@pytest.fixture(scope="module")
def record(tmp_path_factory, release):
    """A record that is closed, with a learner."""
    path = tmp_path_factory.mktemp("backed up") / "record.db"

    async def story():
        async with Service(Store(str(path)), Releases(release)) as service:
            await _teach(service, "Ada", 2)

    asyncio.run(story())
    return path


def test_the_commands(record, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["backup", str(record), "--out", "b.db", "--keyring-copy", "k.keyring", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["verify", str(record), "--anchor", told["anchor"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["anchor"] == told["anchor"]
    assert main(["restore", "b.db", "--to", "new.db", "--keyring", "k.keyring", "--anchor", told["anchor"]]) == 0
    out = capsys.readouterr().out
    assert "all verified" in out
    assert f"anchor {told['anchor']}" in out
    assert "not known" in out
    assert (tmp_path / "new.keyring").stat().st_mode & 0o777 == 0o600
    assert main(["verify", "new.db"]) == 0
    assert "keyring" not in capsys.readouterr().out  # names are checked, too
    assert main(["restore", "b.db", "--to", "nameless.db"]) == 0
    assert "the service needs the keyring" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["backup", "none.db", "--out", "b.db"], "there is no database none.db"),
        (["backup", "RECORD", "--out", "there.db"], "there already"),
        (["backup", "RECORD", "--out", "."], "there already"),
        (["backup", "RECORD", "--keyring", "none", "--keyring-copy", "k", "--out", "b.db"], "there is no keyring"),
        (["restore", "none.db", "--to", "b.db"], "there is no database none.db"),
        (["restore", "text.db", "--to", "b.db"], "cannot open the database"),
        (["restore", "RECORD", "--to", "there.db"], "there already"),
        (["restore", "RECORD", "--to", "b.db", "--keyring", "text.db"], "is not the keyring of"),
        (["restore", "RECORD", "--to", "mysql://x/y"], "no database that keeps a record"),
        (["restore", "RECORD", "--to", "b.db", "--anchor", "x"], "--anchor is"),
    ],
)
def test_wrong_calls_are_one_line_and_write_nothing(record, tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    for name in ("there.db", "text.db"):
        (tmp_path / name).write_text("something that is not a database, and long enough to see it" * 20)
    assert main([str(record) if one == "RECORD" else one for one in arguments]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.db", "there.db"]


def test_a_record_that_does_not_hold_is_neither_backed_up_nor_restored(record, tmp_path, capsys):
    for name in ("record.db", "record.keyring"):
        shutil.copy(record.with_name(name), tmp_path)
    with sqlite3.connect(tmp_path / "record.db") as connection:
        connection.execute("UPDATE standing SET t = t + 1")
    connection.close()
    out = tmp_path / "out.db"
    assert main(["backup", str(tmp_path / "record.db"), "--out", str(out)]) == 3
    assert main(["restore", str(tmp_path / "record.db"), "--to", str(out)]) == 3
    assert not out.exists()
    with pytest.raises(GateFailed):
        asyncio.run(restore(record, str(out), anchors=[(1, "0" * 64)]))


def test_a_copy_of_a_running_database_is_found_by_an_anchor(release, tmp_path, capsys):
    """`cp` of the file alone leaves out what is in the log of writes: the copy holds, and is too short."""
    path, short = tmp_path / "record.db", tmp_path / "short.db"

    async def story():
        async with Service(Store(str(path)), Releases(release)) as service:
            await _teach(service, "Ada", 1)
            await service.store.clear_log()
            await _teach(service, "Bob", 2)
            shutil.copy(path, short)
            return (await service.anchor()).anchor

    anchor = asyncio.run(story())
    shutil.copy(path.with_suffix(".keyring"), short.with_suffix(".keyring"))
    assert main(["verify", str(short)]) == 0
    out = capsys.readouterr().out
    assert "are missing, as from a copy of a running database" in out
    assert "compare it with a newer anchor" in out
    assert main(["verify", str(short), "--anchor", anchor]) == 3
    assert "noted before, is not there" in capsys.readouterr().err
    assert main(["verify", str(path), "--anchor", anchor]) == 0
