"""The service as a platform uses it: lessons, sessions, outcomes, overrides, releases and exports."""

import asyncio
import csv
from dataclasses import replace

import pytest

from mccpo import logs
from mccpo.env import make
from mccpo.errors import InputError
from mccpo.serve.policy import load_release
from mccpo.serve.problems import Conflict, Missing, Unprocessable
from mccpo.serve.record import Store
from mccpo.serve.service import BeginSession, EndSession, Erase, Next, Outcome, Override, Register

from .sandbox import DAY, MINUTE, event_kinds, mastery_after, mastery_of


def test_a_lesson(sandbox):
    async def story():
        async with sandbox() as service:
            learner = await service.register("t", Register("Ada", {"school": "1"}))
            decision = await service.next("t", Next(learner.id))
            before = await mastery_of(service, learner.id)
            outcome = await service.outcome("t", Outcome(decision.id, True, 2, 30.5))
            after = await mastery_of(service, learner.id)
            assert learner.new
            assert before[decision.concept] == outcome.before
            assert outcome.after == pytest.approx(
                mastery_after(sandbox.release, outcome.before, decision.concept, True)
            )
            assert after == before | {decision.concept: outcome.after}
            assert await event_kinds(service) == ["learner", "session", "decision", "outcome"]
            shown = await service.decision("t", decision.id)
            assert shown.certificate == decision.certificate
            assert (shown.outcome or {})["seconds"] == 30.5
        async with sandbox() as service:  # another day
            assert await mastery_of(service, learner.id) == after
            assert (await service.learner("t", learner.id)).labels == {"school": "1"}

    asyncio.run(story())


def test_two_who_ask_at_once_get_one_decision(sandbox):
    async def story():
        async with sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            first = await asyncio.gather(*(service.next("t", Next(learner)) for _ in range(8)))
            assert len({one.id for one in first}) == 1
            assert [one.again for one in first].count(False) == 1
            await service.outcome("t", Outcome(first[0].id, True))
            second = await service.next("t", Next(learner))
            assert second.id != first[0].id
            assert not second.again
            assert (await event_kinds(service)).count("decision") == 2

    asyncio.run(story())


def test_an_outcome_counts_once(sandbox):
    async def story():
        async with sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            decision = await service.next("t", Next(learner))
            report = Outcome(decision.id, True, None, 3)
            answers = await asyncio.gather(*(service.outcome("t", report) for _ in range(6)))
            mastery = await mastery_of(service, learner)
            assert [one.again for one in answers].count(False) == 1
            assert len({(one.number, one.before, one.after) for one in answers}) == 1
            with pytest.raises(Conflict, match="another outcome"):
                await service.outcome("t", Outcome(decision.id, False, None, 3))
            assert (await service.outcome("t", report)).again
            assert await mastery_of(service, learner) == mastery
            assert (await event_kinds(service)).count("outcome") == 1

    asyncio.run(story())


def test_latecomers(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox(late_seconds=3600) as service:
            learner = (await service.register("t", Register("Ada"))).id
            first = await service.next("t", Next(learner))
            sqlite_sandbox.clock.now += 40 * MINUTE  # the session is over; the answer still counts
            answer = await service.outcome("t", Outcome(first.id, True))
            assert answer.counted
            assert not answer.late
            second = await service.next("t", Next(learner))
            assert second.session != first.session
            sqlite_sandbox.clock.now += 2 * 60 * MINUTE
            before = await mastery_of(service, learner)
            late = await service.outcome("t", Outcome(second.id, True))
            assert late.late
            assert not late.counted
            assert late.before == late.after
            assert await mastery_of(service, learner) == before
            assert (await service.outcome("t", Outcome(second.id, True))).again  # late, and on record

    asyncio.run(story())


def test_missing_ids_and_ids_of_other_tenants_look_the_same(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            decision = await service.next("t", Next(learner))
            before = await event_kinds(service)
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
            assert await event_kinds(service) == before
            assert (await service.register("other", Register("Ada"))).id != learner

    asyncio.run(story())


def test_sessions(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            first = await service.begin_session("t", BeginSession(learner))
            for correct in (True, True, False):
                decision = await service.next("t", Next(learner))
                await service.outcome("t", Outcome(decision.id, correct))
                sqlite_sandbox.clock.now += 29 * MINUTE  # each request keeps the session open
            state = await service.state("t", learner)
            assert (state.session, state.t) == (first.id, 3)
            sqlite_sandbox.clock.now += 31 * MINUTE
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
            once_more = await service.end_session("t", EndSession(later.session))
            assert once_more == replace(ended, number=None, hash=None)  # it had ended: no event was added
            assert (await service.end_session("t", EndSession(first.id))).cause == "timeout"
            other = await service.begin_session("t", BeginSession(learner))
            assert (await service.next("t", Next(learner))).session == other.id
            again = await service.begin_session("t", BeginSession(learner))
            assert (await service.end_session("t", EndSession(other.id))).cause == "next"
            sqlite_sandbox.clock.now += 31 * MINUTE
            assert await service.tidy() == 1
            assert await service.tidy() == 0
            assert (await service.state("t", learner)).session is None
            assert (await service.end_session("t", EndSession(again.id))).cause == "timeout"

    asyncio.run(story())


def test_sessions_that_were_left_end_in_one_commit(sqlite_sandbox, monkeypatch):
    commits = []
    connected = Store.connected

    def counted(store):
        commits.append(store)
        return connected(store)

    async def story():
        async with sqlite_sandbox() as service:
            for name in range(12):
                learner = (await service.register("t", Register(f"Ada {name}"))).id
                await service.begin_session("t", BeginSession(learner))
            sqlite_sandbox.clock.now += 31 * MINUTE
            with monkeypatch.context() as patch:
                patch.setattr(Store, "connected", counted)
                assert await service.tidy() == 12
            assert len(commits) == 2  # the other drops old replies

    asyncio.run(story())


def test_what_is_forgotten_between_sessions(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox(forgetting=86_400.0, late_seconds=10 * 86_400) as service:
            learner = (await service.register("t", Register("Ada"))).id
            decision = await service.next("t", Next(learner))
            known = (await service.outcome("t", Outcome(decision.id, True))).after
            sqlite_sandbox.clock.now += DAY
            await service.next("t", Next(learner))
            start = float(sqlite_sandbox.release.learner.prior[sqlite_sandbox.release.concepts.index(decision.concept)])
            half = start + (known - start) / 2
            assert (await mastery_of(service, learner))[decision.concept] == pytest.approx(half)

    asyncio.run(story())


def test_a_session_may_outrun_the_horizon(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            for step in range(sqlite_sandbox.release.horizon + 5):
                decision = await service.next("t", Next(learner))
                assert decision.certificate["t"] == step
                await service.outcome("t", Outcome(decision.id, step % 3 > 0))

    asyncio.run(story())


def test_a_clock_that_goes_back(sqlite_sandbox):
    async def story():
        async with sqlite_sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            first = await service.next("t", Next(learner))
            sqlite_sandbox.clock.now -= 3 * DAY
            answer = await service.outcome("t", Outcome(first.id, True))
            second = await service.next("t", Next(learner))
            assert first.at == answer.at == second.at
            assert first.session == second.session
            times = [one.event.at async for one in service.feed.replay()]
            assert times == sorted(times)

    asyncio.run(story())


def test_a_record_that_is_ahead_of_the_clock_is_told_of_once(sqlite_sandbox, caplog):
    async def story():
        async with sqlite_sandbox() as service:
            await service.register("t", Register("Ada"))
            assert not caplog.records
            sqlite_sandbox.clock.now -= 3_600_000
            for name in ("Bob", "Cleo"):
                await service.register("t", Register(name))
        (told,) = (record.getMessage() for record in caplog.records)
        assert "set the clock right" in told
        async with sqlite_sandbox():  # at every start
            assert len(caplog.records) == 2
        sqlite_sandbox.clock.now += 3_600_000
        async with sqlite_sandbox():
            assert len(caplog.records) == 2

    asyncio.run(story())


def test_a_teacher_overrides_what_is_ready_and_nothing_else(sandbox):
    async def story():
        async with sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id
            open_one = await service.next("t", Next(learner))
            state = await service.state("t", learner)
            ready = next(one.concept for one in state.concepts if one.ready)
            locked = next(one for one in state.concepts if not one.ready)
            before = await event_kinds(service)
            with pytest.raises(Unprocessable, match=next(iter(locked.unmet))):
                await service.override("t", Override(learner, locked.concept, "in a hurry", "Ms B"))
            with pytest.raises(Unprocessable):
                await service.override("t", Override(learner, "no such concept", "in a hurry", "Ms B"))
            with pytest.raises(Unprocessable):
                await service.override("t", Override(learner, ready, "in a hurry", "Ms B", "no such activity"))
            assert await event_kinds(service) == before
            chosen = await service.override("t", Override(learner, ready, "needs practice", "Ms B"))
            assert (chosen.by, chosen.concept, chosen.propensity) == ("teacher", ready, None)
            assert chosen.reason == "needs practice"
            assert (await service.next("t", Next(learner))).id == chosen.id
            assert (await service.decision("t", chosen.id)).reason == "needs practice"
            for one in (open_one, chosen):  # both were answered, and both say something of the learner
                assert (await service.outcome("t", Outcome(one.id, True))).counted

    asyncio.run(story())


def test_releases_come_and_go_while_it_runs(sqlite_sandbox, run_of):
    new = load_release(run_of(make("tutor-15")), seed=1)

    async def story():
        async with sqlite_sandbox() as service:
            learner = (await service.register("t", Register("Ada"))).id

            async def lesson():
                decision = await service.next("t", Next(learner))
                await service.outcome("t", Outcome(decision.id, True))
                return decision

            await service.change_releases(lambda live: live.watch(new))
            assert (await lesson()).release == sqlite_sandbox.release.version
            await service.change_releases(lambda live: live.load(new))
            assert (await lesson()).release == new.version
            await service.change_releases(lambda live: live.roll_back())
            assert (await lesson()).release == sqlite_sandbox.release.version
            assert (await service.state("t", learner)).t == 3
            shadows = [
                one.event.content.get("shadow") async for one in service.feed.replay() if one.event.kind == "decision"
            ]
            assert [None if one is None else one["release"] for one in shadows] == [new.version, None, None]

    asyncio.run(story())


def test_a_database_of_another_curriculum_is_refused(sqlite_sandbox, run_of):
    async def story(release, name):
        sqlite_sandbox.release = release
        async with sqlite_sandbox() as service:
            await service.register("t", Register(name))

    asyncio.run(story(sqlite_sandbox.release, "Ada"))
    with pytest.raises(InputError, match="another curriculum"):
        asyncio.run(story(load_release(run_of(make("tutor-15", concepts=9))), "Bob"))


def test_an_export_is_a_log_that_can_be_audited(sqlite_sandbox, tmp_path):
    async def story():
        async with sqlite_sandbox() as service:
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
