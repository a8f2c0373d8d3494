"""xAPI: outcomes in, decisions out, and both read back by the logs' own reader."""

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.errors import InputError
from mccpo.logs import ReadOptions, load
from mccpo.serve.policy.decision import decide
from mccpo.serve.policy.learner_state import initial_state
from mccpo.serve.service.xapi import (
    DecisionDetails,
    OutcomeDetails,
    ReportedOutcome,
    outcome_of,
    outcomes_of,
    statement_of,
)

ID = "3c1d0c1e-6f0b-4b0e-8a55-0f9f3f6f3a10"


def statement(**changes):
    return {
        "id": ID,
        "actor": {"account": {"homePage": "https://school.example", "name": "ana"}},
        "verb": {"id": "http://adlnet.gov/expapi/verbs/answered"},
        "object": {"id": "https://school.example/q1"},
        "result": {"success": True, "duration": "PT1M4.5S", "extensions": {"urn:mccpo:hints": 2}},
        "context": {"extensions": {"urn:mccpo:decision": "dec_1", "urn:mccpo:concept": "v1"}},
    } | changes


@pytest.fixture
def told(release):
    decision = decide(release, initial_state(release), 0.3)
    return DecisionDetails(
        "dec_1", "ana", "ses_1", "2026-03-01T10:00:00.250Z", decision.concept, decision.activity, decision.certificate
    )


def test_a_statement_reports_an_outcome():
    assert outcome_of(statement()) == ReportedOutcome(ID, "ana", "dec_1", "v1", True, 2, 64.5)
    assert outcome_of(statement(context={}, id=None)).decision is None
    assert outcome_of(statement(result={"success": False}))[4:] == (False, None, None)


@pytest.mark.parametrize(
    ("actor", "name"),
    [
        ({"mbox": "mailto:bo@example.org"}, "bo@example.org"),
        ({"mbox_sha1sum": "ab12"}, "ab12"),
        ({"openid": "https://id.example/bo"}, "https://id.example/bo"),
    ],
)
def test_an_actor_goes_by_any_identifier(actor, name):
    assert outcome_of(statement(actor=actor)).learner == name


@pytest.mark.parametrize("result", [None, {}, {"completion": True}, {"success": None}, 3])
def test_what_reports_no_outcome_is_passed_over(result):
    assert outcome_of(statement(result=result)) is None
    assert outcomes_of([statement(result=result), statement()]) == [outcome_of(statement())]


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("PT0S", 0.0), ("PT12.5S", 12.5), ("PT1,5S", 1.5), ("P1DT1H1M1S", 90061.0), ("P1W", 604800.0), ("PT2H", 7200.0)],
)
def test_durations_are_told_in_seconds(duration, seconds):
    assert outcome_of(statement(result={"success": True, "duration": duration})).seconds == seconds


WRONG = {
    "no object": 3,
    "success as a number": statement(result={"success": 1}),
    "success as text": statement(result={"success": "true"}),
    "no actor": statement(actor=None),
    "an actor without a name": statement(actor={"account": {"homePage": "x"}}),
    "an actor of numbers": statement(actor={"mbox": 3}),
    "an actor of great length": statement(actor={"mbox": "x" * 300}),
    "an id that is none": statement(id="1"),
    "an id of numbers": statement(id=1),
    "hints as a truth": statement(result={"success": True, "extensions": {"urn:mccpo:hints": True}}),
    "negative hints": statement(result={"success": True, "extensions": {"urn:mccpo:hints": -1}}),
    "a duration that is none": statement(result={"success": True, "duration": "soon"}),
    "an empty duration": statement(result={"success": True, "duration": "P"}),
    "a negative duration": statement(result={"success": True, "duration": "-PT1S"}),
    "an endless duration": statement(result={"success": True, "duration": f"PT{'9' * 200}S"}),
    "a decision that is none": statement(context={"extensions": {"urn:mccpo:decision": 1}}),
    "a voiding one": statement(verb={"id": "http://adlnet.gov/expapi/verbs/voided"}),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_refused_by_its_place(wrong):
    with pytest.raises(InputError, match="statement 2") as caught:
        outcomes_of([statement(), wrong])
    assert "\n" not in str(caught.value)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["account", "name", "mbox", "extensions", "success", "duration", "id"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["id", "actor", "verb", "result", "context"]), values))
def test_every_input_is_understood_or_refused(found):
    try:
        outcome = outcome_of(statement(**found))
    except InputError:
        return
    assert outcome is None or isinstance(outcome.correct, bool)


def test_a_decision_is_told_with_what_it_takes_to_weigh_it(told):
    found = statement_of(told)
    UUID(found["id"])
    assert found == statement_of(told)
    assert found["verb"]["id"].endswith("/launched")
    assert "result" not in found
    assert outcome_of(found) is None
    extensions = found["context"]["extensions"]
    assert extensions["urn:mccpo:propensity"] == told.certificate["propensity"]
    assert extensions["urn:mccpo:release"] == told.certificate["release"]
    json.dumps(found, allow_nan=False)


def test_an_answer_that_is_told_reads_back_as_the_outcome_it_was(told):
    found = statement_of(told, OutcomeDetails("2026-03-01T10:01:00.000Z", True, hints=1, seconds=12.5))
    back = outcome_of(found)
    assert back == ReportedOutcome(found["id"], "ana", "dec_1", told.concept, True, 1, 12.5)
    assert found["id"] != statement_of(told)["id"]


def test_the_logs_read_what_is_told(told, tmp_path):
    other = told._replace(decision="dec_2", concept="a/b: ü?", activity="hint", learner="bo")
    statements = [
        statement_of(told),
        statement_of(told, OutcomeDetails("2026-03-01T10:01:00.000Z", True, 1, 12.5)),
        statement_of(other, OutcomeDetails("2026-03-01T10:02:00.000Z", False)),
    ]
    path = tmp_path / "statements.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in statements))
    mapping = {"concept": "context.extensions.urn:mccpo:concept", "hints": "result.extensions.urn:mccpo:hints"}
    logs = load(path, "xapi", ReadOptions(mapping=mapping), most_rejected=0)
    rows = logs.table.to_dicts()
    assert [(row["learner"], row["concept"], row["correct"]) for row in rows] == [
        ("ana", told.concept, True),
        ("bo", "a/b: ü?", False),
    ]
    assert (rows[0]["hints"], rows[0]["seconds"]) == (1, 12.5)
