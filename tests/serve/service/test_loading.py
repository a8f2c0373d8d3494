"""A row that is damaged fails what is asked for its learner, and nothing else."""

import asyncio
import sqlite3
from functools import partial

import pytest

from mccpo.env import make
from mccpo.serve.api import Settings, app
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.problems import Missing, Unavailable
from mccpo.serve.record import Store
from mccpo.serve.service import Erase, Next, Outcome, Register, Service, Terms, background

MINUTE = 60_000


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE standing SET mastery = x'00' WHERE learner = ?",
        "UPDATE standing SET mastery = x'0000000000000000' WHERE learner = ?",
        "UPDATE standing SET mastery = 'text' WHERE learner = ?",
        "UPDATE standing SET practised = x'01' WHERE learner = ?",
        "UPDATE standing SET previous = x'01' WHERE learner = ?",
        "UPDATE standing SET t = 'soon' WHERE learner = ?",
        "UPDATE standing SET release = 'none' WHERE learner = ?",
    ],
)
def test_a_damaged_row_fails_its_own_learner_only(tmp_path, release, damage, caplog):
    now = 1_800_000_000_000

    async def story():
        nonlocal now
        async with Service(Store(str(tmp_path / "record.db")), Releases(release), clock=lambda: now) as service:
            ada, bob = [(await service.register("t", Register(name))).id for name in ("Ada", "Bob")]
            await asyncio.gather(*(service.next("t", Next(one)) for one in (ada, bob)))
        with sqlite3.connect(tmp_path / "record.db") as connection:
            connection.execute(damage, (ada,))
        async with Service(Store(str(tmp_path / "record.db")), Releases(release), clock=lambda: now) as service:
            asked = [service.next("t", Next(ada)), service.next("t", Next(bob)), service.next("other", Next(ada))]
            first, second, third = await asyncio.gather(*asked, return_exceptions=True)
            assert isinstance(first, Unavailable)
            assert ada in first.detail
            assert second.again
            assert isinstance(third, Missing)
            now += 31 * MINUTE
            assert await service.tidy() == 1  # the session of the other one ends all the same
            assert (await service.state("t", bob)).session is None
            with pytest.raises(Unavailable, match="damaged"):
                await service.state("t", ada)

    asyncio.run(story())
    assert "damaged" in caplog.text


def test_labels_that_are_damaged_keep_nobody_from_being_registered_or_erased(tmp_path, release):
    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(release)) as service:
            ada, bob = [(await service.register("t", Register(name, {"class": "1"}))).id for name in ("Ada", "Bob")]
            with sqlite3.connect(tmp_path / "record.db") as connection:
                connection.execute("UPDATE learner SET sealed = zeroblob(length(sealed))")
            again, other = await asyncio.gather(
                service.register("t", Register("Ada", {"class": "2"})), service.register("t", Register("Cyd"))
            )
            assert (again.id, other.new) == (ada, True)
            assert (await service.learner("t", ada)).labels == {"class": "2"}
            with pytest.raises(Unavailable, match="damaged"):
                await service.learner("t", bob)
            await service.erase("t", Erase(bob))

    asyncio.run(story())


def test_a_release_that_is_damaged_fails_those_who_stand_in_it_only(tmp_path, release, run_of):
    other = load_release(run_of(make("tutor-15")), seed=1)
    third = load_release(run_of(make("tutor-15"), "unconstrained"))

    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(release)) as service:
            ada = (await service.register("t", Register("Ada"))).id
            await service.change_releases(lambda live: live.load(other))
            await service.change_releases(lambda live: live.load(third))
            bob = (await service.register("t", Register("Bob"))).id
        async with Service(Store(str(tmp_path / "record.db")), Releases(third)) as service:
            with sqlite3.connect(tmp_path / "record.db") as connection:
                connection.execute("UPDATE release SET weights = x'00' WHERE version = ?", (release.version,))
            first, second = await asyncio.gather(
                *(service.next("t", Next(one)) for one in (ada, bob)), return_exceptions=True
            )
            assert isinstance(first, Unavailable)
            await service.outcome("t", Outcome(second.id, True))

    asyncio.run(story())


def test_tidying_goes_on_whatever_happens(release, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(app, "TIDY", 0.001)

    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(release), Terms()) as service:
            times = 0
            often = asyncio.Event()

            async def fails():
                nonlocal times
                times += 1
                if times == 3:
                    often.set()
                raise ValueError("a fault")

            monkeypatch.setattr(service, "tidy", fails)
            async with asyncio.timeout(5), background(partial(app._tidy, service, Settings(keys=None))):
                await often.wait()

    asyncio.run(story())
    assert "a fault" in caplog.text
