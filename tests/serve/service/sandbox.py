"""A database and a service over it, which several tests share; and what they look at."""

from contextlib import asynccontextmanager

from mccpo.serve.policy import Releases
from mccpo.serve.record import Store, verify
from mccpo.serve.service import Service, Terms

MINUTE, DAY = 60_000, 86_400_000
BEGAN = 1_800_000_000_000


class Clock:
    """A clock that tells what it is set to."""

    def __init__(self):
        self.now = BEGAN

    def __call__(self):
        return self.now


class Sandbox:
    """A database and what serves it, which can be left and come back to."""

    def __init__(self, url, release):
        self.url, self.release, self.clock = url, release, Clock()

    @asynccontextmanager
    async def __call__(self, **terms):
        async with Service(Store(self.url), Releases(self.release), Terms(**terms), clock=self.clock) as service:
            yield service
            verdict = await verify(service.store)
            assert verdict.wrong is None


async def event_kinds(service, learner=None):
    """What happened to a learner, or to all."""
    events = [one.event async for one in service.feed.replay()]
    return [event.kind for event in events if event.learner and learner in (None, event.learner)]


async def mastery_of(service, learner):
    return {one.concept: one.mastery for one in (await service.state("t", learner)).concepts}


def mastery_after(release, mastery, concept, correct):
    """Knowledge tracing by hand: Bayes' rule, then the chance to learn."""
    at = release.concepts.index(concept)
    learn, guess, slip = (
        float(part[at]) for part in (release.learner.learn, release.learner.guess, release.learner.slip)
    )
    known, other = (1 - slip, guess) if correct else (slip, 1 - guess)
    seen = mastery * known / (mastery * known + (1 - mastery) * other)
    return seen + (1 - seen) * learn
