"""Simulated learners: they answer as knowledge tracing says, and are taught like anybody."""

import asyncio
import random

import pytest

from mccpo.serve.policy import Releases
from mccpo.serve.record import Store, verify
from mccpo.serve.service import Service, simulated
from mccpo.serve.service.simulated import SimulatedLearner, simulated_learners


def test_answers_are_right_as_often_as_the_model_says(release):
    """The share of right answers to a first, second, … lesson is what the model expects of it, lesson by lesson."""
    concept, activity = release.concepts[0], release.activities[0]
    model, lessons, learners = release.learner, 5, 4000
    right = [0] * lessons
    for number in range(learners):
        one = SimulatedLearner(release, 1.0, random.Random(number))
        for lesson in range(lessons):
            right[lesson] += one.answer(concept, activity.name)
    knows, chances = float(model.prior[0]), []
    for _ in range(lessons):
        chances.append(knows * (1 - float(model.slip[0])) + (1 - knows) * float(model.guess[0]))
        knows += (1 - knows) * float(model.learn[0]) * activity.gain
    assert [each / learners for each in right] == pytest.approx(chances, abs=4 * 0.5 / learners**0.5)


def test_a_learner_who_never_learns_guesses(release):
    one = SimulatedLearner(release, 0.0, random.Random(0))
    one.knows = [False] * len(release.concepts)
    for _ in range(100):
        one.answer(release.concepts[3], release.activities[0].name)
    assert not any(one.knows)


def test_they_attend_until_told_to_go_and_leave_a_record_that_holds(release, tmp_path, monkeypatch):
    monkeypatch.setattr(simulated, "PAUSE", (0.0, 0.002))

    async def attended():
        store = Store(str(tmp_path / "record.db"))
        async with Service(store, Releases(release)) as service:
            async with simulated_learners(service, "local", learners=5):
                while len(found := await service.decisions("local", limit=500)) < 60:
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)  # what they had asked for is still carried out
            after = len(await service.decisions("local", limit=500))
            await asyncio.sleep(0.2)
            assert len(await service.decisions("local", limit=500)) == after  # nobody stays behind
            learners = await service.learners("local")
            return found, learners, await verify(store)

    found, learners, verdict = asyncio.run(attended())
    assert verdict.wrong is None
    assert {one.learner for one in found} == {one.id for one in learners}
    assert len({one.name for one in learners}) == 5
    assert {one.labels["class"] for one in learners} == {"3a", "3b"}
