"""Decisions are prepared before the record is locked: what another process does meanwhile is never passed over."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from mccpo.env import make
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.problems import Unprocessable
from mccpo.serve.record import Store, verify
from mccpo.serve.service import Next, Outcome, Register, Service, unit_of_work


@pytest.fixture(scope="module")
def pair(run_of):
    """A release with a low gate, and one that asks for more."""
    return [load_release(run_of(make("tutor-15", concepts=6, horizon=20, theta=theta))) for theta in (0.3, 0.9)]


@pytest.fixture
def two(database, pair):
    """Two services of one record; on SQLite nothing can come between, as the record is locked from the start."""
    if database.startswith("sqlite"):
        pytest.skip("prepared before the lock on PostgreSQL alone")

    @asynccontextmanager
    async def opened():
        async with AsyncExitStack() as stack:
            both = [await stack.enter_async_context(Service(Store(database), Releases(pair[0]))) for _ in range(2)]
            yield both
            assert (await verify(both[0].store)).wrong is None

    return opened


def meanwhile(monkeypatch, service, act):
    """Lets something happen once, after the service's next batch was prepared and before it has the lock."""
    lock = service.store.lock

    async def late(connection):
        monkeypatch.setattr(service.store, "lock", lock)
        await act()
        return await lock(connection)

    monkeypatch.setattr(service.store, "lock", late)


def test_another_release_goes_live_meanwhile(two, pair, monkeypatch):
    async def story():
        async with two() as (first, second):
            learner = (await second.register("t", Register("Ana"))).id
            meanwhile(monkeypatch, second, lambda: first.change_releases(lambda live: live.load(pair[1])))
            assert (await second.next("t", Next(learner))).release == pair[1].version

    asyncio.run(story())


def test_the_learner_answers_meanwhile(two, monkeypatch):
    async def story():
        async with two() as (first, second):
            learner = (await second.register("t", Register("Ana"))).id
            decision = await second.next("t", Next(learner))
            meanwhile(monkeypatch, second, lambda: first.outcome("t", Outcome(decision.id, True)))
            other = await second.next("t", Next(learner))
            assert other.id != decision.id
            assert not other.again
            meanwhile(monkeypatch, second, lambda: first.outcome("t", Outcome(other.id, True)))
            assert (await second.outcome("t", Outcome(other.id, True))).again

    asyncio.run(story())


def test_the_learner_is_taught_elsewhere_meanwhile(two, monkeypatch):
    async def story():
        async with two() as (first, second):  # which verifies the record: a stale draft has a wrong certificate
            learner = (await second.register("t", Register("Ana"))).id

            async def taught():
                decision = await first.next("t", Next(learner))
                await first.outcome("t", Outcome(decision.id, True))

            meanwhile(monkeypatch, second, taught)
            decision = await second.next("t", Next(learner))
            assert not decision.again
            await second.outcome("t", Outcome(decision.id, True))

    asyncio.run(story())


def test_both_are_asked_for_the_same_meanwhile(two, monkeypatch):
    async def story():
        async with two() as (first, second):
            meanwhile(monkeypatch, second, lambda: first.register("t", Register("Ana")))
            known = await second.register("t", Register("Ana"))
            assert not known.new
            meanwhile(monkeypatch, second, lambda: first.next("t", Next(known.id), "k"))
            assert (await second.next("t", Next(known.id))).again
            ben = (await first.register("t", Register("Ben"))).id
            meanwhile(
                monkeypatch, second, lambda: first.next("t", Next(known.id), "other")
            )  # again: it leaves no event
            with pytest.raises(Unprocessable):
                await second.next("t", Next(ben), "other")

    asyncio.run(story())


def test_the_policy_is_not_asked_under_the_lock(two, monkeypatch):
    asked = []
    decide = unit_of_work.decide

    async def story():
        async with two() as (first, second):
            learner = (await first.register("t", Register("Ana"))).id

            async def locked():
                asked.append("locked")
                await first.register("t", Register("Ben"))  # about somebody else

            meanwhile(monkeypatch, second, locked)
            with monkeypatch.context() as patch:
                patch.setattr(unit_of_work, "decide", lambda *a, **k: asked.append("asked") or decide(*a, **k))
                await second.next("t", Next(learner))

    asyncio.run(story())
    assert asked == ["asked", "locked"]
