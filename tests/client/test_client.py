"""The client: typed answers, and requests that are sent again with one idempotency key until they are answered."""

import asyncio
import inspect
import json

import httpx
import pytest

from mccpo.client import AsyncClient, Client, RefusedError, Retries, UnansweredError

QUICK = Retries(tries=4, first_seconds=0.0, most_seconds=0.0)
DECISION = {
    "id": "dec_1", "number": 3, "learner": "lrn_1", "session": "ses_1", "at": "…", "concept": "v0", "activity": "a",
    "by": "policy", "reason": None, "propensity": 0.5, "release": "r", "certificate": {}, "of a later version": True,
}  # fmt: skip


class Scripted(httpx.MockTransport):
    """A service that gives these answers one after the other: a response, or an exception."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []
        super().__init__(self._answer)

    def _answer(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def keys(self):
        return [request.headers.get("idempotency-key") for request in self.requests]


def asked(kind, transport, ask):
    """What a client of either kind makes of scripted answers."""
    if kind is Client:
        with Client("http://tutor", "k", retries=QUICK, transport=transport) as client:
            return ask(client)

    async def awaited():
        async with AsyncClient("http://tutor", "k", retries=QUICK, transport=transport) as client:
            return await ask(client)

    return asyncio.run(awaited())


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_request_that_was_lost_is_sent_again_with_the_same_key(kind):
    lost = (httpx.ConnectError("away"), httpx.ReadTimeout("slow"), httpx.Response(503, headers={"retry-after": "0"}))
    transport = Scripted(*lost, httpx.Response(200, json=DECISION))
    decision = asked(kind, transport, lambda client: client.next("lrn_1"))
    assert (decision.concept, decision.propensity) == ("v0", 0.5)
    assert len(transport.keys) == 4
    assert len(set(transport.keys)) == 1
    assert transport.keys[0]
    assert {request.headers["authorization"] for request in transport.requests} == {"Bearer k"}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_two_requests_have_two_keys(kind):
    transport = Scripted(*[httpx.Response(200, json=DECISION)] * 2)
    for _ in range(2):
        asked(kind, transport, lambda client: client.next("lrn_1"))
    assert len(set(transport.keys)) == 2


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_refusal_for_good_is_not_sent_again(kind):
    problem = {"title": "not ready", "detail": "v3 is locked"}
    for status in (401, 404, 409, 422):
        transport = Scripted(httpx.Response(status, json=problem))
        with pytest.raises(RefusedError, match="v3 is locked") as refused:
            asked(kind, transport, lambda client: client.next("lrn_1"))
        assert (refused.value.status, len(transport.requests)) == (status, 1)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_unanswered_request_names_the_key_for_sending_it_again(kind):
    transport = Scripted(*[httpx.Response(503)] * 4)
    with pytest.raises(UnansweredError) as unanswered:
        asked(kind, transport, lambda client: client.outcome("dec_1", correct=True))
    assert unanswered.value.key == transport.keys[0]
    assert len(transport.requests) == 4


def test_a_request_under_way_is_asked_for_again():
    transport = Scripted(httpx.Response(409, headers={"retry-after": "0"}), httpx.Response(200, json=DECISION))
    assert asked(Client, transport, lambda client: client.next("lrn_1")).id == "dec_1"


def test_waits_grow_and_are_bounded():
    waits = list(Retries(tries=8, first_seconds=1.0, most_seconds=4.0).waits())
    assert len(waits) == 7
    assert all(0.5 <= wait <= 4.0 for wait in waits)
    assert max(waits[:1]) <= 1.0 < max(waits[3:]) + 1.0


def test_both_clients_can_do_the_same():
    public = [
        {name: str(inspect.signature(method)) for name, method in vars(kind).items() if not name.startswith("_")}
        for kind in (Client, AsyncClient)
    ]
    assert public[0] == public[1]


def test_many_are_sent_in_shares_and_each_has_its_own_result():
    def result(request):
        learners = json.loads(request.content)["learners"]
        told = [{"id": one["name"], "name": one["name"], "labels": {}, "registered": "…"} for one in learners]
        results = [{"learner": one, "problem": None} for one in told]
        results[0] = {"learner": None, "problem": {"title": "t", "status": 503, "detail": "damaged"}}
        return httpx.Response(200, json={"results": results})

    transport = httpx.MockTransport(result)
    done = asked(Client, transport, lambda client: client.register_many([(str(n), {}) for n in range(501)]))
    assert [one.problem for one in done].count("damaged") == 2
    assert [one.learner.name for one in done if one.learner] == [str(n) for n in range(501) if n not in (0, 500)]
