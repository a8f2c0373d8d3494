"""Search by a part of a name: what it finds, and that names which were erased leave this process's memory."""

import asyncio

import pytest
from sqlalchemy import text

from mccpo.serve.service import Erase, Next, Register
from mccpo.serve.service.roll import learner_lists, name_search

from .sandbox import MINUTE


async def found(service, part, **how):
    return [one.learner.name for one in await service.presences("t", part, **how)]


@pytest.mark.parametrize("few", [0, 2_000])
def test_the_most_recently_active_come_first_however_many_match(sandbox, monkeypatch, few):
    monkeypatch.setattr(learner_lists, "FEW", few)

    async def story():
        async with sandbox() as service:
            ids = {}
            for number in range(6):
                sandbox.clock.now += MINUTE
                name = f"Pupil {number}"
                ids[name] = (await service.register("t", Register(name, {"class": "ab"[number % 2]}))).id
            await service.register("u", Register("Pupil of others"))
            sandbox.clock.now += MINUTE
            await service.next("t", Next(ids["Pupil 2"]))
            assert await found(service, "pupil") == [f"Pupil {number}" for number in (2, 5, 4, 3, 1, 0)]
            assert await found(service, "PUPIL", skip=1, limit=2) == ["Pupil 5", "Pupil 4"]
            assert await found(service, "pupil", classes=("a",)) == ["Pupil 2", "Pupil 4", "Pupil 0"]
            assert await found(service, "pupil", classes=()) == []
            assert await found(service, "4") == ["Pupil 4"]
            assert await found(service, "nobody") == []

    asyncio.run(story())


def test_a_name_is_found_however_it_is_typed(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            await service.register("t", Register("Zo\u00eb Stra\u00dfe"))
            for part in ("zo\u00eb", "ZOE\u0308", "STRASSE", "e\u0308 s"):
                assert await found(service, part) == ["Zo\u00eb Stra\u00dfe"], part
            await service.register("t", Register("Zo\u00eb Two"))
            assert len(await found(service, "zoe\u0308")) == 2  # who was registered since, too

    asyncio.run(story())


def test_whom_another_process_registers_or_erases_is_found_or_dropped(sandbox):
    async def story():
        async with sandbox() as here, sandbox() as there:
            ada = (await here.register("t", Register("Ada"))).id
            assert await found(here, "a") == ["Ada"]
            await there.register("t", Register("Bea"))
            assert sorted(await found(here, "a")) == ["Ada", "Bea"]
            await there.erase("t", Erase(ada))
            assert here.names_held.held == 2
            await here.tidy()
            assert here.names_held.held == 1
            assert await found(here, "a") == ["Bea"]

    asyncio.run(story())


def test_a_name_that_is_erased_is_dropped_at_once(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            ada = (await service.register("t", Register("Ada"))).id
            await service.register("t", Register("Bea"))
            await found(service, "a")
            await service.erase("t", Erase(ada))
            assert list(service.names_held._tenants["t"].names.values()) == ["bea"]
            assert await found(service, "a") == ["Bea"]

    asyncio.run(story())


def test_names_that_nobody_searches_leave_the_memory(sqlite_sandbox, monkeypatch):
    async def story():
        async with sqlite_sandbox() as service:
            await service.register("t", Register("Ada"))
            assert service.names_held.held == 0
            await found(service, "a")
            await service.tidy()
            assert service.names_held.held == 1
            monkeypatch.setattr(name_search, "KEPT", -1.0)
            await service.tidy()
            assert service.names_held.held == 0
            assert await found(service, "a") == ["Ada"]

    asyncio.run(story())


def test_a_search_that_is_given_up_leaves_what_it_read_to_the_next(sqlite_sandbox, monkeypatch):
    monkeypatch.setattr(name_search, "_UNSEALED", 1)
    monkeypatch.setattr(name_search.rows, "CHUNK", 4)

    async def story():
        async with sqlite_sandbox() as service:
            ids = [(await service.register("t", Register(f"Pupil {number}"))).id for number in range(10)]
            first = asyncio.create_task(found(service, "pupil", limit=20))
            while service.names_held.held < 5:
                await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            read = service.names_held.held
            assert read < 10
            await service.erase("t", Erase(min(ids)))  # of those that were read
            assert len(await found(service, "pupil", limit=20)) == 9
            assert service.names_held.held == 9

    asyncio.run(story())


def test_many_searches_at_once_read_the_names_once(sqlite_sandbox, monkeypatch):
    async def story():
        async with sqlite_sandbox() as service:
            for number in range(5):
                await service.register("t", Register(f"Pupil {number}"))
            unsealed, before = [], name_search._unsealed
            monkeypatch.setattr(name_search, "_unsealed", lambda *one: unsealed.extend(one[0]) or before(*one))
            answers = await asyncio.gather(*(found(service, "pupil 3") for _ in range(20)))
            assert answers == [["Pupil 3"]] * 20
            assert len(unsealed) == 5

    asyncio.run(story())


def test_a_learner_whose_name_is_damaged_keeps_nobody_from_searching(sqlite_sandbox):
    async def story():
        sandbox = sqlite_sandbox
        async with sandbox() as service:
            ada = (await service.register("t", Register("Ada"))).id
            await service.register("t", Register("Bea"))
            async with service.store.writing() as (connection, _):
                kept = (await connection.execute(text(f"SELECT sealed FROM learner WHERE id = '{ada}'"))).scalar_one()
                await connection.execute(text(f"UPDATE learner SET sealed = x'00' WHERE id = '{ada}'"))
            assert await found(service, "a") == ["Bea"]
            async with service.store.writing() as (connection, _):
                await connection.execute(
                    text("UPDATE learner SET sealed = :kept WHERE id = :id"), {"kept": kept, "id": ada}
                )

    asyncio.run(story())
