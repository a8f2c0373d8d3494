"""Simulated learners: each knows a concept or not, learns by lessons, and answers accordingly.

They behave as knowledge tracing assumes, so the service's estimates of them can come true. They use the service like
anybody else, and are on record like anybody else.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial

from mccpo.serve.policy.release import Release
from mccpo.serve.problems import Problem
from mccpo.serve.service.background import background, pause
from mccpo.serve.service.messages import BeginSession, Next, Outcome, Register
from mccpo.serve.service.service import Service

log = logging.getLogger("mccpo.serve")

LEARNERS = 24
PAUSE = (0.5, 4.0)
"""Seconds between an answer and the next request, from the shortest to the longest."""
CLASSES = {"3a": 1.0, "3b": 0.5}
"""Two classes, and how fast each learns relative to the model: the equity view has something to find."""
NAMES = ("Ana", "Ben", "Chidi", "Dilek", "Eva", "Femi", "Gita", "Hugo", "Ines", "Jun", "Kofi", "Lena")


class SimulatedLearner:
    """One learner, by the release's own model: the probabilities to know at first, to learn, to guess and to slip."""

    def __init__(self, release: Release, pace: float, draw: random.Random) -> None:
        self.release, self.pace, self.draw = release, pace, draw
        self.knows = [draw.random() < float(prior) for prior in release.learner.prior]

    def answer(self, concept: str, activity: str) -> bool:
        """Answers, right or wrong, and may have learnt the concept afterwards."""
        index, model = self.release.curriculum.index(concept), self.release.learner
        right = 1 - float(model.slip[index]) if self.knows[index] else float(model.guess[index])
        correct = self.draw.random() < right
        gain = self.release.activities[self.release.action(self.release.concepts[0], activity)].gain
        self.knows[index] = self.knows[index] or self.draw.random() < float(model.learn[index]) * gain * self.pace
        return correct


@asynccontextmanager
async def simulated_learners(
    service: Service, tenant: str, *, learners: int = LEARNERS, seed: int = 0
) -> AsyncIterator[None]:
    """Simulated learners are taught in the background for as long as the block runs."""
    works = [
        partial(_attend_lessons, service, tenant, name, label, random.Random(f"{seed} {name}"))
        for name, label in _names_and_classes(learners)
    ]
    async with background(*works):
        yield


def _names_and_classes(learners: int) -> Iterator[tuple[str, str]]:
    """Distinct names, with the classes in turn."""
    for number in range(learners):
        repeats = number // len(NAMES)
        name = NAMES[number % len(NAMES)] + (f" {repeats + 1}" if repeats else "")
        yield name, list(CLASSES)[number % len(CLASSES)]


async def _attend_lessons(
    service: Service, tenant: str, name: str, label: str, draw: random.Random, stop: asyncio.Event
) -> None:
    registered = await service.register(tenant, Register(name, {"class": label}))
    learner = SimulatedLearner(service.release, CLASSES[label], draw)
    while not stop.is_set():
        await service.begin_session(tenant, BeginSession(registered.id))
        for _ in range(service.release.horizon):
            await pause(stop, draw.uniform(*PAUSE))
            if stop.is_set():
                return
            try:
                decision = await service.next(tenant, Next(registered.id))
                correct = learner.answer(decision.concept, decision.activity)
                await pause(stop, draw.uniform(*PAUSE))
                await service.outcome(tenant, Outcome(decision.id, correct, seconds=round(draw.uniform(5, 60), 1)))
            except Problem as problem:  # such as an override in between; the next request sees it
                log.info("%s: %s", name, problem.detail)
