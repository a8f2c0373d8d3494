"""A derived graph says so in its file, whatever it goes through; files that say nothing stay as they were."""

import json

import pytest

from mccpo.curriculum import (
    Curriculum,
    Derivation,
    Evidence,
    RawConcept,
    RawGraph,
    parse_json,
    read_raw,
    render_json,
    write_raw,
)
from mccpo.curriculum.formats import parse_csv
from mccpo.errors import InputError

DERIVED = RawGraph(
    (RawConcept("a"), RawConcept("b", ("a",), 0.25), RawConcept("c ", ("b", "a"))),
    "x.json",
    Derivation("recipe", "table.csv", {"cluster": "level2", "least": 20, "rate": 0.5, "strict": True}),
    {("a", "b"): Evidence("order", {"learners": 30, "q": 1e-9, "where": "圓"}), ("b", "c "): Evidence("route")},
)


def test_a_round_trip_keeps_the_label_and_the_evidence(tmp_path):
    path = tmp_path / "x.json"
    write_raw(DERIVED, path)
    read = read_raw(path)
    assert (read.rows, read.derived, read.evidence) == (DERIVED.rows, DERIVED.derived, DERIVED.evidence)
    assert render_json(read) == path.read_text()
    assert Curriculum.read(path).edges == (("a", "b"), ("a", "c "), ("b", "c "))
    assert "derived by recipe from table.csv (cluster=level2, least=20" in str(read.derived)


def test_a_file_without_an_origin_is_written_unchanged():
    raw = RawGraph((RawConcept("a", (), 0.5), RawConcept("b", ("a",))))
    assert render_json(raw) == (
        '{"format": "mccpo-curriculum/1",\n "concepts": [\n  {"name": "a", "demand": 0.5, "prerequisites": []},\n'
        '  {"name": "b", "prerequisites": ["a"]}\n ]}\n'
    )


def test_a_table_is_an_experts_and_an_edge_list_is_nobodys():
    table = parse_csv(b"name,prerequisites\na,\nb,a\nc,a|b\n", "t.csv")
    assert table.provenances() == {"expert table": 3}
    edges = parse_csv(b"prerequisite,concept\na,b\n", "e.csv")
    assert edges.provenances() == {}


def document(**changes):
    base = {
        "concepts": [{"name": "a"}, {"name": "b", "prerequisites": ["a"]}],
        "derived": {"recipe": "r", "from": "f", "choices": {"x": 1}},
        "edges": [{"prerequisite": "a", "concept": "b", "provenance": "p", "support": {"n": 3}}],
    }
    return json.dumps(base | changes).encode()


def test_the_label_is_optional_in_its_parts():
    raw = parse_json(document(derived={"recipe": "r", "from": "f"}, edges=[]), "x")
    assert raw.derived == Derivation("r", "f")
    assert parse_json(document(), "x").evidence == {("a", "b"): Evidence("p", {"n": 3})}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"derived": {"recipe": "r"}}, "does not say how it was derived"),
        ({"derived": "by hand"}, "does not say how it was derived"),
        ({"derived": {"recipe": "r", "from": "f", "by": "me"}}, "unknown key 'by'"),
        ({"derived": {"recipe": "r", "from": "f", "choices": [1]}}, "'choices' does not map names"),
        ({"derived": {"recipe": "r", "from": "f", "choices": {"x": None}}}, "'choices' does not map names"),
        ({"edges": {}}, "edges that are not a list"),
        ({"edges": [{"prerequisite": "a", "concept": "b"}]}, "edge 1 lacks"),
        ({"edges": [{"prerequisite": "b", "concept": "a", "provenance": "p"}]}, "b → a, which no concept states"),
        ({"edges": [{"prerequisite": "a", "concept": "b", "provenance": "p", "q": 1}]}, "unknown key 'q'"),
        ({"edges": [{"prerequisite": "a", "concept": "b", "provenance": "p", "support": {"n": []}}]}, "'support'"),
        ({"edges": [{"prerequisite": "a", "concept": "b", "provenance": "p"}] * 2}, "a second time"),
        ({"edge": []}, "unknown key 'edge'"),
    ],
)
def test_what_is_not_understood_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        parse_json(document(**changes), "x.json")
