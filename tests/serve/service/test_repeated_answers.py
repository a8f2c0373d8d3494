"""Answers that are repeated for their idempotency keys."""

import asyncio
import sqlite3
from dataclasses import replace

import pytest
from sqlalchemy import text

from mccpo.serve.policy import Releases
from mccpo.serve.problems import Conflict, Gone, Unavailable, Unprocessable
from mccpo.serve.record import Store, verify
from mccpo.serve.service import BeginSession, EndSession, Erase, Next, Outcome, Override, Register, Service

from .sandbox import DAY


def test_an_idempotency_key(sandbox):
    async def story():
        async with sandbox() as service:
            learner = await service.register("t", Register("Ada"), "k1")
            decision = await service.next("t", Next(learner.id), "k2")
            again = await service.next("t", Next(learner.id), "k2")
            assert again == decision  # the stored answer, not the open decision
            assert await service.register("t", Register("Ada"), "k1") == learner
            with pytest.raises(Unprocessable, match="another request"):
                await service.register("t", Register("Bob"), "k1")
            with pytest.raises(Unprocessable, match="another request"):
                await service.begin_session("t", BeginSession(learner.id), "k2")
            assert (await service.register("other", Register("Ada"), "k1")).id != learner.id
            both = await asyncio.gather(
                *(service.outcome("t", Outcome(decision.id, True), "k3") for _ in range(2)), return_exceptions=True
            )
            assert isinstance(both[1], Conflict)
            assert "under way" in both[1].detail
            outcome = both[0]
        async with sandbox() as service:
            assert await service.outcome("t", Outcome(decision.id, True), "k3") == outcome
            sandbox.clock.now += 2 * DAY
            assert (await service.next("t", Next(learner.id), "k2")).id != decision.id  # the key has lapsed
            await service.tidy()
            async with service.store.reading() as connection:
                assert (await connection.execute(text("SELECT count(*) FROM reply"))).scalar() == 1

    asyncio.run(story())


@pytest.mark.parametrize("kept", ['{"again":false,"number":%d}', '{"again":false,"number":null}', '{"kind":"x"}', "x"])
def test_stored_answers_cannot_make_up_events(sqlite_sandbox, kept):
    """Whoever changes it, the answer is one of the record's own for this very request, or none."""

    async def story():
        async with Service(Store(sqlite_sandbox.url), Releases(sqlite_sandbox.release)) as service:
            ada, bob = [(await service.register("t", Register(name))).id for name in ("Ada", "Bob")]
            first = await service.next("t", Next(ada), "key")
            other = await service.next("t", Next(bob))
            with sqlite3.connect(sqlite_sandbox.url) as connection:
                changed = kept % other.number if "%d" in kept else kept
                assert connection.execute("UPDATE reply SET answer = ?", (changed,)).rowcount == 1
            connection.close()
            with pytest.raises(Unavailable, match="is damaged"):
                await service.next("t", Next(ada), "key")
            assert (await service.next("t", Next(ada))).id == first.id
            if kept != '{"again":false,"number":null}':  # as it is kept for a learner or a session
                assert (await verify(service.store)).wrong is not None

    asyncio.run(story())


def test_answers_told_again_match_the_first_time(sqlite_sandbox):
    """Every kind of request, after others have changed what could be changed."""

    async def story():
        async with sqlite_sandbox() as service:
            ada = await service.register("t", Register("Ada", {"school": "1"}), "1")
            await service.register("t", Register("Ada", {"school": "2"}))
            session = await service.begin_session("t", BeginSession(ada.id), "2")
            decision = await service.next("t", Next(ada.id), "3")
            again = await service.next("t", Next(ada.id), "4")
            words = Override(ada.id, decision.concept, "practice", "Ms B", key={"id": "k"})
            override = await service.override("t", words, "5")
            outcome = await service.outcome("t", Outcome(decision.id, False, 1, 2.5), "6")
            repeated = await service.outcome("t", Outcome(decision.id, False, 1, 2.5), "7")
            ended = await service.end_session("t", EndSession(session.id), "8")
            ended_again = await service.end_session("t", EndSession(session.id), "9")
            assert again.again
            assert repeated.again
            assert await service.register("t", Register("Ada", {"school": "1"}), "1") == ada
            assert await service.begin_session("t", BeginSession(ada.id), "2") == session
            assert await service.next("t", Next(ada.id), "3") == decision
            assert await service.next("t", Next(ada.id), "4") == again
            assert await service.override("t", words, "5") == override
            assert await service.outcome("t", Outcome(decision.id, False, 1, 2.5), "6") == outcome
            assert await service.outcome("t", Outcome(decision.id, False, 1, 2.5), "7") == repeated
            assert ended_again == replace(ended, number=None, hash=None)  # it had ended: no event was added
            assert await service.end_session("t", EndSession(session.id), "8") == ended
            assert await service.end_session("t", EndSession(session.id), "9") == ended_again
            assert (await service.learner("t", ada.id)).labels == {"school": "2"}
            erased = await service.erase("t", Erase(ada.id), "10")
            assert await service.erase("t", Erase(ada.id), "10") == erased
            with pytest.raises(Gone):
                await service.next("t", Next(ada.id), "3")

    asyncio.run(story())
