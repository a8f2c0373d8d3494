"""The pages as a browser asks for them: who sees what, what is refused, and that nothing is taken for markup."""

import asyncio
import hashlib
import re
from contextlib import asynccontextmanager
from html import unescape

import pytest

from mccpo.env import make
from mccpo.serve.access import EVERYONE, KeyFile
from mccpo.serve.monitor import Monitor
from mccpo.serve.monitor.lesson_costs import Lesson
from mccpo.serve.monitor.time_series import SPANS, TimeSeries
from mccpo.serve.pages.app import STATIC
from mccpo.serve.pages.visitors import COOKIE, LASTS, Visit, Visitors
from mccpo.serve.policy import learner_state, load_release
from mccpo.serve.problems import Forbidden, Unauthorised
from mccpo.serve.record import Store

from ..client import mentions, serving  # noqa: TID252 - shared by the folders of these tests

NASTY = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "Robert'); DROP TABLE learner;--",
    "{{ 7 * 7 }} ${7*7} <!--",
    "' OR '1'='1",
)
ADDRESSES = ("/pages/learners", "/pages/decisions", "/pages/decisions/new", "/pages/monitor", "/pages/monitor/numbers")


@pytest.fixture(scope="module")
def release(run_of):
    return load_release(run_of(make("tutor-15", concepts=6, horizon=20)))


@pytest.fixture(scope="module")
def api(release, tmp_path_factory):
    """A service without keys."""
    with serving(release, tmp_path_factory.mktemp("record") / "record.db") as found:
        yield found


@pytest.fixture(scope="module")
def keyed(release, tmp_path_factory):
    """A service with keys: its client, the keys by role, and the file of keys."""
    folder = tmp_path_factory.mktemp("keyed")
    keys = KeyFile(folder / "keys.json")
    texts = {role: keys.create("north", role)[1] for role in ("client", "auditor", "admin")}
    texts["teacher"] = keys.create("north", "teacher", "the staff room")[1]
    texts["stranger"] = keys.create("south", "admin")[1]
    with serving(release, folder / "record.db", keys=keys) as found:
        yield found, texts, keys


def signed_in(keyed, role):
    """A browser of its own that has signed in."""
    api, texts, _ = keyed
    browser = api.as_("none")
    answer = browser("POST", "/pages/sign-in", data={"key": texts[role]})
    assert answer.status_code == 303, answer.text
    return browser


def token(page):
    return re.search(r'name="token" value="([^"]+)"', page.text)[1]


def choice(page, **fields):
    once = re.search(r'name="once" value="([^"]+)"', page.text)[1]
    return {"token": token(page), "once": once, "concept": "v0", "reason": "to begin with", "teacher": "Ms Li"} | fields


# ---- who gets in


@pytest.mark.parametrize("address", ADDRESSES)
def test_without_a_visit_every_page_leads_to_the_door(keyed, address):
    answer = keyed[0].get(address)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/pages/sign-in?next=%2Fpages%2F")
    # a part of a page that stands open: the whole page goes there
    part = keyed[0].get(address, headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-redirect"]) == (401, "/pages/sign-in")


def test_a_key_starts_a_session_with_a_strict_http_only_cookie(keyed):
    answer = keyed[0].as_("none")("POST", "/pages/sign-in", data={"key": keyed[1]["teacher"], "next": "/pages/monitor"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/pages/monitor")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(COOKIE)
    for word in ("httponly", "samesite=strict", "path=/pages", f"max-age={LASTS}"):
        assert word in cookie
    assert "secure" not in cookie  # over plain HTTP it would never come back
    assert keyed[1]["teacher"] not in cookie


@pytest.mark.parametrize(
    "next", ["https://evil.example/", "//evil.example/pages/", "/v1/learners", "/pages/\\evil", ""]
)
def test_the_door_leads_to_these_pages_only(keyed, next):
    answer = keyed[0].as_("none")("POST", "/pages/sign-in", data={"key": keyed[1]["teacher"], "next": next})
    assert answer.headers["location"] == "/pages/learners"


def test_keys_of_programs_and_wrong_keys_open_nothing(keyed):
    for key, status in ((keyed[1]["client"], 403), ("mccpo_wrong", 401), ("", 401), (keyed[1]["teacher"][:-1], 401)):
        browser = keyed[0].as_("none")
        answer = browser("POST", "/pages/sign-in", data={"key": key})
        assert answer.status_code == status
        assert "set-cookie" not in answer.headers
        assert not key or key not in answer.text
        assert browser.get("/pages/learners").status_code == 303


def test_cookies_do_not_open_the_api_and_keys_do_not_open_pages(keyed):
    browser = signed_in(keyed, "admin")
    del browser.client.headers["Authorization"]
    assert browser.get("/pages/learners").status_code == 200
    assert browser.get("/v1/learners").status_code == 401
    assert keyed[0].as_(keyed[1]["admin"]).get("/pages/learners").status_code == 303


@asynccontextmanager
async def visiting(folder, keys, now):
    """The visitors of two processes that share a store."""
    stores = [Store(str(folder / "record.db")) for _ in range(2)]
    for store in stores:
        await store.open()
    yield [Visitors(store, keys, clock=lambda: now[0]) for store in stores]
    for store in stores:
        await store.close()


def test_a_session_ends_in_every_process_on_sign_out_timeout_or_revoked_key(tmp_path):
    now = [0]
    keys = KeyFile(tmp_path / "keys.json")
    key, text = keys.create("north", "teacher")

    async def story():
        async with visiting(tmp_path, keys, now) as (visitors, other):
            first, second = [(await visitors.sign_in(text))[0] for _ in range(2)]
            assert (await other.visit(first)) == await visitors.visit(first)
            await visitors.sign_out(first)
            with pytest.raises(Unauthorised):
                await other.visit(first)
            assert (await other.visit(second)).caller.key == key.id
            now[0] = LASTS * 1000
            with pytest.raises(Unauthorised):
                await other.visit(second)
            third, _ = await visitors.sign_in(text)
            keys.revoke(key.id)
            with pytest.raises(Unauthorised):
                await other.visit(third)
            for cookie in (None, "", "nonsense"):
                with pytest.raises(Unauthorised):
                    await visitors.visit(cookie)

    asyncio.run(story())


def test_visits_are_bounded_and_each_has_a_token_of_its_own(tmp_path, monkeypatch):
    now = [0]
    monkeypatch.setattr("mccpo.serve.pages.visitors.MOST_VISITS", 4)
    keys = KeyFile(tmp_path / "keys.json")
    text = keys.create("north", "teacher")[1]

    async def story():
        async with visiting(tmp_path, keys, now) as (visitors, _):
            cookies = []
            for _ in range(5):
                now[0] += 1
                cookies.append((await visitors.sign_in(text))[0])
            assert len({(await visitors.visit(cookie)).token for cookie in cookies[1:]}) == 4
            with pytest.raises(Unauthorised):
                await visitors.visit(cookies[0])

    asyncio.run(story())


def test_without_keys_whoever_is_on_this_machine_is_in(api):
    assert api.get("/").headers["location"] == "/pages/learners"
    assert api.get("/pages/learners").status_code == 200
    assert api.runner.run(api.app.state.visitors.visit(None)).caller == EVERYONE
    assert api.get("/pages/learners", headers={"Host": "evil.example"}).status_code == 403
    assert api.get("/pages/learners", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 403


def test_signing_out_needs_the_token(keyed):
    browser = signed_in(keyed, "auditor")
    assert browser("POST", "/pages/sign-out", data={"token": "wrong"}).status_code == 403
    page = browser.get("/pages/learners")
    answer = browser("POST", "/pages/sign-out", data={"token": token(page)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/pages/sign-in")
    assert browser.get("/pages/learners").status_code == 303


# ---- what is shown


@pytest.mark.parametrize("nasty", NASTY)
def test_names_and_labels_are_text_whatever_they_say(api, nasty):
    learner = api.learner(nasty, **{nasty[:60]: nasty[:60]})
    decision = api.next(learner)["id"]
    pages_ = ("/pages/learners", f"/pages/learners/{learner}", "/pages/decisions", f"/pages/decisions/{decision}")
    for address in pages_:
        text = api.get(address).text
        assert nasty in unescape(text)
        assert "<img src=x" not in text
        assert "<script>alert" not in text
    found = api.get("/pages/learners", params={"name": nasty}, headers={"HX-Request": "true"})
    assert found.text.count("<li>") == 1
    assert learner in found.text


def test_a_search_takes_signs_of_patterns_for_themselves(api):
    api.learner("a hundred % sure")
    assert "a hundred" in api.get("/pages/learners", params={"name": "% S"}).text
    assert "a hundred" not in api.get("/pages/learners", params={"name": "h%d"}).text
    assert "a hundred" not in api.get("/pages/learners", params={"name": "h_ndred"}).text


def test_pages_allow_no_script_but_their_own(api):
    learner = api.learner("policy")
    for address in (*ADDRESSES[:2], "/pages/monitor", f"/pages/learners/{learner}", "/pages/nowhere", "/pages/sign-in"):
        answer = api.get(address)
        if answer.status_code == 303:
            continue
        rules = dict(one.strip().split(" ", 1) for one in answer.headers["content-security-policy"].split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == rules["form-action"] == "'self'"
        assert rules["frame-ancestors"] == "'none'"
        assert answer.headers["cache-control"] == "no-store"
        for found in re.findall(r"<script[^>]*>", answer.text):
            assert 'src="/pages/static/' in found
        assert not re.search(r'\s(style|on\w+)="', answer.text)
        assert not re.search(r'(src|href|action)="(?!/pages/|#)', answer.text)


def test_vendored_files_match_their_recorded_hashes(api):
    folder = STATIC / "vendor"
    written = dict(re.findall(r"^\| `([^`]+)` .*`([0-9a-f]{64})` \|$", (folder / "VENDORED.md").read_text(), re.M))
    files = {one.name for one in folder.iterdir() if one.suffix in (".js", ".css")}
    assert set(written) == files
    for name, sha256 in written.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256
        answer = api.get(f"/pages/static/vendor/{name}")
        assert answer.status_code == 200
        again = api.get(f"/pages/static/vendor/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.headers["cache-control"]) == (304, "no-cache")
    assert api.get("/pages/static/../rendering.py").status_code == 404


def test_a_learner_is_shown_with_what_is_locked_and_why(api, release):
    learner = api.learner("shown")
    state = {one["concept"]: one for one in api.get(f"/v1/learners/{learner}/state").json()["concepts"]}
    text = unescape(api.get(f"/pages/learners/{learner}").text)
    items = dict(re.findall(r'<li data-concept="([^"]+)".*?data-status="(\w+)"', text, re.S))
    assert list(items) == list(release.concepts)
    for name, status in items.items():
        assert (status == "locked") == (not state[name]["ready"])
    assert "waits for <bdi>v0</bdi> (20\N{NO-BREAK SPACE}%), <bdi>v1</bdi> (20\N{NO-BREAK SPACE}%)" in text
    options = re.findall(r'<option value="(v\d)"( disabled)?', text)
    assert {name for name, disabled in options if not disabled} == {name for name in state if state[name]["ready"]}


def test_the_part_that_moves_is_sent_only_when_it_has_moved(api):
    learner = api.learner("moving")
    address = f"/pages/learners/{learner}/standing"
    seen = re.search(r"seen=(\w+)", api.get(address).text)[1]
    assert api.get(address, params={"seen": seen}).status_code == 204
    decision = api.next(learner)["id"]
    moved = api.get(address, params={"seen": seen})
    assert decision in moved.text
    seen = re.search(r"seen=(\w+)", moved.text)[1]
    api.post(f"/v1/decisions/{decision}/outcome", {"correct": True})
    assert "right" in api.get(address, params={"seen": seen}).text


def test_the_stream_tells_what_is_new_and_what_was_answered(api):
    learner = api.learner("streaming")
    first = api.next(learner)
    page = api.get("/pages/decisions").text
    after = re.search(r"new\?after=(\d+)", page)[1]
    assert int(after) == first["number"]
    assert f'name="open" value="{first["id"]}"' in page
    params = {"after": after, "open": [first["id"], "dec_unknown"]}
    assert api.get("/pages/decisions/new", params=params).status_code == 204
    api.post(f"/v1/decisions/{first['id']}/outcome", {"correct": False})
    second = api.next(learner)
    told = api.get("/pages/decisions/new", params=params).text
    assert f'id="outcome-{first["id"]}" class="outcome" hx-swap-oob="true"' in told
    assert "wrong" in told
    assert f'<li class="decision" id="{second["id"]}"' in told
    assert f"after={second['number']}" in told
    older = api.get("/pages/decisions", params={"before": second["number"]}).text
    assert first["id"] in older
    assert second["id"] not in older
    assert 'id="poll"' not in older


def test_a_certificate_is_shown_in_full(api):
    decision = api.next(api.learner("certified"))
    text = unescape(api.get(f"/pages/decisions/{decision['id']}").text)
    certificate = decision["certificate"]
    for name in ("policy", "curriculum", "learner", "standing", "probabilities"):
        assert certificate[name] in text
    assert certificate["ready"]["sha256"] in text


def test_the_monitor_shows_groups_and_curves(api):
    for number in range(6):
        learner = api.learner(f"grouped {number}", side="left" if number < 3 else "<b>right</b>")
        for _ in range(2):
            decision = api.next(learner)["id"]
            api.post(f"/v1/decisions/{decision}/outcome", {"correct": True})
    text = api.get("/pages/monitor").text
    assert "too little progress" in text.lower()
    assert not mentions(re.sub(r'data-plot="[^"]*"', "", text), "c2")  # a teacher need not know what the paper calls it
    curves = api.get("/pages/monitor/curves", params={"span": "day"}).json()
    assert len(curves["columns"]["time"]) == len(curves["columns"]["c4"]) > 0
    assert set(curves["budgets"]) == {"c2", "c3", "c4"}
    assert api.get("/pages/monitor", params={"span": "century"}).status_code == 422


def test_what_is_not_there_is_told_as_a_page(api, keyed):
    for address in ("/pages/nowhere", "/pages/learners/lrn_none", "/pages/decisions/dec_none"):
        answer = api.get(address)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
    learner = keyed[0].as_(keyed[1]["admin"]).learner("of the north")
    stranger = signed_in(keyed, "stranger")
    assert stranger.get(f"/pages/learners/{learner}").status_code == 404
    assert "of the north" not in stranger.get("/pages/learners").text
    assert "of the north" in signed_in(keyed, "auditor").get("/pages/learners").text


# ---- a teacher's choice


@pytest.fixture
def pupil(keyed, request):
    return keyed[0].as_(keyed[1]["admin"]).learner(request.node.name)


def test_a_teacher_chooses_and_the_choice_is_on_record(keyed, pupil):
    browser = signed_in(keyed, "teacher")
    address = f"/pages/learners/{pupil}"
    fields = choice(browser.get(address), concept="v1", reason="she asked\r\nfor it")
    answer = browser("POST", f"{address}/override", data=fields)
    assert answer.status_code == 303
    shown = browser.get(answer.headers["location"].partition("#")[0])
    assert "on record" in shown.text
    again = browser("POST", f"{address}/override", data=fields)  # a second click is the same choice
    assert again.headers["location"] == answer.headers["location"]
    (decision,) = keyed[0].as_(keyed[1]["auditor"]).get("/v1/decisions", params={"learner": pupil}).json()["decisions"]
    assert (decision["concept"], decision["by"], decision["reason"]) == ("v1", "teacher", "she asked\nfor it")
    # who it was: by the name that they gave, and by the key that they used
    key = keyed[2].caller(keyed[1]["teacher"]).signature
    assert key["label"] == "the staff room"
    assert (decision["teacher"], decision["key"]) == ("Ms Li", key)
    admin = keyed[0].as_(keyed[1]["admin"])
    (event,) = [one for one in admin.get(f"/v1/learners/{pupil}/export").json()["events"] if one["kind"] == "override"]
    assert event["key"] == key
    for place in (address, "/pages/decisions", f"/pages/decisions/{decision['id']}"):
        assert "Ms Li</bdi>, key <bdi>the staff room</bdi>" in browser.get(place).text
    admin("DELETE", f"/v1/learners/{pupil}")  # takes the name with the learner, and leaves the key
    (decision,) = admin.get("/v1/decisions", params={"learner": pupil}).json()["decisions"]
    assert (decision["teacher"], decision["key"]) == (None, key)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"reason": "   "}, "Say why"),
        ({"teacher": ""}, "Say who you are"),
        ({"concept": ""}, "Choose a concept"),
        ({"concept": "v5"}, "v5"),
        ({"concept": "<b>none</b>"}, "none"),
        ({"reason": "x" * 1001}, "1000"),
        ({"activity": "nap"}, "nap"),
    ],
)
def test_a_choice_that_cannot_be_is_told_beside_the_form(keyed, pupil, fields, words):
    browser = signed_in(keyed, "teacher")
    address = f"/pages/learners/{pupil}"
    answer = browser("POST", f"{address}/override", data=choice(browser.get(address), **fields))
    assert answer.status_code == 422
    assert words in unescape(answer.text)
    assert "<b>none" not in answer.text
    assert "Ms Li" in answer.text or "teacher" in fields  # what was written is kept
    assert not keyed[0].as_(keyed[1]["auditor"]).get("/v1/decisions", params={"learner": pupil}).json()["decisions"]


def test_only_who_may_override_does_and_only_from_a_page(keyed, pupil, api):
    teacher, auditor = signed_in(keyed, "teacher"), signed_in(keyed, "auditor")
    address = f"/pages/learners/{pupil}"
    assert 'id="override"' not in auditor.get(address).text
    fields = choice(teacher.get(address))
    send = {"method": "POST", "path": f"{address}/override"}
    own = token(auditor.get(address))
    assert auditor(**send, data=fields | {"token": own}).status_code == 403
    assert teacher(**send, data=fields | {"token": ""}).status_code == 403
    assert teacher(**send, data=fields | {"token": own}).status_code == 403  # of another visit
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
    ):
        assert teacher(**send, data=fields, headers=headers).status_code == 403
    assert keyed[0].as_("none")(**send, data=fields).status_code == 303  # to the door
    assert not keyed[0].as_(keyed[1]["auditor"]).get("/v1/decisions", params={"learner": pupil}).json()["decisions"]
    assert teacher(**send, data=fields, headers={"Origin": "http://localhost"}).status_code == 303


def test_without_keys_a_form_needs_its_token_too(api):
    learner = api.learner("without keys")
    address = f"/pages/learners/{learner}"
    fields = choice(api.get(address))
    assert api("POST", f"{address}/override", data=fields | {"token": "guessed"}).status_code == 403
    assert api("POST", f"{address}/override", data=fields).status_code == 303


def test_a_token_is_compared_as_text():
    visit = Visit(EVERYONE, "token")
    with pytest.raises(Forbidden):
        visit.check("größe")
    visit.check(visit.token)


# ---- how it moved


def test_a_history_keeps_each_span_and_tells_of_gaps():
    history = TimeSeries()
    for at in (0, 10_000, 30_000, 200_000):
        history.add(at, answers=1)
    assert list(history.buckets("hour", now=200_000)) == [
        (0, {"answers": 2}),
        (30_000, {"answers": 1}),
        (60_000, None),
        (180_000, {"answers": 1}),
    ]
    assert list(history.buckets("year", now=200_000)) == [(0, {"answers": 4})]
    span = SPANS["hour"]
    assert list(history.buckets("hour", now=180_000 + span.bucket * span.buckets)) == []
    for step in range(2 * span.buckets):
        history.add(span.bucket * (step + 10), answers=1)
    assert len(list(history.buckets("hour", now=span.bucket * (2 * span.buckets + 9)))) == span.buckets


def test_curves_agree_with_the_report(release):
    """Within one spell, a curve's only point is what the report says of all."""
    monitor, begun = Monitor(release), learner_state.initial_state(release)
    assert monitor.curves("hour", now=0)["time"] == []
    for number, by in enumerate(("policy", "fallback", "teacher", "policy")):
        monitor.record_decision(f"l{number}", Lesson(f"s{number}", release, begun, number % 2), by, at=30_000 + number)
        monitor.record_outcome(f"l{number}", correct=number < 3, before=0.2, after=0.2 + 0.1 * (number == 1), at=30_010)
    report, curves = monitor.report(), monitor.curves("hour", now=60_000)
    assert curves["time"] == [30.0]
    assert curves["decoupling"] == [report["decoupling"]["rate"]] == [0.5]
    assert curves["fallback"] == [report["fallback"]["rate"]] == [1 / 3]
    assert curves["override"] == [report["override"]["rate"]] == [0.25]
    assert curves["right"] == [0.75]
    assert curves["gain"] == pytest.approx([0.025])
    for cost in ("c2", "c3", "c4"):
        assert curves[cost] == pytest.approx([report["costs"][cost]["full"]])
    assert monitor.curves("hour", now=10**10)["time"] == []


def test_pages_say_something_without_scripts_and_on_paper(api):
    api.next(api.learner("Without scripts"))
    learner = api.learner("Without scripts")
    for path in ("learners", f"learners/{learner}", "decisions", "monitor"):
        assert "<noscript>" in api.get(f"/pages/{path}").text
    assert "@media print" in api.get("/pages/static/page.css").text


def test_a_choice_leads_to_its_confirmation(api):
    learner = api.learner("Confirmed")
    page = api.get(f"/pages/learners/{learner}").text
    token = re.search(r'name="token" value="([^"]+)"', page)[1]
    form = {"token": token, "concept": "v0", "activity": "practice", "reason": "r", "teacher": "t"}
    where = api("POST", f"/pages/learners/{learner}/override", data=form).headers["location"]
    path, anchor = where.split("#")
    assert f'id="{anchor}" role="status">Your choice is on record' in api.get(path).text
