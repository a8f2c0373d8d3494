"""A client wants a concept that has been forgotten to stay open: it reports late, wrongly, or between sessions."""

import asyncio

import pytest

from mccpo.env import make
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.problems import Conflict, Unprocessable
from mccpo.serve.record import Store, verify
from mccpo.serve.service import BeginSession, EndSession, Next, Outcome, Override, Register, Service, Terms

DAY = 86_400_000


@pytest.fixture(scope="module")
def release(run_of):
    return load_release(run_of(make("tutor-15", concepts=6, horizon=20)))


class Story:
    """A learner who has opened a concept, and was away until it must be shut again."""

    def __init__(self, service, now):
        self.service, self.now = service, now
        self.learner = self.unanswered = self.opened = None

    async def learn(self):
        self.learner = (await self.service.register("t", Register("Ana"))).id
        await self.service.begin_session("t", BeginSession(self.learner))
        while (opened := await self.ready_with_prerequisites()) is None:
            decision = await self.service.next("t", Next(self.learner))
            await self.service.outcome("t", Outcome(decision.id, True))
        self.opened = opened
        self.unanswered = (await self.service.next("t", Next(self.learner), "asked once")).id
        state = await self.service.state("t", self.learner)
        await self.service.end_session("t", EndSession(state.session))

    async def ready_with_prerequisites(self):
        needed = self.service.release.prerequisites
        concepts = (await self.service.state("t", self.learner)).concepts
        return next((one.concept for one in concepts if one.ready and needed[one.concept]), None)

    async def shut(self):
        """Whether the gate, the state and the list of learners all have the concept shut."""
        states = {one.concept: one for one in (await self.service.state("t", self.learner)).concepts}
        (present,) = await self.service.presences("t")
        override = Override(self.learner, self.opened, "because", "Eve")
        try:
            await self.service.override("t", override)
        except Unprocessable:
            return not states[self.opened].ready and bool(states[self.opened].unmet) and present.mastered == 0
        return False


async def late_and_wrong(story):
    outcome = await story.service.outcome("t", Outcome(story.unanswered, False))
    assert (outcome.late, outcome.counted) == (True, False)
    assert outcome.before == outcome.after


async def between_sessions(story):
    assert (await story.service.outcome("t", Outcome(story.unanswered, False))).counted


async def again_by_its_idempotency_key(story):
    decision = await story.service.decision("t", story.unanswered)
    if story.service.release.prerequisites[decision.concept]:
        with pytest.raises(Conflict):
            await story.service.next("t", Next(story.learner), "asked once")


async def nothing(story):
    assert story


@pytest.mark.parametrize(
    ("attack", "late_seconds"),
    [(nothing, 3600), (late_and_wrong, 3600), (between_sessions, 1e9), (again_by_its_idempotency_key, 3600)],
)
def test_what_was_forgotten_stays_shut(tmp_path, release, attack, late_seconds):
    now = [1_800_000_000_000]

    async def tried():
        terms = Terms(forgetting=86_400.0, late_seconds=late_seconds, reply_seconds=1e9)
        store, clock = Store(str(tmp_path / "record.db")), (lambda: now[0])
        async with Service(store, Releases(release), terms, clock=clock) as service:
            story = Story(service, now)
            await story.learn()
            now[0] += 10 * DAY
            await attack(story)
            now[0] += 1000
            assert await story.shut()
            assert (await verify(service.store)).wrong is None

    asyncio.run(tried())
