"""Names and labels, and how they are erased."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from mccpo.serve.problems import Gone
from mccpo.serve.service import Erase, Next, Override, Register

from .sandbox import DAY, event_kinds


def test_names_and_labels(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            first = await service.register("t", Register("Ada", {"school": "1"}))
            heard = []
            service.feed.listen_to_labels(lambda *told: heard.append(told))
            second = await service.register("t", Register("Ada", {"school": "2"}))
            assert (second.id, second.new, second.labels) == (first.id, False, {"school": "2"})
            assert heard == [("t", first.id, {"school": "2"})]
            assert await event_kinds(service) == ["learner", "labels"]
            twice = await asyncio.gather(*(service.register("t", Register("Bob")) for _ in range(2)))
            assert twice[0].id == twice[1].id
            assert [one.name for one in await service.learners("t", limit=1)] in (["Ada"], ["Bob"])
            assert {one.name for one in await service.learners("t")} == {"Ada", "Bob"}
            assert {one.id async for one in service.feed.identities()} == {first.id, twice[0].id}

    asyncio.run(story())


def test_erased_learners_are_found_nowhere(sandbox):
    secrets = ("Xylophonia", "Quartzite", "Zephyrine")

    async def story():
        async with sandbox() as service:
            learner = (await service.register("t", Register("Xylophonia", {"school": "Quartzite"}), "k")).id
            await service.override("t", Override(learner, "v0", "Zephyrine", "Ms B"), "l")
            kept = await service.export_learner("t", learner)
            assert kept["learner"].name == "Xylophonia"
            assert kept["notes"][0]["reason"] == "Zephyrine"
            assert [one["kind"] for one in kept["events"]] == ["learner", "session", "override"]
            erased = await service.erase("t", Erase(learner), "m")
            assert await service.erase("t", Erase(learner), "m") == erased
            for gone in (
                service.next("t", Next(learner)),
                service.learner("t", learner),
                service.state("t", learner),
                service.export_learner("t", learner),
                service.erase("t", Erase(learner)),
            ):
                with pytest.raises(Gone):
                    await gone
            assert (await event_kinds(service, learner))[-1] == "erasure"
            assert (await service.register("t", Register("Xylophonia"))).id != learner  # somebody new
            assert [row["learner"] async for row in service.export("t")] == [learner]
            if service.store.is_sqlite:
                await service.erase("t", Erase((await service.learners("t"))[0].id))
                files = [file.read_bytes() for file in Path(service.store.name).parent.iterdir()]
                assert not any(word.encode() in content for word in secrets for content in files)

    asyncio.run(story())


def test_a_name_and_its_erasure_in_one_commit(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            answers = await asyncio.gather(
                service.register("t", Register("Ada", {"a": "b"}), "k"), service.erase("t", Erase(learner), "l")
            )
            assert answers[0].id == learner
            async with service.store.reading() as connection:
                found = (await connection.execute(text("SELECT answer FROM reply"))).scalars().all()
            assert len(found) == 1
            assert "Ada" not in found[0]

    asyncio.run(story())


def test_retention(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox(retention_seconds=30 * 86_400.0) as service:
            old = (await service.register("t", Register("old"))).id
            sqlite_sandbox.clock.now += 20 * DAY
            new = (await service.register("t", Register("new"))).id
            assert await service.tidy() == 0
            sqlite_sandbox.clock.now += 11 * DAY
            assert await service.tidy() == 1
            assert [one.id for one in await service.learners("t")] == [new]
            with pytest.raises(Gone):
                await service.learner("t", old)
            last = [one.event async for one in service.feed.replay()][-1]
            assert (last.kind, last.content["cause"]) == ("erasure", "retention")

    asyncio.run(story())


def test_retention_spares_who_has_just_come_back(sqlite_sandbox, monkeypatch):
    async def story():
        async with sqlite_sandbox(retention_seconds=30 * 86_400.0) as service:
            gone, back = [(await service.register("t", Register(name))).id for name in ("gone", "back")]
            sqlite_sandbox.clock.now += 31 * DAY
            submit = service._writer.submit

            async def meanwhile(tenant, request, key=None):
                if request == Erase(back, "retention"):  # who was listed a moment ago
                    await submit("t", Next(back))
                return await submit(tenant, request, key)

            monkeypatch.setattr(service._writer, "submit", meanwhile)
            assert await service.tidy() == 1
            assert [one.id for one in await service.learners("t")] == [back]
            with pytest.raises(Gone):
                await service.learner("t", gone)

    asyncio.run(story())


def test_a_registration_that_is_answered_again_changes_no_labels(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            heard = {}
            service.feed.listen_to_labels(lambda _, learner, labels: heard.update({learner: labels}))
            first = await service.register("t", Register("Ada", {"class": "1"}), "key")
            await service.register("t", Register("Ada", {"class": "2"}))
            assert await service.register("t", Register("Ada", {"class": "1"}), "key") == first
            assert (await service.learner("t", first.id)).labels == heard[first.id] == {"class": "2"}
            await asyncio.gather(service.register("t", Register("Bob", {"a": "b"})), service.tidy())
            assert len(heard) == 2

    asyncio.run(story())
