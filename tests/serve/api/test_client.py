"""The client of `mccpo.client` at a real service."""

import httpx
import pytest

from mccpo.client import AsyncClient, RefusedError
from mccpo.serve.access import KeyFile

from ..client import serving  # noqa: TID252 - shared by the folders of these tests


def test_a_lesson_at_a_real_service(release, tmp_path):
    keys = KeyFile(tmp_path / "keys.json")
    key = keys.create("north", "client")[1]
    with serving(release, tmp_path / "record.db", keys=keys) as api:

        async def lesson():
            transport = httpx.ASGITransport(api.app)
            async with AsyncClient("http://localhost", key, transport=transport) as tutor:
                many = await tutor.register_many([(f"learner {n}", {"class": "3b"}) for n in range(40)])
                assert len({one.learner.id for one in many}) == 40
                ana = await tutor.register("Ana", {"class": "3b"})
                decision = await tutor.next(ana.id)
                outcome = await tutor.outcome(decision.id, correct=True, seconds=2.5)
                state = await tutor.state(ana.id)
                assert (outcome.counted, outcome.concept, state.decision) == (True, decision.concept, None)
                session = await tutor.end_session(state.session)
                assert session.ended
                assert (await tutor.learner_named("Ana")).id == ana.id
                assert (await tutor.anchor()).number >= decision.number
                with pytest.raises(RefusedError):
                    await tutor.state("lrn_nobody")

        api.runner.run(lesson())
