"""The page of a large curriculum: every concept once, links both ways, levels folded, nothing fetched."""

import re

import numpy as np

from mccpo.curriculum import Curriculum
from mccpo.report.curriculum import curriculum_page

CHAINS = [(f"<c{at - 1}>", f"<c{at}>") for at in range(1, 90) if at % 3]


def test_every_concept_is_listed_once_with_links_to_its_neighbours():
    curriculum = Curriculum.from_edges(CHAINS, concepts=[f"<c{at}>" for at in range(90)])
    page = curriculum_page(curriculum, "A & B")
    assert len(re.findall(r'<li id="c\d+"', page)) == 90
    assert len(re.findall(r'<a href="#c\d+"', page)) == 2 * len(CHAINS)
    assert "<c3>" not in page
    assert page.count("<details") == curriculum.depth + 1
    middle = curriculum.index("<c1>")
    item = re.search(rf'<li id="c{middle}".*?</li>', page).group()
    assert [int(at) for at in re.findall(r"#c(\d+)", item)] == [curriculum.index("<c0>"), curriculum.index("<c2>")]
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", page)


def test_a_learner_is_told_by_concept():
    curriculum = Curriculum.from_edges(CHAINS[:2])
    page = curriculum_page(curriculum, "one", np.array([0.9, 0.2, 0.0]), 0.7)
    assert re.findall(r'<li id="c\d" class="(\w+)"', page) == ["mastered", "ready", "locked"]
