"""What is not of the form that is asked for is refused, and changes nothing."""

import pytest

from ..client import refused  # noqa: TID252 - shared by the folders of these tests


@pytest.mark.parametrize("one", ['{"a":', "["])
def test_what_is_nested_too_deeply_is_refused_however_deep_it_is(api, one):
    """Decoder, forms and encoders reach different depths: each in between was a failure of the service."""
    api.learner("deep")
    actor = (
        '{"actor": {"account": {"homePage": "https://s.example", "name": "deep"}}, "result": {"success": true}, "x": '
    )
    close = {"[": "]", '{"a":': "}"}[one]
    statuses = set()
    for depth in (90, 150, *range(890, 1000)):
        body = f"{actor}{one * depth}1{close * depth}}}"
        headers = {"content-type": "application/json", "Idempotency-Key": f"deep-{depth}-{close}"}
        statuses.add((depth < 100, api("POST", "/v1/xapi/statements", content=body, headers=headers).status_code))
    assert statuses == {(True, 200), (False, 422)}


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
def test_malformed_requests_are_problems_and_change_nothing(api, body):
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
def test_unknown_ids_are_problems(api, method, path, status):
    refused(api(method, path), status)
