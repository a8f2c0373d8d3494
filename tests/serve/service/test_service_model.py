"""The service against a plain model of it: whatever is asked, in whatever order, mastery is never updated twice.

The model knows learners, sessions, decisions and outcomes, and knowledge tracing by hand. It does not know what a
policy chooses, nor anything of databases, commits or hashes.
"""

import asyncio
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, precondition, rule

from mccpo.serve.policy import Releases
from mccpo.serve.problems import Conflict, Gone, Missing, Unprocessable
from mccpo.serve.record import Store, verify
from mccpo.serve.service import BeginSession, EndSession, Erase, Next, Outcome, Override, Register, Service, Terms

MINUTE = 60_000
SESSION, LATE = 30 * MINUTE, 90 * MINUTE


@dataclass
class Lesson:
    learner: str
    concept: str
    session: str
    at: int
    outcome: tuple | None = None


@dataclass
class Learner:
    mastery: dict[str, float]
    practised: dict[str, int]
    active: int
    t: int = 0
    session: str | None = None
    decision: str | None = None
    erased: bool = False
    ended: dict[str, str] = field(default_factory=dict)


class Model(RuleBasedStateMachine):
    release = empty = None  # set by the test: what is served, and a database with nothing in it

    learners = Bundle("learners")
    decisions = Bundle("decisions")
    sessions = Bundle("sessions")

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.clock = self.last = 1_800_000_000_000
        self.known: dict[str, Learner] = {}
        self.names: dict[str, str] = {}
        self.lessons: dict[str, Lesson] = {}
        for file in (self.empty, self.empty.with_suffix(".keyring")):
            shutil.copy(file, self.folder.name)
        self._open()

    def _open(self):
        store = Store(str(Path(self.folder.name) / "record.db"))
        terms = Terms(session_seconds=SESSION / 1000, late_seconds=LATE / 1000, cached_learners=2)
        self.service = Service(store, Releases(self.release), terms, clock=lambda: self.clock)
        self.runner.run(self.service.__aenter__())

    def teardown(self):
        if hasattr(self, "runner"):
            verdict = self.runner.run(verify(self.service.store))
            assert verdict.wrong is None
            self.runner.run(self.service.__aexit__())
            self.runner.close()
            self.folder.cleanup()

    # ---- the model

    def _now(self):
        self.last = max(self.clock, self.last)
        return self.last

    def _lapse(self, learner, cause="timeout"):
        if learner.session is not None and (cause != "timeout" or self._now() - learner.active > SESSION):
            learner.ended[learner.session] = cause
            learner.session = learner.decision = None

    def _ask(self, *calls):
        """Asks all at once, and returns answers and refusals in order."""

        async def asked():
            return await asyncio.gather(*calls, return_exceptions=True)

        return self.runner.run(asked())

    def _refused(self, who, answers, kind):
        if who not in self.known:
            kind = Missing
        elif self.known[who].erased:
            kind = Gone
        assert all(type(one) is kind for one in answers), answers

    def _begun(self, learner, session):
        learner.session, learner.t, learner.decision = session, 0, None
        learner.active = self._now()

    def _ready(self, learner, concept):
        return all(learner.mastery[each] >= self.release.theta for each in self.release.prerequisites[concept])

    def _waiting(self, learner):
        """The decision that `next` has to repeat: the open one, while its concept is ready."""
        if learner.decision is None or not self._ready(learner, self.lessons[learner.decision].concept):
            return None
        return learner.decision

    def _learn(self, learner, concept, correct):
        at = self.release.concepts.index(concept)
        model = self.release.learner
        eta, guess, slip = float(model.learn[at]), float(model.guess[at]), float(model.slip[at])
        if not self._ready(learner, concept):
            eta *= self.release.tutor.unready_gain
        known, other = (1 - slip, guess) if correct else (slip, 1 - guess)
        K = learner.mastery[concept]
        K = K * known / (K * known + (1 - K) * other)
        learner.mastery[concept] = K + (1 - K) * eta

    def _decided(self, learner_id, one):
        learner = self.known[learner_id]
        if learner.session is None:
            self._begun(learner, one.session)
        assert one.session == learner.session
        assert self._ready(learner, one.concept)
        assert one.certificate["t"] == learner.t
        assert one.id not in self.lessons
        self.lessons[one.id] = Lesson(learner_id, one.concept, one.session, self._now())
        learner.t += 1
        learner.practised[one.concept] += 1
        learner.decision, learner.active = one.id, self._now()

    # ---- what can happen

    @rule(target=learners, name=st.sampled_from("ab"))
    def register(self, name):
        (one,) = self._ask(self.service.register("t", Register(name)))
        assert one.new is (name not in self.names)
        assert self.names.setdefault(name, one.id) == one.id
        if one.new:
            prior = [float(each) for each in self.release.learner.prior]
            mastery = dict(zip(self.release.concepts, prior, strict=True))
            self.known[one.id] = Learner(mastery, dict.fromkeys(self.release.concepts, 0), self._now())
        return one.id

    @rule(minutes=st.sampled_from([20, -30, 25, 31, 61, 91]))
    def wait(self, minutes):
        self.clock += minutes * MINUTE

    @rule()
    def restart(self):
        self.runner.run(self.service.__aexit__())
        self._open()

    @rule(target=decisions, who=learners, times=st.integers(1, 3))
    def next(self, who, times):
        answers = self._ask(*(self.service.next("t", Next(who)) for _ in range(times)))
        if self.known[who].erased:
            self._refused(who, answers, Gone)
            return multiple()
        self._lapse(self.known[who])
        for one in answers:
            assert one.id == answers[0].id
            waiting = self._waiting(self.known[who])
            assert one.again is (waiting is not None)
            if one.again:
                assert one.id == waiting
            else:
                assert one.supersedes == self.known[who].decision  # what is no longer ready is not served again
                self._decided(who, one)
        return answers[0].id

    @rule(what=decisions, correct=st.booleans(), times=st.integers(1, 3), hints=st.sampled_from([None, 2]))
    def outcome(self, what, correct, times, hints):
        answers = self._ask(*(self.service.outcome("t", Outcome(what, correct, hints)) for _ in range(times)))
        lesson = self.lessons[what]
        learner = self.known[lesson.learner]
        if learner.erased:
            self._refused(lesson.learner, answers, Gone)
            return
        for one in answers:
            if lesson.outcome is None:
                self._lapse(learner)
                late = self._now() - lesson.at > LATE
                before = learner.mastery[lesson.concept]
                if not late:
                    self._learn(learner, lesson.concept, correct)
                learner.active = self._now()
                if learner.decision == what:
                    learner.decision = None
                lesson.outcome = (correct, hints)
                assert (one.again, one.late, one.counted) == (False, late, not late)
                assert (one.before, one.after) == pytest.approx((before, learner.mastery[lesson.concept]))
            elif lesson.outcome == (correct, hints):
                assert one.again
            else:
                assert type(one) is Conflict

    @rule(who=learners, minutes=st.sampled_from([10, 20, 29]), correct=st.booleans())
    def lesson(self, who, minutes, correct):
        """The usual thing, at the usual pace, so that stories get somewhere."""
        self.wait(minutes)
        found = self.next(who, 1)
        if isinstance(found, str):
            self.wait(minutes)
            self.outcome(found, correct, 1, None)

    @rule(what=st.sampled_from(["dec_none", "", "dec_000000000000000000000000"]))
    def outcome_of_nothing(self, what):
        (one,) = self._ask(self.service.outcome("t", Outcome(what, True)))
        assert type(one) is Missing

    @rule(who=learners, what=decisions)
    def another_tenant(self, who, what):
        answers = self._ask(self.service.next("other", Next(who)), self.service.outcome("other", Outcome(what, True)))
        assert [type(one) for one in answers] == [Missing, Missing]

    @rule(target=sessions, who=learners)
    def begin(self, who):
        (one,) = self._ask(self.service.begin_session("t", BeginSession(who)))
        if self.known[who].erased:
            self._refused(who, [one], Gone)
            return multiple()
        self._lapse(self.known[who])
        self._lapse(self.known[who], "next")
        self._begun(self.known[who], one.id)
        return one.id

    @rule(what=sessions)
    def end(self, what):
        (one,) = self._ask(self.service.end_session("t", EndSession(what)))
        if type(one) is Gone:
            return
        learner = self.known[one.learner]
        if learner.session == what:
            self._lapse(learner)
            self._lapse(learner, "asked")
        assert one.cause == learner.ended[what]

    @rule(target=decisions, who=learners, data=st.data())
    def override(self, who, data):
        ready = [one for one in self.release.concepts if self._ready(self.known[who], one)]
        concept = data.draw(st.sampled_from([*ready, "none", self.release.concepts[-1]]))
        why = f"because {len(self.lessons)}"  # the same in the same words would be the same override
        (one,) = self._ask(self.service.override("t", Override(who, concept, why, "me")))
        learner = self.known[who]
        if learner.erased:
            self._refused(who, [one], Gone)
            return multiple()
        if concept == "none" or not self._ready(learner, concept):
            assert type(one) is Unprocessable
            return multiple()
        self._lapse(learner)
        self._decided(who, one)
        return one.id

    @precondition(lambda self: len(self.lessons) > 12)  # seldom: nothing happens to a learner afterwards
    @rule(who=learners)
    def erase(self, who):
        (one,) = self._ask(self.service.erase("t", Erase(who)))
        if self.known[who].erased:
            self._refused(who, [one], Gone)
            return
        self._lapse(self.known[who], "erased")
        self.known[who].erased = True
        self.names = {name: id for name, id in self.names.items() if id != who}
        self._now()

    @invariant()
    def all_is_as_the_model_says(self):
        if not hasattr(self, "known"):
            return
        for who, learner in self.known.items():
            if learner.erased:
                continue
            (state,) = self._ask(self.service.state("t", who))
            assert {one.concept: one.mastery for one in state.concepts} == pytest.approx(learner.mastery)
            assert {one.concept: one.practised for one in state.concepts} == learner.practised
            assert (state.session, state.decision, state.t) == (learner.session, learner.decision, learner.t)
            assert {one.concept for one in state.concepts if one.ready} == {
                one for one in self.release.concepts if self._ready(learner, one)
            }


def test_the_service_is_what_the_model_says(release, monkeypatch, tmp_path):
    async def empty():
        async with Service(Store(str(tmp_path / "record.db")), Releases(release)):
            pass

    asyncio.run(empty())
    monkeypatch.setattr(Model, "release", release)
    monkeypatch.setattr(Model, "empty", tmp_path / "record.db")
    case = Model.TestCase
    case.settings = settings(max_examples=10 if settings.default.derandomize else 30, stateful_step_count=50)
    case().runTest()
