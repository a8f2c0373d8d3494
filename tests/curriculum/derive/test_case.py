"""CASE packages: `precedes` makes an edge, hierarchy never does."""

import json

import pytest

from mccpo.curriculum import Curriculum
from mccpo.curriculum.derive import CaseChoices, derive_case, read_package
from mccpo.errors import InputError

HEADING, COUNT, ADD, MULTIPLY = "uuid-h", "uuid-1", "uuid-2", "uuid-3"


def item(identifier, code, statement="x"):
    return {
        "identifier": identifier,
        "uri": f"https://x/{identifier}",
        "humanCodingScheme": code,
        "fullStatement": statement,
    }


def association(kind, origin, destination):
    def node(identifier):
        return {"title": "t", "identifier": identifier, "uri": f"https://x/{identifier}"}

    return {
        "identifier": f"{kind}-{origin}-{destination}", "associationType": kind,
        "originNodeURI": node(origin), "destinationNodeURI": node(destination),
    }  # fmt: skip


ITEMS = [
    item(HEADING, "1.OA"),
    item(COUNT, "K.CC"),
    item(ADD, "1.OA.1", "Add"),
    item(MULTIPLY, "3.OA.1", " Multi ply "),
]
ASSOCIATIONS = [
    *(association("isChildOf", one, HEADING) for one in (COUNT, ADD, MULTIPLY)),
    association("precedes", COUNT, ADD),
    association("precedes", ADD, MULTIPLY),
    association("isRelatedTo", COUNT, MULTIPLY),
    association("precedes", "uuid-elsewhere", ADD),
]


def derive(folder, associations=ASSOCIATIONS, items=ITEMS, **choices):
    path = folder / "package.json"
    path.write_text(json.dumps({"CFDocument": {"title": "d"}, "CFItems": items, "CFAssociations": associations}))
    return derive_case(read_package(path), CaseChoices(**choices))


def test_precedes_is_a_prerequisite_and_the_rest_is_counted(tmp_path):
    derived = derive(tmp_path)
    assert derived.graph.edges == (("K.CC", "1.OA.1"), ("1.OA.1", "3.OA.1"))
    assert derived.members == {"K.CC": (COUNT,), "1.OA.1": (ADD,), "3.OA.1": (MULTIPLY,)}
    assert derived.notes == (
        "ignored 3 associations: isChildOf",
        "ignored 1 associations: isRelatedTo",
        "ignored 1 associations: precedes to or from an item of another package",
    )
    assert derived.graph.provenances() == {"precedes": 2}


def test_items_can_go_by_statement_or_identifier_and_never_share_a_name(tmp_path):
    assert derive(tmp_path, names="statement").graph.names == (COUNT, "Add", "Multi ply")
    assert derive(tmp_path, names="identifier").graph.names == (COUNT, ADD, MULTIPLY)


def test_items_without_an_edge_are_kept_on_request_but_not_headings(tmp_path):
    items = [*ITEMS, item("uuid-4", "4.G")]
    assert derive(tmp_path, items=items, alone="kept").graph.names == ("K.CC", "1.OA.1", "3.OA.1", "4.G")


def test_a_cycle_is_refused_or_repaired(tmp_path):
    circle = [*ASSOCIATIONS, association("precedes", MULTIPLY, COUNT)]
    with pytest.raises(InputError, match=r"cycle, K\.CC → 1\.OA\.1 → 3\.OA\.1 → K\.CC; correct it, or add") as caught:
        derive(tmp_path, circle)
    assert "\n" not in str(caught.value)
    derived = derive(tmp_path, circle, cycles="repair")
    assert len(Curriculum.from_raw(derived.graph).edges) == 2
    assert derived.notes[-1].startswith("removed")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", "is not JSON"),
        ('{"CFItems": []}', "has no list CFAssociations|no list CFItems"),
        ('{"CFItems": [{}], "CFAssociations": []}', "item 1 has the identifier None"),
        ('{"CFItems": [], "CFAssociations": [{"associationType": "precedes"}]}', "association 1 has no originNodeURI"),
        ('{"CFItems": [], "CFAssociations": [{}]}', "association 1 has no associationType"),
    ],
)
def test_wrong_packages_are_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "package.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_package(path)


def test_hierarchy_alone_is_not_order(tmp_path):
    with pytest.raises(InputError, match="says nothing of order"):
        derive(tmp_path, ASSOCIATIONS[:3])
    with pytest.raises(InputError, match="precede itself"):
        derive(tmp_path, [association("precedes", ADD, ADD)])
