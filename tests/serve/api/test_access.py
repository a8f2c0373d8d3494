"""Who may do what through the API: keys, roles, tenants, origins and limits."""

import pytest

from mccpo.serve.access import KeyFile
from mccpo.serve.service import Terms

from ..client import Api, refused, serving, statement  # noqa: TID252 - shared by the folders of these tests


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
    "privacy": [("DELETE", "/v1/learners/x"), ("GET", "/v1/learners/x/export")],
    "keys": [("GET", "/v1/keys"), ("DELETE", "/v1/keys/x")],
    "operate": [("GET", "/metrics")],
    "release": [("GET", "/v1/releases"), ("POST", "/v1/releases/roll-back"), ("DELETE", "/v1/releases/shadow")],
}
ALLOWED = {
    "client": {"teach", "look"},
    "teacher": {"look", "override", "audit"},
    "auditor": {"look", "audit"},
    "privacy": {"look", "privacy"},
    "admin": set(ASKED) - {"operate", "release"},
    "operator": {"operate"},
    "publisher": {"release"},
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
        return [one.event async for one in admin.app.state.service.feed.replay() if one.event.learner == learner]

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


def test_a_damaged_key_file_answers_503_until_it_is_mended(release, tmp_path):
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


UNSEEN = (
    *(" ", "\u3000", "\u200b", "\u200d", "\u202egro", "a\u0085b", "a\u2028b", "\ufeffAna", "\u2800", "Ana\u2066"),
    *(
        "A\u034fna",
        "\u034f",
        "\ufe0f",
        "\U000e0100",
        "\u180b",
        "A\u17b4na",
        "Ana\U000e0041",
        "A\U0001d173na",
        "A\uffff",
    ),
)


@pytest.mark.parametrize("name", UNSEEN)
def test_a_name_or_a_label_that_cannot_be_seen_is_refused(api, name):
    for body in ({"name": name}, {"name": "Ana", "labels": {name: "x"}}, {"name": "Ana", "labels": {"x": name}}):
        refused(api.post("/v1/learners", body), 422, "pattern")


@pytest.mark.parametrize(
    "name", ["Ana Lúcia", "علی\u200cرضا", "👩\u200d🏫", "❤\ufe0f", "葛\U000e0100城", "李 雷", "O'Neil-3"]
)
def test_a_name_in_any_script_is_taken(api, name):
    assert api.post("/v1/learners", {"name": name}).json()["name"] == name


@pytest.mark.parametrize("path", ["/v1/learners/", "/v1/curriculum/", "/healthz/", "/pages/learners/"])
def test_no_answer_leads_to_the_host_that_a_request_names(keyed, path):
    """A redirection to it would take the key along, and behind a proxy over plain HTTP."""
    answer = keyed["north", "admin"].get(path, headers={"Host": "evil.example"})
    assert answer.status_code == 404
    assert "location" not in answer.headers


def test_keys_are_in_no_log_and_no_answer(keyed, caplog):
    caplog.set_level("DEBUG")
    secret = keyed["texts"]["north", "admin"].split("_", 2)[2]
    api = keyed["north", "admin"]
    answers = [api.get("/v1/decisions"), api.get("/v1/monitor"), api.get("/v1/nothing"), api.post("/v1/learners", {})]
    assert all(secret not in answer.text for answer in answers)
    assert secret not in caplog.text


ADDED_BY_PROXIES = (
    *("CF-Connecting-IP", "CF-Ray", "True-Client-IP", "X-Client-IP", "X-Cluster-Client-IP", "Fastly-Client-IP"),
    *("X-Original-Forwarded-For", "X-Original-Host", "X-Envoy-External-Address", "X-Amzn-Trace-Id", "Proxy-Connection"),
    *("X-Remote-Addr", "CDN-Loop", "Fly-Client-IP", "X-ProxyUser-Ip", "X-Azure-ClientIP", "Max-Forwards"),
)


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
        *((("127.0.0.1", 5), {name: "10.0.0.7"}) for name in ADDED_BY_PROXIES),
    ],
)
def test_without_keys_only_this_machine_is_answered(api, client, headers):
    refused(Api(api.runner, api.app, client=client, headers=headers).get("/v1/decisions"), 403, "loopback")


AS_FORWARDED = {"Host": "127.0.0.1", "Origin": "https://tutor.example", "Sec-Fetch-Site": "same-origin"}
"""What a proxy on this machine passes on by default, of what a page of its own site makes a browser send."""


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "headers",
    [
        AS_FORWARDED,
        {"Host": "127.0.0.1", "Referer": "https://tutor.example/lessons", "Sec-Fetch-Site": "same-origin"},
        {"Host": "localhost:8000", "Origin": "https://localhost:8000"},  # we speak no TLS: another server does
    ],
)
def test_without_keys_a_browser_behind_a_proxy_is_refused(api, method, headers):
    refused(api(method, "/v1/learners", headers=headers), 403, "another site")


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
    with serving(release, tmp_path / "record.db", rate=0.02, burst=3) as api:
        answers = [api.get("/v1/curriculum") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        refused(answers[-1], 429)
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 50
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
