"""Somebody tries keys, at the API and at the pages: they get few tries, and each leaves a line."""

import json
import logging

import pytest

from mccpo.serve.access import KeyFile
from mccpo.serve.access.security_log import Formatter
from mccpo.serve.api.guard import FAILED_AT_ONCE
from mccpo.serve.policy import load_release

from ..client import serving  # noqa: TID252 - shared by the folders of these tests

WRONG = "mccpo_000000000000_" + "x" * 43


@pytest.fixture
def keyed(run, tmp_path):
    keys = KeyFile(tmp_path / "keys.json")
    texts = {role: keys.create("north", role)[1] for role in ("client", "teacher", "admin", "publisher")}
    with serving(load_release(run), tmp_path / "record.db", keys=keys, runs=run.parent, slow_seconds=0.0) as nobody:
        yield nobody, texts


def lines(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "mccpo.serve.security"]


def test_an_address_has_few_tries_and_those_with_a_key_go_on(keyed, caplog):
    nobody, texts = keyed
    guessing = nobody.as_(WRONG)
    answers = [guessing.get("/v1/learners").status_code for _ in range(FAILED_AT_ONCE + 5)]
    assert set(answers[: FAILED_AT_ONCE - 1]) == {401}
    assert answers[-1] == 429
    assert nobody.as_(texts["client"]).get("/v1/learners").status_code == 200
    told = lines(caplog)
    assert "key refused source=127.0.0.1 path=/v1/learners" in told
    assert len(told) <= FAILED_AT_ONCE + 1  # nor is the log flooded
    assert WRONG not in caplog.text


def test_signing_in_is_limited_and_told(keyed, caplog):
    caplog.set_level("INFO", "mccpo.serve.security")
    nobody, texts = keyed
    for _ in range(FAILED_AT_ONCE + 3):
        last = nobody("POST", "/pages/sign-in", data={"key": WRONG})
    assert last.status_code == 429
    assert nobody("POST", "/pages/sign-in", data={"key": texts["teacher"]}).status_code == 303
    told = lines(caplog)
    assert "sign-in refused source=127.0.0.1" in told
    id = texts["teacher"].split("_")[1]
    assert f"signed in tenant=north key={id} role=teacher source=127.0.0.1" in told


def test_important_events_are_logged_with_their_keys(keyed, caplog):
    caplog.set_level("INFO", "mccpo.serve.security")
    nobody, texts = keyed
    client, admin = nobody.as_(texts["client"]), nobody.as_(texts["admin"])
    learner = client.learner("Ana")
    client.post(f"/v1/decisions/{client.next(learner)['id']}/outcome", {"correct": True})
    admin.get(f"/v1/learners/{learner}/export")
    admin.get("/v1/decisions/export")
    nobody.as_(texts["publisher"])("DELETE", "/v1/releases/shadow")
    admin("DELETE", f"/v1/learners/{learner}")
    told = [line.split(" tenant=")[0] for line in lines(caplog)]
    assert told == ["exported", "exported", "released", "erased"]
    assert "Ana" not in caplog.text

    async def events():
        return [one.event async for one in nobody.app.state.service.feed.replay() if one.event.learner]

    roles = [(event.kind, event.content["key"]["role"]) for event in nobody.runner.run(events())]
    by_client = [(kind, "client") for kind in ("learner", "session", "decision", "outcome")]
    assert roles == [*by_client, ("session", "admin"), ("erasure", "admin")]


def test_a_line_can_be_read_by_programs():
    record = logging.LogRecord("mccpo.serve", logging.WARNING, "", 0, "%s", ("größe",), None)
    record.told = {"tenant": "north"}
    told = json.loads(Formatter("json").format(record))
    assert (told["level"], told["message"], told["tenant"]) == ("WARNING", "größe", "north")
    assert told["time"].endswith("Z")
    assert " WARNING mccpo.serve größe" in Formatter("text").format(record)
