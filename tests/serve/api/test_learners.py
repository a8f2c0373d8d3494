"""Learners through the API: their lessons, lists and exports, and requests that are repeated."""

import json

import pytest

from ..client import refused  # noqa: TID252 - shared by the folders of these tests


def test_a_learner_is_taught_from_first_to_last(api, release):
    answer = api.post("/v1/learners", {"name": "Bo", "labels": {"class": "3b"}})
    assert answer.status_code == 201
    learner = answer.json()["id"]
    assert api.get(f"/v1/learners/{learner}").json()["labels"] == {"class": "3b"}
    state = api.get(f"/v1/learners/{learner}/state").json()
    assert [one["concept"] for one in state["concepts"]] == list(release.concepts)
    locked = {one["concept"]: one["unmet"] for one in state["concepts"] if not one["ready"]}
    assert locked["v3"] == {"v0": 0.2, "v1": 0.2}
    for step in range(60):
        ready = {one["concept"]: one for one in api.get(f"/v1/learners/{learner}/state").json()["concepts"]}
        decision = api.next(learner)
        assert ready[decision["concept"]]["ready"]
        assert decision["certificate"]["t"] == step
        assert api.next(learner) == decision | {"again": True}
        outcome = api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": True, "seconds": 2, "hints": 0})
        assert outcome.status_code == 200
        assert outcome.json()["before"] == ready[decision["concept"]]["mastery"]
    after = api.get(f"/v1/learners/{learner}/state").json()
    assert after["t"] == 60 > after["horizon"]
    assert sum(one["practised"] for one in after["concepts"]) == 60


def test_a_name_that_is_known_is_the_same_learner(api):
    first = api.post("/v1/learners", {"name": "twice", "labels": {"a": "b"}})
    second = api.post("/v1/learners", {"name": "twice"})
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    assert second.json()["labels"] == {}


def test_learners_are_listed_and_found_by_name(keyed):
    api = keyed["south", "admin"]
    made = {api.learner(f"listed {number}") for number in range(5)}
    found, after = [], ""
    while after is not None:
        page = api.get("/v1/learners", params={"after": after, "limit": 2}).json()
        found, after = found + [one["id"] for one in page["learners"]], page["next"]
    assert made <= set(found)
    assert found == sorted(set(found))
    (named,) = api.get("/v1/learners", params={"name": "listed 3"}).json()["learners"]
    assert named["id"] in made
    refused(api.get("/v1/learners", params={"name": "never listed"}), 404)
    refused(keyed["north", "admin"].get("/v1/learners", params={"name": "listed 3"}), 404)


def test_sessions_begin_and_end(api):
    learner = api.learner("sitting")
    begun = api.post(f"/v1/learners/{learner}/sessions")
    assert begun.status_code == 201
    assert api.next(learner)["session"] == begun.json()["id"]
    ended = api.post(f"/v1/sessions/{begun.json()['id']}/end").json()
    assert ended["cause"] == "asked"
    assert api.post(f"/v1/sessions/{begun.json()['id']}/end").json() == {**ended, "number": None, "hash": None}
    assert api.next(learner)["session"] != begun.json()["id"]


def test_a_teacher_may_override_but_not_pass_the_gate(api):
    learner = api.learner("overridden")
    words = {"reason": "she asked for it", "teacher": "Mr Li"}
    decision = api.post(f"/v1/learners/{learner}/overrides", {"concept": "v1", **words}).json()
    assert (decision["concept"], decision["by"], decision["reason"]) == ("v1", "teacher", words["reason"])
    assert api.next(learner)["id"] == decision["id"]
    refused(api.post(f"/v1/learners/{learner}/overrides", {"concept": "v5", **words}), 422, "v2")
    refused(api.post(f"/v1/learners/{learner}/overrides", {"concept": "nothing", **words}), 422)
    refused(api.post(f"/v1/learners/{learner}/overrides", {"concept": "v1", "activity": "nap", **words}), 422)


def test_an_outcome_counts_once(api):
    decision = api.next(api.learner("once"))["id"]
    given = {"correct": True, "hints": 1}
    first = api.post(f"/v1/decisions/{decision}/outcome", given).json()
    again = api.post(f"/v1/decisions/{decision}/outcome", given).json()
    assert first["counted"]
    assert again == first | {"again": True}
    refused(api.post(f"/v1/decisions/{decision}/outcome", {"correct": False}), 409)
    refused(api.post("/v1/decisions/dec_nowhere/outcome", given), 404)


def test_two_who_ask_at_once_get_the_same_decision(api):
    learner = api.learner("hurried")
    answers = api.at_once(*[("POST", f"/v1/learners/{learner}/next", {})] * 8)
    assert [answer.status_code for answer in answers] == [200] * 8
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sorted(answer.json()["again"] for answer in answers) == [False] + [True] * 7


def test_the_same_key_and_body_get_the_stored_answer(api):
    decision = api.next(api.learner("repeated"))["id"]
    send = {"json": {"correct": True}, "headers": {"Idempotency-Key": "k-1"}}
    first, second = (api("POST", f"/v1/decisions/{decision}/outcome", **send) for _ in range(2))
    assert first.content == second.content
    assert not second.json()["again"]  # the stored answer, not a second look
    send["json"] = {"correct": False}
    refused(api("POST", f"/v1/decisions/{decision}/outcome", **send), 422, "idempotency key")


def test_a_key_covers_what_the_path_says(api):
    one, other = api.learner("path one"), api.learner("path other")
    headers = {"Idempotency-Key": "k-2"}
    assert api("POST", f"/v1/learners/{one}/next", headers=headers).status_code == 200
    refused(api("POST", f"/v1/learners/{other}/next", headers=headers), 422)


def test_a_second_request_while_the_first_is_under_way_is_a_conflict(api):
    calls = [("POST", "/v1/learners", {"json": {"name": "at once"}, "headers": {"Idempotency-Key": "k-3"}})] * 2
    statuses = sorted(answer.status_code for answer in api.at_once(*calls))
    assert statuses in ([201, 409], [201, 201])
    assert statuses == [201, 409]


@pytest.mark.parametrize("key", ["", "two words", "x" * 201])
def test_an_invalid_idempotency_key_is_refused(api, key):
    refused(api("POST", "/v1/learners", json={"name": "keyless"}, headers={"Idempotency-Key": key}), 422)


def test_decisions_are_listed_a_page_at_a_time(api):
    learner = api.learner("listed")
    taken = []
    for _ in range(5):
        taken.append(api.next(learner)["id"])
        api.post(f"/v1/decisions/{taken[-1]}/outcome", {"correct": False})
    found, after = [], 0
    while after is not None:
        page = api.get("/v1/decisions", params={"learner": learner, "after": after, "limit": 2}).json()
        assert len(page["decisions"]) <= 2
        found += page["decisions"]
        after = page["next"]
    assert [one["id"] for one in found] == taken
    assert all(one["outcome"]["correct"] is False for one in found)
    assert api.get(f"/v1/decisions/{taken[0]}").json() == found[0]


def test_the_export_has_a_line_for_each_decision_with_its_propensity(api):
    learner = api.learner("exported", pace="slow")
    decision = api.next(learner)
    api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": True})
    answer = api.get("/v1/decisions/export")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    (mine,) = (line for line in lines if line["learner"] == learner)
    assert mine["propensity"] == decision["propensity"]
    assert mine["correct"] is True
    assert mine["group_pace"] == "slow"
    assert len(api.get("/v1/decisions/export", params={"after": decision["number"]}).text.splitlines()) == 0


def test_exports_that_are_read_slowly_keep_nobody_waiting(api):
    learner = api.learner("slowly")
    api.next(learner)

    async def story():
        streams = [api.app.state.service.export("local") for _ in range(10)]
        for stream in streams:
            assert await anext(stream)  # and then nothing more for now
        answer = await api.client.get(f"/v1/learners/{learner}/state", timeout=3)
        for stream in streams:
            await stream.aclose()
        return answer

    assert api.runner.run(story()).status_code == 200


def test_a_learner_can_be_exported_and_erased(api):
    learner = api.learner("to be forgotten", pace="slow")
    api.next(learner)
    kept = api.get(f"/v1/learners/{learner}/export").json()
    assert kept["learner"]["name"] == "to be forgotten"
    assert {event["kind"] for event in kept["events"]} == {"learner", "session", "decision"}
    assert api("DELETE", f"/v1/learners/{learner}").json()["learner"] == learner
    for path in ("", "/state", "/export"):
        refused(api.get(f"/v1/learners/{learner}{path}"), 410)
    refused(api.post(f"/v1/learners/{learner}/next"), 410)
    assert "to be forgotten" not in api.get("/v1/decisions/export").text
    assert api.learner("to be forgotten") != learner


def test_names_in_other_code_points_or_with_spaces_around_them_are_the_same(api):
    composed, decomposed = "Zo\u00eb", "Zoe\u0308"
    first = api.post("/v1/learners", {"name": f" {decomposed} "})
    assert (first.status_code, first.json()["name"]) == (201, composed)
    again = [api.post("/v1/learners", {"name": name}) for name in (composed, decomposed, f"{composed}\u00a0")]
    assert {(answer.status_code, answer.json()["id"]) for answer in again} == {(200, first.json()["id"])}
    assert api.get("/v1/learners", params={"name": decomposed}).json()["learners"][0]["id"] == first.json()["id"]
    at_once = api.at_once(
        *[("POST", "/v1/learners", {"json": {"name": f"{name} B"}}) for name in (composed, decomposed)]
    )
    assert len({answer.json()["id"] for answer in at_once}) == 1


def test_a_draw_that_a_new_session_repeats_is_marked(api):
    learner = api.learner("Redraw")
    redraws = []
    for _ in range(3):
        api.post(f"/v1/learners/{learner}/sessions")
        decision = api.next(learner)
        redraws.append(decision["redraw"])
    assert redraws == [0, 1, 2]
    api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": True})
    assert api.next(learner)["redraw"] == 0
    rows = [json.loads(line) for line in api.get("/v1/decisions/export").text.splitlines()]
    assert [row["redraw"] for row in rows if row["learner"] == learner] == [0, 1, 2, 0]
