"""A release with other parameters: what its learners know is said again by them, and replays."""

import asyncio
import json
import sqlite3

import numpy as np
import pytest
from tests.serve.client import serving

from mccpo.env import make
from mccpo.files import canonical_json
from mccpo.serve.policy import load_release
from mccpo.serve.policy.learner_state import after_outcome, initial_state
from mccpo.serve.record import Store, verify
from mccpo.serve.record.chain import GENESIS, chain_hash

OPTIMIST = {"K0": 0.6, "eta": 0.3, "guess": 0.2, "slip": 0.1}
SOBER = {"K0": 0.2, "eta": 0.05, "guess": 0.3, "slip": 0.15}


@pytest.fixture
def runs(run_of):
    return [run_of(make("tutor-15-bkt", confidence=0.7, **numbers)) for numbers in (OPTIMIST, SOBER)]


def answer(api, learner, correct):
    decision = api.next(learner)
    assert api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": correct}).status_code == 200
    return decision["concept"]


def verdict_of(database):
    async def read():
        store = Store(str(database))
        await store.open(create=False)
        try:
            return await verify(store)
        finally:
            await store.close()

    return asyncio.run(read())


def taught_twice(runs, database):
    """A learner who was taught by one release, and then by another; what was answered, and the mastery seen then."""
    before, after = map(load_release, runs)
    with serving(before, database, runs=runs[1].parent) as api:
        learner = api.learner()
        asked = [(answer(api, learner, correct), correct) for correct in (True, True, False, True)]
        api.next(learner)  # a decision is open while the release changes
        loaded = api.post("/v1/releases", {"run": runs[1].name, "lower_gate": True})
        assert loaded.status_code == 200, loaded.text
        api.next(learner)
        state = api.get(f"/v1/learners/{learner}/state").json()
        mastery = {row["concept"]: row["mastery"] for row in state["concepts"]}
        asked.append((answer(api, learner, True), True))
        asked.append((answer(api, learner, False), False))
    return after, asked, mastery


def test_mastery_is_restated_by_the_parameters_of_the_new_release(runs, database):
    after, asked, mastery = taught_twice(runs, database)
    state = initial_state(after)
    for concept, correct in asked[:4]:
        state = after_outcome(after, state, concept, correct, after.actions[0][1])
    np.testing.assert_allclose([mastery[name] for name in after.concepts], state.K, atol=1e-12)
    assert mastery[after.concepts[-1]] == pytest.approx(0.2)  # never practised: what the new release believes
    assert verdict_of(database).wrong is None


def test_a_restated_mastery_that_does_not_follow_is_found(runs, tmp_path):
    taught_twice(runs, tmp_path / "record.db")
    with sqlite3.connect(tmp_path / "record.db") as connection:
        rows = connection.execute("SELECT number, text FROM event ORDER BY number").fetchall()
        hash, changed = GENESIS.hash, 0
        for number, text in rows:
            event = json.loads(text)
            if "restated" in event["content"]:
                event["content"]["restated"][-1] += 0.1
                changed += 1
            hash = chain_hash(hash, canonical_json(event))
            values = (canonical_json(event), hash, number)
            connection.execute("UPDATE event SET text = ?, hash = ? WHERE number = ?", values)
        connection.execute("UPDATE head SET hash = ?", (hash,))
    assert changed == 1
    assert "does not follow from the answers" in verdict_of(tmp_path / "record.db").wrong
