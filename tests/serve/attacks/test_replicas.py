"""Several processes serve one record: none goes on with what another has ended, nor writes it back."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from tests.forked import FORKING

from mccpo.env import make
from mccpo.serve.policy import Releases, load_release
from mccpo.serve.problems import Unprocessable
from mccpo.serve.record import Store, verify
from mccpo.serve.service import Next, Outcome, Override, Register, Service


@pytest.fixture(scope="module")
def pair(run_of):
    """A release with a low gate, and one that asks for more."""
    return [load_release(run_of(make("tutor-15", concepts=6, horizon=20, theta=theta))) for theta in (0.3, 0.9)]


def test_a_second_process_goes_over_to_what_the_first_has_loaded(database, pair):
    low, high = pair

    async def story():
        async with AsyncExitStack() as stack:
            first, second = [await stack.enter_async_context(Service(Store(database), Releases(low))) for _ in range(2)]
            learner = (await second.register("t", Register("Ana"))).id
            opened = None
            while opened is None:
                decision = await second.next("t", Next(learner))
                await second.outcome("t", Outcome(decision.id, True))
                states = (await second.state("t", learner)).concepts
                opened = next((one.concept for one in states if one.ready and low.prerequisites[one.concept]), None)
            await first.change_releases(lambda live: live.load(high))
            assert (await second.state("t", learner)).release == high.version  # by reading alone
            with pytest.raises(Unprocessable, match="not ready"):
                await second.override("t", Override(learner, opened, "because", "Eve"))
            await second.change_releases(lambda live: live.watch(None))  # which changes nothing
            for service in (first, second):
                await service.refresh()
                assert service.release.version == high.version
            assert (await second.next("t", Next(learner))).release == high.version
            assert (await verify(first.store)).wrong is None

    asyncio.run(story())


OPEN = """
import asyncio
from mccpo.serve.record import Store
async def opened():
    store = Store(url)
    await store.open()
    await store.close()
barrier.wait()
asyncio.run(opened())
"""


@pytest.mark.parametrize("times", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_tables_are_made_once_by_whoever_comes_first(database, tmp_path, times):
    for turn in range(times):
        url = database if times == 1 else f"sqlite:///{tmp_path / str(turn)}.db"
        barrier = FORKING.Barrier(4)
        ones = [FORKING.Process(target=exec, args=(OPEN, {"url": url, "barrier": barrier})) for _ in range(4)]
        for one in ones:
            one.start()
        for one in ones:
            one.join(60)
        assert [one.exitcode for one in ones] == [0] * 4
