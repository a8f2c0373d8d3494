"""The writer: requests share commits, and a commit that fails has done nothing."""

import asyncio
from collections import Counter

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from mccpo.serve.problems import Missing, Unavailable, Unprocessable
from mccpo.serve.record import writes
from mccpo.serve.service import Next, Outcome, Register

from .sandbox import event_kinds, mastery_of


def test_many_at_once_share_commits_and_none_is_lost(sandbox):
    async def story():
        async with sandbox() as service:
            told = []
            service.feed.listen(told.append)
            learners = await asyncio.gather(*(service.register("t", Register(f"n{at}")) for at in range(40)))

            async def lesson(learner):
                for step in range(5):
                    decision = await service.next("t", Next(learner.id))
                    await service.outcome("t", Outcome(decision.id, step % 2 == 0))

            await asyncio.gather(*map(lesson, learners))
            kinds = Counter(await event_kinds(service))
            assert kinds == {"learner": 40, "session": 40, "decision": 200, "outcome": 200}
            replayed = [one.event async for one in service.feed.replay()]
            assert replayed[1:] == [one.event for one in told]  # the first says what is live since the start
            listed, after = [], 0
            while page := await service.decisions("t", after=after, limit=64):
                listed += page
                after = page[-1].number
            assert len({one.id for one in listed}) == len(listed) == 200
            assert all(one.outcome is not None for one in listed)

    asyncio.run(story())


def test_a_refused_request_leaves_nothing_and_its_neighbours_in_the_commit_alone(sandbox):
    async def story():
        async with sandbox() as service:
            found = await asyncio.gather(
                service.register("t", Register("a")),
                service.next("t", Next("lrn_none"), "k"),
                service.register("t", Register("nul\0")),
                service.register("t", Register("half \ud83d")),
                service.register("t", Register("long" * 5000)),
                service.outcome("t", Outcome("dec_none", 1)),
                service.outcome("t", Outcome("dec_none", True, hints=-1)),
                service.outcome("t", Outcome("dec_none", True, seconds=float("inf"))),
                service.register("t", Register("'; DROP TABLE event; --")),
                return_exceptions=True,
            )
            kinds = [type(one) for one in found]
            assert kinds[1] is Missing
            assert kinds[2:5] == [Unprocessable] * 3
            assert all(issubclass(kind, Unprocessable) for kind in kinds[5:8])
            assert await event_kinds(service) == ["learner", "learner"]
            assert (await service.learner("t", found[8].id)).name == "'; DROP TABLE event; --"
            learner = await service.register("t", Register("b"), "k")  # the key of the refused one is free
            assert learner.new

    asyncio.run(story())


def test_a_commit_that_fails_has_done_nothing(sandbox, monkeypatch):
    async def story():
        async with sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            decision = await service.next("t", Next(learner))
            before = await mastery_of(service, learner)
            with monkeypatch.context() as patch:
                patch.setattr(writes, "write_decisions", _fails)  # after the events, before the commit
                refused = await asyncio.gather(
                    service.outcome("t", Outcome(decision.id, True), "k"),
                    service.register("t", Register("Bob")),
                    return_exceptions=True,
                )
                assert [type(one) for one in refused] == [Unavailable, Unavailable]
            assert await mastery_of(service, learner) == before
            assert await event_kinds(service) == ["learner", "session", "decision"]
            assert not (await service.outcome("t", Outcome(decision.id, True), "k")).again

    asyncio.run(story())


async def _fails(*_):
    raise OperationalError("INSERT", {}, Exception("the disk is gone"))


def test_a_full_disk(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            kept = len(await event_kinds(service))
            async with service.store.engine.connect() as connection:  # the one that writes next
                pages = (await connection.execute(text("PRAGMA page_count"))).scalar()
                await connection.execute(text(f"PRAGMA max_page_count={pages}"))
            for at in range(1000):
                try:
                    await service.register("t", Register(f"n{at}", {"label": "x" * 1000}))
                    kept += 1
                except Unavailable:
                    break
            assert at < 999
            assert len(await event_kinds(service)) == kept
            assert (await service.state("t", learner)).learner == learner
            async with service.store.engine.connect() as connection:
                await connection.execute(text("PRAGMA max_page_count=1000000"))
            assert (await service.next("t", Next(learner))).learner == learner

    asyncio.run(story())


def test_too_many_who_wait_are_turned_away(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox(waiting=3) as service:
            asked = (service.register("t", Register(f"n{at}")) for at in range(5))
            found = await asyncio.gather(*asked, return_exceptions=True)
            assert [type(one) is Unavailable for one in found] == [False] * 3 + [True] * 2
        with pytest.raises(Unavailable):
            await service.register("t", Register("n"))

    asyncio.run(story())


def test_two_services_on_one_database_do_not_overtake_each_other(sandbox):
    async def story():
        async with sandbox() as one, sandbox() as other:
            learner = (await one.register("t", Register("Ada"))).id
            for step in range(6):
                here, there = (one, other) if step % 2 else (other, one)
                decision = await here.next("t", Next(learner))
                assert (await there.next("t", Next(learner))).id == decision.id
                await there.outcome("t", Outcome(decision.id, True))
            assert (await other.state("t", learner)).t == 6

    asyncio.run(story())


def test_writes_of_another_process_drop_only_their_learners(sandbox):
    async def story():
        async with sandbox() as one, sandbox() as other:
            ada, eve = [(await one.register("t", Register(name))).id for name in ("Ada", "Eve")]
            await other.next("t", Next(eve))
            bob = (await one.register("t", Register("Bob"))).id
            assert set(one._writer._histories) == {ada, bob}

    asyncio.run(story())
