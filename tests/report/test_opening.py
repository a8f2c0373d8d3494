"""What a reader sees first: pictures before tables, names in words, and labels that cover nothing."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.report.conftest import compared
from tests.report.test_behaviour import made_up

from mccpo.report.figures.labels import Named, write_names
from mccpo.report.page.html import render
from mccpo.report.vocabulary import cost_words, metric_words
from mccpo.runs.results import Evaluation, Results


def learnt(**changes: Any) -> Results:
    """A table of made-up numbers in which learners gain something."""
    raw = compared()
    for gained, row in enumerate(raw["rows"].values()):
        row["dK"] = {**row["return"], "mean": float(gained)}
    methods = list(raw["rows"])
    return Results.parse({**raw, "conduct": {method: made_up() for method in methods}, **changes})


@pytest.mark.usefixtures("undrawn")
def test_pictures_come_before_any_table() -> None:
    results = learnt()
    page = render([results], [None], manifest=None)
    first, _, rest = page.partition("<table")
    assert 'class="finding"' in first
    assert "Engagement against learning" in first
    assert first.index("Engagement against learning") < first.index("Step of the episode")
    assert first.count("<span>most taught:") == 2
    assert rest.count("<span>most taught:") == len(results.settings[0].rows) - 2
    assert "What the other tutors do" in rest


@pytest.mark.parametrize("seed", range(4))
def test_names_cover_neither_each_other_nor_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    figure = Figure(figsize=(4.9, 3.3), layout="constrained")
    axes = figure.add_subplot()
    points = [Named(x, y, f"Method {number}", "black") for number, (x, y) in enumerate(rng.uniform(size=(6, 2)))]
    points += [Named(1.0, 0.5, "at the edge, with a long name", "black"), Named(0.99, 0.52, "paper 1", "black")]
    axes.plot([point.x for point in points], [point.y for point in points], "o", markersize=5)
    write_names(axes, points)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == len(points)
    for one, other in itertools.combinations(boxes, 2):
        assert not one.shrunk(0.95, 0.8).overlaps(other.shrunk(0.95, 0.8))
    for box, (x, y) in itertools.product(boxes, axes.transData.transform([(p.x, p.y) for p in points])):
        assert not box.contains(x, y)


def test_points_that_coincide_share_one_name() -> None:
    axes = Figure().add_subplot()
    write_names(axes, [Named(1, 1, "a", "black"), Named(1, 1, "b", "black"), Named(0, 0, "c", "black")])
    assert [text.get_text() for text in axes.texts] == ["a, b", "c"]


def test_a_metric_has_words_and_its_symbol_beside_them() -> None:
    costs = cost_words("It costs: c2 (too little gain), c3 (too little demand) and c4 (engagement without gain).")
    assert metric_words("dK") == ("Mastery gained", "ΔK")
    assert metric_words("J_c3", costs) == ("Cost of too little demand", "J(c3)")
    assert metric_words("lambda_learning", costs) == ("Price of the floor on learning", "λ(learning)")
    assert metric_words("J_c3") == ("Cost of c3", "J(c3)")
    assert metric_words("violation_rate") == ("Episodes with a cost", "")
    assert metric_words("mine") == ("mine", "")


def groups_of(page: str) -> str:
    return page.partition("What the gate opens")[2] or page.partition("By group of learners")[2]


@pytest.mark.usefixtures("undrawn")
def test_one_group_repeats_nothing_of_the_table_above() -> None:
    cells = {"return": 1.0, "dK": 2.0, "time_to_unlock": 3.0, "restriction_rate": 0.5}
    alone = groups_of(render([learnt(groups={"mc-cpo": {"all": cells}})], [None], manifest=None))
    heads = re.findall(r'<th scope="col">([^<]+)', alone.partition("</thead>")[0])
    assert heads == ["Method", "Steps until a concept becomes ready", "Share of actions that the gate withholds"]
    two = groups_of(render([learnt(groups={"mc-cpo": {"a": cells, "b": cells}})], [None], manifest=None))
    assert "from fewer episodes than the table above" in two
    assert "Mastery gained" in two.partition("</thead>")[0]


@pytest.mark.usefixtures("undrawn")
def test_a_second_judgement_stands_on_the_first_screen_and_in_full_below() -> None:
    table = learnt(protocol={"seed": 3, "evaluation episodes": 2000})
    page = render([learnt()], [None], manifest=None, evaluations={0: [Evaluation("judge", "digest", (table,))]})
    first, _, rest = page.partition("<table")
    assert "Judged again on judge (seed 3, 2,000 episodes of each policy)" in first
    assert "Judged again on judge" in rest
    alone = render([learnt()], [None], manifest=None)
    assert page.count('class="main"') == alone.count('class="main"') + 1
