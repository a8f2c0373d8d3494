"""Learners who are not there: they know or do not know each concept, learn by lessons, and answer accordingly.

They are what knowledge tracing takes learners to be, so that what the service believes of them can come true. They go
through the service as anybody would, and are on record like anybody.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial

from mccpo.serve.policy.release import Release
from mccpo.serve.service.background import background, pause
from mccpo.serve.service.messages import BeginSession, Next, Outcome, Register
from mccpo.serve.service.problems import Problem
from mccpo.serve.service.service import Service

log = logging.getLogger("mccpo.serve")

LEARNERS = 24
PAUSE = (0.5, 4.0)
"""Seconds between an answer and the next request, from the shortest to the longest."""
CLASSES = {"3a": 1.0, "3b": 0.5}
"""Two classes, and how fast each learns beside what the model expects: the equity view has something to find."""
NAMES = ("Ana", "Ben", "Chidi", "Dilek", "Eva", "Femi", "Gita", "Hugo", "Ines", "Jun", "Kofi", "Lena")


class Simulated:
    """One learner, by the release's own model: the chances to know at first, to learn, to guess and to slip."""

    def __init__(self, release: Release, pace: float, draw: random.Random) -> None:
        self.release, self.pace, self.draw = release, pace, draw
        self.knows = [draw.random() < float(prior) for prior in release.learner.prior]

    def answer(self, concept: str, activity: str) -> bool:
        """Answers, right or wrong, and may have learnt the concept afterwards."""
        at, model = self.release.curriculum.index(concept), self.release.learner
        right = 1 - float(model.slip[at]) if self.knows[at] else float(model.guess[at])
        correct = self.draw.random() < right
        gain = self.release.activities[self.release.action(self.release.concepts[0], activity)].gain
        self.knows[at] = self.knows[at] or self.draw.random() < float(model.learn[at]) * gain * self.pace
        return correct


@asynccontextmanager
async def attending(service: Service, tenant: str, *, learners: int = LEARNERS, seed: int = 0) -> AsyncIterator[None]:
    """Lets simulated learners be taught in the background, as long as the block."""
    works = [
        partial(_attend, service, tenant, name, label, random.Random(f"{seed} {name}"))
        for name, label in _roll(learners)
    ]
    async with background(*works):
        yield


def _roll(learners: int) -> Iterator[tuple[str, str]]:
    """Names, no two alike, each with its class in turn."""
    for number in range(learners):
        again = number // len(NAMES)
        name = NAMES[number % len(NAMES)] + (f" {again + 1}" if again else "")
        yield name, list(CLASSES)[number % len(CLASSES)]


async def _attend(
    service: Service, tenant: str, name: str, label: str, draw: random.Random, stop: asyncio.Event
) -> None:
    who = await service.register(tenant, Register(name, {"class": label}))
    learner = Simulated(service.release, CLASSES[label], draw)
    while not stop.is_set():
        await service.begin_session(tenant, BeginSession(who.id))
        for _ in range(service.release.horizon):
            await pause(stop, draw.uniform(*PAUSE))
            if stop.is_set():
                return
            try:
                decision = await service.next(tenant, Next(who.id))
                correct = learner.answer(decision.concept, decision.activity)
                await pause(stop, draw.uniform(*PAUSE))
                await service.outcome(tenant, Outcome(decision.id, correct, seconds=round(draw.uniform(5, 60), 1)))
            except Problem as problem:  # such as a teacher's word in between; the next request finds out
                log.info("%s: %s", name, problem.detail)
