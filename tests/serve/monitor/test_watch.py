"""The monitors hear of everything that is on record, whoever wrote it, and say when they have not."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager

import pytest

from mccpo.serve.monitor import Monitor, Watch
from mccpo.serve.monitor import watch as watches
from mccpo.serve.policy import Releases
from mccpo.serve.record import Store
from mccpo.serve.service import Erase, Next, Outcome, Register, Service


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(watches, "LOOK", 0.02)


@asynccontextmanager
async def watched(url, release, terms=None):
    async with Service(Store(url), Releases(release), terms) as service, Watch(service) as watch:
        await watch.caught_up()
        yield service, watch


async def taught(service, name, lessons, **labels):
    learner = (await service.register("t", Register(name, labels))).id
    for _ in range(lessons):
        decision = await service.next("t", Next(learner))
        await service.outcome("t", Outcome(decision.id, True))
    return learner


async def seen(watch, wanted):
    """The report, once it says that much."""
    for _ in range(500):
        report = watch.report("t")
        if wanted(report):
            return report
        await asyncio.sleep(0.01)
    raise AssertionError(report)


def test_events_of_another_service_are_seen(database, release):
    async def story():
        async with watched(database, release) as (one, first), watched(database, release) as (other, second):
            await taught(one, "Ana", 2, team="a")
            await seen(second, lambda report: report["complete"] and report["decisions"]["total"] == 2)
            await taught(other, "Bo", 3, team="b")
            await asyncio.gather(taught(one, "Cleo", 3), taught(other, "Dan", 3), taught(other, "Ana", 2, team="c"))
            reports = [
                await seen(watch, lambda report: report["complete"] and report["decoupling"]["of"] == 13)
                for watch in (first, second)
            ]
            labels = [watch._monitors["t"].learners.labels for watch in (first, second)]
        async with watched(database, release) as (_, fresh):
            assert fresh.report("t") == reports[0] == reports[1]
            assert fresh._monitors["t"].learners.labels == labels[0] == labels[1]

    asyncio.run(story())


def test_it_is_not_complete_while_events_of_others_are_missing(tmp_path, release, monkeypatch):
    monkeypatch.setattr(watches, "LOOK", 60.0)

    async def story():
        url = str(tmp_path / "record.db")
        async with watched(url, release) as (one, watch):
            async with Service(Store(url), Releases(release)) as other:
                await taught(other, "Ana", 1)
            await one.register("t", Register("Bo"))  # by which it sees that something is missing
            assert not watch.report("t")["complete"]
            report = await seen(watch, lambda report: report["complete"])
            assert (report["learners"], report["decisions"]["total"]) == (2, 1)

    asyncio.run(story())


def test_learners_no_longer_in_memory_are_looked_up(tmp_path, release):
    async def story():
        url = str(tmp_path / "record.db")
        async with watched(url, release) as (one, watch), Service(Store(url), Releases(release)) as other:
            learner = await taught(one, "Ana", 2)
            watch._histories.clear()
            decision = await other.next("t", Next(learner))
            await other.outcome("t", Outcome(decision.id, True))
            here = await seen(watch, lambda report: report["complete"] and report["decoupling"]["of"] == 3)
        async with watched(url, release) as (_, fresh):
            assert fresh.report("t") == here

    asyncio.run(story())


def test_erased_learners_are_not_counted_before_or_after_a_restart(tmp_path, release):
    async def story():
        url = str(tmp_path / "record.db")
        async with watched(url, release) as (service, watch):
            learners = [await taught(service, f"l{number}", number) for number in range(4)]
            for learner in learners[:2]:  # one who was never taught, and one who was
                await service.erase("t", Erase(learner))
            await watch.caught_up()  # it may be just reading what it was told of
            before = watch.report("t")
        assert (before["learners"], before["decisions"]["total"]) == (2, 6)
        async with watched(url, release) as (_, watch):
            assert watch.report("t") == before

    asyncio.run(story())


def test_a_restart_goes_on_from_what_was_stored(database, release, monkeypatch):
    monkeypatch.setattr(watches, "STORE_AT_END", 1)

    async def story():
        async with watched(database, release) as (service, _):
            for name in ("Ana", "Bo", "Cleo", "Dan", "Eva", "Finn"):
                await taught(service, name, 2, team="a")
        with monkeypatch.context() as patch:
            patch.setattr(watches, "STORE_AT_END", 10**9)
            async with watched(database, release) as (service, watch):
                assert watch._stored > 20  # the rest alone was read
                learner = await taught(service, "Ana", 2, team="b")
                await service.erase("t", Erase((await service.learner_named("t", "Bo")).id))
                told = await seen(watch, lambda report: report["complete"] and report["learners"] == 5)
                labels = watch._monitors["t"].learners.labels
                assert labels[learner] == {"team": "b"}
        async with watched(database, release) as (_, watch):  # what was stored before, and more of the record
            assert watch._stored > 20
            assert watch.report("t") == told
            assert watch._monitors["t"].learners.labels == labels

    asyncio.run(story())


@pytest.mark.parametrize("damage", ["state = x'00'", "hash = 'x'", "number = number - 1"])
def test_a_stored_state_that_is_damaged_or_of_another_record_is_passed_over(tmp_path, release, monkeypatch, damage):
    monkeypatch.setattr(watches, "STORE_AT_END", 1)
    url = str(tmp_path / "record.db")

    async def story():
        async with watched(url, release) as (service, watch):
            await taught(service, "Ana", 3)
            told = await seen(watch, lambda report: report["decoupling"]["of"] == 3)
        with sqlite3.connect(url) as connection:
            connection.execute(f"UPDATE monitor SET {damage}")
        async with watched(url, release) as (_, watch):
            assert watch._stored == 0
            assert watch.report("t") == told

    asyncio.run(story())


def test_a_report_is_reused_while_nothing_happens(tmp_path, release, monkeypatch):
    made = []
    report = Monitor.report

    def counted(monitor, **how):
        made.append(monitor)
        return report(monitor, **how)

    async def story():
        async with watched(str(tmp_path / "record.db"), release) as (service, watch):
            await taught(service, "Ana", 1)
            monkeypatch.setattr(Monitor, "report", counted)
            first = watch.report("t")
            assert watch.report("t") == first
            assert len(made) == 1
            await taught(service, "Ana", 1)
            assert watch.report("t") != first
            monkeypatch.setattr(watches, "COSTLY", -1.0)
            monkeypatch.setattr(watches, "SHARE", 1e-9)
            await taught(service, "Ana", 1)
            costly = watch.report("t")
            await taught(service, "Ana", 1)
            assert watch.report("t") == costly
            assert len(made) == 3

    asyncio.run(story())


def test_what_others_write_is_read_only_while_somebody_asks(tmp_path, release, monkeypatch):
    monkeypatch.setattr(watches, "ASKED", 0.1)

    async def story():
        url = str(tmp_path / "record.db")
        async with watched(url, release) as (_, idle), watched(url, release) as (other, busy):
            await asyncio.sleep(0.2)
            before = idle._last
            await taught(other, "Ana", 3)
            await asyncio.sleep(0.2)
            assert busy.complete  # its own events cost it nothing more
            assert idle._last == before
            await seen(idle, lambda report: report["complete"] and report["decisions"]["total"] == 3)

    asyncio.run(story())


def test_a_follower_far_behind_catches_up_by_itself(tmp_path, release, monkeypatch):
    monkeypatch.setattr(watches, "ASKED", 0.1)
    monkeypatch.setattr(watches, "FAR", 5)

    async def story():
        url = str(tmp_path / "record.db")
        async with watched(url, release) as (_, idle), watched(url, release) as (other, _):
            await asyncio.sleep(0.2)
            await taught(other, "Ana", 6)
            for _ in range(500):
                if idle._monitors and idle._monitors["t"].chosen_by.total() >= 4:
                    return
                await asyncio.sleep(0.01)
            raise AssertionError(idle._last)

    asyncio.run(story())
