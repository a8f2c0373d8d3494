"""What is live comes back after a restart, or is refused in one line; another run on the command line takes over."""

import asyncio
import sqlite3

import pytest

from mccpo.env import make
from mccpo.errors import InputError
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.problems import Unavailable
from mccpo.serve.record import Store, verify
from mccpo.serve.record.chain import GENESIS
from mccpo.serve.service import Next, Register, Service


@pytest.fixture(scope="module")
def three(run_of):
    folder = run_of(make("tutor-15", concepts=6), "mc-cpo", "unconstrained")
    return load_release(folder), load_release(folder, seed=1), load_release(folder, method="unconstrained")


def told(live):
    """A live set as versions."""
    versions = [None if one is None else one.version for one in (live.current, live.previous, live.shadow)]
    return (*versions, live.share)


def served(url, release, *changes):
    """Starts a service with a release, changes what is live, and lets it decide once; what was live at first, at last.

    The decision must be that of the release that is live, and the record must hold.
    """

    async def story():
        async with Service(Store(str(url)), Releases(release)) as service:
            first = told(service.releases)
            for change in changes:
                await service.change_releases(change)
            learner = (await service.register("t", Register(f"Ada {await service.count_learners()}"))).id
            assert (await service.next("t", Next(learner))).release == service.release.version
            assert (await verify(service.store)).wrong is None
            return first, told(service.releases)

    return asyncio.run(story())


def test_what_was_loaded_decides_after_a_restart(database, three):
    one, two, three_ = (each.version for each in three)
    first, last = served(database, three[0], lambda live: live.load(three[1]), lambda live: live.watch(three[2], 0.25))
    assert first == (one, None, None, 0.0)
    assert last == (two, one, three_, 0.25)
    again, _ = served(database, three[0])
    assert again == last
    back, rolled = served(database, three[0], Releases.roll_back)
    assert back == last
    assert rolled == (one, two, three_, 0.25)
    ended, _ = served(database, three[0])
    assert ended == rolled


def test_it_comes_back_without_a_decision_and_without_the_runs(tmp_path, three):
    url = tmp_path / "record.db"

    async def only_changed():
        async with Service(Store(str(url)), Releases(three[0])) as service:
            await service.change_releases(lambda live: live.load(three[1]))

    asyncio.run(only_changed())
    first, _ = served(url, three[0])  # releases are in the database in full: nothing is read from a folder
    assert first == (three[1].version, three[0].version, None, 0.0)


def test_a_shadow_that_was_ended_stays_away(tmp_path, three):
    url = tmp_path / "record.db"
    served(url, three[0], lambda live: live.watch(three[1], 1.0))
    served(url, three[0], lambda live: live.watch(None))
    assert served(url, three[0])[0] == (three[0].version, None, None, 0.0)


def test_another_run_than_the_last_time_takes_over_and_can_be_rolled_back(tmp_path, three):
    url = tmp_path / "record.db"
    one, two, three_ = (each.version for each in three)
    served(url, three[0], lambda live: live.load(three[1]))
    assert served(url, three[2])[0] == (three_, two, None, 0.0)
    assert served(url, three[2])[0] == (three_, two, None, 0.0)
    assert served(url, three[0])[0] == (one, three_, None, 0.0)


def test_a_set_that_is_given_whole_is_taken_as_it_is(tmp_path, three):
    url = tmp_path / "record.db"
    served(url, three[0], lambda live: live.load(three[1]))

    async def story():
        async with Service(Store(str(url)), Releases(three[0], shadow=three[2], share=0.5)) as service:
            return told(service.releases)

    assert asyncio.run(story()) == (three[0].version, None, three[2].version, 0.5)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["current", "previous", "shadow"])
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM release WHERE version = ?", "is live, and no longer in the database"),
        ("UPDATE release SET description = replace(description, '0.7', '0.1') WHERE version = ?", "has been changed"),
        ("UPDATE release SET weights = zeroblob(length(weights)) WHERE version = ?", "has been changed"),
    ],
)
def test_damaged_records_of_releases_are_refused_in_one_line(tmp_path, three, place, statement, words):
    url = tmp_path / "record.db"
    _, last = served(url, three[0], lambda live: live.load(three[1]), lambda live: live.watch(three[2], 1.0))
    with sqlite3.connect(url) as connection:
        connection.execute(statement, (last[place],))
    with pytest.raises(InputError, match=words) as caught:
        served(url, three[0])
    assert last[place] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_change_that_cannot_be_kept_is_not_made(tmp_path, three, monkeypatch):
    def full_disk(_):
        raise OSError("disk full")

    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(three[0])) as service:
            with monkeypatch.context() as patch:
                patch.setattr(Store, "turn", full_disk)
                with pytest.raises(Unavailable, match="disk full"):
                    await service.change_releases(lambda live: live.load(three[1]))
            assert service.release is three[0]

    asyncio.run(story())


def test_changes_at_once_are_made_in_turn(tmp_path, three):
    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(three[0])) as service:
            changes = [lambda live, one=one: live.load(one) for one in (three[1], three[2])]
            await asyncio.gather(*map(service.change_releases, changes))
            return told(service.releases)

    assert asyncio.run(story()) == (three[2].version, three[1].version, None, 0.0)


OLD = ("DELETE FROM event", f"UPDATE head SET number = 0, hash = '{GENESIS.hash}', at = 0, live = NULL")


def test_a_record_from_before_the_live_set_was_kept_is_served(tmp_path, three):
    """First in a table of its own, and before that nowhere."""
    url = tmp_path / "record.db"

    async def only_started():
        async with Service(Store(str(url)), Releases(three[0])) as service:
            await service.change_releases(lambda live: live.load(three[1]))

    for kept in (None, (1, three[0].version, three[1].version, three[0].version, None, 0.0)):
        asyncio.run(only_started())
        with sqlite3.connect(url) as connection:
            for statement in OLD:
                connection.execute(statement)
            if kept is not None:
                connection.execute("INSERT INTO live VALUES (?, ?, ?, ?, ?, ?)", kept)
        first, _ = served(url, three[0])
        expected = (three[0].version, None) if kept is None else (three[1].version, three[0].version)
        assert first == (*expected, None, 0.0)
        url.unlink()


def test_which_release_decides_is_on_the_chain_with_its_key(tmp_path, three):
    key = {"id": "k1", "role": "operator", "label": "the run book"}

    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(three[0])) as service:
            await service.change_releases(lambda live: live.load(three[1]), key=key)
            await service.change_releases(lambda live: live.load(three[1]), key=key)  # it decides already
            await service.change_releases(Releases.roll_back, what="rolled back", key=key)
            return [one.event async for one in service.feed.replay()], await verify(service.store)

    events, verdict = asyncio.run(story())
    said = [(event.content["change"], event.content["current"]["version"], event.content["key"]) for event in events]
    one, two = three[0].version, three[1].version
    assert said == [("started", one, None), ("loaded", two, key), ("rolled back", one, key)]
    assert {event.content["current"]["theta"] for event in events} == {three[0].theta}
    assert verdict.wrong is None
    assert [(use.sha256, use.since) for use in verdict.releases.values()] == [
        (three[0].digest, 1),
        (three[1].digest, 2),
    ]
    assert verdict.releases[two].key == key


def test_a_looser_gate_must_be_confirmed(tmp_path, run_of):
    strict, loose = (load_release(run_of(make("tutor-15", concepts=6, theta=theta))) for theta in (0.7, 0.3))
    url = str(tmp_path / "record.db")

    async def story():
        async with Service(Store(url), Releases(strict)) as service:
            with pytest.raises(InputError, match=r"θ = 0.3.*θ = 0.7.*lower_gate"):
                await service.change_releases(lambda live: live.load(loose))
            assert service.release.version == strict.version
            await service.change_releases(lambda live: live.watch(loose))  # it only looks on
            await service.change_releases(lambda live: live.load(loose), lower_gate=True)
            await service.change_releases(lambda live: live.load(strict))
            with pytest.raises(InputError, match="lower_gate"):
                await service.change_releases(Releases.roll_back)
        with pytest.raises(InputError, match="--lower-gate"):
            async with Service(Store(url), Releases(loose)):
                pass
        async with Service(Store(url), Releases(loose), lower_gate=True) as service:
            return service.release.version, (await verify(service.store)).wrong

    assert asyncio.run(story()) == (loose.version, None)
