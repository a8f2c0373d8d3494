"""Idempotency keys on everything that writes, also on what the writer does not carry out as one request."""

import asyncio
import shutil
import sqlite3

import pytest

from mccpo.env import make
from mccpo.serve.policy import load_release
from mccpo.serve.problems import Unavailable
from mccpo.serve.record import verify
from mccpo.serve.service import Service

from ..client import refused, serving, statement  # noqa: TID252 - shared by the folders of these tests

KEY = {"Idempotency-Key": "once"}


@pytest.fixture(scope="module")
def runs(run_of, tmp_path_factory):
    """A folder with two runs of one curriculum."""
    folder = tmp_path_factory.mktemp("runs")
    for name, scale in (("first", 0.3), ("second", 0.4)):
        shutil.copytree(run_of(make("tutor-15", concepts=6, horizon=20), scale=scale), folder / name)
    return folder


@pytest.fixture
def record(tmp_path):
    return tmp_path / "record.db"


@pytest.fixture
def api(runs, record):
    with serving(load_release(runs / "first"), record, runs=runs) as found:
        yield found


def current(api):
    return api.get("/v1/releases").json()["current"]["version"]


def test_a_roll_back_that_is_sent_twice_is_made_once(api, runs, record):
    first = current(api)
    loaded = api.post("/v1/releases", {"run": "second"}, headers={"Idempotency-Key": "load"})
    second = loaded.json()["current"]["version"]
    back = api.post("/v1/releases/roll-back", headers=KEY)
    assert back.json()["current"]["version"] == first
    assert api.post("/v1/releases/roll-back", headers=KEY).json() == back.json()
    assert current(api) == first
    assert api.post("/v1/releases", {"run": "second"}, headers={"Idempotency-Key": "load"}).json() == loaded.json()
    assert current(api) == first  # what was answered then is told, and nothing is loaded
    refused(api.post("/v1/releases", {"run": "second"}, headers=KEY), 422, "another request")
    refused(api("DELETE", "/v1/releases/shadow", headers=KEY), 422, "another request")
    refused(api.post("/v1/releases/roll-back", {"to": second}, headers=KEY), 422, "another request")
    refused(api.post("/v1/learners", {"name": "Ana"}, headers=KEY), 422, "another request")
    with serving(load_release(runs / "first"), record, runs=runs) as later:  # a restart later, too
        assert later.post("/v1/releases/roll-back", headers=KEY).json() == back.json()
        assert current(later) == first


def test_many_roll_backs_at_once_with_one_key_are_one(api):
    first = current(api)
    api.post("/v1/releases", {"run": "second"})
    answers = api.at_once(*[("POST", "/v1/releases/roll-back", {"headers": KEY})] * 4)
    assert [one.json()["current"]["version"] for one in answers] == [first] * 4
    assert current(api) == first


def test_a_load_is_answered_again_whatever_became_of_the_run(api, runs, tmp_path):
    shutil.copytree(runs / "second", runs / "third")
    asked = ("/v1/releases", {"run": "third", "shadow": 0.5})
    loaded = api.post(*asked, headers=KEY)
    assert loaded.json()["share"] == 0.5
    assert api("DELETE", "/v1/releases/shadow", headers={"Idempotency-Key": "end"}).json()["shadow"] is None
    shutil.rmtree(runs / "third")
    assert api.post(*asked, headers=KEY).json() == loaded.json()
    refused(api.post(*asked), 422)
    assert api.get("/v1/releases").json()["shadow"] is None


def test_naming_the_release_makes_a_roll_back_safe_to_repeat(api):
    first = current(api)
    second = api.post("/v1/releases", {"run": "second"}).json()["current"]["version"]
    for _ in range(2):
        assert api.post("/v1/releases/roll-back", {"to": first}).json()["current"]["version"] == first
    refused(api.post("/v1/releases/roll-back", {"to": "0123456789abcdef"}), 422, second)
    refused(api.post("/v1/releases/roll-back", {"from": first}), 422, "Extra inputs")
    assert current(api) == first


def test_stored_statements_must_agree_with_the_events(api, record):
    learner = api.learner("Ana")
    api.next(learner)
    api.post("/v1/xapi/statements", [statement(True, "Ana"), statement(True, "nobody")], headers=KEY)
    api.post("/v1/releases/roll-back", headers={"Idempotency-Key": "refused"})
    assert api.runner.run(verify(api.app.state.service.store)).wrong is None
    with sqlite3.connect(record) as connection:
        changed = "UPDATE reply SET answer = replace(answer, '\"correct\":true', '\"correct\":false')"
        assert connection.execute(changed).rowcount == 1
    connection.close()
    assert "tells its outcome otherwise" in api.runner.run(verify(api.app.state.service.store)).wrong


def outcomes(api):
    return [one["outcome"] for one in api.get("/v1/decisions").json()["decisions"] if one["outcome"] is not None]


def test_statements_under_a_key_are_taken_once(api):
    learner = api.learner("Ana")
    api.next(learner)
    first = api.post("/v1/xapi/statements", [statement(True, "Ana")], headers=KEY)
    assert first.json()["results"][0]["outcome"]["counted"]
    api.next(learner)  # of which a statement that names no decision might be taken to tell
    assert api.post("/v1/xapi/statements", [statement(True, "Ana")], headers=KEY).json() == first.json()
    refused(api.post("/v1/xapi/statements", [statement(True, "Bo")], headers=KEY), 422, "another request")
    refused(api.post("/v1/learners", {"name": "Bo"}, headers=KEY), 422, "another request")
    assert len(outcomes(api)) == 1


def test_failed_statements_are_taken_when_sent_again(api, monkeypatch):
    for name in ("Ana", "Bo"):
        api.next(api.learner(name))
    body = [statement(True, "Ana"), statement(True, "Bo")]
    outcome, times = Service.outcome, 0

    async def fails(self, *asked):
        nonlocal times
        times += 1
        if times == 2:
            raise Unavailable("the disk is full")
        return await outcome(self, *asked)

    with monkeypatch.context() as patch:
        patch.setattr(Service, "outcome", fails)
        results = api.post("/v1/xapi/statements", body, headers=KEY).json()["results"]
    assert results[1]["problem"]["status"] == 503
    api.next(api.learner("Ana"))
    results = api.post("/v1/xapi/statements", body, headers=KEY).json()["results"]
    assert [one["outcome"]["again"] for one in results] == [True, False]
    assert len(outcomes(api)) == 2


def test_statements_under_way_are_a_conflict(api, monkeypatch):
    api.next(api.learner("Ana"))
    outcome = Service.outcome

    async def slowly(self, *asked):
        await asyncio.sleep(0.1)
        return await outcome(self, *asked)

    monkeypatch.setattr(Service, "outcome", slowly)
    send = ("POST", "/v1/xapi/statements", {"json": [statement(True, "Ana")], "headers": KEY})
    first, second = api.at_once(send, send)
    assert first.status_code == 200
    refused(second, 409, "under way")


# ---- bodies that nobody asked for


@pytest.mark.parametrize(
    "body", [b'{"concept": "v5"}', b"[]", b"null", b"1", b"concept=v5", b'{"a": 1, "a": 2}', b'{"x": NaN}', b"\xff"]
)
def test_an_unexpected_body_is_refused_and_nothing_is_done(api, body):
    learner = api.learner()
    session = api.post(f"/v1/learners/{learner}/sessions").json()["id"]
    for method, path in [
        ("POST", f"/v1/learners/{learner}/next"),
        ("POST", f"/v1/learners/{learner}/sessions"),
        ("POST", f"/v1/sessions/{session}/end"),
        ("DELETE", f"/v1/learners/{learner}"),
        ("DELETE", "/v1/releases/shadow"),
    ]:
        refused(api(method, path, content=body), 422, "body")
    state = api.get(f"/v1/learners/{learner}/state").json()
    assert (state["session"], state["decision"]) == (session, None)


def test_a_body_without_fields_counts_as_none(api):
    learner = api.learner()
    first = api.post(f"/v1/learners/{learner}/next", {})
    assert first.status_code == 200
    assert api.next(learner)["id"] == first.json()["id"]


def test_a_too_large_body_is_refused_even_where_no_body_is_expected(api):
    async def chunks():
        for _ in range(400):
            yield b" " * 1024

    learner = api.learner()
    refused(api("POST", f"/v1/learners/{learner}/next", content=chunks()), 413)
    assert api.get(f"/v1/learners/{learner}/state").json()["session"] is None


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_can_be_asked_for_its_head(api, path):
    answer = api("HEAD", path)
    assert answer.status_code == 200
    assert "head" not in api.get("/openapi.json").json()["paths"][path]
