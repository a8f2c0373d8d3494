"""Drawings: well-formed, complete, the same every time."""

from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from mccpo.curriculum import Curriculum, draw
from mccpo.curriculum.drawing.layout import arrange
from mccpo.errors import InputError

NAMES = ['<a> & "b"', "圓" * 40, "c", "d", "alone"]
GRAPH = Curriculum.from_edges([(NAMES[0], NAMES[1]), (NAMES[1], "c"), (NAMES[0], "c"), ("d", "c")], NAMES)
SVG = "{http://www.w3.org/2000/svg}"


def groups(text):
    return [group for group in ElementTree.fromstring(text).iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]


def test_every_concept_is_drawn_once_with_its_whole_name_and_every_edge():
    text = draw(GRAPH, title="<&>")
    titles = [group.findtext(f"{SVG}title").split("; ")[0] for group in groups(text)]
    assert sorted(titles) == sorted(NAMES)
    assert text.count('class="edge') == 4
    assert text == draw(GRAPH, title="<&>")


def test_states_follow_the_gate():
    K = np.array([{NAMES[0]: 0.9, "alone": 0.1}.get(name, 0.0) for name in GRAPH.concepts])
    states = {g.findtext(f"{SVG}title").split("; ")[0]: g.get("class") for g in groups(draw(GRAPH, K, 0.7))}
    assert states == {NAMES[0]: "mastered", NAMES[1]: "ready", "c": "locked", "d": "ready", "alone": "ready"}


def test_a_wrong_mastery_is_not_drawn():
    with pytest.raises(InputError, match="mastery of"):
        draw(GRAPH, np.full(len(GRAPH), np.nan))


def test_a_curriculum_without_edges_can_be_drawn():
    assert len(groups(draw(Curriculum.from_edges([], ["a", "b"])))) == 2


def test_prerequisites_stand_to_the_left_and_boxes_do_not_overlap():
    random = np.random.default_rng(0)
    edges = {(f"c{random.integers(v)}", f"c{v}") for v in range(1, 40) for _ in range(2)}
    layout = arrange(Curriculum.from_edges(sorted(edges)))
    for (start, end), route in layout.routes.items():
        assert layout.points[start].column < layout.points[end].column
        assert all(after.column == before.column + 1 for before, after in pairwise(route))
    for column in range(layout.columns):
        heights = sorted(point.y for point in layout.points.values() if point.column == column)
        assert all(below - above > 40 for above, below in pairwise(heights))
        assert all(0 <= y <= layout.height for y in heights)
