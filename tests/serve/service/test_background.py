"""Whatever goes on in the background ends when it is told to, at whatever moment that is."""

import asyncio

import pytest

from mccpo.serve.monitor import Watch
from mccpo.serve.policy import Releases
from mccpo.serve.record import Store
from mccpo.serve.service import Service, background, pause


@pytest.mark.parametrize("turns", range(6))
def test_watch_ends_when_told_to_just_after_it_was_woken(tmp_path, release, turns):
    """`asyncio.wait_for` of Python 3.11 swallows a cancellation that arrives while what it waits for completes."""

    async def story():
        async with Service(Store(str(tmp_path / "record.db")), Releases(release)) as service:
            async with asyncio.timeout(10):
                async with Watch(service) as watch:
                    await watch.caught_up()
                    await asyncio.sleep(0.01)  # it sleeps now, until it is woken
                    watch._wake.set()
                    for _ in range(turns):
                        await asyncio.sleep(0)

    asyncio.run(story())


def test_work_that_swallows_a_cancellation_still_ends():
    turns = []

    async def deaf(stop):
        while not stop.is_set():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                turns.append("cancelled")

    async def story():
        async with asyncio.timeout(10), background(deaf, deaf):
            await asyncio.sleep(0)

    asyncio.run(story())
    assert turns == ["cancelled"] * 2


@pytest.mark.parametrize("turns", range(4))
def test_pause_lets_a_cancellation_through(turns):
    async def story():
        event = asyncio.Event()
        task = asyncio.create_task(pause(event, 60))
        await asyncio.sleep(0)
        event.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        finished = task.done()
        task.cancel()
        async with asyncio.timeout(10):
            await asyncio.wait([task])
        assert task.cancelled() or finished

    asyncio.run(story())


def test_pause_ends_by_the_clock():
    asyncio.run(pause(asyncio.Event(), 0.01))
