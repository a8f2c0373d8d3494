"""The API as its callers meet it: what it answers, what it refuses and how, and who sees what."""

import asyncio
import csv
import io
import json
import sqlite3
from contextlib import asynccontextmanager, contextmanager

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from mccpo.env import make
from mccpo.serve.api.app import create_app
from mccpo.serve.access.keys import KeyFile
from mccpo.serve.api.settings import Settings
from mccpo.serve.policy.release import load_release
from mccpo.serve.policy.releases import Releases
from mccpo.serve.record.store import Store
from mccpo.serve.record.verify import verify
from mccpo.serve.problems import Unavailable
from mccpo.serve.service.service import Service
from mccpo.serve.service.unit_of_work import Terms

PROBLEM = "application/problem+json"


class Api:
    """A client of an application in this very process, whose calls wait for their answers."""

    def __init__(self, runner, app, **options):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=options.pop("client", ("127.0.0.1", 9)))
        self.runner, self.app = runner, app
        self.client = httpx.AsyncClient(transport=transport, base_url="http://localhost", **options)

    def __call__(self, method, path, **options):
        return self.runner.run(self.client.request(method, path, **options))

    def get(self, path, **options):
        return self("GET", path, **options)

    def post(self, path, body=None, **options):
        return self("POST", path, **({} if body is None else {"json": body}), **options)

    def at_once(self, *calls):
        """The answers to several calls that are under way at the same time."""

        async def all_of_them():
            return await asyncio.gather(*(self.client.request(*call[:2], **call[2]) for call in calls))

        return self.runner.run(all_of_them())

    def learner(self, name="Ana", **labels):
        return self.post("/v1/learners", {"name": name, "labels": labels}).json()["id"]

    def next(self, learner):
        answer = self.post(f"/v1/learners/{learner}/next")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def as_(self, key, **options):
        """The same application with a key."""
        return Api(self.runner, self.app, headers={"Authorization": f"Bearer {key}"}, **options)


@contextmanager
def serving(release, database, terms=None, **settings):
    """An application over a database, and a client of it."""
    with asyncio.Runner() as runner:
        service = runner.run(_made(Store(str(database)), Releases(release), terms))
        app = create_app(service, Settings(**settings))
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        try:
            yield Api(runner, app)
        finally:
            runner.run(lifespan.__aexit__(None, None, None))
            runner.run(service.__aexit__(None, None, None))


async def _made(store, releases, terms):
    return await Service(store, releases, terms).__aenter__()


@pytest.fixture(scope="module")
def runs(run_of):
    """A folder that holds three runs: one to serve, one like it, and one with another curriculum."""
    made = {
        name: run_of(make("tutor-15", concepts=concepts, horizon=20), scale=scale)
        for name, concepts, scale in (("first", 6, 0.3), ("second", 6, 0.4), ("stranger", 5, 0.3))
    }
    folder = made["first"].parent
    return folder, {name: path.name for name, path in made.items()}


@pytest.fixture(scope="module")
def release(runs):
    folder, names = runs
    return load_release(folder / names["first"])


@pytest.fixture(scope="module")
def api(release, runs, tmp_path_factory):
    """A service without keys, which tests share; each has learners of its own."""
    with serving(release, tmp_path_factory.mktemp("record") / "record.db", runs=runs[0]) as found:
        yield found


@pytest.fixture(scope="module")
def keyed(release, tmp_path_factory):
    """A service with a key for each role of two tenants: {(tenant, role): client}."""
    folder = tmp_path_factory.mktemp("keyed")
    keys = KeyFile(folder / "keys.json")
    pairs = [(tenant, role) for tenant in ("north", "south") for role in ("client", "teacher", "auditor", "admin")]
    texts = {pair: keys.create(*pair)[1] for pair in pairs}
    with serving(release, folder / "record.db", keys=keys) as found:
        yield {pair: found.as_(text) for pair, text in texts.items()} | {"nobody": found, "texts": texts, "keys": keys}


def refused(answer, status, *words):
    """What a refusal says, which has the form that all refusals have."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    told = answer.json()
    assert told["status"] == status
    assert told["title"]
    assert told["type"] == "about:blank"
    for word in words:
        assert word in answer.text
    return told


# ---- a learner's way


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
    assert api.post(f"/v1/sessions/{begun.json()['id']}/end").json() == ended
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


# ---- idempotency


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
def test_a_key_that_is_none_is_refused(api, key):
    refused(api("POST", "/v1/learners", json={"name": "keyless"}, headers={"Idempotency-Key": key}), 422)


# ---- strict JSON


@pytest.mark.parametrize(
    "body",
    [
        '{"correct": NaN}',
        '{"correct": true, "seconds": NaN}',
        '{"correct": true, "seconds": Infinity}',
        '{"correct": true, "seconds": 1e999}',
        '{"correct": true, "seconds": true}',
        '{"correct": true, "seconds": "3"}',
        '{"correct": true, "seconds": -1}',
        '{"correct": true, "hints": true}',
        '{"correct": true, "hints": 1.5}',
        '{"correct": true, "hints": 99999999999999999999999}',
        '{"correct": 1}',
        '{"correct": "true"}',
        '{"correct": null}',
        '{"correct": true, "correct": false}',
        '{"correct": true, "mood": "good"}',
        "{}",
        "[]",
        "null",
        "",
        "{",
        "[" * 100_000,
        '{"correct": true, "hints": ' + "9" * 5000 + "}",
        b'{"correct": true, "note": "\xff"}',
    ],
)
def test_what_is_not_of_the_form_is_a_problem_and_changes_nothing(api, body):
    learner = api.learner("strict")
    decision = api.next(learner)["id"]
    headers = {"content-type": "application/json"}
    told = refused(api("POST", f"/v1/decisions/{decision}/outcome", content=body, headers=headers), 422)
    assert told["errors"]
    assert api.get(f"/v1/learners/{learner}/state").json()["decision"] == decision


@pytest.mark.parametrize(
    "body",
    [
        {"name": ""},
        {"name": "x" * 201},
        {"name": "a\u0000b"},
        {"name": "line\nbreak"},
        {"name": 7},
        {"name": None},
        {"name": "x", "labels": {"a": 1}},
        {"name": "x", "labels": {"": "b"}},
        {"name": "x", "labels": {"a": "b" * 65}},
        {"name": "x", "labels": {str(number): "b" for number in range(17)}},
        {"name": "x", "labels": [["a", "b"]]},
        {"name": "x", "id": "lrn_1"},
    ],
)
def test_a_name_is_a_bounded_line_of_text(api, body):
    refused(api.post("/v1/learners", body), 422)


@pytest.mark.parametrize("text", [r"\ud800", r"\u0000", r"\udc00\ud800"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/learners", '{"name": "%s"}'),
        ("/v1/xapi/statements", '{"actor": {"account": {"name": "%s"}}, "result": {"success": true}}'),
    ],
)
def test_half_a_character_and_none_are_refused(api, text, path, body):
    refused(api("POST", path, content=body % text, headers={"content-type": "application/json"}), 422, "not JSON")


def test_characters_may_be_written_in_figures(api):
    headers = {"content-type": "application/json"}
    answer = api("POST", "/v1/learners", content=r'{"name": "\u00e9\ud83e\udd89 \\u0000"}', headers=headers)
    assert answer.json()["name"] == "é🦉 \\u0000"


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE learner; --", "<script>alert(1)</script>", "Zoë 🦉 雪", "%s%n", "../.."]
)
def test_a_name_is_only_ever_a_name(api, name):
    learner = api.learner(name)
    assert api.get(f"/v1/learners/{learner}").json()["name"] == name
    assert api.learner("after it")


def test_a_form_of_a_page_is_not_json(api):
    refused(api("POST", "/v1/learners", content='{"name": "x"}', headers={"content-type": "text/plain"}), 422)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "after=-1", "after=9" * 3, "colour=red", "learner=a'b", "learner="]
)
def test_a_question_that_is_wrong_is_refused(api, query):
    refused(api.get(f"/v1/decisions?{query}"), 422)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("GET", "/nowhere", 404),
        ("PUT", "/v1/learners", 405),
        ("GET", "/v1/learners/lrn_none", 404),
        ("GET", "/v1/learners/lrn_none/state", 404),
        ("POST", "/v1/learners/lrn_none/next", 404),
        ("POST", "/v1/learners/lrn_none/sessions", 404),
        ("POST", "/v1/sessions/ses_none/end", 404),
        ("GET", "/v1/decisions/dec_none", 404),
        ("DELETE", "/v1/learners/lrn_none", 404),
        ("GET", "/v1/learners/a%00b", 422),
        ("GET", "/v1/learners/" + "x" * 65, 422),
    ],
)
def test_what_is_not_there_is_a_problem_too(api, method, path, status):
    refused(api(method, path), status)


# ---- lists and exports


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


# ---- operation


def test_health_readiness_and_the_document_need_no_key(keyed):
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert keyed["nobody"].get(path).status_code == 200


def test_a_service_that_cannot_write_is_not_ready(api, monkeypatch):
    async def gone():
        raise Unavailable("the database failed: disk full", retry_after=1)

    monkeypatch.setattr(api.app.state.service, "ready", gone)
    assert refused(api.get("/readyz"), 503, "disk full")
    assert api.get("/readyz").headers["retry-after"] == "1"
    assert api.get("/healthz").status_code == 200


def test_a_database_that_fails_is_a_503_and_nothing_is_done(api, monkeypatch):
    learner = api.learner("in trouble")
    with monkeypatch.context() as patch:
        patch.setattr(api.app.state.service.store, "writing", _full_disk)
        answer = api.post(f"/v1/learners/{learner}/next")
        refused(answer, 503)
        assert int(answer.headers["retry-after"]) >= 1
        refused(api.get("/readyz"), 503, "database or disk is full")
    assert api.get(f"/v1/learners/{learner}/state").json()["decision"] is None
    assert not api.next(learner)["again"]


@asynccontextmanager
async def _full_disk():
    raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))
    yield


def test_a_fault_of_ours_is_told_without_its_details(api, monkeypatch, caplog):
    async def broken():
        raise ZeroDivisionError("secret of the house")

    monkeypatch.setattr(api.app.state.service, "ready", broken)
    assert "secret" not in refused(api.get("/readyz"), 500)["detail"]
    assert "GET /readyz failed" in caplog.text


def test_metrics_count_by_route_and_never_by_id(api):
    learner = api.learner("Wilhelmina")
    api.next(learner)
    text = api.get("/metrics").text
    assert 'mccpo_requests_total{method="POST",route="/v1/learners/{learner}/next",status="200"}' in text
    assert 'mccpo_decisions_total{by="policy",tenant="local"}' in text
    assert 'mccpo_budget{cost="c4",tenant="local"} 1.8' in text
    assert "lrn_" not in text
    assert "Wilhelmina" not in text


def test_the_monitor_sees_what_happened_and_again_after_a_restart(release, tmp_path):
    with serving(release, tmp_path / "record.db") as api:
        for number in range(12):
            learner = api.learner(f"l{number}", pace=("slow", "quick")[number % 2])
            for _ in range(6):
                decision = api.next(learner)
                api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": number % 2 == 1})
        api.post(f"/v1/learners/{learner}/overrides", {"concept": "v0", "reason": "why not", "teacher": "Mr Li"})
        api("DELETE", f"/v1/learners/{learner}")
        api.runner.run(api.app.state.watch.caught_up())
        seen = api.get("/v1/monitor").json()
        metrics = api.get("/metrics").text
    assert 'mccpo_group_alarm{label="pace",measure="mastery_gain",tenant="local"} 1.0' in metrics
    assert seen["complete"]
    assert seen["decisions"] == {"total": 73, "policy": 72, "teacher": 1}
    assert seen["equity"]["pace"]["groups"]["slow"]["learners"] == 6
    assert seen["equity"]["pace"]["groups"]["quick"]["learners"] == 5  # one is erased
    assert seen["equity"]["pace"]["gaps"]["mastery_gain"]["verdict"] == "alarm"
    with serving(release, tmp_path / "record.db") as api:
        api.runner.run(api.app.state.watch.caught_up())
        assert api.get("/v1/monitor").json() == seen


def test_what_happens_while_the_monitor_catches_up_is_counted_once(release, tmp_path):
    with serving(release, tmp_path / "record.db") as api:
        learners = [api.learner(f"l{number}") for number in range(5)]
        for learner in learners:
            api.next(learner)
    with serving(release, tmp_path / "record.db") as api:  # whose first requests race with the catching up
        api.at_once(*(("POST", f"/v1/learners/{learner}/sessions", {}) for learner in learners))
        api.at_once(*(("POST", f"/v1/learners/{learner}/next", {}) for learner in learners))
        api.runner.run(api.app.state.watch.caught_up())
        assert api.get("/v1/monitor").json()["decisions"] == {"total": 10, "policy": 10}


# ---- releases


def test_a_release_takes_over_looks_on_and_goes_back(api, runs):
    _, names = runs
    before = api.get("/v1/releases").json()
    shadowed = api.post("/v1/releases", {"run": names["second"], "shadow": 1.0}).json()
    assert shadowed["current"] == before["current"]
    assert shadowed["share"] == 1.0
    api.next(api.learner("watched"))
    assert api("DELETE", "/v1/releases/shadow").json()["shadow"] is None
    loaded = api.post("/v1/releases", {"run": names["second"]}).json()
    assert loaded["current"] == shadowed["shadow"]
    assert api.next(api.learner("under the second"))["release"] == loaded["current"]["version"]
    assert api.get("/v1/curriculum").json()["release"] == loaded["current"]["version"]
    back = api.post("/v1/releases/roll-back").json()
    assert back["current"] == before["current"]
    assert back["previous"] == loaded["current"]


def test_what_a_shadow_would_have_done_can_be_read(release, runs, tmp_path):
    folder, names = runs
    with serving(release, tmp_path / "record.db", runs=folder) as api:
        shadow = api.post("/v1/releases", {"run": names["second"], "shadow": 1.0}).json()["shadow"]["version"]
        for _ in range(12):
            served = api.next(api.learner())
            assert served["shadow"] is None  # it is for those who look back, not for those who teach
            api.post(f"/v1/decisions/{served['id']}/outcome", {"correct": True})
        listed = api.get("/v1/decisions").json()["decisions"]
        assert {one["shadow"]["release"] for one in listed} == {shadow}
        for one in listed:
            same = (one["shadow"]["concept"], one["shadow"]["activity"]) == (one["concept"], one["activity"])
            assert one["shadow"]["agrees"] is same
        assert api.get(f"/v1/decisions/{listed[0]['id']}").json()["shadow"] == listed[0]["shadow"]
        lines = [json.loads(line) for line in api.get("/v1/decisions/export").text.splitlines()]
        assert [line["shadow"] for line in lines] == [one["shadow"] for one in listed]
        table = list(csv.DictReader(io.StringIO(api.get("/v1/decisions/export?format=csv").text)))
        assert [json.loads(row["shadow"]) for row in table] == [line["shadow"] for line in lines]
        agreed = sum(one["shadow"]["agrees"] for one in listed)
        seen = api.get("/v1/monitor").json()["shadows"]
        assert (seen[shadow]["agrees"]["count"], seen[shadow]["agrees"]["of"]) == (agreed, 12)
        assert seen[shadow]["failed"]["count"] == 0
        told = f'mccpo_shadow_agreement_rate{{release="{shadow}",tenant="local"}} {agreed / 12}'
        assert told in api.get("/metrics").text
    with serving(release, tmp_path / "record.db", runs=folder) as api:
        api.runner.run(api.app.state.watch.caught_up())
        assert api.get("/v1/monitor").json()["shadows"] == seen


def test_what_is_live_survives_a_restart(release, runs, tmp_path):
    folder, names = runs
    with serving(release, tmp_path / "record.db", runs=folder) as api:
        api.post("/v1/releases", {"run": names["second"]})
        live = api.post("/v1/releases", {"run": names["second"], "seed": 1, "shadow": 0.5}).json()
        assert (live["previous"]["version"], live["share"]) == (release.version, 0.5)
    with serving(release, tmp_path / "record.db", runs=folder) as api:
        assert api.get("/v1/releases").json() == live
        assert api.next(api.learner())["release"] == live["current"]["version"]
        assert api.get("/v1/monitor").status_code == 200
        assert api.post("/v1/releases/roll-back").json()["current"]["version"] == release.version


@pytest.mark.parametrize("run", ["nowhere", "stranger"])
def test_a_release_that_cannot_be_served_changes_nothing(api, runs, run):
    before = api.get("/v1/releases").json()
    refused(api.post("/v1/releases", {"run": runs[1].get(run, run)}), 422)
    assert api.get("/v1/releases").json() == before


@pytest.mark.parametrize("run", ["../first", "/etc", "a/b", "..", ".", ""])
def test_a_release_comes_from_the_folder_of_runs(api, run):
    refused(api.post("/v1/releases", {"run": run}), 422, "run")


# ---- xAPI


ID = "2b5b1c4e-0000-4000-8000-00000000000a"


def statement(success, name="Ana", id=None, **extensions):
    """A statement of a platform about an answer."""
    context = {"extensions": {f"urn:mccpo:{key}": value for key, value in extensions.items()}}
    return {
        **({} if id is None else {"id": id}),
        "actor": {"account": {"homePage": "https://school.example", "name": name}},
        "verb": {"id": "http://adlnet.gov/expapi/verbs/answered"},
        "object": {"id": "https://school.example/items/1"},
        "result": {"success": success, "duration": "PT12.5S"},
        "context": context,
    }


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


# ---- keys, tenants, limits


def test_without_a_key_or_with_a_wrong_one_nothing_is_told(keyed):
    for api in (keyed["nobody"], keyed["nobody"].as_("mccpo_000000000000_" + "x" * 43)):
        for path in ("/v1/decisions", "/v1/nothing", "/metrics", "/v1/learners/lrn_1"):
            answer = api.get(path)
            refused(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"


ASKED = {
    "teach": [("POST", "/v1/learners"), ("POST", "/v1/learners/x/next"), ("POST", "/v1/decisions/x/outcome")],
    "look": [("GET", "/v1/learners/x/state"), ("GET", "/v1/curriculum")],
    "override": [("POST", "/v1/learners/x/overrides")],
    "audit": [("GET", "/v1/decisions"), ("GET", "/v1/decisions/export"), ("GET", "/v1/monitor")],
    "erase": [("DELETE", "/v1/learners/x"), ("GET", "/v1/learners/x/export")],
    "manage": [("GET", "/metrics"), ("GET", "/v1/releases"), ("POST", "/v1/releases/roll-back")],
}
ALLOWED = {
    "client": {"teach", "look"},
    "teacher": {"look", "override", "audit"},
    "auditor": {"look", "audit"},
    "admin": set(ASKED),
}


@pytest.mark.parametrize("role", list(ALLOWED))
def test_a_role_may_do_what_is_written_and_no_more(keyed, role):
    bodies = {
        "/v1/learners": {"name": "for roles"},
        "/v1/decisions/x/outcome": {"correct": True},
        "/v1/learners/x/overrides": {"concept": "v0", "reason": "r", "teacher": "t"},
    }
    for right, calls in ASKED.items():
        for method, path in calls:
            options = {"json": bodies[path]} if path in bodies else {}
            status = keyed["north", role](method, path, **options).status_code
            assert (status == 403) == (right not in ALLOWED[role]), (role, method, path, status)


def test_another_tenant_finds_nothing(keyed):
    mine, other = keyed["north", "admin"], keyed["south", "admin"]
    other.runner.run(other.app.state.watch.caught_up())
    seen = other.get("/v1/monitor").json()
    learner = mine.learner("only ours", pace="slow")
    session = mine.post(f"/v1/learners/{learner}/sessions").json()["id"]
    decision = mine.next(learner)["id"]
    override = {"concept": "v0", "reason": "r", "teacher": "t"}
    for method, path, body in [
        ("GET", f"/v1/learners/{learner}", None),
        ("GET", f"/v1/learners/{learner}/state", None),
        ("GET", f"/v1/learners/{learner}/export", None),
        ("POST", f"/v1/learners/{learner}/next", None),
        ("POST", f"/v1/learners/{learner}/sessions", None),
        ("POST", f"/v1/learners/{learner}/overrides", override),
        ("DELETE", f"/v1/learners/{learner}", None),
        ("POST", f"/v1/sessions/{session}/end", None),
        ("GET", f"/v1/decisions/{decision}", None),
        ("POST", f"/v1/decisions/{decision}/outcome", {"correct": True}),
        ("GET", f"/v1/decisions?learner={learner}", None),
        ("GET", f"/v1/xapi/statements?learner={learner}", None),
    ]:
        told = refused(other(method, path, **({"json": body} if body else {})), 404)
        unknown = path.replace(learner, "lrn_x").replace(session, "ses_x").replace(decision, "dec_x")
        nothing = refused(other(method, unknown, **({"json": body} if body else {})), 404)
        assert told["title"] == nothing["title"]  # what is another's and what is not there cannot be told apart
    assert learner not in other.get("/v1/decisions/export").text
    assert other.get("/v1/monitor").json() == seen
    assert other.learner("only ours") != learner  # the same name is another learner there
    assert mine.get(f"/v1/learners/{learner}/state").json()["decision"] == decision


def test_idempotency_keys_are_a_tenants_own(keyed):
    send = {"json": {"name": "same key"}, "headers": {"Idempotency-Key": "shared"}}
    one, other = (keyed[tenant, "client"]("POST", "/v1/learners", **send) for tenant in ("north", "south"))
    assert one.status_code == other.status_code == 201
    assert one.json()["id"] != other.json()["id"]


def test_a_revoked_key_stops_at_once(keyed):
    key, text = keyed["keys"].create("north", "auditor")
    api = keyed["nobody"].as_(text)
    assert api.get("/v1/decisions").status_code == 200
    keyed["keys"].revoke(key.id)
    refused(api.get("/v1/decisions"), 401)


def test_the_record_says_by_which_key_things_were_done(keyed):
    client, teacher, admin = (keyed["north", role] for role in ("client", "teacher", "admin"))
    id = {role: keyed["texts"]["north", role].split("_")[1] for role in ("client", "teacher", "admin")}
    learner = client.learner("by which key")
    decision = client.next(learner)
    client.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": True})
    words = {"concept": decision["concept"], "reason": "practice", "teacher": "Ms B"}
    teacher.post(f"/v1/learners/{learner}/overrides", words)
    (told, by_teacher) = teacher.get("/v1/decisions", params={"learner": learner}).json()["decisions"]
    assert told["outcome"]["key"] == {"id": id["client"], "role": "client", "label": ""}
    assert by_teacher["key"] == {"id": id["teacher"], "role": "teacher", "label": ""}
    assert client.post("/v1/xapi/statements", statement(True, "by which key", decision=by_teacher["id"])).json()
    outcome = teacher.get(f"/v1/decisions/{by_teacher['id']}").json()["outcome"]
    assert (outcome["key"]["role"], outcome["correct"]) == ("client", True)
    admin("DELETE", f"/v1/learners/{learner}")

    async def events():
        return [one.event async for one in admin.app.state.service.happened() if one.event.learner == learner]

    erasure = admin.runner.run(events())[-1]
    assert erasure.content == {"cause": "asked", "key": {"id": id["admin"], "role": "admin", "label": ""}}


def test_a_request_sent_again_by_another_key_is_the_same_request(keyed):
    client, admin = keyed["north", "client"], keyed["north", "admin"]
    decision = client.next(client.learner("another key"))["id"]
    once = {"Idempotency-Key": "by two keys"}
    first, second = (
        api.post(f"/v1/decisions/{decision}/outcome", {"correct": True}, headers=once) for api in (client, admin)
    )
    assert first.json() == second.json()


def test_a_file_of_keys_that_is_damaged_is_a_503_until_it_is_mended(release, tmp_path):
    keys = KeyFile(tmp_path / "keys.json")
    _, text = keys.create("north", "admin")
    whole = keys.path.read_text()
    with serving(release, tmp_path / "record.db", keys=keys) as nobody:
        api = nobody.as_(text)
        keys.path.write_text("{")
        for path in ("/v1/decisions", "/pages/learners"):
            refused(api.get(path), 503, "keys")
        keys.path.write_text(whole)
        assert api.get("/v1/decisions").status_code == 200


UNSEEN = (" ", "\u3000", "\u200b", "\u200d", "\u202egro", "a\u0085b", "a\u2028b", "\ufeffAna", "\u2800", "Ana\u2066")


@pytest.mark.parametrize("name", UNSEEN)
def test_a_name_or_a_label_that_cannot_be_seen_is_refused(api, name):
    for body in ({"name": name}, {"name": "Ana", "labels": {name: "x"}}, {"name": "Ana", "labels": {"x": name}}):
        refused(api.post("/v1/learners", body), 422, "pattern")


@pytest.mark.parametrize("name", ["Ana Lúcia", "علی\u200cرضا", "👩\u200d🏫", "李 雷", "O'Neil-3", " padded "])
def test_a_name_in_any_script_is_taken(api, name):
    assert api.post("/v1/learners", {"name": name}).json()["name"] == name


def test_keys_are_in_no_log_and_no_answer(keyed, caplog):
    caplog.set_level("DEBUG")
    secret = keyed["texts"]["north", "admin"].split("_", 2)[2]
    api = keyed["north", "admin"]
    answers = [api.get("/v1/decisions"), api.get("/metrics"), api.get("/v1/nothing"), api.post("/v1/learners", {})]
    assert all(secret not in answer.text for answer in answers)
    assert secret not in caplog.text


@pytest.mark.parametrize(
    ("client", "headers"),
    [
        (("10.0.0.7", 5), {}),
        (("127.0.0.1", 5), {"Host": "evil.example"}),
        (("127.0.0.1", 5), {"Host": "localhost.evil.example:8000"}),
        (("127.0.0.1", 5), {"Host": ""}),
        (("127.0.0.1", 5), {"X-Forwarded-For": "10.0.0.7"}),
        (("127.0.0.1", 5), {"Forwarded": "for=10.0.0.7"}),
        (("127.0.0.1", 5), {"X-Forwarded-Host": "school.example"}),
        (("127.0.0.1", 5), {"X-Forwarded-Proto": "https"}),
        (("127.0.0.1", 5), {"X-Real-IP": "10.0.0.7"}),
        (("127.0.0.1", 5), {"Via": "1.1 proxy"}),
    ],
)
def test_without_keys_only_this_machine_is_answered(api, client, headers):
    refused(Api(api.runner, api.app, client=client, headers=headers).get("/v1/decisions"), 403, "loopback")


FOREIGN = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},  # another port of this machine
    {"Origin": "https://evil.example"},
    {"Origin": "http://localhost:3000"},
    {"Origin": "null"},  # what a browser sends for a page that hides where it is from
)


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("path", ["/v1/releases/roll-back", "/v1/learners", "/pages/sign-in"])
def test_without_keys_no_page_of_another_site_changes_anything(api, path, headers):
    plain = {"content-type": "text/plain"}  # what a form may send without asking
    refused(api.post(path, headers=headers | plain), 403, "another site")


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://localhost"}])
def test_programs_and_our_own_pages_are_no_other_site(api, headers):
    assert api.post("/v1/learners", {"name": "from here"}, headers=headers).status_code in (200, 201)


def test_a_link_from_another_site_may_be_followed(api):
    assert api.get("/v1/curriculum", headers=FOREIGN[0]).status_code == 200


def test_with_keys_it_is_the_key_that_counts(keyed):
    answer = keyed["north", "client"].post("/v1/learners", {"name": "from afar"}, headers=FOREIGN[0])
    assert answer.status_code == 201


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "localhost:8000", "127.0.0.1:8000", "127.0.0.2", "[::1]:8000", "[::1]"]
)
def test_this_machine_has_several_names(api, host):
    local = Api(api.runner, api.app, client=("::1", 5) if "[" in host else ("127.0.0.1", 5), headers={"Host": host})
    assert local.get("/v1/decisions").status_code == 200


def test_too_many_requests_are_told_when_to_come_back(release, tmp_path):
    with serving(release, tmp_path / "record.db", rate=0.5, burst=3) as api:
        answers = [api.get("/v1/curriculum") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        refused(answers[-1], 429)
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 2
        assert api.get("/healthz").status_code == 200


def test_a_body_that_is_too_large_is_not_read(release, tmp_path):
    async def endless():
        while True:
            yield b" " * 1000

    with serving(release, tmp_path / "record.db", most_bytes=5000) as api:
        headers = {"content-type": "application/json"}
        refused(api("POST", "/v1/learners", content=b" " * 5001, headers=headers), 413)
        refused(api("POST", "/v1/learners", content=endless(), headers=headers), 413)
        assert api.learner("within the limit")


def test_an_outcome_that_is_late_is_kept_and_does_not_count(release, tmp_path):
    with serving(release, tmp_path / "record.db", Terms(late_seconds=-1)) as api:
        learner = api.learner("late")
        decision = api.next(learner)
        outcome = api.post(f"/v1/decisions/{decision['id']}/outcome", {"correct": True}).json()
        assert (outcome["late"], outcome["counted"]) == (True, False)
        assert outcome["before"] == outcome["after"]
        assert api.get("/v1/monitor").json()["decoupling"]["of"] == 0
