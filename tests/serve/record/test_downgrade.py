"""The way back to an earlier mccpo: tables go down and up again, and nothing on record is lost."""

import asyncio

import pytest
from sqlalchemy import inspect

from mccpo.cli import main
from mccpo.errors import InputError
from mccpo.serve.policy import Releases
from mccpo.serve.record import Store, verify
from mccpo.serve.record.engine import engine_of, parse_url
from mccpo.serve.service import BeginSession, Next, Outcome, Register, Service


async def columns(store):
    """What each table has, without changing it."""
    engine = engine_of(parse_url(store).difference_update_query(["keyring"]), 1)
    async with engine.connect() as connection:
        found = await connection.run_sync(
            lambda raw: {
                table: {column["name"] for column in inspect(raw).get_columns(table)}
                for table in ("learner", "standing")
            }
        )
    await engine.dispose()
    return found


def test_a_record_goes_down_and_up_again(database, release):
    async def story():
        async with Service(Store(database), Releases(release)) as service:
            learner = (await service.register("t", Register("Ana", {"class": "3b"}))).id
            decision = await service.next("t", Next(learner))
            await service.outcome("t", Outcome(decision.id, True))
            waits = (await service.register("t", Register("Ben"))).id
            for _ in range(2):
                await service.begin_session("t", BeginSession(waits))
                await service.next("t", Next(waits))
        await Store(database).downgrade("0007")
        gone = await columns(database)
        assert "class_hash" not in gone["learner"]
        assert "draws" not in gone["standing"]
        with pytest.raises(InputError, match="no record of this version"):
            await Store(database).open(create=False)
        async with Service(Store(database), Releases(release)) as service:
            assert [one.id for one in await service.learners("t", classes=["3b"])] == [learner]
            assert (await verify(service.store)).wrong is None
            assert (await service.next("t", Next(learner))).redraw == 0
            await service.begin_session("t", BeginSession(waits))
            assert (await service.next("t", Next(waits))).redraw == 2
            verdict = await verify(service.store)
            assert (verdict.wrong, verdict.decisions) == (None, 5)

    asyncio.run(story())


def test_wrong_calls_are_one_line(tmp_path, release, capsys):
    async def made():
        async with Service(Store(str(tmp_path / "record.db")), Releases(release)):
            pass

    asyncio.run(made())
    for arguments, words in (
        (["nowhere.db", "--to", "0007"], "there is no database"),
        ([str(tmp_path / "record.db"), "--to", "0003"], "restore a backup"),
        ([str(tmp_path / "record.db"), "--to", "later"], "choose from 0007, 0008"),
    ):
        assert main(["downgrade", *arguments]) == 2
        assert words in capsys.readouterr().err
    assert main(["downgrade", str(tmp_path / "record.db"), "--to", "0007"]) == 0
