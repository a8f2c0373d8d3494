"""The chain of events: what link_error it, what breaks it, and what it can hold."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mccpo.files import canonical_json
from mccpo.serve.record.chain import (
    GENESIS,
    BrokenRecord,
    Head,
    commitment,
    link_error,
    parse_event,
    rfc3339,
    seal_event,
)

HEAD = Head(7, "ab" * 32, 1000)


def test_the_hash_is_sha256_of_the_hash_before_and_the_text():
    event = seal_event(HEAD, 2000, "erasure", "t", "lrn_1", {"cause": "asked"})
    text = '{"at":2000,"content":{"cause":"asked"},"kind":"erasure","learner":"lrn_1","number":8,"tenant":"t"}'
    assert event.text == text
    assert event.hash == hashlib.sha256(("ab" * 32 + text).encode()).hexdigest()
    assert link_error(HEAD, event) is None


def test_a_clock_that_goes_back_does_not_take_time_with_it():
    assert seal_event(HEAD, 400, "erasure", "t", "lrn_1", {}).at == 1000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "\ud800" not in repr(value))


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON, max_size=3))
def test_what_was_sealed_is_read_again(content):
    try:
        event = seal_event(GENESIS, 5, "outcome", "t", "lrn_1", content)
    except UnicodeEncodeError:
        return
    again = parse_event(event.text, event.hash)
    assert again == event
    assert canonical_json(again.content) == canonical_json(content)


@given(st.data())
def test_any_changed_character_breaks_the_chain(data):
    event = seal_event(HEAD, 2000, "outcome", "t", "lrn_é", {"decision": "dec_1", "correct": True, "seconds": 1.5})
    at = data.draw(st.integers(0, len(event.text) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda each: each != event.text[at]))
    try:
        changed = parse_event(event.text[:at] + other + event.text[at + 1 :], event.hash)
    except BrokenRecord:
        return
    assert link_error(HEAD, changed) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"at":NaN}',
        "[" * 100_000,
        '{"at":1, "content":{},"kind":"erasure","learner":"l","number":1,"tenant":"t"}',  # a space: another text
        '{"at":true,"content":{},"kind":"erasure","learner":"l","number":1,"tenant":"t"}',
        '{"at":1,"content":{},"kind":"party","learner":"l","number":1,"tenant":"t"}',
        '{"at":1,"content":[],"kind":"erasure","learner":"l","number":1,"tenant":"t"}',
    ],
)
def test_what_is_no_event_is_not_read(text):
    with pytest.raises(BrokenRecord):
        parse_event(text, "00" * 32)


def test_what_comes_out_of_turn_is_found():
    event = seal_event(HEAD, 2000, "erasure", "t", "lrn_1", {})
    assert "after event 8" in (link_error(HEAD._replace(number=8), event) or "")
    assert "hash" in (link_error(HEAD._replace(hash="cd" * 32), event) or "")
    assert "older" in (link_error(HEAD._replace(at=2001), event) or "")


def test_numbers_that_json_has_no_word_for_are_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        seal_event(HEAD, 1, "outcome", "t", "l", {"seconds": float("nan")})


def test_words_are_sealed_with_a_salt():
    assert commitment("s", "a", "bc") != commitment("s", "ab", "c")
    assert commitment("s", "a") != commitment("r", "a")


def test_times_are_told_to_the_millisecond():
    assert rfc3339(0) == "1970-01-01T00:00:00.000Z"
    assert rfc3339(1_794_773_690_518) == "2026-11-15T20:14:50.518Z"
    assert json.loads(canonical_json({"at": rfc3339(1)})) == {"at": "1970-01-01T00:00:00.001Z"}
