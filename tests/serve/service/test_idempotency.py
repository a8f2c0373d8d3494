"""What is served again passes the gate again: on the mastery and by the release of now, whatever was decided before."""

import asyncio
import random
import shutil
import tempfile
from dataclasses import asdict

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import select

from mccpo.env import make
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.problems import Conflict, Unprocessable
from mccpo.serve.record import Store, verify
from mccpo.serve.record.chain import BrokenRecord, seal_event
from mccpo.serve.record.learner_history import apply_event
from mccpo.serve.record.schema import EVENT
from mccpo.serve.service import BeginSession, Next, Outcome, Override, Register, Service, Terms


@pytest.fixture(scope="module")
def pair(run_of):
    """Two releases of one curriculum, of which the second asks for more mastery."""
    return tuple(load_release(run_of(make("tutor-15", concepts=6, theta=theta))) for theta in (0.7, 0.9))


async def _taught(service, learner, concept, theta):
    """Lets a learner practise a concept until it is mastered."""
    mastery = 0.0
    while mastery < theta:
        decision = await service.override("t", Override(learner, concept, "practice", "me"))
        mastery = (await service.outcome("t", Outcome(decision.id, True))).after


async def _lock(service, release):
    """A learner for whom a concept was decided that is no longer ready: who, and the decision."""
    learner = (await service.register("t", Register("Ada"))).id
    concept = next(name for name in release.concepts if release.prerequisites[name])
    needs = release.prerequisites[concept]
    assert not any(release.prerequisites[name] for name in needs)
    for name in needs:
        await _taught(service, learner, name, release.theta)
    unanswered = await service.override("t", Override(learner, needs[0], "once more", "me"))
    locked = await service.override("t", Override(learner, concept, "go on", "me"), "key of the override")
    assert await service.next("t", Next(learner), "key") == await service.next("t", Next(learner))
    await service.outcome("t", Outcome(unanswered.id, False))
    ready = {one.concept for one in (await service.state("t", learner)).concepts if one.ready}
    assert concept not in ready
    return learner, locked


def test_what_is_no_longer_ready_is_not_served_again(tmp_path, pair):
    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(pair[0])) as service:
            learner, locked = await _lock(service, pair[0])
            anew = await service.next("t", Next(learner))
            assert anew.concept != locked.concept
            assert (anew.again, anew.supersedes) == (False, locked.id)
            assert (await service.next("t", Next(learner))).id == anew.id
            assert (await service.decision("t", anew.id)).supersedes == locked.id
            with pytest.raises(Conflict, match="not ready"):  # the answer that is kept names what is locked now
                await service.next("t", Next(learner), "key")
            with pytest.raises(Conflict, match="not ready"):
                await service.override("t", Override(learner, locked.concept, "go on", "me"), "key of the override")
            assert (await service.outcome("t", Outcome(locked.id, True))).counted  # it may have been taught by then
            assert (await service.state("t", learner)).decision == anew.id
            verdict = await verify(service.store)
            assert verdict.wrong is None

    asyncio.run(story())


def test_another_release_shuts_what_is_open(tmp_path, pair):
    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(pair[0])) as service:
            learner = (await service.register("t", Register("Ada"))).id
            concept = next(name for name in pair[0].concepts if pair[0].prerequisites[name])
            for name in pair[0].prerequisites[concept]:
                await _taught(service, learner, name, 0.7)
            locked = await service.override("t", Override(learner, concept, "go on", "me"))
            assert min(locked.certificate["prerequisites"].values()) < 0.9
            await service.change_releases(lambda live: live.load(pair[1]))
            state = await service.state("t", learner)
            assert (state.theta, state.release, state.horizon) == (0.9, pair[1].version, pair[1].horizon)
            assert not {one.concept: one.ready for one in state.concepts}[concept]
            anew = await service.next("t", Next(learner))
            assert (anew.supersedes, anew.release) == (locked.id, pair[1].version)
            assert anew.concept != concept
            assert (await verify(service.store)).wrong is None

    asyncio.run(story())


def test_only_what_is_shut_may_be_superseded(tmp_path, pair):
    """Whoever rewrites the record cannot put a second decision beside one that could have been served again."""

    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(pair[0])) as service:
            learner = (await service.register("t", Register("Ada"))).id
            open_ = await service.next("t", Next(learner))
            happened = [one async for one in service.feed.replay()]
            event, course = happened[-1].event, happened[-1].after
            other = {**event.content, "decision": "dec_other"}
            for content in (other, other | {"supersedes": "dec_none"}, other | {"supersedes": open_.id}):
                forged = seal_event(event.head, event.at, "decision", "t", learner, content)
                with pytest.raises(BrokenRecord, match=open_.id):
                    apply_event(course, forged, service.feed.releases)
            async with service.store.reading() as connection:
                assert len((await connection.execute(select(EVENT))).all()) == event.number == len(happened)

    asyncio.run(story())


def test_an_equal_override_is_the_same_override(tmp_path, pair):
    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(pair[0])) as service:
            learner = (await service.register("t", Register("Ada"))).id
            concept = pair[0].concepts[0]
            asked = Override(learner, concept, "a word", "me")
            first, second = await asyncio.gather(*(service.override("t", asked) for _ in range(2)))
            assert (first.again, second.again) == (False, True)
            assert asdict(second) == asdict(first) | {"again": True}
            assert (await service.override("t", asked)).id == first.id
            others = [
                Override(learner, concept, "another word", "me"),
                Override(learner, concept, "a word", "you"),
                Override(learner, concept, "a word", "me", key={"id": "k", "label": "l"}),
            ]
            found = [await service.override("t", one) for one in others]
            assert not any(one.again for one in found)
            await service.outcome("t", Outcome(found[-1].id, True))
            assert not (await service.override("t", others[-1])).again  # that one was answered: this is another
            assert (await verify(service.store)).wrong is None

    asyncio.run(story())


class Serving(RuleBasedStateMachine):
    """Answers come early, late and to old decisions, releases come and go: what `next` names is always ready."""

    pair, begun, learner = (), None, ""  # set by the test: releases, a record in which a learner has begun, and who

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.live, self.previous = self.pair
        self.unanswered = []
        shutil.copy(self.begun.with_suffix(".keyring"), self.folder.name)
        record = shutil.copy(self.begun, self.folder.name)
        terms, draw = Terms(decide_seconds=60.0), random.Random(0).random  # the same story twice is told alike
        self.service = Service(Store(record), Releases(self.live), terms, draw=draw)
        self.ask(self.service.__aenter__())

    def teardown(self):
        if hasattr(self, "service"):
            verdict = self.ask(verify(self.service.store))
            self.ask(self.service.__aexit__())
            self.runner.close()
            self.folder.cleanup()
            assert verdict.wrong is None

    def ask(self, call):
        return self.runner.run(call)

    def check(self, decision):
        """That a decision is ready, by the mastery and the release of now; known by nothing of the service's gate."""
        mastery = {one.concept: one.mastery for one in self.ask(self.service.state("t", self.learner)).concepts}
        assert all(mastery[name] >= self.live.theta for name in self.live.prerequisites[decision.concept]), decision

    @rule(times=st.integers(1, 2))
    def next(self, times):
        for _ in range(times):
            decision = self.ask(self.service.next("t", Next(self.learner)))
            self.check(decision)
            self.unanswered.append(decision.id)

    @rule(key=st.sampled_from("abc"))
    def next_with_a_key(self, key):
        try:
            decision = self.ask(self.service.next("t", Next(self.learner), key))
        except Conflict:  # what was answered is shut
            return
        self.check(decision)

    @rule(at=st.integers(0, 5))
    def override(self, at):
        try:
            decision = self.ask(self.service.override("t", Override(self.learner, self.live.concepts[at], "r", "me")))
        except Unprocessable:
            return
        self.check(decision)
        self.unanswered.append(decision.id)

    @rule(at=st.integers(0, 9), correct=st.booleans())
    def outcome(self, at, correct):
        if self.unanswered:
            decision = self.unanswered[at % len(self.unanswered)]
            self.unanswered = [one for one in self.unanswered if one != decision]
            self.ask(self.service.outcome("t", Outcome(decision, correct)))

    @rule()
    def begin(self):
        self.ask(self.service.begin_session("t", BeginSession(self.learner)))

    @rule()
    def change(self):
        other = self.previous
        self.ask(self.service.change_releases(lambda live: live.load(other), lower_gate=True))
        self.live, self.previous = self.previous, self.live

    @invariant()
    def what_is_shown_is_the_gate_of_now(self):
        if hasattr(self, "service"):
            state = self.ask(self.service.state("t", self.learner))
            assert state.theta == self.live.theta


def test_no_answer_of_next_names_what_is_not_ready(pair, monkeypatch, tmp_path):
    async def begun():
        async with Service(Store(str(tmp_path / "record.db")), Releases(pair[0])) as service:
            learner = (await service.register("t", Register("Ada"))).id
            for concept in pair[0].concepts:
                if not pair[0].prerequisites[concept]:
                    await _taught(service, learner, concept, pair[0].theta)
            return learner

    monkeypatch.setattr(Serving, "learner", asyncio.run(begun()))
    monkeypatch.setattr(Serving, "begun", tmp_path / "record.db")
    monkeypatch.setattr(Serving, "pair", pair)
    case = Serving.TestCase
    case.settings = settings(max_examples=12, stateful_step_count=30, deadline=None)
    case().runTest()
