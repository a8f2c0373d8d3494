"""The service as a platform uses it: sessions, duplicates, latecomers, races, refusals, erasure, failing databases."""

import asyncio
import csv
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from mccpo import logs
from mccpo.env import make
from mccpo.errors import InputError
from mccpo.serve.policy.release import load_release
from mccpo.serve.policy.releases import Releases
from mccpo.serve.record import rows
from mccpo.serve.record.store import Store
from mccpo.serve.record.verify import verify
from mccpo.serve.service.messages import BeginSession, EndSession, Erase, Next, Outcome, Override, Register
from mccpo.serve.problems import Conflict, Gone, Missing, Unavailable, Unprocessable
from mccpo.serve.service.service import Service
from mccpo.serve.service.unit_of_work import Terms

MINUTE, DAY = 60_000, 86_400_000
BEGAN = 1_800_000_000_000


class Clock:
    """A clock that tells what it is set to."""

    def __init__(self):
        self.now = BEGAN

    def __call__(self):
        return self.now


class Place:
    """A database and what serves it, which can be left and come back to."""

    def __init__(self, url, release):
        self.url, self.release, self.clock = url, release, Clock()

    @asynccontextmanager
    async def __call__(self, **terms):
        async with Service(Store(self.url), Releases(self.release), Terms(**terms), clock=self.clock) as service:
            yield service
            verdict = await verify(service.store)
            assert verdict.wrong is None


@pytest.fixture
def place(database, release):
    return Place(database, release)


@pytest.fixture
def lone(tmp_path, release):
    """A place on SQLite, for what has nothing to do with the kind of database."""
    return Place(str(tmp_path / "record.db"), release)


async def _kinds(service, learner=None):
    return [one.event.kind async for one in service.happened() if learner in (None, one.event.learner)]


async def _mastery(service, learner):
    return {one.concept: one.mastery for one in (await service.state("t", learner)).concepts}


def _answered(release, mastery, concept, correct):
    """Knowledge tracing by hand: Bayes' rule, then the chance to learn."""
    at = release.concepts.index(concept)
    learn, guess, slip = (
        float(part[at]) for part in (release.learner.learn, release.learner.guess, release.learner.slip)
    )
    known, other = (1 - slip, guess) if correct else (slip, 1 - guess)
    seen = mastery * known / (mastery * known + (1 - mastery) * other)
    return seen + (1 - seen) * learn


def test_a_lesson(place):
    async def story():
        async with place() as service:
            learner = await service.register("t", Register("Ada", {"school": "1"}))
            decision = await service.next("t", Next(learner.id))
            before = await _mastery(service, learner.id)
            outcome = await service.outcome("t", Outcome(decision.id, True, 2, 30.5))
            after = await _mastery(service, learner.id)
            assert learner.new
            assert before[decision.concept] == outcome.before
            assert outcome.after == pytest.approx(_answered(place.release, outcome.before, decision.concept, True))
            assert after == before | {decision.concept: outcome.after}
            assert await _kinds(service) == ["learner", "session", "decision", "outcome"]
            shown = await service.decision("t", decision.id)
            assert shown.certificate == decision.certificate
            assert (shown.outcome or {})["seconds"] == 30.5
        async with place() as service:  # another day
            assert await _mastery(service, learner.id) == after
            assert (await service.learner("t", learner.id)).labels == {"school": "1"}

    asyncio.run(story())


def test_many_at_once_share_commits_and_none_is_lost(place):
    async def story():
        async with place() as service:
            told = []
            service.listen(told.append)
            learners = await asyncio.gather(*(service.register("t", Register(f"n{at}")) for at in range(40)))

            async def lesson(learner):
                for step in range(5):
                    decision = await service.next("t", Next(learner.id))
                    await service.outcome("t", Outcome(decision.id, step % 2 == 0))

            await asyncio.gather(*map(lesson, learners))
            kinds = Counter(await _kinds(service))
            assert kinds == {"learner": 40, "session": 40, "decision": 200, "outcome": 200}
            assert [one.event async for one in service.happened()] == [one.event for one in told]
            listed, after = [], 0
            while page := await service.decisions("t", after=after, limit=64):
                listed += page
                after = page[-1].number
            assert len({one.id for one in listed}) == len(listed) == 200
            assert all(one.outcome is not None for one in listed)

    asyncio.run(story())


def test_two_who_ask_at_once_get_one_decision(place):
    async def story():
        async with place() as service:
            learner = (await service.register("t", Register("Ada"))).id
            first = await asyncio.gather(*(service.next("t", Next(learner)) for _ in range(8)))
            assert len({one.id for one in first}) == 1
            assert [one.again for one in first].count(False) == 1
            await service.outcome("t", Outcome(first[0].id, True))
            second = await service.next("t", Next(learner))
            assert second.id != first[0].id
            assert not second.again
            assert (await _kinds(service)).count("decision") == 2

    asyncio.run(story())


def test_an_outcome_counts_once(place):
    async def story():
        async with place() as service:
            learner = (await service.register("t", Register("Ada"))).id
            decision = await service.next("t", Next(learner))
            report = Outcome(decision.id, True, None, 3)
            answers = await asyncio.gather(*(service.outcome("t", report) for _ in range(6)))
            mastery = await _mastery(service, learner)
            assert [one.again for one in answers].count(False) == 1
            assert len({(one.number, one.before, one.after) for one in answers}) == 1
            with pytest.raises(Conflict, match="another outcome"):
                await service.outcome("t", Outcome(decision.id, False, None, 3))
            assert (await service.outcome("t", report)).again
            assert await _mastery(service, learner) == mastery
            assert (await _kinds(service)).count("outcome") == 1

    asyncio.run(story())


def test_latecomers(lone):
    async def story():
        async with lone(late_seconds=3600) as service:
            learner = (await service.register("t", Register("Ada"))).id
            first = await service.next("t", Next(learner))
            lone.clock.now += 40 * MINUTE  # the session is over; the answer still says something of the learner
            answer = await service.outcome("t", Outcome(first.id, True))
            assert answer.counted
            assert not answer.late
            second = await service.next("t", Next(learner))
            assert second.session != first.session
            lone.clock.now += 2 * 60 * MINUTE
            before = await _mastery(service, learner)
            late = await service.outcome("t", Outcome(second.id, True))
            assert late.late
            assert not late.counted
            assert late.before == late.after
            assert await _mastery(service, learner) == before
            assert (await service.outcome("t", Outcome(second.id, True))).again  # late, and on record

    asyncio.run(story())


def test_what_is_not_there_and_what_is_another_tenants(lone):
    async def story():
        async with lone() as service:
            learner = (await service.register("t", Register("Ada"))).id
            decision = await service.next("t", Next(learner))
            before = await _kinds(service)
            for tenant, who, what, when in (
                ("other", learner, decision.id, decision.session),
                ("t", "lrn_none", "dec_none", "ses_none"),
            ):
                for refused in (
                    service.next(tenant, Next(who)),
                    service.begin_session(tenant, BeginSession(who)),
                    service.end_session(tenant, EndSession(when)),
                    service.outcome(tenant, Outcome(what, True)),
                    service.override(tenant, Override(who, "v0", "because", "me")),
                    service.erase(tenant, Erase(who)),
                    service.learner(tenant, who),
                    service.state(tenant, who),
                    service.decision(tenant, what),
                    service.export_learner(tenant, who),
                ):
                    with pytest.raises(Missing):
                        await refused
            assert await service.decisions("other") == []
            assert await service.learners("other") == []
            assert [row async for row in service.export("other")] == []
            assert await _kinds(service) == before
            assert (await service.register("other", Register("Ada"))).id != learner

    asyncio.run(story())


def test_sessions(lone):
    async def story():
        async with lone() as service:
            learner = (await service.register("t", Register("Ada"))).id
            first = await service.begin_session("t", BeginSession(learner))
            for correct in (True, True, False):
                decision = await service.next("t", Next(learner))
                await service.outcome("t", Outcome(decision.id, correct))
                lone.clock.now += 29 * MINUTE  # each request keeps the session open
            state = await service.state("t", learner)
            assert (state.session, state.t) == (first.id, 3)
            lone.clock.now += 31 * MINUTE
            later = await service.next("t", Next(learner))
            anew = await service.state("t", learner)
            assert later.session != first.id
            assert later.certificate["t"] == 0
            assert later.certificate["frontier"] == []
            assert anew.t == 1
            assert [one.mastery for one in anew.concepts] == [one.mastery for one in state.concepts]
            carried = {one.concept: one.practised for one in state.concepts}
            carried[later.concept] += 1
            assert {one.concept: one.practised for one in anew.concepts} == carried
            ended = await service.end_session("t", EndSession(later.session))
            assert (ended.cause, ended.ended is not None) == ("asked", True)
            assert await service.end_session("t", EndSession(later.session)) == ended
            assert (await service.end_session("t", EndSession(first.id))).cause == "timeout"
            other = await service.begin_session("t", BeginSession(learner))
            assert (await service.next("t", Next(learner))).session == other.id
            again = await service.begin_session("t", BeginSession(learner))
            assert (await service.end_session("t", EndSession(other.id))).cause == "next"
            lone.clock.now += 31 * MINUTE
            assert await service.tidy() == 1
            assert await service.tidy() == 0
            assert (await service.state("t", learner)).session is None
            assert (await service.end_session("t", EndSession(again.id))).cause == "timeout"

    asyncio.run(story())


def test_what_is_forgotten_between_sessions(lone):
    async def story():
        async with lone(forgetting=86_400.0, late_seconds=10 * 86_400) as service:
            learner = (await service.register("t", Register("Ada"))).id
            decision = await service.next("t", Next(learner))
            known = (await service.outcome("t", Outcome(decision.id, True))).after
            lone.clock.now += DAY
            await service.next("t", Next(learner))
            start = float(lone.release.learner.prior[lone.release.concepts.index(decision.concept)])
            half = start + (known - start) / 2
            assert (await _mastery(service, learner))[decision.concept] == pytest.approx(half)

    asyncio.run(story())


def test_a_session_may_outrun_the_horizon(lone):
    async def story():
        async with lone() as service:
            learner = (await service.register("t", Register("Ada"))).id
            for step in range(lone.release.horizon + 5):
                decision = await service.next("t", Next(learner))
                assert decision.certificate["t"] == step
                await service.outcome("t", Outcome(decision.id, step % 3 > 0))

    asyncio.run(story())


def test_a_clock_that_goes_back(lone):
    async def story():
        async with lone() as service:
            learner = (await service.register("t", Register("Ada"))).id
            first = await service.next("t", Next(learner))
            lone.clock.now -= 3 * DAY
            answer = await service.outcome("t", Outcome(first.id, True))
            second = await service.next("t", Next(learner))
            assert first.at == answer.at == second.at
            assert first.session == second.session
            times = [one.event.at async for one in service.happened()]
            assert times == sorted(times)

    asyncio.run(story())


def test_a_record_that_is_ahead_of_the_clock_is_told_of_once(lone, caplog):
    async def story():
        async with lone() as service:
            await service.register("t", Register("Ada"))
            assert not caplog.records
            lone.clock.now -= 3_600_000
            for name in ("Bob", "Cleo"):
                await service.register("t", Register(name))
        (told,) = (record.getMessage() for record in caplog.records)
        assert "set the clock right" in told
        async with lone():  # at every start
            assert len(caplog.records) == 2
        lone.clock.now += 3_600_000
        async with lone():
            assert len(caplog.records) == 2

    asyncio.run(story())


def test_a_teacher_overrides_what_is_ready_and_nothing_else(place):
    async def story():
        async with place() as service:
            learner = (await service.register("t", Register("Ada"))).id
            open_one = await service.next("t", Next(learner))
            state = await service.state("t", learner)
            ready = next(one.concept for one in state.concepts if one.ready)
            locked = next(one for one in state.concepts if not one.ready)
            before = await _kinds(service)
            with pytest.raises(Unprocessable, match=next(iter(locked.unmet))):
                await service.override("t", Override(learner, locked.concept, "in a hurry", "Ms B"))
            with pytest.raises(Unprocessable):
                await service.override("t", Override(learner, "no such concept", "in a hurry", "Ms B"))
            with pytest.raises(Unprocessable):
                await service.override("t", Override(learner, ready, "in a hurry", "Ms B", "no such activity"))
            assert await _kinds(service) == before
            chosen = await service.override("t", Override(learner, ready, "needs practice", "Ms B"))
            assert (chosen.by, chosen.concept, chosen.propensity) == ("teacher", ready, None)
            assert chosen.reason == "needs practice"
            assert (await service.next("t", Next(learner))).id == chosen.id
            assert (await service.decision("t", chosen.id)).reason == "needs practice"
            for one in (open_one, chosen):  # both were answered, and both say something of the learner
                assert (await service.outcome("t", Outcome(one.id, True))).counted

    asyncio.run(story())


def test_an_idempotency_key(place):
    async def story():
        async with place() as service:
            learner = await service.register("t", Register("Ada"), "k1")
            decision = await service.next("t", Next(learner.id), "k2")
            again = await service.next("t", Next(learner.id), "k2")
            assert again == decision  # the stored answer, not the open decision
            assert await service.register("t", Register("Ada"), "k1") == learner
            with pytest.raises(Unprocessable, match="another request"):
                await service.register("t", Register("Bob"), "k1")
            with pytest.raises(Unprocessable, match="another request"):
                await service.begin_session("t", BeginSession(learner.id), "k2")
            assert (await service.register("other", Register("Ada"), "k1")).id != learner.id
            both = await asyncio.gather(
                *(service.outcome("t", Outcome(decision.id, True), "k3") for _ in range(2)), return_exceptions=True
            )
            assert isinstance(both[1], Conflict)
            assert "under way" in both[1].detail
            outcome = both[0]
        async with place() as service:
            assert await service.outcome("t", Outcome(decision.id, True), "k3") == outcome
            place.clock.now += 2 * DAY
            assert (await service.next("t", Next(learner.id), "k2")).id != decision.id  # the key has lapsed
            await service.tidy()
            async with service.store.reading() as connection:
                assert (await connection.execute(text("SELECT count(*) FROM reply"))).scalar() == 1

    asyncio.run(story())


@pytest.mark.parametrize("kept", ['{"again":false,"number":%d}', '{"again":false,"number":null}', '{"kind":"x"}', "x"])
def test_what_is_kept_under_a_key_makes_nobody_say_what_never_happened(lone, kept):
    """Whoever changes it, the answer is one of the record's own for this very request, or none."""

    async def story():
        async with Service(Store(lone.url), Releases(lone.release)) as service:
            ada, bob = [(await service.register("t", Register(name))).id for name in ("Ada", "Bob")]
            first = await service.next("t", Next(ada), "key")
            other = await service.next("t", Next(bob))
            with sqlite3.connect(lone.url) as connection:
                changed = kept % other.number if "%d" in kept else kept
                assert connection.execute("UPDATE reply SET answer = ?", (changed,)).rowcount == 1
            connection.close()
            with pytest.raises(Unavailable, match="is damaged"):
                await service.next("t", Next(ada), "key")
            assert (await service.next("t", Next(ada))).id == first.id
            if kept != '{"again":false,"number":null}':  # as it is kept for a learner or a session
                assert (await verify(service.store)).wrong is not None

    asyncio.run(story())


def test_answers_told_again_are_those_of_the_first_time(lone):
    """Every kind of request, after others have changed what could be changed."""

    async def story():
        async with lone() as service:
            ada = await service.register("t", Register("Ada", {"school": "1"}), "1")
            await service.register("t", Register("Ada", {"school": "2"}))
            session = await service.begin_session("t", BeginSession(ada.id), "2")
            decision = await service.next("t", Next(ada.id), "3")
            again = await service.next("t", Next(ada.id), "4")
            words = Override(ada.id, decision.concept, "practice", "Ms B", key={"id": "k"})
            override = await service.override("t", words, "5")
            outcome = await service.outcome("t", Outcome(decision.id, False, 1, 2.5), "6")
            repeated = await service.outcome("t", Outcome(decision.id, False, 1, 2.5), "7")
            ended = await service.end_session("t", EndSession(session.id), "8")
            ended_again = await service.end_session("t", EndSession(session.id), "9")
            assert again.again
            assert repeated.again
            assert await service.register("t", Register("Ada", {"school": "1"}), "1") == ada
            assert await service.begin_session("t", BeginSession(ada.id), "2") == session
            assert await service.next("t", Next(ada.id), "3") == decision
            assert await service.next("t", Next(ada.id), "4") == again
            assert await service.override("t", words, "5") == override
            assert await service.outcome("t", Outcome(decision.id, False, 1, 2.5), "6") == outcome
            assert await service.outcome("t", Outcome(decision.id, False, 1, 2.5), "7") == repeated
            assert await service.end_session("t", EndSession(session.id), "8") == ended == ended_again
            assert await service.end_session("t", EndSession(session.id), "9") == ended
            assert (await service.learner("t", ada.id)).labels == {"school": "2"}
            erased = await service.erase("t", Erase(ada.id), "10")
            assert await service.erase("t", Erase(ada.id), "10") == erased
            with pytest.raises(Gone):
                await service.next("t", Next(ada.id), "3")

    asyncio.run(story())


def test_a_refused_request_leaves_nothing_and_its_neighbours_in_the_commit_alone(place):
    async def story():
        async with place() as service:
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
            assert await _kinds(service) == ["learner", "learner"]
            assert (await service.learner("t", found[8].id)).name == "'; DROP TABLE event; --"
            learner = await service.register("t", Register("b"), "k")  # the key of the refused one is free
            assert learner.new

    asyncio.run(story())


def test_names_and_labels(lone):
    async def story():
        async with lone() as service:
            first = await service.register("t", Register("Ada", {"school": "1"}))
            heard = []
            service.listen_labels(lambda *told: heard.append(told))
            second = await service.register("t", Register("Ada", {"school": "2"}))
            assert (second.id, second.new, second.labels) == (first.id, False, {"school": "2"})
            assert heard == [("t", first.id, {"school": "2"})]
            assert await _kinds(service) == ["learner", "labels"]
            twice = await asyncio.gather(*(service.register("t", Register("Bob")) for _ in range(2)))
            assert twice[0].id == twice[1].id
            assert [one.name for one in await service.learners("t", limit=1)] in (["Ada"], ["Bob"])
            assert {one.name for one in await service.learners("t")} == {"Ada", "Bob"}
            assert {one.id async for one in service.identities()} == {first.id, twice[0].id}

    asyncio.run(story())


def test_who_is_erased_is_found_nowhere(place):
    secrets = ("Xylophonia", "Quartzite", "Zephyrine")

    async def story():
        async with place() as service:
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
            assert (await _kinds(service, learner))[-1] == "erasure"
            assert (await service.register("t", Register("Xylophonia"))).id != learner  # somebody new
            assert [row["learner"] async for row in service.export("t")] == [learner]
            if service.store.is_sqlite:
                await service.erase("t", Erase((await service.learners("t"))[0].id))
                files = [file.read_bytes() for file in Path(service.store.name).parent.iterdir()]
                assert not any(word.encode() in content for word in secrets for content in files)

    asyncio.run(story())


def test_a_name_and_its_erasure_in_one_commit(lone):
    async def story():
        async with lone() as service:
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


def test_retention(lone):
    async def story():
        async with lone(retention_seconds=30 * 86_400.0) as service:
            old = (await service.register("t", Register("old"))).id
            lone.clock.now += 20 * DAY
            new = (await service.register("t", Register("new"))).id
            assert await service.tidy() == 0
            lone.clock.now += 11 * DAY
            assert await service.tidy() == 1
            assert [one.id for one in await service.learners("t")] == [new]
            with pytest.raises(Gone):
                await service.learner("t", old)
            last = [one.event async for one in service.happened()][-1]
            assert (last.kind, last.content["cause"]) == ("erasure", "retention")

    asyncio.run(story())


def test_retention_spares_who_has_just_come_back(lone, monkeypatch):
    async def story():
        async with lone(retention_seconds=30 * 86_400.0) as service:
            gone, back = [(await service.register("t", Register(name))).id for name in ("gone", "back")]
            lone.clock.now += 31 * DAY
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


def test_a_registration_that_is_answered_again_changes_no_labels(lone):
    async def story():
        async with lone() as service:
            heard = {}
            service.listen_labels(lambda _, learner, labels: heard.update({learner: labels}))
            first = await service.register("t", Register("Ada", {"class": "1"}), "key")
            await service.register("t", Register("Ada", {"class": "2"}))
            assert await service.register("t", Register("Ada", {"class": "1"}), "key") == first
            assert (await service.learner("t", first.id)).labels == heard[first.id] == {"class": "2"}
            await asyncio.gather(service.register("t", Register("Bob", {"a": "b"})), service.tidy())
            assert len(heard) == 2

    asyncio.run(story())


def test_a_commit_that_fails_has_done_nothing(place, monkeypatch):
    async def story():
        async with place() as service:
            learner = (await service.register("t", Register("Ada"))).id
            decision = await service.next("t", Next(learner))
            before = await _mastery(service, learner)
            with monkeypatch.context() as patch:
                patch.setattr(rows, "write_decisions", _fails)  # after the events, before the commit
                refused = await asyncio.gather(
                    service.outcome("t", Outcome(decision.id, True), "k"),
                    service.register("t", Register("Bob")),
                    return_exceptions=True,
                )
                assert [type(one) for one in refused] == [Unavailable, Unavailable]
            assert await _mastery(service, learner) == before
            assert await _kinds(service) == ["learner", "session", "decision"]
            assert not (await service.outcome("t", Outcome(decision.id, True), "k")).again

    asyncio.run(story())


async def _fails(*_):
    raise OperationalError("INSERT", {}, Exception("the disk is gone"))


def test_a_full_disk(lone):
    async def story():
        async with lone() as service:
            learner = (await service.register("t", Register("Ada"))).id
            kept = len(await _kinds(service))
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
            assert len(await _kinds(service)) == kept
            assert (await service.state("t", learner)).learner == learner
            async with service.store.engine.connect() as connection:
                await connection.execute(text("PRAGMA max_page_count=1000000"))
            assert (await service.next("t", Next(learner))).learner == learner

    asyncio.run(story())


def test_too_many_who_wait_are_turned_away(lone):
    async def story():
        async with lone(waiting=3) as service:
            asked = (service.register("t", Register(f"n{at}")) for at in range(5))
            found = await asyncio.gather(*asked, return_exceptions=True)
            assert [type(one) is Unavailable for one in found] == [False] * 3 + [True] * 2
        with pytest.raises(Unavailable):
            await service.register("t", Register("n"))

    asyncio.run(story())


def test_two_services_on_one_database_do_not_overtake_each_other(place):
    async def story():
        async with place() as one, place() as other:
            learner = (await one.register("t", Register("Ada"))).id
            for step in range(6):
                here, there = (one, other) if step % 2 else (other, one)
                decision = await here.next("t", Next(learner))
                assert (await there.next("t", Next(learner))).id == decision.id
                await there.outcome("t", Outcome(decision.id, True))
            assert (await other.state("t", learner)).t == 6

    asyncio.run(story())


def test_releases_come_and_go_while_it_runs(lone, run_of):
    new = load_release(run_of(make("tutor-15")), seed=1)

    async def story():
        async with lone() as service:
            learner = (await service.register("t", Register("Ada"))).id

            async def lesson():
                decision = await service.next("t", Next(learner))
                await service.outcome("t", Outcome(decision.id, True))
                return decision

            await service.change_releases(lambda live: live.watch(new))
            assert (await lesson()).release == lone.release.version
            await service.change_releases(lambda live: live.load(new))
            assert (await lesson()).release == new.version
            await service.change_releases(lambda live: live.roll_back())
            assert (await lesson()).release == lone.release.version
            assert (await service.state("t", learner)).t == 3
            shadows = [
                one.event.content.get("shadow") async for one in service.happened() if one.event.kind == "decision"
            ]
            assert [None if one is None else one["release"] for one in shadows] == [new.version, None, None]

    asyncio.run(story())


def test_a_database_of_another_curriculum_is_refused(lone, run_of):
    async def story(release, name):
        lone.release = release
        async with lone() as service:
            await service.register("t", Register(name))

    asyncio.run(story(lone.release, "Ada"))
    with pytest.raises(InputError, match="another curriculum"):
        asyncio.run(story(load_release(run_of(make("tutor-15", concepts=9))), "Bob"))


def test_an_export_is_a_log_that_can_be_audited(lone, tmp_path):
    async def story():
        async with lone() as service:
            for name in ("Ada", "Bob"):
                learner = (await service.register("t", Register(name, {"school": name[0]}))).id
                for step in range(4):
                    decision = await service.next("t", Next(learner))
                    if step < 3:
                        await service.outcome("t", Outcome(decision.id, step > 0, step, 2.5))
            return [row async for row in service.export("t")]

    exported = asyncio.run(story())
    answered = [row for row in exported if row["correct"] is not None]
    assert len(exported) == 8
    with (tmp_path / "export.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, exported[0].keys())
        writer.writeheader()
        writer.writerows(answered)
    table = logs.read(tmp_path / "export.csv", "table")
    assert table.height == 6
    assert table["correct"].to_list() == [False, True, True] * 2
    assert table["hints"].to_list() == [0, 1, 2] * 2
    assert sorted(table["group_school"].unique()) == ["A", "B"]
    assert table["time"].null_count() == 0
    assert {(row["learner"], row["concept"]) for row in answered} == set(table.select("learner", "concept").iter_rows())
    assert all(0 < row["propensity"] <= 1 for row in exported)


def test_neither_jax_nor_polars_is_imported():
    modules = "mccpo.serve.service.service, mccpo.serve.record.verify"
    code = f"import sys, {modules}; print({{'jax', 'polars', 'equinox'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
