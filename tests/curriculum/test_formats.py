"""Files: what is written is read back, what others write is understood, what is broken is refused in one line."""

import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mccpo.curriculum import Curriculum, read_raw
from mccpo.errors import InputError

SUFFIXES = [".json", ".csv", ".tsv", ".graphml", ".json.gz", ".csv.gz", ".graphml.gz"]
odd_names = st.one_of(
    st.text(st.sampled_from("a,b|;\"'\\ <&>\u00a0=é圓\U0001f600"), min_size=1, max_size=5),
    st.text(min_size=1, max_size=8),
).filter(lambda name: name.strip() and name.isprintable())


@st.composite
def curricula(draw):
    names = draw(st.lists(odd_names, min_size=1, max_size=6, unique=True))
    pairs = [(u, v) for index, v in enumerate(names) for u in names[:index]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    demand = draw(st.lists(st.floats(0, 1), min_size=len(names), max_size=len(names)))
    return Curriculum.from_edges(edges, names, demand)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(curriculum=curricula())
def test_a_round_trip_loses_nothing(curriculum, suffix, tmp_path):
    path = tmp_path / f"graph{suffix}"
    curriculum.write(path)
    written = path.read_bytes()
    assert Curriculum.read(path) == curriculum
    curriculum.write(path)
    assert path.read_bytes() == written


def read(tmp_path, text, name="graph.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_raw(path)


@pytest.mark.parametrize(
    "text",
    [
        'name,topic,prerequisites\na,x,\nb,"x,y",\nc,x,"a,b"\n',
        "prerequisite;concept\r\n;a\r\n;b\r\na;c\r\nb;c\r\n".encode("utf-16"),
        "name,prerequisites\na,\nb,\nc,a|b\n",
        "\ufeffname\tprerequisites\r\na\t\r\nb\t\r\nc\ta; b\r\n",
        "name;prerequisites\na;\nb;\nc;a,b\n",
        "Prerequisite , CONCEPT\n,a\n,b\na,c\nb,c\n",
    ],
    ids=["commas in a cell", "UTF-16", "bars", "tabs and semicolons", "semicolons and commas", "capitals"],
)
def test_tables_and_edge_lists_as_others_write_them(tmp_path, text):
    raw = read(tmp_path, text)
    assert raw.names == ("a", "b", "c")
    assert raw.edges == (("a", "c"), ("b", "c"))


def test_a_name_that_holds_the_separator_is_one_prerequisite(tmp_path):
    raw = read(tmp_path, 'name,prerequisites\n"x,y",\nb,"x,y"\nc,"b,q"\n')
    assert raw.edges == (("x,y", "b"), ("b", "c"), ("q", "c"))


def test_a_trailing_separator_is_kept_for_the_linter(tmp_path):
    assert read(tmp_path, "name,prerequisites\na,\nb,a|\n").edges == (("a", "b"), ("", "b"))


def test_repeats_are_taken_once_and_contradictions_refused(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("name,prerequisites\na,\nb,a|a\nb,a\n")
    assert Curriculum.read(path).edges == (("a", "b"),)
    path.write_text("name,prerequisites\na,\nb,a\nb,\n")
    with pytest.raises(
        InputError, match=r"'b' is stated twice, differently; run `mccpo curriculum check .*--repair OUT"
    ):
        Curriculum.read(path)


def test_graphml_names_come_from_name_label_drawing_or_id(tmp_path):
    text = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="urn:y">
      <key id="k0" for="node" attr.name="name"/><key id="k1" for="node" attr.name="label"/><key id="k2" for="node"/>
      <graph edgedefault="directed"><node id="1"><data key="k0">one</data></node>
      <node id="2"><data key="k1">two</data></node><node id="4"/>
      <node id="3"><data key="k2"><y:ShapeNode><y:NodeLabel>three</y:NodeLabel></y:ShapeNode></data></node>
      <edge source="1" target="2"/><edge source="9" target="3"/></graph></graphml>"""
    raw = read(tmp_path, text, "graph.graphml")
    assert raw.names == ("one", "two", "4", "three")
    assert raw.edges == (("one", "two"), ("9", "three"))


BOMB = '<!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><graphml><graph><node id="&b;"/></graph></graphml>'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("graph.csv", "", "is empty"),
        ("graph.csv", "prerequisite,concept\n", "holds no concepts"),
        ("graph.csv", "a,b\nb,c\n", "line 1 names a, b, but neither prerequisite and concept"),
        ("graph.csv", 'prerequisite,concept\na,"b\n', r"line \d is not CSV"),
        ("graph.csv", "prerequisite,concept\na,b\na\n", "line 3 has 1 cells under 2 columns"),
        ("graph.csv", "prerequisite,concept\na,\n", "line 2 has a name that is empty"),
        ("graph.csv", "prerequisite,concept,demand\na,b,2\n", "line 2 has the demand '2'"),
        ("graph.csv", "prerequisite,concept,demand\na,b,1\nc,b,0\n", "line 3 gives 'b' a second demand"),
        ("graph.csv", "prerequisite,concept,Concept\na,b,c\n", "line 1 names the column 'concept' twice"),
        ("graph.csv", b"prerequisite,concept\na,\xe9\n", "line 2 is not UTF-8"),
        ("graph.json", '{"concepts": [', "line 1 is not JSON"),
        ("graph.json", "[" * 100_000, "cannot be read as JSON"),
        ("graph.json", "[]", "has no list of concepts"),
        ("graph.json", '{"concepts": []}', "holds no concepts"),
        ("graph.json", '{"concepts": [{"name": "a", "prerequisite": ["b"]}]}', "unknown key 'prerequisite'"),
        ("graph.json", '{"concepts": [{"name": "a", "name": "b"}]}', "'name' is given twice"),
        ("graph.json", '{"concepts": [{"name": 3}]}', "has the name 3"),
        ("graph.json", '{"concepts": [{"name": "a", "prerequisites": "b"}]}', "not a list of names"),
        ("graph.json", '{"concepts": [{"name": "a", "demand": NaN}]}', "has the demand nan"),
        ("graph.json", f'{{"concepts": [{{"name": "a", "demand": {10**400}}}]}}', "has the demand 10{39}…; give"),
        ("graph.json", '{"concepts": [{"name": "a", "demand": true}]}', "has the demand True"),
        ("graph.json", '{"format": "other/2", "concepts": []}', "has the format 'other/2'"),
        ("graph.graphml", "<graphml><graph>", "line 1 is not XML"),
        ("graph.graphml", "<svg/>", "its root is <svg>"),
        ("graph.graphml", BOMB, "declares a document type"),
        ("graph.graphml", '<graphml><graph edgedefault="undirected"/></graphml>', "undirected"),
        ("graph.graphml", '<graphml><graph><edge source="a" target="b"/></graph></graphml>', "an edge to 'b'"),
        ("graph.csv.gz", "not gzip", "not gzip data"),
        ("graph.csv.gz", gzip.compress(b"prerequisite,concept\n" * 99, mtime=0)[:-9], "cut short"),
        ("graph.xlsx", "x", r"suffix '.xlsx', which names no graph format"),
        ("graph", "x", "has no suffix"),
    ],
)
def test_a_broken_file_is_refused_in_one_line_that_names_it(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message) as refusal:
        read(tmp_path, content, name)
    assert str(tmp_path / name) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_raw(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_raw(tmp_path)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        Curriculum.from_edges([("a", "b")]).write(tmp_path / "folder.json")
