"""xAPI statements through the API: outcomes come in, decisions go out."""

import pytest

from mccpo.serve.record import verify
from mccpo.serve.service import Terms

from ..client import refused, serving, statement  # noqa: TID252 - shared by the folders of these tests

ID = "2b5b1c4e-0000-4000-8000-00000000000a"


def test_a_statement_reports_an_outcome(api):
    learner = api.learner("xapi one")
    decision = api.next(learner)
    answer = api.post("/v1/xapi/statements", statement(True, "xapi one", decision=decision["id"]))
    assert answer.headers["x-experience-api-version"] == "1.0.3"
    (result,) = answer.json()["results"]
    assert (result["outcome"]["decision"], result["outcome"]["seconds"]) == (decision["id"], 12.5)
    assert api.get(f"/v1/decisions/{decision['id']}").json()["outcome"]["correct"] is True


def test_a_statement_without_a_decision_is_about_the_open_one(api):
    learner = api.learner("xapi two")
    nothing = api.post("/v1/xapi/statements", [statement(True, "xapi two")]).json()["results"][0]
    assert nothing["problem"]["status"] == 409
    decision = api.next(learner)
    wrong = api.post("/v1/xapi/statements", [statement(True, "xapi two", concept="v5")]).json()["results"][0]
    assert wrong["problem"]["status"] == 409
    right = api.post("/v1/xapi/statements", [statement(True, "xapi two", concept=decision["concept"])])
    assert right.json()["results"][0]["outcome"]["decision"] == decision["id"]
    stranger = api.post("/v1/xapi/statements", [statement(True, "xapi nobody")]).json()["results"][0]
    assert stranger["problem"]["status"] == 404


def test_a_statement_answers_for_its_actor_and_its_concept_alone(api):
    ana, bob = api.learner("xapi ana"), api.learner("xapi bob")
    decision = api.next(ana)
    api.next(bob)
    wrong = (
        statement(True, "xapi bob", decision=decision["id"]),
        statement(True, "xapi nobody", decision=decision["id"]),
        statement(True, "xapi ana", decision=decision["id"], concept="v99"),
    )
    for one in api.post("/v1/xapi/statements", list(wrong)).json()["results"]:
        assert one["problem"]["status"] == 409
    assert api.get(f"/v1/learners/{ana}/state").json()["decision"] == decision["id"]
    right = statement(True, "xapi ana", ID, decision=decision["id"], concept=decision["concept"])
    (result,) = api.post("/v1/xapi/statements", right).json()["results"]
    assert result["outcome"]["learner"] == ana
    stolen = statement(True, "xapi bob", ID)  # which has told of another's
    assert api.post("/v1/xapi/statements", stolen).json()["results"][0]["problem"]["status"] == 409


@pytest.mark.parametrize("seconds", [12.345, 0.004, 59.999, 12.5, 1e6 / 3])
def test_our_own_statement_sent_back_is_known_again(api, seconds):
    """xAPI compares durations to a hundredth of a second."""
    learner = api.learner(f"xapi {seconds}")
    decision = api.next(learner)["id"]
    first = api.post(f"/v1/decisions/{decision}/outcome", {"correct": True, "seconds": seconds}).json()
    (_, told) = api.get("/v1/xapi/statements", params={"learner": learner}).json()["statements"]
    (result,) = api.post("/v1/xapi/statements", told).json()["results"]
    assert result["outcome"] == first | {"again": True}
    told["result"]["duration"] = f"PT{seconds + 0.02:.2f}S"
    assert api.post("/v1/xapi/statements", told).json()["results"][0]["problem"]["status"] == 409


def test_a_statement_told_twice_counts_once(api):
    learner = api.learner("xapi three")
    told = statement(True, "xapi three", id="2b5b1c4e-0000-4000-8000-000000000001", decision=api.next(learner)["id"])
    first, second = (api.post("/v1/xapi/statements", told).json() for _ in range(2))
    assert second["results"][0]["outcome"] == first["results"][0]["outcome"] | {"again": True}
    after = api.get(f"/v1/learners/{learner}/export").json()["events"]
    assert [event["kind"] for event in after].count("outcome") == 1


def test_a_statement_sent_again_counts_once_also_without_a_decision_and_long_after(release, tmp_path):
    """A day later no answer is kept under an idempotency key any more, and another decision is open."""
    with serving(release, tmp_path / "record.db", Terms(reply_seconds=0.001)) as api:
        learner = api.learner("xapi four")
        first_decision = api.next(learner)["id"]
        told = statement(True, "xapi four", id="2b5b1c4e-0000-4000-8000-000000000002")
        first = api.post("/v1/xapi/statements", told).json()["results"][0]["outcome"]
        assert (first["decision"], first["again"]) == (first_decision, False)
        second_decision = api.next(learner)["id"]
        api.runner.run(api.app.state.service.tidy())
        again = api.post("/v1/xapi/statements", told).json()["results"][0]["outcome"]
        assert again == first | {"again": True}
        assert api.get(f"/v1/learners/{learner}/state").json()["decision"] == second_decision
        # the same id with another result, or for another decision, is no repetition
        for other in (
            statement(False, "xapi four", id=told["id"]),
            statement(True, "xapi four", id=told["id"], decision=second_decision),
        ):
            assert api.post("/v1/xapi/statements", other).json()["results"][0]["problem"]["status"] == 409
        state = api.get(f"/v1/learners/{learner}/state").json()
        assert sum(one["practised"] for one in state["concepts"]) == 2  # decisions taken, of which one was answered
        assert api.get(f"/v1/decisions/{first_decision}").json()["outcome"]["statement"] == told["id"]
        kinds = [event["kind"] for event in api.get(f"/v1/learners/{learner}/export").json()["events"]]
        assert kinds.count("outcome") == 1
        assert api.runner.run(verify(api.app.state.service.store)).wrong is None


def test_one_statement_many_times_at_once_counts_once(api):
    learner = api.learner("xapi at once")
    api.next(learner)
    told = [statement(True, "xapi at once", id="2b5b1c4e-0000-4000-8000-000000000003")] * 5
    results = api.post("/v1/xapi/statements", told).json()["results"]
    assert [one["outcome"]["again"] for one in results] == [False, True, True, True, True]
    call = ("POST", "/v1/xapi/statements", {"json": told[0]})
    assert all(one.json()["results"][0]["outcome"]["again"] for one in api.at_once(*[call] * 5))


def test_statements_that_are_wrong_are_refused_before_any_is_taken(api):
    learner = api.learner("xapi four")
    decision = api.next(learner)["id"]
    good, wrong = statement(True, decision=decision), statement("yes", decision=decision)
    refused(api.post("/v1/xapi/statements", [good, wrong]), 422, "statement 2")
    refused(api.post("/v1/xapi/statements", [good] * 101), 422)
    refused(api.post("/v1/xapi/statements", "statement"), 422)
    assert api.get(f"/v1/learners/{learner}/state").json()["decision"] == decision
    seen = {"actor": {"mbox": "mailto:a@b.c"}, "verb": {"id": "urn:seen"}, "object": {"id": "urn:x"}}
    assert api.post("/v1/xapi/statements", seen).json() == {"results": [], "passed_over": 1}


def test_decisions_go_out_as_statements(api):
    learner = api.learner("xapi five")
    for _ in range(3):
        decision = api.next(learner)["id"]
        api.post(f"/v1/decisions/{decision}/outcome", {"correct": True})
    api.next(learner)
    found, more = [], f"/v1/xapi/statements?learner={learner}&limit=2"
    while more:
        page = api.get(more).json()
        found, more = found + page["statements"], page["more"]
    verbs = [one["verb"]["id"].rsplit("/", 1)[1] for one in found]
    assert verbs == ["launched", "answered"] * 3 + ["launched"]
    assert {one["actor"]["account"]["name"] for one in found} == {"xapi five"}
    api("DELETE", f"/v1/learners/{learner}")
    assert "xapi five" not in api.get("/v1/xapi/statements?limit=1000").text


@pytest.mark.parametrize(
    ("asked", "spoken"), [(None, "1.0.3"), ("1.0", "1.0.3"), ("1.0.2", "1.0.3"), ("2.0.0", "2.0.0")]
)
def test_either_version_of_xapi_is_spoken(api, asked, spoken):
    api.next(api.learner(f"Version {asked}"))
    headers = {} if asked is None else {"X-Experience-API-Version": asked}
    answer = api.get("/v1/xapi/statements", headers=headers)
    assert answer.headers["x-experience-api-version"] == spoken
    assert {one["version"] for one in answer.json()["statements"]} == {spoken}


def test_a_version_of_xapi_that_is_not_spoken_is_refused(api):
    for asked in ("3.0.0", "0.95", "2.0.0; x", "2.01"):
        assert api.get("/v1/xapi/statements", headers={"X-Experience-API-Version": asked}).status_code == 400
