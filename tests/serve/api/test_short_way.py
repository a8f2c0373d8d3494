"""The two busiest routes skip the framework: what is plain is answered alike, and the rest goes the long way."""

import pytest

ASKED = "?by=the long way"  # a question that no route asks for: the framework answers


def test_both_ways_answer_alike(api):
    learner = api.learner("Both ways")
    first = api.post(f"/v1/learners/{learner}/next")
    long = api.post(f"/v1/learners/{learner}/next{ASKED}")
    assert first.json() | {"again": True} == long.json()
    assert {**first.headers} == {**long.headers} | {name: first.headers[name] for name in ("x-request-id",)} | {
        "content-length": first.headers["content-length"]
    }
    path = f"/v1/decisions/{first.json()['id']}/outcome"
    outcome = api.post(path, {"correct": True, "seconds": 2})
    assert outcome.status_code == 200
    assert outcome.json() | {"again": True} == api.post(path + ASKED, {"correct": True, "seconds": 2}).json()


def test_plain_requests_never_reach_the_framework(api, monkeypatch):
    learner = api.learner("Plain")

    async def never(*_):
        raise AssertionError("the framework was asked")

    monkeypatch.setattr(api.app.router, "app", never)
    monkeypatch.setattr(api.app.router, "middleware_stack", never)
    decision = api.next(learner)
    keyed = {"headers": {"Idempotency-Key": "once"}}
    answers = [api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": False}, **keyed) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert api.post("/v1/learners/lrn_nobody/next").status_code == 404


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"json": {"correct": 1}}, 422),
        ({"json": {"correct": True, "more": 1}}, 422),
        ({"content": b'{"correct": true, "correct": false}', "headers": {"content-type": "application/json"}}, 422),
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 422),
        ({"content": b'{"correct": true}', "headers": {"content-type": "text/plain"}}, 422),
        ({}, 422),
        ({"json": {"correct": True}, "headers": {"Idempotency-Key": "two words"}}, 422),
    ],
)
def test_what_is_not_plain_is_refused_as_ever(api, options, status):
    decision = api.next(api.learner(f"Refused {options!r}"[:60]))
    answer = api("POST", f"/v1/decisions/{decision['id']}/outcome", **options)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert api.get(f"/v1/decisions/{decision['id']}").json()["outcome"] is None


def test_requests_are_counted_by_the_same_routes(api):
    api.next(api.learner("Counted"))
    assert 'route="/v1/learners/{learner}/next"' in api.get("/metrics").text
